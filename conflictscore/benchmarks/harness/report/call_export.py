"""Exports the transcripts of runs as JSON lines, one per call, with full texts."""

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from conflictscore.benchmarks.harness.transcript_files import (
    TornTranscriptError,
    read_transcript,
    session_files,
)
from conflictscore.errors import InputError
from conflictscore.storage.private_files import owner_only


def export_calls(runs: Iterable[Path], out: Path) -> int:
    """Write the calls of the runs in the order in which they ended, each with the name of its run.

    If a transcript was not closed, all its complete lines are written. If an error is raised, an
    existing file ``out`` is unchanged.

    Returns:
        The number of calls written.

    Raises:
        InputError: A run has no transcript, a transcript is damaged, or ``out`` cannot be written.
    """
    if out.suffix.casefold() != ".jsonl":
        raise InputError(f"{out}: calls are exported as .jsonl; give a name with that ending")
    count = 0
    # the lines go to a file beside ``out`` one by one, since transcripts may exceed the memory
    part = out.with_name(f".{out.name}.{os.getpid()}.part")
    try:
        # a reply may contain a lone surrogate, which UTF-8 cannot encode
        with open(part, "w", encoding="utf-8", errors="replace", opener=owner_only) as file:
            for line in _lines(runs):
                file.write(line)
                count += 1
        part.replace(out)
    except OSError as error:  # reading a transcript raises InputError, so this concerns ``out``
        raise InputError(f"{out}: cannot be written ({error.strerror})") from None
    finally:
        with suppress(OSError):  # the file is gone if it was renamed or never created
            part.unlink()
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
