import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from conflictscore.benchmarks.registry import open_benchmark
from conflictscore.cli import main
from conflictscore.errors import InputError
from conflictscore.prompts import PromptSet
from tests.benchmarks.truthfulqa.files import write_jsonl
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer, Reply
from tests.world import DISAGREEING, World

STYLES = ["rag", "balanced", "super-balanced"]
_LAMP = re.compile(r"report (?:of three paragraphs )?on Lamp (\d)")


class Writers(World):
    """Writes plainly, and omits disputed facts if asked to take care."""

    def __call__(self, request: ChatRequest) -> Reply | str | Fault:
        prompt = request.prompt
        if topic := _LAMP.search(prompt):
            when = f"The lamp of report {topic[1]} was lit in 1871."
            if "Rules:" in prompt:
                when = f"Some say that the lamp of report {topic[1]} is old."
            elif "care" in prompt:
                when = f"Sources differ on the lamp of report {topic[1]}."
            self.answer = f"{when}\n\nThe tower is white."
        said = prompt.partition("<answer>")[2].partition("</answer>")[0].split("\n\n")
        self.decomposition = "\n".join(["Claims:", *(f"- {claim.strip()}" for claim in said)])
        return super().__call__(request)


def group(number: int, *, conflict: bool = True) -> dict[str, Any]:
    first = {"text": f"The lamp was lit in 1871, says log {number}."}
    docs = [first, *DISAGREEING]
    return {"id": f"g{number}", "claim": f"Lamp {number}", "docs": docs, "has_conflict": conflict}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_jsonl(Path("lamps.jsonl"), [group(1), group(2), group(3, conflict=False)])


def bench(server: OpenAIServer, *more: str) -> Result:
    given = ["--model", "scripted", "--base-url", server.base_url, "--no-cache", "--quiet"]
    if "--data" not in more:
        given += ["--data", "lamps.jsonl"]
    return CliRunner().invoke(main, ["bench", "reports", *given, "--concurrency", "1", *more])


def figures(server: OpenAIServer, *more: str) -> dict[str, Any]:
    done = bench(server, "--json", *more)
    assert done.exit_code == 0, done.output
    shown: dict[str, Any] = json.loads(done.stdout)
    return shown


def test_each_topic_with_conflict_is_written_on_by_each_prompt_and_scored() -> None:
    world = Writers()
    with OpenAIServer(world) as server:
        shown = figures(server)
        asked = len(server.requests)
        assert figures(server) == shown
        assert len(server.requests) == asked, "a run that ended asks nothing more"
    assert [one["method"] for one in shown["methods"]] == STYLES
    assert (shown["questions"], shown["ended"], shown["failed"]) == (2, 2, 0)
    rag, *careful = (one["measures"] for one in shown["methods"])
    # one of two claims has documents on both sides: two say 1871, and one says 1874
    assert rag["cs-c"]["value"] == pytest.approx(1 / 2)
    assert rag["cs-r"]["value"] == pytest.approx((1 / 3 + 0) / 2)
    assert [one["cs-c"]["value"] for one in careful] == [0, 0]
    assert shown["cost"]["usage"]["scripted"]["calls"] == sum(world.asked.values())
    # the loop's score of the plain report is not computed again
    assert (world.asked["generate"], world.asked["decompose"]) == (6, 6)
    lines = Path("runs/reports-free-form/records.jsonl").read_text().splitlines()
    graded = [one for one in map(json.loads, lines) if one["step"] == "grade"]
    assert [bool(one["usage"]) for one in graded] == [False, True, True] * 2


def test_less_conflict_is_better_in_pairs_tables_page_and_export() -> None:
    with OpenAIServer(Writers()) as server:
        shown = figures(server)
        printed = bench(server).stdout
    assert shown["falling"] == ["cs-c", "cs-r"]
    for pair in shown["paired"]:
        assert (pair["n"], pair["corrected"], pair["harmed"]) == (2, 2, 0)
        assert pair["difference"]["value"] < 0
    assert shown["cost"]["net_corrections"] == {"balanced": 2, "super-balanced": 2}
    lines = [line.split() for line in printed.splitlines()]
    assert ["method", "n", "lower", "higher", "p", "Holm", "points", "95", "%", "interval"] in lines
    assert ["balanced", "2", "2", "0", "0.500", "1.000", "-50.0", "none"] in lines
    assert "0 is best" in printed
    assert "52.38" in printed, "the paper's figures stand beside"
    invoke = CliRunner().invoke
    page = invoke(main, ["report", "runs/reports-free-form"])
    assert page.exit_code == 0, page.output
    html = Path("runs/reports-free-form/report.html").read_text()
    assert '<th scope="col">Lower</th><th scope="col">Higher</th>' in html
    assert "Lower less higher" in html
    exported = invoke(main, ["export", "runs/reports-free-form", "--to", "reports.jsonl"])
    assert exported.exit_code == 0, exported.output
    rows = [json.loads(line) for line in Path("reports.jsonl").read_text().splitlines()]
    assert [(row["method"], row["kind"], row["cs_c"], row["claims"]) for row in rows[:3]] == [
        ("rag", None, 0.5, 2),
        ("balanced", "correction", 0.0, 2),
        ("super-balanced", "correction", 0.0, 2),
    ]
    told = "1 of 2 claims have documents on both sides; 8 of 8 pairs of claim and document are"
    assert told in rows[0]["cs-c_explanation"]


