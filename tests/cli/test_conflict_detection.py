"""``conflictscore bench conflict-detection`` as a user types it, against a loopback server."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tests.benchmarks.truthfulqa.files import write_jsonl
from tests.cli.conftest import Run
from tests.fakes.openai_server import ChatRequest, Fault, Reply
from tests.world import World


def claim(name: str, *years: str) -> dict[str, Any]:
    labels = {"1871": "SUPPORTS", "1874": "CONTRADICTS", "": "IRRELEVANT"}
    return {
        "id": name,
        "claim": f"The lamp of {name} was lit in 1871.",
        "docs": [{"text": f"The lamp of {name}. {y}", "label": labels[y]} for y in years],
    }


class Writer(World):
    """Also writes the requested claims, except for the piers in ``unable``."""

    unable: tuple[str, ...] = ()

    def __call__(self, request: ChatRequest) -> Reply | str | Fault:
        prompt = request.prompt
        if "Reply with the claim alone" not in prompt:
            return super().__call__(request)
        self.asked["claim"] += 1
        pier = prompt.partition("When was ")[2].partition(" lit?")[0]
        return Fault(400) if pier in self.unable else f"The lamp of {pier}\nwas lit in 1871."


@pytest.fixture
def world() -> World:
    return Writer()


@pytest.fixture
def lamps(tmp_path: Path) -> Path:
    years = {
        "Ayr": ("1871", "1874"),
        "Bute": ("1871", ""),
        "Coll": ("1874", "1871"),
        "Danna": ("",),
    }
    return write_jsonl(tmp_path / "lamps_groups.jsonl", [claim(one, *years[one]) for one in years])


@pytest.fixture
def run(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    return partial(run, "bench", "conflict-detection")


def rows(shown: Result) -> list[list[str]]:
    return [line.split() for line in shown.stdout.splitlines()]


def test_figures_stand_beside_the_constant_answers(run: Run, lamps: Path) -> None:
    shown = run("--data", lamps)

    assert shown.exit_code == 0, shown.stderr
    assert ["lamps", "4", "2", "2", "0"] in [row[:5] for row in rows(shown)]
    assert ["lamps", "100.0", "100.0", "100.0", "100.0", "100.0"] in rows(shown)
    assert ["always", "50.0", "100.0", "66.7", "50.0", "0.0"] in rows(shown)
    assert ["never", "none", "0.0", "0.0", "50.0", "100.0"] in rows(shown)
    assert "Conflict detection, json(scripted)" in shown.stdout
    assert "7 of 7 pairs" in shown.stderr
    assert "7 calls, 0 from the cache" in shown.stdout


def test_the_same_command_asks_nothing_twice(run: Run, lamps: Path, world: World) -> None:
    first, again = (run("--data", lamps, "--json", "--out", "v.jsonl") for _ in range(2))

    assert world.asked.total() == 7
    told = json.loads(again.stdout)
    assert json.loads(first.stdout)["sets"] == told["sets"]
    assert (told["usage"]["calls"], told["usage"]["cached_calls"]) == (0, 7)
    rows = [json.loads(line) for line in Path("v.jsonl").read_text().splitlines()]
    assert [row["people"] for row in rows[:2]] == ["SUPPORTS", "CONTRADICTS"]
    assert [row["label"]["label"] for row in rows[:2]] == ["SUPPORTS", "CONTRADICTS"]
    assert len(rows) == 7


def test_a_file_that_is_no_list_of_these_verdicts_is_not_replaced(
    run: Run, lamps: Path, world: World
) -> None:
    paid = write_jsonl(Path("v.jsonl"), [{"conflict_detection": 1, "labeler": "json(test)"}])
    before = paid.read_bytes()

    refused = run("--data", lamps, "--out", paid)

    assert refused.exit_code == 2
    assert "v.jsonl" in refused.stderr
    assert paid.read_bytes() == before
    assert world.asked.total() == 0


def test_json_holds_sets_and_all_together(run: Run, lamps: Path, tmp_path: Path) -> None:
    piers = write_jsonl(tmp_path / "piers_groups.jsonl", [claim("Eigg", "1871", "1874")])

    shown = run("--data", lamps, "--data", piers, "--json", "--quiet", "--labeler", "choice")

    assert shown.stderr == ""
    found = json.loads(shown.stdout)
    assert [one["name"] for one in found["sets"]] == ["lamps", "piers"]
    assert found["overall"]["groups"] == 5
    assert found["overall"]["detection"]["recall"]["count"] == 3
    assert found["overall"]["label_accuracy"]["value"] == 1
    assert found["labeler"] == "choice(scripted)"


def test_probabilities_of_a_labeler_stand_beside_how_often_it_is_right(
    run: Run, lamps: Path, tmp_path: Path
) -> None:
    shown = run("--data", lamps, "--labeler", "choice", "--picture", tmp_path / "curve.svg")
    assert shown.exit_code == 0, shown.stderr
    assert "expected calibration error" in shown.stdout
    assert (tmp_path / "curve.svg").read_bytes().startswith(b"<?xml")

    without = run("--data", lamps, "--picture", tmp_path / "none.png")
    assert without.exit_code == 0
    assert "json(scripted) gives no probabilities" in without.stderr
    assert not (tmp_path / "none.png").exists()


def test_a_sample_has_as_many_conflicts_as_others(run: Run, lamps: Path) -> None:
    shown = run("--data", lamps, "--sample", "2", "--json")
    overall = json.loads(shown.stdout)["overall"]
    assert (overall["groups"], overall["conflicts"]) == (2, 1)


@pytest.fixture
def piers(tmp_path: Path) -> str:
    """AmbigDocs in its published form: two entities of one name, lit in different years."""

    def question(n: int) -> dict[str, Any]:
        documents = [
            {"title": f"Pier {n}", "text": f"The lamp of Pier {n}. {y}", "pid": "1", "answer": y}
            for y in ("1871", "1874")
        ]
        return {"qid": f"q{n}", "question": f"When was Pier {n} lit?", "documents": documents}

    file = tmp_path / "test.json"
    file.write_text(json.dumps([question(n) for n in range(6)]))
    return f"ambigdocs:{file}"


def test_a_model_writes_the_claims_and_none_is_asked_for_twice(
    run: Run, piers: str, world: Writer
) -> None:
    command = ("--data", piers, "--write-claims", "writer")
    world.unable = ("Pier 2",)
    stopped = run(*command)
    assert stopped.exit_code == 1

    world.unable = ()
    shown = run(*command)
    assert shown.exit_code == 0, shown.stderr
    assert world.asked["claim"] == 7
    assert "Claims written by writer: 1 call" in shown.stderr
    claims = [f"The lamp of Pier {n} was lit in 1871." for n in range(6)]
    assert all(any(claim in prompt for claim in claims) for prompt in world.prompts["label"])


def test_the_papers_figures_stand_below_those_of_its_sets(run: Run, piers: str) -> None:
    shown = run("--data", piers, "--paper-counts")
    assert ["paper", "99.6", "89.3", "94.2", "95.1", "99.7"] in rows(shown)
    assert "Table 2, GPT-4.1" in shown.stdout
    assert "ambigdocs 291 and 360" in " ".join(shown.stdout.split())
    assert "overall" not in shown.stdout


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (["--data", "none.jsonl"], "none.jsonl: cannot be read"),
        (["--data", "lamps_groups.jsonl", "--sample", "1"], "1 is not in the range x>=2"),
        (
            ["--data", "lamps_groups.jsonl", "--write-claims", "x"],
            "these files already contain claims",
        ),
        (
            ["--data", "lamps_groups.jsonl", "--paper-counts"],
            "'lamps' is not one of ConflictBench's",
        ),
        (
            ["--data", "lamps_groups.jsonl", "--paper-counts", "--sample", "2"],
            "give --sample or --paper-counts, not both",
        ),
        (["--data", "contraqa:lamps_groups.jsonl"], "corpus.json: cannot be read"),
        (["--data", "lamps_groups.jsonl", "--picture", "x.pdf"], "must end in .svg or .png"),
        (["--data", "lamps_groups.jsonl", "--picture", "no/x.svg"], "--picture: no/x.svg is in a"),
        (["--data", "lamps_groups.jsonl", "--out", "no/x.jsonl"], "folder that does not exist"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line_and_costs_nothing(
    run: Run, lamps: Path, world: World, args: list[str], complaint: str
) -> None:
    shown = run(*args)
    assert shown.exit_code == 2
    assert complaint in shown.stderr
    assert shown.stderr.count("\n") == 1
    assert not world.asked
