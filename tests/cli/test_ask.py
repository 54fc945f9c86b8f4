"""``conflictscore ask`` and ``score`` as a user types them, against loopback servers."""

import json
import os
import re
import threading
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from conflictscore.cli import main
from conflictscore.models.local.server import LocalServer, shared_server
from conflictscore.retrieval.reading.by_ending import ENDINGS
from tests.cli.conftest import Run
from tests.fakes.openai_server import Fault, OpenAIServer, from_cache
from tests.world import PAPER_OPTIONS, World

QUESTION = "When was the lamp lit?"


def test_the_answer_its_change_and_both_sides_are_shown(run: Run, folder: Path) -> None:
    shown = run("ask", QUESTION, "--docs", folder, "--details")

    assert shown.exit_code == 0
    assert shown.stderr == ""
    lines = [" ".join(line.split()) for line in shown.stdout.splitlines()]
    assert lines[lines.index("Answer") + 1] == "It was lit in 1874."
    assert "before It was lit in 1871." in lines
    assert "after It was lit in 1874." in lines
    assert "why The log was written on the night (Doc 2)." in lines
    assert "CS-C 1.00 CS-R 0.50 3 of 3 pairs labelled (0 is best)" in lines
    assert "1. It was lit in 1871. conflict" in lines
    assert any(line.startswith("supports ") for line in lines)
    assert any(line.startswith("contradicts ") for line in lines)
    assert any("“The log says the lamp was lit in 1874.”" in line for line in lines)
    assert "The years were compared." in lines, "the judge's reason"


def test_without_details_the_answer_is_followed_by_a_line_for_each_claim(
    run: Run, folder: Path
) -> None:
    shown = run("ask", QUESTION, "--docs", folder)

    lines = [" ".join(line.split()) for line in shown.stdout.splitlines()]
    assert lines[lines.index("Answer") + 1] == "It was lit in 1874."
    assert "why The log was written on the night (Doc 2)." in lines
    assert any(line.startswith("1. It was lit in 1874. ") for line in lines)
    assert not any(line.startswith("supports ") for line in lines)
    assert "Documents" not in lines
    assert lines[-1].endswith("details: --details")


