"""Reports written and scored over real connections, their figures, and the command."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from conflictscore.benchmarks.reports.figures import report_figures
from conflictscore.benchmarks.reports.run import ReportRow
from conflictscore.benchmarks.reports.writing import Report, Style
from conflictscore.cli.errors import OneLineErrors
from conflictscore.cli.reports import reports
from conflictscore.records import ConflictReport
from tests.benchmarks.truthfulqa.files import write_jsonl
from tests.fakes.openai_server import Fault, OpenAIServer
from tests.world import DISAGREEING, World

REPORT = "The lamp was lit in 1871.\n\nThe tower is white."
CLAIMS = "Claims:\n- The lamp was lit in 1871.\n- The tower is white."


def group(number: int, *, conflict: bool = True) -> dict[str, Any]:
    first = {"text": f"The lamp was lit in 1871, says log {number}."}
    docs = [first, *DISAGREEING]
    return {"id": f"g{number}", "claim": f"Lamp {number}", "docs": docs, "has_conflict": conflict}


def run(*args: str) -> Result:
    return CliRunner().invoke(OneLineErrors("conflictscore", [reports]), ["reports", *args])


class Command:
    """The command, with the topics of a folder."""

    def __init__(self, folder: Path) -> None:
        self.out = folder / "runs" / "r.jsonl"
        rows = [group(1), group(2), group(3, conflict=False)]
        self.topics = write_jsonl(folder / "lamps.jsonl", rows)

    def __call__(self, server: OpenAIServer, *more: str) -> Result:
        given = ["--topics", str(self.topics), "--model", "scripted", "--no-cache"]
        given += ["--base-url", server.base_url, "--out", str(self.out), *more]
        return run(*given)

    def figures(self, server: OpenAIServer, *more: str) -> dict[str, Any]:
        done = self(server, "--json", *more)
        assert done.exit_code == 0, done.output
        shown: dict[str, Any] = json.loads(done.stdout)
        return shown

    def rows(self) -> list[ReportRow]:
        return [ReportRow.model_validate_json(line) for line in self.out.open().readlines()[1:]]


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(tmp_path)


def test_each_topic_with_conflict_is_written_on_by_each_prompt_and_scored(command: Command) -> None:
    world = World(answer=REPORT, decomposition=CLAIMS)
    with OpenAIServer(world) as server:
        shown = command.figures(server)
    assert shown["topics"] == 2
    assert [one["style"] for one in shown["prompts"]] == ["rag", "balanced", "super-balanced"]
    for one in shown["prompts"]:
        assert (one["reports"], one["failed"], one["unscored"]) == (2, 0, 0)
        # one of two claims has documents on both sides: two say 1871, one says 1874
        assert one["cs_c"]["value"] == pytest.approx(1 / 2)
        assert one["cs_r"]["value"] == pytest.approx((1 / 3 + 0) / 2)
        assert one["paragraphs"]["value"] == 2
    assert (world.asked["generate"], world.asked["decompose"]) == (6, 6)
    assert shown["usage"]["calls"] == sum(world.asked.values())
    rows = command.rows()
    assert [row.done for row in rows].count(True) == len(rows) / 2 == 6


def test_the_same_command_goes_on_and_writes_no_report_again(command: Command) -> None:
    world = World(answer=REPORT, decomposition=CLAIMS)
    with OpenAIServer(world) as server:
        command.figures(server, "--prompt", "rag", "--concurrency", "1")
        lines = command.out.read_bytes().splitlines(keepends=True)
        assert len(lines) == 1 + 2 * 2
        # killed while the second report was scored
        command.out.write_bytes(b"".join(lines[:4]) + lines[4][:30])
        before = world.asked.copy()
        done = command(server, "--prompt", "rag")
        assert "half a line at its end was cut off" in done.stderr
        assert "2 of 2 reports scored" in done.stderr
    assert world.asked["generate"] == before["generate"] == 2
    assert world.asked["decompose"] - before["decompose"] == 1


def test_what_failed_is_counted_and_tried_again_by_the_same_command(command: Command) -> None:
    world = World(answer=REPORT, broken={"generate": Fault(400, message="no")})
    with OpenAIServer(world) as server:
        done = command(server, "--prompt", "balanced")
        assert done.exit_code == 1
        assert "2 reports failed; the same command tries them again" in done.stdout
        assert (
            "conflictscore: no report could be scored: the report could not be written"
            in done.stderr
        )
        world.broken = {"decompose": Fault(400, message="no")}
        done = command(server, "--prompt", "balanced", "--json")
        assert done.exit_code == 1
        assert (
            "conflictscore: no report could be scored: the answer could not be taken" in done.stderr
        )
        [figures] = json.loads(done.stdout)["prompts"]
        assert (figures["reports"], figures["failed"], figures["cs_c"]["n"]) == (2, 2, 0)
        world.broken.clear()
        [figures] = command.figures(server, "--prompt", "balanced")["prompts"]
    assert (figures["failed"], figures["cs_c"]["n"]) == (0, 2)
    assert world.asked["generate"] == 4  # two failed, two wrote


def test_a_report_that_claims_nothing_has_no_score_and_is_not_asked_again(command: Command) -> None:
    world = World(answer="Nothing is known.", decomposition="Claims:")
    with OpenAIServer(world) as server:
        for _ in range(2):
            [figures] = command.figures(server, "--prompt", "rag", "--sample", "1")["prompts"]
    assert (figures["unscored"], figures["failed"], figures["cs_c"]["value"]) == (1, 0, None)
    assert world.asked["generate"] == 1


def test_rows_of_another_judge_or_prompt_are_not_gone_on_with(
    command: Command, tmp_path: Path
) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "report_rag.txt").write_text("$topic $documents")
    with OpenAIServer(World(answer=REPORT, decomposition=CLAIMS)) as server:
        command.figures(server, "--sample", "1")
        for more, field in [
            (["--prompts", str(own)], "prompts"),
            (["--judge", "another"], "decomposer"),
            (["--max-claims", "1"], "max_claims"),
        ]:
            done = command(server, *more)
            assert done.exit_code == 2
            assert f"row 1, field {field}: its rows were made with" in done.stderr


def test_topics_without_conflict_are_taken_only_when_asked_for(command: Command) -> None:
    write_jsonl(command.topics, [group(1, conflict=False)])
    with OpenAIServer(World(answer=REPORT, decomposition=CLAIMS)) as server:
        done = command(server)
        assert done.stderr == (
            "conflictscore: no topic has documents in conflict; take all with --any-topic\n"
        )
        assert command.figures(server, "--any-topic", "--prompt", "rag")["topics"] == 1


def test_two_files_of_one_name_are_refused(command: Command, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = write_jsonl(tmp_path / "other" / "lamps.jsonl", [group(4)])
    with OpenAIServer(World()) as server:
        done = command(server, "--topics", str(other))
    assert done.exit_code == 2
    assert f"--topics {other}: it has the name of {command.topics}; rename one" in done.stderr


def test_a_wrong_key_ends_the_run_in_one_line(command: Command) -> None:
    with OpenAIServer(World(), api_key="another") as server:
        done = command(server)
    assert done.exit_code == 2
    assert done.stderr.splitlines()[-1].startswith("conflictscore: ")
    assert command.rows() == []


def test_a_spent_budget_stops_the_run_and_a_higher_one_goes_on(command: Command) -> None:
    world = World(answer=REPORT, decomposition=CLAIMS)
    one = ["--prompt", "rag", "--concurrency", "1"]
    with OpenAIServer(world) as server:
        done = command(server, *one, "--max-tokens", "1", "--json")
        assert done.exit_code == 3, done.output
        assert json.loads(done.stdout)["money"] is None, "nobody knows the price of scripted"
        assert server.requests[1:] == []
        assert command(server, *one, "--max-tokens", "1").exit_code == 3
        assert server.requests[1:] == [], "what an earlier session spent counts"
        assert command.figures(server, *one)["prompts"][0]["cs_c"]["n"] == 2
    assert world.asked["generate"] == 2


def test_a_price_file_makes_the_cost_known(command: Command, tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text("[models.scripted]\ninput = 1.0\noutput = 4.0\n")
    with OpenAIServer(World(answer=REPORT, decomposition=CLAIMS)) as server:
        done = command(server, "--prompt", "rag", "--sample", "1", "--prices", str(prices))
        assert done.exit_code == 0, done.output
        assert "cost $0.0" in done.stdout
        refused = command(server, "--max-cost", "1")
    assert refused.exit_code == 2
    assert "scripted" in refused.stderr


def test_help_says_which_sets_fit() -> None:
    done = run("--help")
    assert done.exit_code == 0
    assert "Sets that fit: ConflictingQA, Perspectrum" in done.output


# Figures

SCORES = st.floats(0, 1).map(lambda value: round(value, 3))


def row(topic: str, style: Style, cs_c: float | None, **more: Any) -> ReportRow:
    score = ConflictReport(cs_c=cs_c, cs_r=cs_c, coverage=None if cs_c is None else 1.0)
    return ReportRow(
        set="s",
        topic=topic,
        about="Lamps",
        style=style,
        report=Report(text="x", paragraphs=1),
        score=score,
        **more,
    )


@settings(deadline=None, max_examples=15)  # each example resamples twelve means
@given(st.dictionaries(st.text(max_size=3), st.tuples(SCORES, SCORES), min_size=1, max_size=6))
def test_a_difference_is_that_of_the_means_over_the_same_topics(
    scores: dict[str, tuple[float, float]],
) -> None:
    rows = [row(topic, Style.RAG, plain) for topic, (plain, _) in scores.items()]
    rows += [row(topic, Style.BALANCED, said) for topic, (_, said) in scores.items()]
    rag, balanced = report_figures(rows[::-1])
    assert rag.cs_c_difference is rag.cs_r_difference is None
    assert rag.cs_c.value is not None
    assert balanced.cs_c.value is not None
    assert balanced.cs_c_difference is not None
    difference = balanced.cs_c.value - rag.cs_c.value
    assert balanced.cs_c_difference.value == pytest.approx(difference, abs=1e-9)
    assert balanced.cs_c_difference.n == len(scores)
    assert 0 <= rag.cs_c.value <= 1


def test_a_topic_that_one_prompt_has_no_score_for_is_in_no_difference() -> None:
    rows = [
        row("a", Style.RAG, 0.5),
        row("b", Style.RAG, None),
        row("c", Style.RAG, 0.9),
        row("a", Style.BALANCED, 0.25),
        row("b", Style.BALANCED, 1.0),
    ]
    rag, balanced = report_figures(rows)
    assert (rag.cs_c.n, rag.unscored, balanced.cs_c.n) == (2, 1, 2)
    assert balanced.cs_c_difference is not None
    assert (balanced.cs_c_difference.value, balanced.cs_c_difference.n) == (-0.25, 1)


def test_the_last_row_of_a_report_counts() -> None:
    failed = row("a", Style.RAG, 0.5, error="down").model_copy(update={"score": None})
    [figures] = report_figures([failed, row("a", Style.RAG, 0.5)])
    assert (figures.reports, figures.failed, figures.cs_c.value) == (1, 0, 0.5)
