"""Small files in the published formats, and where the real ones are."""

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pytest

COLUMNS = (
    "Type",
    "Category",
    "Question",
    "Best Answer",
    "Best Incorrect Answer",
    "Correct Answers",
    "Incorrect Answers",
    "Source",
)
REAL = Path(__file__).parents[4] / "shared" / "data"
needs_real_data = pytest.mark.skipif(not REAL.is_dir(), reason="../shared/data is not here")


def row(question: str = "Is the lamp lit?", **cells: str) -> dict[str, str]:
    """A row of the version of January 2025; ``best_answer="Yes"`` changes a cell."""
    made = dict(
        zip(
            COLUMNS,
            (
                "Adversarial",
                "Lamps",
                question,
                "It is lit, at night",
                "It is never lit",
                "It is lit, at night; At night",
                "It is never lit; By day",
                "",
            ),
            strict=True,
        )
    )
    return made | {name.replace("_", " ").title(): value for name, value in cells.items()}


def write_csv(
    path: Path, rows: Iterable[Mapping[str, str]], columns: Sequence[str] = COLUMNS
) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    return path


def write_jsonl(path: Path, records: Iterable[object]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return path
