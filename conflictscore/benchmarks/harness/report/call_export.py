"""Exports the transcripts of runs as JSON lines, one per call, with full texts."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from conflictscore.benchmarks.harness.transcript_files import (
    TornTranscriptError,
    read_transcript,
    session_files,
)
from conflictscore.errors import InputError
from conflictscore.storage.private_files import whole_file


def export_calls(runs: Iterable[Path], out: Path) -> int:
    """Write the calls of the runs in the order in which they ended, each with the name of its run.

    If a transcript was not closed, all its complete lines are written. If an error is raised, an
    existing file ``out`` is unchanged. The calls are written one by one, since transcripts may
    be larger than memory.

    Returns:
        The number of calls written.

    Raises:
        InputError: A run has no transcript, a transcript is damaged, or ``out`` cannot be written.
    """
    if out.suffix.casefold() != ".jsonl":
        raise InputError(f"{out}: calls are exported as .jsonl; give a name with that ending")
    count = 0
    with whole_file(out) as file:
        for count, line in enumerate(_lines(runs), 1):  # noqa: B007 - the count is the result
            # a reply may contain a lone surrogate, which UTF-8 cannot encode
            file.write(line.encode(errors="replace"))
    return count


def _lines(runs: Iterable[Path]) -> Iterator[str]:
    for run in runs:
        files = session_files(run)
        if not files:
            raise InputError(
                f"{run}: the run has no transcripts; it was made with --no-transcripts or by an"
                " earlier version"
            )
        for path in files:
            try:
                for call in read_transcript(path):
                    yield json.dumps({"run": run.name, **call}, ensure_ascii=False) + "\n"
            except TornTranscriptError:
                continue  # the report's notes mention the torn transcript
