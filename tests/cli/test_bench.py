"""``conflictscore bench``, ``report`` and ``export`` as a user types them."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from conflictscore.benchmarks.entry import Entry
from conflictscore.benchmarks.harness.methods.method_opening import method_of
from conflictscore.benchmarks.harness.methods.registry import COMMON_METHODS
from conflictscore.benchmarks.registry import BENCHMARKS, open_benchmark
from conflictscore.cli import main
from tests.benchmarks.harness.quiz import RIGHT, WRONG, Quiz
from tests.benchmarks.truthfulqa.files import REAL, keepers, lamps_csv, write_jsonl
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer
from tests.nli_model import make_nli_model

LAMPS = 4

FILES = {
    "truthfulqa": "truthfulqa/TruthfulQA.csv",
    "ramdocs": "ramdocs/ramdocs.jsonl",
    "conflicts": "conflicts/conflicts.jsonl",
    "natconfqa": "natconfqa/questions.jsonl",
    "natconfqa-no-conflict": "natconfqa/questions.jsonl",
    "wikicontradict": "wikicontradict/questions.jsonl",
    "reports": "conflicts/conflicts.jsonl",
}
"""Where the real data of each benchmark is."""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lamps_csv(Path("TruthfulQA.csv"), LAMPS)
    write_jsonl(Path("pages.jsonl"), [{"text": text} for text in keepers(LAMPS)])


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(Quiz(first={1: RIGHT}, second={1: WRONG})) as served:
        yield served


def run(*args: str) -> Result:
    return CliRunner().invoke(main, args)


def bench(server: OpenAIServer, *args: str) -> Result:
    model = ["--model", "scripted", "--base-url", server.base_url, "--labeler", "choice"]
    data = ["--data", "TruthfulQA.csv", "--docs", "pages.jsonl", "--top-k", "3"]
    return run("bench", "truthfulqa", *data, *model, "--out", "runs/mc", *args)


def test_a_run_ends_with_tables_and_the_same_command_asks_nothing_more(
    server: OpenAIServer,
) -> None:
    first = bench(server, "--methods", "all")
    assert first.exit_code == 0, first.stderr
    assert "regenerated-rag" in first.stdout
    assert "84.21" in first.stdout, "the paper's figures stand beside"
    asked = len(server.requests)
    second = bench(server, "--methods", "all")
    assert second.exit_code == 0
    assert len(server.requests) == asked
    assert "conflictscore report runs/mc" in second.stderr


def test_seeds_are_one_study_that_pays_once_for_what_does_not_change(
    server: OpenAIServer,
) -> None:
    free = ("--form", "free-form", "--sample", "3", "--quiet")
    assert bench(server, *free).exit_code == 0
    alone = len(server.requests)
    seeds = (*free, "--out", "runs/study", "--seeds", "2", "--temperature", "0")
    study = bench(server, *seeds, "--json")
    assert study.exit_code == 0, study.stderr
    assert "measures only the endpoint's own variation" in study.stderr
    assert json.loads(Path("runs/study/figures.json").read_text()) == json.loads(study.stdout)[0]
    [told] = json.loads(study.stdout)
    assert (told["runs"], told["in_all"]) == (["seed-0", "seed-1"], 3)
    # the first run is in the cache; the second asks for answers and verdicts again
    again = len(server.requests) - alone
    assert 0 < again <= alone / 2
    assert told["noise"][0]["answers"] == {"value": 0.0, "low": None, "high": None, "n": 6}
    steps = [
        json.loads(line)
        for line in Path("runs/study/seed-1/records.jsonl").read_text().splitlines()
    ]
    assert all(not step["usage"] for step in steps if step["step"] == "documents")

    asked = len(server.requests)
    assert bench(server, *seeds).exit_code == 0
    assert len(server.requests) == asked
    page = run("report", "runs/study")
    assert page.exit_code == 0, page.stderr
    assert "Pooled against rag, by question: truthful" in page.stdout
    assert "All runs together" in Path("runs/study/report.html").read_text()
    run("export", "runs/study", "--figures", "figures.csv")
    assert "all runs,Flips in several runs" in Path("figures.csv").read_text()

    Path("runs/study/seed-1").rename("runs/study/seed-old")  # as people keep a run aside
    renamed = run("report", "runs/study")
    assert renamed.exit_code == 0, renamed.stderr
    assert "seed-old" in Path("runs/study/report.html").read_text()


def test_seeds_sample_their_answers_and_nothing_else(server: OpenAIServer) -> None:
    study = bench(server, "--sample", "2", "--quiet", "--seeds", "2", "--methods", "rag")
    assert study.exit_code == 0, study.stderr
    assert "temperature of the answers: 0.7" in study.stdout
    by_temperature: dict[float, set[bool]] = {}
    for request in server.requests:
        is_answer = "\n(A) " in str(request.messages[-1]["content"])
        by_temperature.setdefault(request.body["temperature"], set()).add(is_answer)
    assert by_temperature[0.7] == {True}
    for seed in (0, 1):
        manifest = json.loads(Path(f"runs/mc/seed-{seed}/manifest.json").read_text())
        assert manifest["configuration"]["temperature"] == 0.7
        assert manifest["configuration"]["model"]["parameters"]["temperature"] == 0.7


def part_of_lamps(name: str, questions: slice) -> tuple[str, ...]:
    """Arguments for a run of some of the lamps."""
    header, *rows = Path("TruthfulQA.csv").read_text().splitlines(keepends=True)
    Path(f"{name}.csv").write_text(header + "".join(rows[questions]))
    return ("--data", f"{name}.csv", "--out", f"runs/{name}", "--quiet")


def test_runs_of_the_parts_of_a_file_are_reported_as_the_run_of_the_whole(
    server: OpenAIServer,
) -> None:
    parts = [("first", slice(0, 1)), ("second", slice(1, 4)), ("overlapping", slice(0, 2))]
    for name, questions in parts:
        assert bench(server, *part_of_lamps(name, questions)).exit_code == 0
    assert bench(server, "--quiet").exit_code == 0

    for runs, out in (("runs/mc",), "whole.csv"), (("runs/first", "runs/second"), "merged.csv"):
        exported = run("export", *runs, "--figures", out)
        assert exported.exit_code == 0, exported.stderr
    figures = [
        [line for line in Path(out).read_text().splitlines() if ",Cost" not in line]
        for out in ("whole.csv", "merged.csv")
    ]
    assert figures[0] == [line.replace("first + second", "mc") for line in figures[1]]
    assert len(figures[0]) > 50
    page = run("report", "runs/first", "runs/second")
    assert page.exit_code == 0, page.stderr
    assert "first + second" in Path("runs/first/report.html").read_text()

    no_study = run("report", "runs/first", "runs/second", "--json")
    assert json.loads(no_study.stdout) == []
    assert no_study.stderr.startswith("Note: there is no study, ")

    apart = run("report", "runs/overlapping", "runs/second")
    assert apart.exit_code == 2
    assert "overlapping and second: 1 question is in both" in apart.stderr
    apart = run("report", "runs/first", "runs/second", "runs/overlapping")
    assert "first and overlapping: 1 question is in both" in apart.stderr

    for command in ("report",), ("export", "--to", "twice.csv"):
        twice = run(*command, "runs/first", "runs/../runs/first")
        assert (twice.exit_code, twice.stdout) == (2, "")
        assert "runs/first: given more than once; give each run once" in twice.stderr


def test_runs_of_different_questions_are_no_study(server: OpenAIServer) -> None:
    for name, questions in (("first", slice(0, 1)), ("second", slice(1, 4))):
        methods = ("--methods", "rag" if name == "first" else "rag,control-rag")
        assert bench(server, *part_of_lamps(name, questions), *methods).exit_code == 0
    study = run("report", "runs/first", "runs/second", "--json")
    assert json.loads(study.stdout) == []
    written = run("report", "runs/first", "runs/second", "--json", "--out", "study.json")
    assert (written.exit_code, json.loads(Path("study.json").read_text())) == (0, [])
    assert written.stdout == "Wrote study.json\n"
    notes = study.stderr.splitlines()
    assert [line.partition(":")[2].partition(":")[0].strip() for line in notes] == [
        "first",
        "second",
    ]


def test_json_gives_the_figures(server: OpenAIServer) -> None:
    result = bench(server, "--json", "--quiet")
    assert result.exit_code == 0, result.stderr
    figures = json.loads(result.stdout)
    assert figures == json.loads(Path("runs/mc/figures.json").read_text())
    assert figures["ended"] == LAMPS


DRY = ("--dry-run", "--methods", "rag")


def least_calls(server: OpenAIServer, *args: str) -> float:
    said = bench(server, *DRY, "--json", *args)
    assert said.exit_code == 0, said.stderr
    calls: float = json.loads(said.stdout)["low"][-1]["calls"]
    return calls


def test_labels_are_counted_as_the_labeler_makes_them(server: OpenAIServer, tmp_path: Path) -> None:
    assert least_calls(server, "--labeler", "choice") == LAMPS * (1 + 3)
    model = make_nli_model(tmp_path / "nli")
    assert least_calls(server, "--labeler", f"nli:model={model}") == LAMPS
    cascade = f"cascade:model={model}"
    assert least_calls(server, "--labeler", cascade) == LAMPS * (1 + 3)
    shown = bench(server, *DRY, "--seeds", "3")
    assert shown.exit_code == 0, shown.stderr
    said = " ".join(shown.stdout.split())
    assert "unknown (no price for scripted)" in said
    assert (
        "To show this gain of +1.0, a run needs 2,424 questions. The 4 questions of this run"
        in said
    )
    assert "3 runs cost at most 3 times as much" in said
    assert not server.requests
    assert not Path("runs").exists()


def test_a_spent_budget_ends_with_its_own_exit_code_and_is_that_of_all_seeds(
    server: OpenAIServer,
) -> None:
    spent = ("--max-tokens", "1", "--concurrency", "1")
    study = ("--out", "runs/study", "--seeds", "2", "--no-cache")
    results = [bench(server, *spent), bench(server, *spent, *study)]
    assert [result.exit_code for result in results] == [3, 3]
    assert "not paid for twice" in results[0].stderr
    assert not Path("runs/study/seed-1").exists()
    assert bench(server).exit_code == 0


def test_a_run_that_answered_nothing_says_so_and_fails() -> None:
    def broken(request: ChatRequest) -> Fault:
        return Fault(status=400, message="out of order")

    with OpenAIServer(broken) as server:
        result = bench(server)
    assert result.exit_code == 1
    assert "no question was answered" in result.stderr
    assert "out of order" in result.stdout


def test_every_benchmark_is_a_command_whose_help_has_an_example_and_its_methods() -> None:
    for entry in BENCHMARKS.values():
        said = " ".join(run("bench", entry.name, "--help").stdout.split())
        assert f"conflictscore bench {entry.name} --data" in said
        assert f"official file: {entry.data.split()[0]}" in said or entry.several
        assert entry.docs in said
        assert ", ".join(entry.methods) in said.replace("- ", "-"), "lines end at hyphens too"
        assert ("--search" in said) is entry.searches
        assert ("--answer-judge" in said) is bool(entry.judged_by)
        assert ("--form" in said) is (len(entry.forms) > 1)


@pytest.mark.parametrize("name", sorted(BENCHMARKS))
def test_what_an_entry_names_is_what_its_benchmark_offers(name: str) -> None:
    file, entry = REAL / FILES[name], BENCHMARKS[name]
    if not file.is_file():
        pytest.skip(f"needs ../shared/data/{FILES[name]}")
    for form in entry.forms:
        data = file.with_name("mc_task.json") if form in ("mc1", "mc2") else file
        opened = open_benchmark(name, data, form=form)
        fitting = [method for method in entry.methods if form in method_of(method).forms]
        assert fitting == list(opened.offered)
        assert opened.name == name


def test_a_method_that_a_benchmark_does_not_offer_is_refused(server: OpenAIServer) -> None:
    assert Entry._field_defaults["methods"] == tuple(COMMON_METHODS)
    refused = bench(server, "--methods", "oracle")
    assert refused.exit_code == 2
    assert (
        "oracle answers only in free form; in multiple choice, choose from rag, " in refused.stderr
    )
    assert not Path("runs").exists()
    assert not server.requests


def test_any_two_methods_can_be_compared_and_the_papers_pair_is_by_default(
    server: OpenAIServer,
) -> None:
    named = bench(server, "--methods", "all", "--compare", "guarded-rag:control-rag")
    assert named.exit_code == 0, named.stderr
    assert "Against control-rag, question by question" in named.stdout
    figures = json.loads(Path("runs/mc/figures.json").read_text())
    [pair] = figures["compared"]
    assert (pair["method"], pair["against"]) == ("guarded-rag", "control-rag")
    assert pair["p_holm"] >= pair["p_value"]

    assert run("report", "runs/mc").exit_code == 0
    assert "Against control-rag, question by question" in Path("runs/mc/report.html").read_text()
    run("export", "runs/mc", "--to", "answers.jsonl")
    rows = [json.loads(line) for line in Path("answers.jsonl").read_text().splitlines()]
    kinds = {row["method"]: row["against_control-rag"] for row in rows if row["option"] is not None}
    assert set(kinds) == set(COMMON_METHODS)
    # without --compare, the run's own comparison is shown
    assert all(kind is None for method, kind in kinds.items() if method != "guarded-rag")
    for pair, complaint in (("rag", "two different methods"), ("oracle:rag", "no method 'oracle'")):
        refused = run("report", "runs/mc", "--compare", pair)
        assert refused.exit_code == 2
        assert complaint in refused.stderr
