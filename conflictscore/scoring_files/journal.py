"""The rows that ended: lines in the order of the input, whatever the order they ended in."""

import os
from collections.abc import Mapping
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any

from conflictscore.scoring_files.encoding import encoded
from conflictscore.scoring_files.result import Outcome
from conflictscore.scoring_files.unwritable import SCORED, unwritable
from conflictscore.scoring_files.waiting import WaitingLines
from conflictscore.scoring_files.written import Counts, outcome_in
from conflictscore.storage.record_file import RecordFile, RecordLines

__all__ = ["Journal"]


class Journal:
    """A file of lines, the first rows of the input, with what waits for its place in it.

    A row that ended is kept when ``end`` returns: as the next line of the file, or beside it until
    all rows before it are there. To be used from one thread.

    Attributes:
        counts: Which rows failed.
        half: Bytes of half a line that were cut off at the end of the file.
    """

    def __init__(self, path: Path, waiting: Path) -> None:
        """Open the files, or make them.

        Args:
            path: The lines.
            waiting: Where rows wait for their place.

        Raises:
            InputError: The lines cannot be read, or are not those of a run.
            ConfigurationError: A file cannot be written.
        """
        self._path = path
        self._written = 0
        self._ahead: set[int] = set()
        self._again: set[int] = set()
        self.counts = Counts()
        with ExitStack() as opened:
            self._file = opened.enter_context(RecordFile(path, kept=SCORED))
            for line in self._file.lines:
                self.counts.count(outcome_in(line.text, line.number, path))
                self._written = line.number
            self._waiting = WaitingLines(waiting)
            opened.callback(self._waiting.close)
            self._waiting.reconcile(self._written)
            for row, text in self._waiting.lines():
                (self._again if row <= self._written else self._ahead).add(row)
                self.counts.count(outcome_in(text, row, waiting))
            self.half = self._file.resume()
            self._advance()
            self._opened = opened.pop_all()

    @property
    def ended(self) -> int:
        """How many rows ended."""
        return self._written + len(self._ahead)

    def has(self, row: int) -> bool:
        """Whether a row ended."""
        return row <= self._written or row in self._ahead

    def end(self, fields: Mapping[str, Any], outcome: Outcome) -> None:
        """Keep what came of a row; of one that ended before, in place of that.

        Args:
            fields: What is carried through.
            outcome: What is added to it.

        Raises:
            ConfigurationError: It cannot be written, as on a full disk.
        """
        row, line = outcome["row"], encoded(fields, outcome)
        if row == self._written + 1:
            self._file.append(line)
            self._written = row
            self._advance()
        else:
            again = row <= self._written
            self._waiting.put(row, line, again=again)
            (self._again if again else self._ahead).add(row)
        self.counts.count(dict(outcome))

    def settle(self) -> None:
        """Put the rows that were scored again into their places, and close.

        Raises:
            ConfigurationError: The file cannot be written; it stays as it is.
        """
        self._file.close()
        if self._again:
            self._rewrite()
            self._waiting.drop_again()
        self.close()

    def close(self) -> None:
        """Force what was added onto the disk.

        Raises:
            ConfigurationError: The disk does not take it.
        """
        self._opened.close()

    def _advance(self) -> None:
        """Write the rows whose turn has come."""
        while self._written + 1 in self._ahead:
            row = self._written + 1
            line = self._waiting.take(row)
            if line is None:
                raise RuntimeError(f"row {row} waits no more")
            self._file.append(line)
            self._written = row
            self._waiting.drop(row)
            self._ahead.discard(row)

    def _rewrite(self) -> None:
        part = self._path.with_name(f"{self._path.name}.part")
        again = chain(self._waiting.lines(again=True), [(0, b"")])
        row, instead = next(again)
        try:
            with part.open("wb") as file:
                for number, _, line in RecordLines(self._path):
                    if number == row:
                        file.write(instead)
                        row, instead = next(again)
                    else:
                        file.write(line)
                file.flush()
                os.fsync(file.fileno())
            part.replace(self._path)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise unwritable(self._path, error.strerror) from None
