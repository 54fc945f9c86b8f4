"""Claims with and without their question, labelled by the bundled model on a small data folder."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from training.human import lot
from training.pairs import claim_key
from training.passages import data_files
from training.shown_question import asked_pairs, main

QUESTION = "When was the lamp lit?"
RIGHT = {"text": "The lamp was lit in 1874.", "label": "SUPPORTS"}
WRONG = {"text": "The lamp was lit in 1922.", "label": "CONTRADICTS"}


def records() -> list[dict[str, Any]]:
    """Of several questions, some of which are measured on."""
    found = []
    for number in range(8):
        question = f"{QUESTION[:-1]} of tower {number}?"
        claim = f"The lamp of tower {number} was lit in 1874."
        about = {"id": str(number), "split": "test", "claim": claim, "question": question}
        found.append(about | {"docs": [RIGHT, WRONG]})
    return found


def plain(path: Path, rows: Sequence[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    plain(tmp_path / "labels" / "wikicontradict_groups.jsonl", records())
    without = {"id": "1", "split": "dev", "claim": "Tea is hot.", "docs": [RIGHT]}
    plain(tmp_path / "labels" / "healthver_groups.jsonl", [without])
    return tmp_path


def test_only_measured_claims_that_have_a_question_are_compared(data: Path) -> None:
    found = list(asked_pairs(data_files([data])))
    measured = {r["claim"] for r in records() if lot(claim_key(r["question"])) % 2 == 0}
    assert {one.pair.claim for one in found} == measured
    assert 0 < len(measured) < len(records())
    assert all(one.question.startswith(QUESTION[:-1]) for one in found)


def test_a_line_for_each_way_and_what_the_question_changes_are_printed(data: Path) -> None:
    result = CliRunner().invoke(main, ["--data", str(data)])
    assert result.exit_code == 0, result.output
    rows = [line for line in result.output.splitlines() if line.startswith("| wikicontradict")]
    assert [row.split(" | ")[2] for row in rows] == ["claim", "question and claim"]
    assert "the question mends" in result.output


def test_a_file_that_cannot_be_read_is_named(data: Path) -> None:
    (data / "labels" / "wikicontradict_groups.jsonl").write_text("{", "utf-8")
    result = CliRunner().invoke(main, ["--data", str(data)])
    assert result.exit_code == 1
    assert "wikicontradict_groups.jsonl" in result.output
