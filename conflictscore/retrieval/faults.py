"""A request to a search provider that failed: what that means, and when it is asked again."""

import base64
import email.utils
import html
import json
import logging
import random
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar
from urllib.parse import quote, quote_plus

from conflictscore.errors import ConflictScoreError

__all__ = ["Fault", "insistently", "retry_after_seconds", "scrubbed"]

_log = logging.getLogger(__name__)

_LONGEST_WAIT = 60.0
"""Seconds; a provider that asks for a longer pause gets no further request."""
_LONGEST_REASON = 300
"""Characters of what a provider says that an error repeats."""

Reply = TypeVar("Reply")


@dataclass(frozen=True, slots=True)
class Fault:
    """One request that failed."""

    error: ConflictScoreError
    retry: bool = False
    """Whether the same request may succeed in a moment."""
    retry_after: float | None = None
    """Seconds that the provider asks to wait, from 0; None where it names no time."""


def insistently(ask: Callable[[], Reply | Fault], *, retries: int, backoff: float) -> Reply:
    """The reply to a request that is made again while that may help.

    Args:
        ask: Makes the request once. It returns its failures: an error that is raised from within
            an ``except`` block would bring along what a library raised, which may hold the key.
        retries: The most further tries, from 0.
        backoff: Seconds before the first further try, doubled for each next one and varied by
            half; what the provider asks for comes before it, up to 60 s.

    Raises:
        ConflictScoreError: The last fault's error.
    """
    attempt = 0
    while isinstance(outcome := ask(), Fault):
        pause = _pause(outcome, backoff * 2.0**attempt) if attempt < retries else None
        if pause is None:
            raise outcome.error
        _log.info("%s; asking again in %.1f s", outcome.error, pause)
        time.sleep(pause)
        attempt += 1
    return outcome


def _pause(fault: Fault, backoff: float) -> float | None:
    """Seconds before the request is made again; None where it is not."""
    if not fault.retry:
        return None
    if fault.retry_after is not None:
        return fault.retry_after if fault.retry_after <= _LONGEST_WAIT else None
    return backoff * random.uniform(0.5, 1.5)  # noqa: S311 - a pause


def retry_after_seconds(header: str | None) -> float | None:
    """Seconds from now, from 0, where a Retry-After header holds a number of them or a date."""
    if header is None:
        return None
    if re.fullmatch(r"\s*\d{1,9}(\.\d{1,9})?\s*", header):
        return float(header)
    try:
        when = email.utils.parsedate_to_datetime(header)
    except ValueError:
        return None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (when - datetime.now(UTC)).total_seconds())


def scrubbed(text: str, *secrets: str) -> str:
    """What a server or library said, fit to be shown: one line, cut, and without the secrets."""
    forms = {form for secret in secrets if secret for form in _forms(secret)}
    if forms:
        longest_first = sorted(forms, key=len, reverse=True)
        text = re.sub("|".join(map(re.escape, longest_first)), "***", text, flags=re.IGNORECASE)
    return " ".join(text.split())[:_LONGEST_REASON]


def _forms(secret: str) -> Iterator[str]:
    """How an address, a header, a JSON or HTML text or Python would write it."""
    yield from (secret, quote(secret), quote(secret, safe=""), quote_plus(secret))
    yield from (json.dumps(secret)[1:-1], repr(secret)[1:-1], html.escape(secret))
    encoded = base64.b64encode(secret.encode()).decode()
    yield from (encoded, encoded.rstrip("="))