def test_near_identical_documents_are_shown_as_such(run: Run, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    release = (
        "The lamp of the new tower was lit in 1871 in the presence of the mayor and many more."
    )
    for name in ("bugle", "times"):
        (docs / f"{name}.md").write_text(f"# {name.title()}\n\n{release} {release.upper()}\n")
    (docs / "log.md").write_text("# Log\n\nThe lamp was lit in 1874.\n")

    outcome = run("ask", QUESTION, "--docs", docs, "--details")

    lines = [" ".join(line.split()) for line in outcome.stdout.splitlines()]
    assert "supports 2, 3 (1 independent)" in lines
    assert "contradicts 1" in lines
    assert any(line.endswith("1 near-copy: 3") for line in lines)
    shown = sum(line.startswith("“The lamp of the new tower") for line in lines)
    assert shown == 2, "once for the first answer, and once for the last"
    sources = " ".join(lines).partition(" Documents ")[2]
    assert sources.count("nearly the same text") == 1
    assert re.search("3 Times .* nearly the same text as document 2 ", sources)


def test_json_is_one_object_that_cites_documents_by_number(run: Run, folder: Path) -> None:
    files = sorted(folder.iterdir())
    printed = json.loads(run("ask", QUESTION, "--docs", *files, "--json").stdout)

    assert list(printed) == [
        *("question", "method", "answer", "first_answer", "flipped", "changes", "checked"),
        *(
            "examined",
            "justification",
            "documents",
            "report",
            "final_report",
            "usage",
            "run_id",
            "notes",
        ),
    ]
    assert printed["flipped"] is True
    shown = ("number", "title", "url", "duplicate_of")
    assert [tuple(document) for document in printed["documents"]] == [shown] * 3
    [claim] = printed["report"]["claims"]
    titles = {d["number"]: d["title"] for d in printed["documents"]}
    assert [titles[n] for n in claim["supports"]] == ["Gazette"]
    assert [titles[n] for n in claim["contradicts"]] == ["Log"]
    assert set(printed["usage"]) == {
        *("calls", "cached_calls"),
        *("input_tokens", "cache_read_tokens", "output_tokens"),
    }


def test_input_that_the_provider_had_in_its_prompt_cache_is_told(
    world: World, folder: Path
) -> None:
    with OpenAIServer(from_cache(world, 30)) as server:
        endpoint = ["--model", "scripted", "--base-url", server.base_url]
        shown = CliRunner().invoke(main, ["ask", QUESTION, "--docs", str(folder), *endpoint])
    assert len(server.requests) > 3
    said = f" tokens in ({30 * len(server.requests)} from the provider's cache), "
    assert said in " ".join(shown.stdout.split())


def test_the_same_question_again_makes_no_labelling_call(
    run: Run, folder: Path, world: World
) -> None:
    first = json.loads(run("ask", QUESTION, "--docs", folder, "--json").stdout)
    asked = world.asked.copy()
    again = json.loads(run("ask", QUESTION, "--docs", folder, "--json").stdout)

    assert world.asked == asked
    assert again["answer"] == first["answer"]
    assert again["usage"]["calls"] == 0
    assert again["usage"]["cached_calls"] == first["usage"]["calls"]


def test_the_log_gains_one_whole_line_a_run(run: Run, folder: Path, tmp_path: Path) -> None:
    log = tmp_path / "flips.jsonl"
    log.write_text('{"half a line')

    for _ in range(2):
        assert run("ask", QUESTION, "--docs", folder, "--log", log).exit_code == 0

    half, *lines = log.read_text().splitlines()
    assert half == '{"half a line'
    entries = [json.loads(line) for line in lines]
    assert len(entries) == 2
    for entry in entries:
        [change] = entry["changes"]
        assert change["reason"] == "The log was written on the night (Doc 2)."
        assert [attempt["round"] for attempt in entry["attempts"]] == [0, 1]
        assert len(entry["settings"]["prompts"]["sha256"]) == 64
        assert entry["models"]["generator"] == "scripted"
        assert entry["settings"]["duplicates"] == "vote"
        assert all(document["text"] for document in entry["documents"])
    assert "sk-secret" not in log.read_text()


def test_multiple_choice_takes_two_options(run: Run, folder: Path, world: World) -> None:
    world.answer = "(A)"
    world.regenerated = "B – It was 1874.\nJustification: The log is older (Doc 1)."
    options = ["--option", "It was 1871.", "--option", "It was 1874."]

    printed = json.loads(run("ask", QUESTION, *options, "--docs", folder, "--json").stdout)

    assert (printed["first_answer"], printed["answer"]) == ("It was 1871.", "It was 1874.")
    assert printed["justification"] == "The log is older (Doc 1)."


def test_an_existing_answer_is_scored(run: Run, folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "answer.txt"
    file.write_text("It was lit in 1874.", "utf-8-sig")

    printed = json.loads(run("score", "--answer", f"@{file}", "--docs", folder, "--json").stdout)
    shown = run("score", "--answer", "It was lit in 1874.", "--docs", folder).stdout

    assert printed["answer"] == "It was lit in 1874."
    assert printed["report"]["cs_r"] == 0.5
    assert printed["report"]["claims"][0]["text"] == "It was lit in 1874."
    assert "CS-C 1.00   CS-R 0.50" in shown


@pytest.mark.parametrize("step", ["decompose", "batch"])
def test_a_score_that_could_not_be_had_is_exit_code_1(
    run: Run, world: World, folder: Path, step: str
) -> None:
    world.broken[step] = Fault(400, message="no GPU")

    failed = run("score", "--answer", "It was lit in 1874.", "--docs", folder, "--json")

    assert failed.exit_code == 1
    assert json.loads(failed.stdout)["report"]["cs_c"] is None
    assert "no GPU" in failed.stdout


def test_escape_sequences_of_a_document_never_reach_the_terminal(
    run: Run, world: World, tmp_path: Path
) -> None:
    (tmp_path / "evil.md").write_text("# \x1b]0;owned\x07Title [red]\n\nThe lamp was lit in 1871.")
    world.answer = "It was \x1b[2Jlit in 1871. [link=file:///etc/passwd]x[/link]"

    shown = run("ask", QUESTION, "--docs", tmp_path / "evil.md").stdout

    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "[link=file:///etc/passwd]x[/link]" in shown


def _line(result: Result) -> str:
    [line] = result.stderr.splitlines()
    return line


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["  ", "--docs", "DOCS"], "the question is empty"),
        ([QUESTION, "--docs", "nowhere.md"], "nowhere.md"),
        ([QUESTION, "--docs", "EMPTY"], "EMPTY"),
        (
            [QUESTION, "--docs", "DOCS", "--option", "only one"],
            "at least two options with text, got 1",
        ),
        (
            [QUESTION, "--docs", "DOCS", "--option", "one", "--option", "two", "--option", " "],
            "option 3 has no text",
        ),
        (
            [QUESTION, "--docs", "DOCS", "--option", "Same", "--option", "same"],
            "two options are equal",
        ),
        ([QUESTION], "--docs PATH"),
        ([QUESTION, "--docs", "DOCS", "--search", "altavista"], "altavista"),
        ([QUESTION, "--search", "google"], "GOOGLE_API_KEY"),
        ([QUESTION, "--docs", "DOCS", "--effort", "magic"], "'magic' is not one of"),
        ([QUESTION, "--docs", "DOCS", "--prompts", "nowhere"], "nowhere is not a folder"),
        ([QUESTION, "--docs", "DOCS", "--top-k", "0"], "--top-k"),
        ([QUESTION, "--docs", "LONG", "--set", "context_window=1024"], "context window"),
        ([QUESTION, "--docs", "DOCS", "--set", "context_window=1000"], "give at least 1024"),
        ([QUESTION, "--docs", "DOCS", "--set", "context_window=wide"], "give at least 1024"),
        ([QUESTION, "--docs", "DOCS", "--log", "/nowhere/at/all.jsonl"], "--log"),
        ([QUESTION, "--frobnicate"], "--frobnicate"),
        ([], "QUESTION"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    run: Run, folder: Path, tmp_path: Path, arguments: list[str], line: str
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "long").mkdir()
    for number in range(9):
        (tmp_path / "long" / f"{number}.txt").write_text(f"Lamp {number} was lit. " * 200)
    places = {"DOCS": str(folder), "EMPTY": str(tmp_path / "empty"), "LONG": str(tmp_path / "long")}

    outcome = run("ask", *(places.get(argument, argument) for argument in arguments))

    assert outcome.exit_code == 2
    assert places.get(line, line) in _line(outcome)
    assert outcome.stdout == ""


def test_a_provider_that_fails_is_one_line_that_steers_no_terminal_and_exit_code_1(
    run: Run, folder: Path, world: World
) -> None:
    world.broken["generate"] = Fault(status=400, message="no \x1b]0;owned\x07\x1b[31msuch luck")

    outcome = run("ask", QUESTION, "--docs", folder)

    assert outcome.exit_code == 1
    assert "HTTP 400" in _line(outcome)
    assert "such luck" in _line(outcome)
    assert "\x1b" not in outcome.stderr


def test_a_log_that_fills_up_does_not_cost_the_answer(run: Run, folder: Path) -> None:
    outcome = run("ask", QUESTION, "--docs", folder, "--log", "/dev/full")

    assert outcome.exit_code == 2
    assert "It was lit in 1874." in outcome.stdout
    assert "was not logged" in _line(outcome)


def test_a_key_with_a_line_end_is_a_key_and_a_wrong_one_is_not_shown(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for wrong, line in (("sk-a-wrong-one", "refused the key"), ("sk-sécret", "OPENAI_API_KEY")):
        monkeypatch.setenv("OPENAI_API_KEY", wrong)
        refused = run("ask", QUESTION, "--docs", folder)
        assert refused.exit_code == 2
        assert line in _line(refused)
        assert wrong not in refused.output
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-user\n")
    assert run("ask", QUESTION, "--docs", folder).exit_code == 0


@pytest.mark.parametrize("labeler", ["json", "per-document"])
def test_a_budget_of_calls_is_never_gone_beyond_and_what_was_paid_for_is_kept(
    run: Run, world: World, folder: Path, labeler: str
) -> None:
    command = ("ask", QUESTION, "--docs", folder, "--labeler", labeler)
    stopped = run(*command, "--max-calls", "4", "--json")
    assert stopped.exit_code == 3
    assert stopped.stdout == ""
    assert "the budget is used up (4 of 4 calls)" in stopped.stderr
    assert world.asked.total() == 4
    assert world.asked["label"] + world.asked["batch"] == 2

    assert run(*command).exit_code == 0
    assert world.asked["generate"] == world.asked["decompose"] - 1 == 1
    judged = [prompt for step in ("label", "batch") for prompt in world.prompts.get(step, [])]
    assert len(judged) == len(set(judged))


@pytest.mark.timeout(400)
def test_a_model_file_runs_the_loop_without_any_key_and_a_second_time_for_nothing(
    smollm2_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = list[str]()
    start = LocalServer._start

    def noted(server: LocalServer, port: int) -> str:
        threads.append(threading.current_thread().name)
        return start(server, port)

    shared_server(smollm2_path).close()  # an earlier test may have started it
    monkeypatch.setattr(LocalServer, "_start", noted)
    # SmolLM2 judges at random, so this tests only the plumbing
    (tmp_path / "log.md").write_text("The log book says that the lamp was lit in 1874.")
    (tmp_path / "almanac.md").write_text("The almanac says that the lamp was lit in 1871.")
    files = [str(tmp_path / "log.md"), str(tmp_path / "almanac.md")]
    options = ["--option", "It was first lit in 1871.", "--option", "It was first lit in 1874."]
    command = ["ask", QUESTION, "--docs", *files, *options, "--max-rounds", "0"]
    command += ["--model", f"local:{smollm2_path}", "--labeler", "choice", "--json"]

    first, again = (json.loads(CliRunner().invoke(main, command).stdout) for _ in range(2))

    assert threads == ["start of the local model"], "the model is loaded once, beside imports"
    assert first["answer"] in options
    assert first["usage"]["calls"] >= 3
    assert first["usage"]["input_tokens"] > 500
    assert len(first["documents"]) == 2
    pairs = [label for claim in first["report"]["claims"] for label in claim["labels"]]
    assert len(pairs) == 2
    assert all(label["label"] != "UNLABELLED" and 0 < label["score"] < 1 for label in pairs)
    assert again["usage"]["calls"] == 0
    assert again["answer"] == first["answer"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
@pytest.mark.parametrize(
    ("full", "told"),
    [(False, ""), (True, "conflictscore: OSError: [Errno 28] No space left on device\n")],
    ids=["closed pipe", "full device"],
)
def test_a_run_that_cannot_be_printed_is_in_the_log(
    endpoint: list[str],
    folder: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    *,
    full: bool,
    told: str,
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    log = tmp_path / "runs.jsonl"
    docs = ["--docs", str(folder), "--log", str(log)]
    with os.fdopen(writing, "w") as pipe, Path("/dev/full").open("w") as device:
        with redirect_stdout(device if full else pipe), pytest.raises(SystemExit) as ended:
            main(["ask", QUESTION, *PAPER_OPTIONS, *docs, *endpoint])
        assert ended.value.code == 1
    assert json.loads(log.read_text())["answer"] == "It was lit in 1874."
    assert capfd.readouterr().err == told


def test_the_help_names_every_kind_of_file_that_is_read() -> None:
    text = CliRunner().invoke(main, ["ask", "--help"]).output
    assert [ending for ending in ENDINGS if ending not in text] == []
