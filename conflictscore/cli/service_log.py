"""Log lines of the service on stderr, as text or as JSON."""

import json
import logging
import socket
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Literal
from urllib.parse import urlsplit
from urllib.request import getproxies

import click

__all__ = ["LogFormat", "log_to_stderr", "say", "warn_if_unreachable"]

_CONNECT_S = 3.0

LogFormat = Literal["text", "json"]


def log_to_stderr(form: LogFormat) -> None:
    """Write log records to stderr in this form."""
    logging.basicConfig(format="%(levelname)s: %(message)s")
    if form == "json":
        logging.getLogger().handlers[0].setFormatter(_JsonFormatter())


def say(message: str, form: LogFormat) -> None:
    """Write a line to stderr in this form."""
    if form == "json":
        record = logging.LogRecord(__name__, logging.INFO, "", 0, message, None, None)
        message = _JsonFormatter().format(record)
    click.echo(message, err=True)


def warn_if_unreachable(endpoint: str, say: Callable[[str], None]) -> None:
    """Warn if nothing listens at the model's address; it may still start."""
    parts = urlsplit(endpoint)
    if not parts.hostname or getproxies():
        return
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname, port), _CONNECT_S).close()
    except OSError as error:
        say(f"nothing listens at {endpoint} ({error}); until something does, requests fail")


class _JsonFormatter(logging.Formatter):
    """Each record as a line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """See the base class."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line)
