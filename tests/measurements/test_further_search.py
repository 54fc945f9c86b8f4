"""The measurement of looking further, on a corpus where a question finds a tie."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from measurements import further_search

DOCUMENTS = [
    ("The lamp, lit: they say it was amber.", "misinfo", "amber"),
    ("The lamp, lit: the log says crimson.", "correct", "crimson"),
    ("Crimson, crimson lamp of the almanac.", "correct", "crimson"),
    ("Crimson, crimson lamp of a diary.", "correct", "crimson"),
    *((f"Candles were lit in town {n}.", "noise", "unknown") for n in range(4)),
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    record: dict[str, Any] = {
        "question": "When was the lamp lit?",
        "documents": [dict(zip(("text", "type", "answer"), d, strict=True)) for d in DOCUMENTS],
        "disambig_entity": ["lamp"],
        "gold_answers": ["crimson"],
        "wrong_answers": ["amber"],
    }
    path = tmp_path / "ramdocs.jsonl"
    path.write_text(json.dumps(record), "utf-8")
    return path


def table(*args: str | Path) -> dict[str, list[str]]:
    said = CliRunner().invoke(further_search.main, [*map(str, args), "--top-k", "2"])
    assert said.exit_code == 0, said.output
    return {line.split()[0]: line.split()[1:] for line in said.output.splitlines()[1:]}


def test_a_tie_is_settled_rightly_by_looking_further_and_stays_open_without(data: Path) -> None:
    rows = table(data, "--settings", "off,disputed", "--conflicting")

    # questions, in doubt, tied, rightly, wrongly, open, corrected, harmed, searches, documents
    assert rows["off"][:10] == ["1", "2", "2", "0", "0", "2", "0", "0", "0", "0"]
    assert rows["disputed"][:10] == ["1", "2", "2", "2", "0", "0", "1", "0", "4", "2"]
    assert int(rows["disputed"][10]) > int(rows["off"][10])


def test_the_command_names_what_is_wrong(data: Path) -> None:
    said = CliRunner().invoke(further_search.main, [str(data), "--settings", "on"])
    assert "--settings on: one of off, disputed, unsupported" in said.output
