"""Small files in the published formats, and the places of the real ones."""

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pytest

from tests.benchmarks.harness.quiz import RIGHT, WRONG, told

_ROW = {
    "Type": "Adversarial",
    "Category": "Lamps",
    "Question": "Is the lamp lit?",
    "Best Answer": "It is lit, at night",
    "Best Incorrect Answer": "It is never lit",
    "Correct Answers": "It is lit, at night; At night",
    "Incorrect Answers": "It is never lit; By day",
    "Source": "",
}
COLUMNS = tuple(_ROW)
REAL = Path(__file__).parents[4] / "shared" / "data"
needs_real_data = pytest.mark.skipif(not REAL.is_dir(), reason="../shared/data is not here")


def row(question: str = "Is the lamp lit?", **cells: str) -> dict[str, str]:
    """A row of the version of January 2025; ``best_answer="Yes"`` changes a cell."""
    changed = {name.replace("_", " ").title(): value for name, value in cells.items()}
    return _ROW | {"Question": question} | changed


def lamps_csv(path: Path, count: int) -> Path:
    """Questions about the lamps of the quiz."""
    rows = []
    for n in range(count):
        right, wrong = told(n, RIGHT), told(n, WRONG)
        answers = {"best_answer": right, "best_incorrect_answer": wrong}
        lists = {"correct_answers": right, "incorrect_answers": wrong}
        rows.append(row(f"When was lamp {n} lit?", **answers, **lists))
    return write_csv(path, rows)


def keepers(count: int) -> list[str]:
    """Three texts about each lamp, of which the first is wrong."""
    return [
        f"Keeper {keeper} of lamp {n} says: {told(n, year)}"
        for n in range(count)
        for keeper, year in enumerate([WRONG, RIGHT, RIGHT])
    ]


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