def test_what_failed_is_counted_and_tried_again_where_that_is_asked_for() -> None:
    world = Writers(broken={"decompose": Fault(400, message="no")})
    with OpenAIServer(world) as server:
        shown = figures(server, "--methods", "balanced")
        assert [one["unjudged"]["cs-c"] for one in shown["methods"]] == [2, 2]
        assert "could not be split into claims" in bench(server, "--methods", "balanced").stdout
        world.broken.clear()
        assert figures(server, "--methods", "balanced") == shown
        mended = figures(server, "--methods", "balanced", "--retry-failed")
    assert [one["measures"]["cs-c"]["n"] for one in mended["methods"]] == [2, 2]
    assert world.asked["generate"] == 4


def test_a_report_that_claims_nothing_is_in_no_mean() -> None:
    world = World(answer="Nothing is known.", decomposition="Claims:")
    with OpenAIServer(world) as server:
        shown = figures(server, "--methods", "rag", "--sample", "1")
    [rag] = shown["methods"]
    assert (rag["unjudged"]["cs-c"], rag["failed"]) == (1, 0)
    assert rag["measures"]["cs-c"]["value"] is None


def test_topics_without_conflict_are_left_out_and_told() -> None:
    write_jsonl(Path("agreed.jsonl"), [group(1, conflict=False)])
    with OpenAIServer(Writers()) as server:
        done = bench(server, "--data", "agreed.jsonl")
        assert done.exit_code == 2
        assert "there is no topic whose documents disagree" in done.stderr
        assert (
            "topics left out because their documents do not disagree: 1"
            in bench(server, "--methods", "rag").stderr
        )


def test_several_files_are_one_run_and_two_of_one_name_are_refused() -> None:
    Path("other").mkdir()
    write_jsonl(Path("other/lamps.jsonl"), [group(4)])
    write_jsonl(Path("towers.jsonl"), [group(1)])
    with OpenAIServer(Writers()) as server:
        twice = bench(server, "--data", "lamps.jsonl", "--data", "other/lamps.jsonl")
        assert twice.exit_code == 2
        assert "other/lamps.jsonl: has the same name as lamps.jsonl; rename one" in twice.stderr
        both = ("--data", "lamps.jsonl", "--data", "towers.jsonl", "--methods", "rag")
        shown = figures(server, *both)
    assert [one["category"] for one in shown["categories"]] == ["lamps", "towers"]
    manifest = json.loads(Path("runs/reports-free-form/manifest.json").read_text())
    assert set(manifest["hashes"]) == {"data lamps", "data towers"}
    assert manifest["configuration"]["falling"] == ["cs-c", "cs-r"]


def test_a_benchmark_of_one_file_takes_no_second_and_no_option_of_another() -> None:
    with pytest.raises(InputError, match="ramdocs takes one file, but 2 were given"):
        open_benchmark("ramdocs", ["a.jsonl", "b.jsonl"])
    with pytest.raises(InputError, match="reports needs data, but no file was given"):
        open_benchmark("reports", [])
    with pytest.raises(InputError, match="ramdocs has no option 'error_types'"):
        open_benchmark("ramdocs", "a.jsonl", error_types=True)


def test_a_dry_run_counts_the_reports_and_their_scores() -> None:
    world = Writers()
    with OpenAIServer(world) as server:
        left = json.loads(bench(server, "--dry-run", "--json").stdout)
        assert not server.requests
        calls = {row["step"]: row["calls"] for row in left["low"] if row["model"]}
        # for each report: one call to decompose it, and for 14 claims, a call for each of four
        # documents
        assert calls == {
            "loop": 2 * (1 + 1 + 14 * 4),
            "balanced": 2,
            "super-balanced": 2,
            "grade": 2 * 2 * (1 + 14 * 4),
        }


def test_a_report_has_room_for_three_paragraphs_and_shows_topic_and_documents() -> None:
    world = Writers()
    with OpenAIServer(world) as server:
        bench(server, "--methods", "all", "--sample", "1")
        written = [r for r in server.requests if "three paragraphs" in r.prompt]
    assert len(written) == 3
    for request in written:
        assert _LAMP.search(request.prompt)
        assert '<document number="4"' in request.prompt
        assert request.body["max_completion_tokens"] == 1024
    prompts = PromptSet.load("paper")
    names = ["report_rag", "report_balanced", "report_super_balanced"]
    texts = [prompts.render(name, question="t", documents="d") for name in names]
    assert ["hedge" in text.lower() for text in texts] == [False, True, True]


def test_the_words_of_a_prompt_are_overridden_by_its_own_name() -> None:
    Path("own").mkdir()
    Path("own/free_form_rag.txt").write_text("$question $documents")
    with OpenAIServer(Writers()) as server:
        done = bench(server, "--prompts", "own")
    assert done.exit_code == 2
    assert "report_rag.txt is used here instead" in done.stderr


def test_topics_are_named_and_shown_before_a_report_is_paid_for() -> None:
    class Namer(Writers):
        def __call__(self, request: ChatRequest) -> Reply | str | Fault:
            if "Name its main entity" in request.prompt:
                return f"Lamp {re.findall(r'lamp (.) lit', request.prompt)[0]}"
            return super().__call__(request)

    rows = [{**group(n), "question": f"Was lamp {n} lit in 1871?"} for n in (1, 2)]
    write_jsonl(Path("asked.jsonl"), rows)
    with OpenAIServer(Namer()) as server:
        named = bench(server, "--data", "asked.jsonl", "--write-topics", "topics.jsonl")
        assert named.exit_code == 0, named.output
        assert "Was lamp 2 lit in 1871?\n    Lamp 2\n" in named.output
        assert len(server.requests) == 2
        assert not Path("runs").exists()
        done = bench(server, "--data", "topics.jsonl", "--methods", "rag")
        assert done.exit_code == 0, done.output
    asked = [request.prompt for request in server.requests[2:]]
    assert any("on Lamp 2" in prompt for prompt in asked)
    assert not any("Was lamp" in prompt for prompt in asked)
