"""The log as lines of JSON, for those who collect logs."""

import json
import logging
from datetime import UTC, datetime

__all__ = ["JsonLogFormatter"]


class JsonLogFormatter(logging.Formatter):
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
