"""Input files, and their outputs."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from conflictscore.loop.state import RunContext
from conflictscore.scoring_files.columns import Columns
from conflictscore.scoring_files.file_run import Summary, ascore_file
from conflictscore.scoring_files.input_rows import Source
from tests.scoring_files.instant_judge import instant_context


def answer_row(number: int, documents: int = 2) -> dict[str, Any]:
    """A row that can be scored, with an additional field."""
    return {
        "id": f"q{number}",
        "answer": f"The lamp number {number} was lit in 1871. It is white.",
        "documents": [
            f"Ledger {place}: lamp {number} was lit."
            if place % 2
            else {
                "text": f"Log {place}: lamp {number} was dark.",
                "title": "Log",
                "url": "https://l.test",
            }
            for place in range(documents)
        ],
        "mine": {"kept": [number, None], "town": "Łódź"},
    }


def write_lines(path: Path, rows: Sequence[Any]) -> Path:
    """Write rows as JSON lines; strings are written unchanged."""
    texts = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("".join(f"{text}\n" for text in texts), "utf-8")
    return path


def lines(path: Path) -> list[dict[str, Any]]:
    """The rows of an output of JSON lines."""
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def outcomes(path: Path) -> list[dict[str, Any]]:
    """The outcome that was added to each row."""
    return [row["conflictscore"] for row in lines(path)]


def score(
    source: Path,
    out: Path,
    *,
    context: RunContext | None = None,
    concurrency: int = 4,
    columns: Columns | None = None,
    **more: Any,
) -> Summary:
    """One run of a command, by default with the instant judge and a cache beside the output."""
    context = context or instant_context(out.parent / "cache.sqlite")
    return asyncio.run(ascore_file(Source(source, columns), out, context, concurrency, **more))
