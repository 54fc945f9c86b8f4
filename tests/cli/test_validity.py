"""``conflictscore bench validity`` as a user types it, on a small NLI model."""

import json
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from conflictscore.cli import OneLineErrors
from conflictscore.cli.validity import validity
from tests.benchmarks.conflict_detection.claims import write_lines
from tests.benchmarks.natconfqa.lamps import people_row, row
from tests.benchmarks.wikicontradict.records import FLAT, RATED
from tests.nli_model import make_nli_model

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CONFLICTSCORE_CACHE_DIR", str(tmp_path / "cache"))
    model = make_nli_model(tmp_path / "nli")
    program = OneLineErrors("conflictscore", commands={"bench": click.Group()})
    program.commands["bench"].add_command(validity)  # type: ignore[attr-defined]

    def invoke(*args: str | Path) -> Result:
        chosen = ["--labeler", f"nli:model={model}"]
        return CliRunner().invoke(program, ["bench", "validity", *map(str, args), *chosen])

    return invoke


@pytest.fixture
def data(tmp_path: Path) -> list[str]:
    """All four kinds of data."""
    claims = [
        {
            "id": str(year),
            "claim": "The lamp was lit in 1871.",
            "docs": [
                {"text": f"The lamp was lit in 1871, {year}.", "label": "SUPPORTS"},
                {
                    "text": f"The lamp was not lit in 1871, {year}.",
                    "label": "CONTRADICTS" if year % 2 else "IRRELEVANT",
                },
            ],
        }
        for year in range(8)
    ]
    files = {
        "rated": [RATED, RATED | {"model": "llm-b"}],
        "asked": [row()],
        "people": [people_row()],
        "made": [FLAT, FLAT | {"question": "What year was it?"}],
        "lamps_groups": claims,
    }
    paths = {name: str(write_lines(tmp_path / f"{name}.jsonl", r)) for name, r in files.items()}
    return [
        *("--rated", paths["rated"], "--natconfqa", paths["asked"], paths["people"]),
        *("--made", paths["made"], "--groups", paths["lamps_groups"]),
    ]


def test_all_questions_in_one_run_which_is_resumed(
    run: Run, data: list[str], tmp_path: Path
) -> None:
    shown = run(*data)
    assert shown.exit_code == 0, shown.output
    for title in (
        "WikiContradict, template 5: 2 answers to 1 questions",
        "NatConfQA, Normal: 1 answers",
        "Made answers to 2 questions",
        "Does a measure prefer what a reader prefers?",
        "Wrong labels, lamps: 8 claims, 16 documents",
        "Power to tell two systems apart, lamps",
    ):
        assert title in shown.stdout
    verdicts = (tmp_path / "runs" / "validity.jsonl").read_bytes()
    again = run(*data, "--json", "--quiet")
    figures = json.loads(again.stdout)
    assert (tmp_path / "runs" / "validity.jsonl").read_bytes() == verdicts
    # The model calls half of the claims a conflict, as people do, and the others too.
    [lamps] = figures["noise"]
    assert lamps["table"] == [[8, 0, 0], [0, 4, 0], [0, 4, 0]]
    assert {one["name"]: one["cs_c"]["value"] for one in lamps["conditions"]}["the labeler"] == 1.0


def test_a_limit_takes_the_first_questions(run: Run, data: list[str]) -> None:
    shown = run(*data[:7], "--limit", "1", "--json", "--quiet")
    assert json.loads(shown.stdout)["made"]["questions"] == 1


def test_what_cannot_be_used_is_said_in_one_line(run: Run, data: list[str]) -> None:
    assert "Give --rated, --natconfqa, --made or --groups" in run().stderr
    few = run(*data[-2:], "--limit", "2", "--quiet")
    assert (few.exit_code, few.stdout) == (2, "")
    assert "1 of 2 claims with labels are in conflict; at least two are needed" in few.stderr
