"""A letter asked for in other ways: nothing asked for twice, and every label behind its letter."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from conflictscore.records import Label
from measurements import judge_report, judge_variants
from measurements.judge_variants import VARIANTS
from measurements.validation_sample import Neighbours, excerpt
from tests.fakes.openai_server import Fault, OpenAIServer
from tests.world import World
from training.pairs import Pair

YEARS = {"1871": "SUPPORTS", "1874": "CONTRADICTS", "": "IRRELEVANT"}


def record(number: int, split: str, *years: str, question: str = "") -> dict[str, Any]:
    docs = [{"text": f"Lamp {number} is white. Lit in {y}.", "label": YEARS[y]} for y in years]
    asked = {"question": question} if question else {}
    claim = f"Lamp {number} was lit in 1871, as the books of harbour {number} tell."
    return {"id": str(number), "split": split, "claim": claim, "docs": docs, **asked}


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-user")
    folder = tmp_path / "labels"
    folder.mkdir()
    asked = "When was lamp 1 lit?"
    sets = {
        "lamps": [record(1, "test", "1871", "1874", question=asked), record(2, "test", "1871")],
        "piers": [record(3, "test", "1874", "1871"), record(4, "test", "1874")],
    }
    for place, (name, rows) in enumerate(sets.items(), start=1):
        rows += [record(90 + 10 * place + n, "train", "1871", "1874", "") for n in range(3)]
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}_groups.jsonl").write_text(lines)
    return folder


def ask(data: Path, server: OpenAIServer, *more: str) -> Result:
    out = str(data.with_name("out"))
    command = ["--data", str(data), "--model", "m", "--base-url", server.base_url, "--out", out]
    return CliRunner().invoke(judge_variants.main, [*command, *more])


def report(data: Path) -> Result:
    out = str(data.with_name("out"))
    return CliRunner().invoke(judge_report.main, [out, "--data", str(data)])


def rows_of(data: Path, name: str) -> list[dict[str, Any]]:
    lines = (data.with_name("out") / f"{name}.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines[1:]]


def named(*names: str) -> list[str]:
    return [part for name in names for part in ("--variant", name)]


def test_every_variant_is_asked_once_and_its_letters_mean_its_own_labels(data: Path) -> None:
    world = World()
    with OpenAIServer(world) as server:
        first = ask(data, server, *named(*VARIANTS))
        calls = len(server.requests)
        again = ask(data, server, *named(*VARIANTS))
        assert len(server.requests) == calls
    assert first.exit_code == again.exit_code == 0, first.output
    right = [row["logprobs"][row["gold"]] for row in rows_of(data, "choice")]
    assert right == [pytest.approx(-0.1)] * 6
    letters = {row["gold"]: row["logprobs"] for row in rows_of(data, "reversed")}
    assert letters["SUPPORTS"]["IRRELEVANT"] == pytest.approx(-0.1), "A, which is the last label"
    assert [row["set"] for row in rows_of(data, "question")] == ["lamps", "lamps"]
    assert all(row["quote"] for row in rows_of(data, "quoted"))


def test_a_run_that_was_stopped_or_failed_asks_for_what_is_missing(data: Path) -> None:
    broken = World(broken={"choice": Fault(status=400)})
    with OpenAIServer(broken) as server:
        failed = ask(data, server, "--variant", "choice")
    assert failed.exit_code == 1
    assert "6 pairs could not be judged" in failed.stderr
    assert rows_of(data, "choice") == []
    with OpenAIServer(World()) as server:
        ask(data, server, "--variant", "choice", "--pairs", "2")
        file = data.with_name("out") / "choice.jsonl"
        file.write_bytes(file.read_bytes() + b'{"half": ')
        before = len(server.requests)
        assert ask(data, server, "--variant", "choice").exit_code == 0
        assert len(server.requests) - before == 4
    assert len(rows_of(data, "choice")) == 6


def test_variants_are_reported_beside_choice_on_the_pairs_that_both_have(data: Path) -> None:
    with OpenAIServer(World()) as server:
        ask(data, server, *named("choice", "reversed"))
        ask(data, server, "--variant", "claim-first", "--pairs", "3")
    shown = report(data)
    assert shown.exit_code == 0, shown.output
    assert "claim-first: 3 pairs of" in shown.stdout
    assert "| choice | 1.000 | 1.000 | 1.000 | 1.000 | 100 % |  |" in shown.stdout
    assert "| always the same | 0.500 | | 0.667 | | | |" in shown.stdout


def test_bad_input_is_one_clear_line(data: Path, tmp_path: Path) -> None:
    with OpenAIServer(World()) as server:
        refused = ask(tmp_path / "out", server, "--variant", "choice")
        assert refused.exit_code == 2
        ask(data, server, "--variant", "choice", "--pairs", "1")
    file = data.with_name("out") / "choice.jsonl"
    file.write_text(file.read_text() + "{}\n")
    shown = report(data)
    assert shown.exit_code == 1
    [line] = shown.stderr.splitlines()
    assert line.startswith(f"Error: {file}: no replies of measurements.judge_variants")


def test_neighbours_are_one_of_each_label_nearest_first_by_claim() -> None:
    pairs = [
        Pair("Cats sleep all day.", "Cats nap.", "SUPPORTS", "toy", "people"),
        Pair(
            "Tea keeps people awake.", "Tea has caffeine. It is brown.", "SUPPORTS", "toy", "people"
        ),
        Pair("Tea keeps cats awake.", "Cats nap.", "CONTRADICTS", "toy", "people"),
    ]
    found = Neighbours(pairs).of("Does tea keep people awake at night?")
    assert [one.label for one in found] == [Label.SUPPORTS, Label.CONTRADICTS]
    assert found[0].claim == "Tea keeps people awake."


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", ""),
        ("Gulls nest. The lamp was lit in May. It is white.", "The lamp was lit in May."),
        ("The lamp " + "shone " * 90, "The lamp" + " shone" * 38 + " ..."),
    ],
)
def test_an_excerpt_is_the_nearest_sentence_and_short(text: str, found: str) -> None:
    assert excerpt("The lamp is lit.", text) == found
