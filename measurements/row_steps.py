"""Counts the interpreter's work for each row of a scored file, without a clock."""

import asyncio
import cProfile
import tempfile
from pathlib import Path
from typing import NamedTuple

from conflictscore.scoring_files.file_run import ascore_file
from conflictscore.scoring_files.input_rows import Source
from measurements.score_file_speed import write_input
from tests.scoring_files.instant_judge import instant_context

_ROWS = 40
_AT_ONCE = 16  # rows that are scored concurrently: the default of score-file


class RowSteps(NamedTuple):
    """The work in the event loop's thread for a row of two claims and three documents."""

    calls: float
    """Function calls, including calls of C functions."""
    records: float
    """Records that were created."""


def row_steps() -> RowSteps:
    """Return the mean work per row over 40 rows, with a judge that takes almost no work.

    Work that is needed once per process, such as reading tables, is not counted.
    """
    with tempfile.TemporaryDirectory() as folder:
        # different rows, since caches of the process hold what is known of texts seen before
        _profiled(Path(folder), "warm", first=_ROWS)
        entries = _profiled(Path(folder), "counted").getstats()
    made = [e.callcount for e in entries if getattr(e.code, "co_name", "") == "model_post_init"]
    return RowSteps(sum(entry.callcount for entry in entries) / _ROWS, sum(made) / _ROWS)


def _profiled(folder: Path, name: str, first: int = 0) -> cProfile.Profile:
    write_input(folder / f"{name}.jsonl", _ROWS, first)
    context = instant_context(folder / f"{name}.sqlite")
    source = Source(folder / f"{name}.jsonl")
    with cProfile.Profile() as profile:
        asyncio.run(ascore_file(source, folder / f"{name}.out.jsonl", context, _AT_ONCE))
    return profile
