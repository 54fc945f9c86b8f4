"""``conflictscore ask --regeneration`` as a user types it, against a loopback server."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from conflictscore.cli import main
from tests.fakes.openai_server import OpenAIServer
from tests.typed_world import TypedWorld
from tests.world import DISAGREEING, PAPER_OPTIONS

Run = Callable[..., Result]


@pytest.fixture
def world() -> TypedWorld:
    return TypedWorld()


@pytest.fixture
def ask(world: TypedWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    monkeypatch.setenv("CONFLICTSCORE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-user")
    docs = tmp_path / "docs"
    docs.mkdir()
    for document in DISAGREEING:
        (docs / f"{document['title']}.txt").write_text(document["text"])
    with OpenAIServer(world) as server:

        def invoke(*args: str | Path) -> Result:
            fixed = ["--docs", str(docs), "--model", "scripted", "--base-url", server.base_url]
            return CliRunner().invoke(
                main, ["ask", "When?", *PAPER_OPTIONS, *map(str, args), *fixed]
            )

        yield invoke


def test_the_type_and_its_reason_are_shown(ask: Run) -> None:
    shown = ask("--regeneration", "typed", "--verbose")

    assert shown.exit_code == 0
    lines = [" ".join(line.split()) for line in shown.stdout.splitlines()]
    after = lines[lines.index("Type of the conflict") + 1]
    assert after == "outdated: The log is of a later day."
    assert "· type of the conflict: outdated: The log is of a later day." in shown.stderr


def test_json_and_the_log_tell_the_type(ask: Run, tmp_path: Path) -> None:
    log = tmp_path / "runs.jsonl"
    printed = json.loads(ask("--regeneration", "typed", "--json", "--log", log).stdout)

    for told in (printed, json.loads(log.read_text())):
        assert told["regeneration"] == "typed"
        assert told["conflict_type"] == "outdated"
        assert told["conflict_type_reason"] == "The log is of a later day."
        assert told["classification_error"] is None


def test_a_type_that_could_not_be_had_is_told_as_such(ask: Run, world: TypedWorld) -> None:
    world.broken["classify"] = "Hard to say."

    printed = json.loads(ask("--regeneration", "typed", "--json").stdout)
    shown = ask("--regeneration", "typed")

    assert printed["conflict_type"] is None
    assert "TYPE:" in printed["classification_error"]
    assert "Type of the conflict" not in shown.stdout
    assert "the run continued without a conflict type" in " ".join(shown.stdout.split())


def test_without_the_option_nothing_is_said_of_types(
    ask: Run, world: TypedWorld, tmp_path: Path
) -> None:
    log = tmp_path / "runs.jsonl"
    printed = json.loads(ask("--json", "--log", log).stdout)

    assert world.asked["classify"] == 0
    for told in (printed, json.loads(log.read_text())):
        assert not {"regeneration", "conflict_type", "classification_error"} & told.keys()


def test_another_regeneration_is_refused(ask: Run) -> None:
    refused = ask("--regeneration", "best")
    assert refused.exit_code == 2
    assert "'best' is not one of 'revise', 'paper', 'typed'" in refused.stderr


def test_what_was_searched_for_further_is_shown_step_by_step_and_in_json_and_log(
    ask: Run, tmp_path: Path
) -> None:
    log = tmp_path / "runs.jsonl"
    shown = ask("--look-further", "disputed", "--verbose")
    printed = json.loads(ask("--look-further", "disputed", "--json", "--log", log).stdout)

    lines = [" ".join(line.split()) for line in shown.stdout.splitlines()]
    came = "“lamp diary 1871”: known 1, 2, 3"
    assert lines[lines.index("Looked further") + 1] == came
    assert "· look_further: in doubt: 1" in shown.stderr
    assert f"· {came}" in " ".join(shown.stderr.split())
    assert "Looked further" not in ask().stdout
    logged = json.loads(log.read_text())
    for told in (printed, logged):
        assert [search["known"] for search in told["searches"]] == [[1, 2, 3]] * 2
    assert logged["correction"]["look_further"] == "disputed"
