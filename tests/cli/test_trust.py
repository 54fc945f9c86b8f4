"""``--trust FILE`` as a user types it, and the errors of bad tables."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from conflictscore.cli import main
from tests.world import World

ANSWER = "It was lit in 1871."


@pytest.fixture
def world() -> World:
    return World(answer=ANSWER, broken={"weigh": "SIDE: NEITHER"})


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("# Log\n\nThe lamp was lit in 1874.\n", "utf-8")
    (folder / "b.md").write_text("# Almanac\n\nOf old it is told: lit in 1874.\n", "utf-8")
    (folder / "c.txt").write_text("The lamp was lit in 1871.\n", "utf-8")
    return folder


@pytest.fixture
def table(tmp_path: Path) -> Path:
    file = tmp_path / "trust.toml"
    file.write_text("[types]\nmd = 0.25\n", "utf-8")
    return file


def invoke(*args: object) -> Result:
    return CliRunner().invoke(main, list(map(str, args)))


def test_an_answer_stands_or_goes_by_the_table(
    docs: Path, table: Path, endpoint: list[str], tmp_path: Path
) -> None:
    log = tmp_path / "log.jsonl"
    asked = ("ask", "When was the lamp lit?", "--docs", docs, *endpoint, "--log", log)
    asked = (*asked, "--details")
    ask = (*asked, "--set", "unsettled=keep")

    plain, weighed = invoke(*ask), invoke(*ask, "--trust", table)

    assert (plain.exit_code, weighed.exit_code) == (0, 0)
    one, other = (" ".join(shown.stdout.split()) for shown in (plain, weighed))
    assert "Answer It was lit in 1874." in one
    assert "Answer It was lit in 1871." in other
    assert "weight" not in one
    assert "weighted by" not in one
    assert "By the documents' vote: “It was lit in 1874” (Docs 2, 3)" in one
    assert "CS-C 1.00 CS-R 0.67 3 of 3 pairs labelled (0 is best)" in other
    assert "CS-C 0.25 CS-R 0.33 with documents weighted by the trust table" in other
    assert "weight 0.25" in other
    assert "Nothing settles it, so it stays: “It was lit in 1874” (Docs 2, 3)" in other
    first, second = map(json.loads, log.read_text("utf-8").splitlines())
    assert first["settings"]["trust"] is None
    assert second["settings"]["trust"] == {"types": {"md": 0.25}}
    weights = second["attempts"][0]["report"]["weighted"]["weights"]
    assert sorted(weights.values()) == [0.25, 0.25, 1]
    assert "weighted" not in log.read_text("utf-8").splitlines()[0]


def test_a_file_of_answers_is_weighed_and_not_resumed_with_another_table(
    docs: Path, table: Path, endpoint: list[str], tmp_path: Path
) -> None:
    rows, out = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    found = sorted(docs.iterdir())
    documents = [{"text": path.read_text("utf-8"), "url": path.name} for path in found]
    rows.write_text(json.dumps({"answer": ANSWER, "documents": documents}), "utf-8")
    command = ("score-file", rows, "--out", out, *endpoint, "--quiet")

    assert invoke(*command, "--trust", table).exit_code == 0
    [row] = map(json.loads, out.read_text("utf-8").splitlines())
    assert row["conflictscore"]["report"]["weighted"]["cs_r"] == pytest.approx(1 / 3)

    other = invoke(*command)
    assert other.exit_code == 2
    assert "configuration.trust" in other.stderr
