"""Exports the transcripts of runs as a file of JSON lines, one for each call, with whole texts."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from conflictscore.benchmarks.harness.transcript_files import (
    TornTranscriptError,
    read_transcript,
    session_files,
)
from conflictscore.errors import InputError
from conflictscore.storage.private_files import owner_only


def export_calls(runs: Iterable[Path], out: Path) -> int:
    """Write every call of the runs, in the order in which they ended, with a first field ``run``.

    From an unclosed transcript, all whole lines are written.

    Returns:
        The number of calls.

    Raises:
        InputError: A run has no transcript, a transcript is damaged, or ``out`` cannot be written.
    """
    if out.suffix.casefold() != ".jsonl":
        raise InputError(f"{out}: calls are written as .jsonl; give a name with that ending")
    count = 0
    try:
        with open(out, "w", encoding="utf-8", errors="replace", opener=owner_only) as file:
            for line in _lines(runs):
                file.write(line)
                count += 1
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror})") from None
    return count


def _lines(runs: Iterable[Path]) -> Iterator[str]:
    for run in runs:
        files = session_files(run)
        if not files:
            raise InputError(
                f"{run}: there is no transcript in it; the run was made with --no-transcripts, or"
                " by an earlier version"
            )
        for path in files:
            try:
                for call in read_transcript(path):
                    yield json.dumps({"run": run.name, **call}, ensure_ascii=False) + "\n"
            except TornTranscriptError:
                continue  # the report's notes mention it
