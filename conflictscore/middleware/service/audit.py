"""The audit log: a line for every run, with who asked, what it cost and what was decided."""

import logging
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from conflictscore.errors import InputError
from conflictscore.middleware.service.budgets import Account
from conflictscore.records import Run
from conflictscore.storage.record_file import append_line, json_line

__all__ = ["AuditLog"]

_log = logging.getLogger(__name__)


class AuditLog:
    """A file of JSON lines, only ever added to, by any number of services.

    Attributes:
        failing: Whether the last line could not be written.
    """

    def __init__(self, path: Path, *, content: bool) -> None:
        """Open the file, and cut off half a line that a death left.

        Args:
            path: The file; its folder must be there.
            content: Whether questions and answers go into it.

        Raises:
            InputError: It cannot be written.
        """
        self.failing = False
        self._path, self._content = path, content
        if path.exists() and not path.is_file():
            raise InputError(f"{path}: cannot be written (it is not a file)")
        try:
            append_line(path, b"", cut=True)
        except OSError as error:
            raise InputError(f"{path}: cannot be written ({error.strerror})") from None

    def add(self, caller: str, run: Run, account: Account, **more: Any) -> None:
        """Add a run; one that cannot be written goes to the log of errors, as far as it may.

        Args:
            caller: The name of the key.
            run: The run, finished or not.
            account: What it cost.
            **more: Further fields.
        """
        report, said = run.report, ("question", "first_answer", "answer")
        line = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "key": caller,
            "run_id": run.run_id,
            **more,
            "status": run.status.value,
            "flipped": run.flipped,
            "coverage": report.coverage if report else None,
            "documents": len(run.documents),
            "calls": account.usage.calls,
            "input_tokens": account.usage.input_tokens,
            "output_tokens": account.usage.output_tokens,
            "usd": account.cost,
            **({name: getattr(run, name) for name in said} if self._content else {}),
        }
        try:
            append_line(self._path, json_line(line), cut=True, sync=True)
            self.failing = False
        except OSError as error:
            self.failing = True
            _log.error("the audit log: %s: cannot be written (%s)", self._path, error.strerror)
