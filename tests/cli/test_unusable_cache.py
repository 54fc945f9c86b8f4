"""A cache folder that cannot be used costs one warning at every door, and no answer."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pandas
import pytest
from click.testing import CliRunner, Result

from conflictscore import correct, score, score_frame
from conflictscore.cli import main
from conflictscore.graph.create import run_context
from conflictscore.middleware import SelfCorrectingChatModel
from tests.benchmarks.harness.quiz import Quiz
from tests.benchmarks.truthfulqa.files import keepers, lamps_csv, write_jsonl
from tests.fakes.openai_server import OpenAIServer
from tests.full_disk import no_room
from tests.middleware.service.serving import ChatWorld, Clients
from tests.talking import Shelf, Talk
from tests.world import DISAGREEING, PAPER, World, scripted_model

FIRST, LAST, QUESTION = "It was lit in 1871.", "It was lit in 1874.", "When was the lamp lit?"
TEXTS = [document["text"] for document in DISAGREEING]
LIGHTHOUSE = str(Path(__file__).parents[2] / "examples" / "lighthouse")
QUIET: dict[str, Any] = {"labeler": "json", "progress": False}
"""Without a bar, whose output is itself a file here."""
RATHER = "set CONFLICTSCORE_CACHE_DIR to another folder"


@pytest.fixture
def unusable(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """The cache's file, which cannot be made: its folder is a file, or the disk is full."""
    folder = tmp_path / "cache"
    is_full = request.param == FULL
    if not is_full:
        folder.write_text("a file where the folder should be")
    monkeypatch.delenv("CONFLICTSCORE_STORE", raising=False)
    monkeypatch.setenv("CONFLICTSCORE_CACHE_DIR", str(folder))
    with no_room() if is_full else nullcontext():
        yield folder / "verdicts.sqlite"


def warned_once(told: str, unusable: Path) -> bool:
    """Whether the text has a single warning, which names the cache and a way out."""
    return told.count(str(unusable)) >= 1 and told.count(RATHER) == 1


def of_score(server: OpenAIServer) -> object:
    scores = score([FIRST], [TEXTS], judge="scripted", base_url=server.base_url, **QUIET)
    return scores.columns()["cs_c"][0]


def of_frame(server: OpenAIServer) -> object:
    rows = {"answer": [FIRST], "documents": [TEXTS]}
    frame = pandas.DataFrame(rows)
    scores = score_frame(frame, judge="scripted", base_url=server.base_url, **QUIET)
    return scores.columns()["cs_c"][0]


def of_correct(server: OpenAIServer) -> object:
    run = correct(FIRST, TEXTS, QUESTION, model="scripted", base_url=server.base_url, **PAPER)
    assert run.report is not None
    return run.report.cs_c


def of_chat_model(server: OpenAIServer) -> object:
    chat = SelfCorrectingChatModel(scripted_model(server), Shelf(), **PAPER)
    reply = chat.invoke(QUESTION)
    return reply.response_metadata["conflictscore"]["report"]["cs_c"]


def of_mcp(server: OpenAIServer) -> object:
    import asyncio

    from mcp import Client

    from conflictscore.middleware.mcp_server import mcp_server

    tools = mcp_server(
        lambda: run_context("scripted", Shelf(), base_url=server.base_url, **PAPER), Shelf()
    )

    async def scored() -> Any:
        async with Client(tools) as client:
            arguments = {"answer": FIRST, "documents": TEXTS}
            return await client.call_tool("score", arguments)

    return asyncio.run(scored()).structured_content["report"]["cs_c"]


IN_THE_WAY, FULL = "a file in its place", "a full disk"


@pytest.mark.parametrize(
    ("unusable", "door"),
    [
        (IN_THE_WAY, of_score),
        (IN_THE_WAY, of_frame),
        (IN_THE_WAY, of_correct),
        (IN_THE_WAY, of_chat_model),
        (IN_THE_WAY, of_mcp),
        (FULL, of_correct),
        (FULL, of_chat_model),
        (FULL, of_mcp),
    ],
    indirect=["unusable"],
)
def test_python_and_mcp_answer_with_one_warning(
    door: Callable[[OpenAIServer], object],
    unusable: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")

    with OpenAIServer(Talk()) as server:
        scores = [door(server), door(server)]

    assert scores == [1.0, 1.0]
    assert warned_once(caplog.text, unusable)


def test_where_no_temporary_file_can_be_made_either_a_command_answers(tmp_path: Path) -> None:
    """A read-only container, or a disk that is full as a whole."""
    script = tmp_path / "ask.py"
    script.write_text(
        "import os, sys, tempfile\n"
        "tempfile.gettempdir = tempfile._get_default_tempdir\n"
        "tempfile._candidate_tempdir_list = lambda: []\n"
        "from conflictscore.cli import main\n"
        "main(sys.argv[1:])\n"
    )
    environment = {**os.environ, "CONFLICTSCORE_CACHE_DIR": str(script), "OPENAI_API_KEY": "k"}

    with OpenAIServer(ChatWorld()) as server:
        models = ["--docs", LIGHTHOUSE, "--model", "scripted", "--base-url", server.base_url]
        done = subprocess.run(
            [sys.executable, str(script), "ask", QUESTION, *models],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    assert done.returncode == 0, done.stderr
    assert "Checked: fully" in done.stdout
    assert warned_once(done.stderr, script / "verdicts.sqlite")


def test_the_service_answers_with_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    monkeypatch.setenv("CONFLICTSCORE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", "k")

    with OpenAIServer(ChatWorld()) as server:
        models = ["--docs", LIGHTHOUSE, "--model", "scripted", "--base-url", server.base_url]
        process = subprocess.Popen(
            [sys.executable, "-m", "conflictscore", "serve", "--port", "0", *models],
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stderr is not None
            told = [process.stderr.readline()]
            while told[-1] and "in front of" not in told[-1]:
                told.append(process.stderr.readline())
            client = Clients(told[-1].split()[0])
            replies = [client.ask().status_code for _ in range(2)]
            client.close()
            process.terminate()
            _, rest = process.communicate(timeout=100)
        finally:
            process.kill()
            process.wait()

    assert replies == [200, 200]
    assert warned_once("".join([*told, rest]), tmp_path / "cache" / "verdicts.sqlite")
    assert "DEBUG" not in "".join([*told, rest]), "bm25s logs what it does"


def bench(server: OpenAIServer, out: Path) -> Result:
    model = ["--model", "scripted", "--base-url", server.base_url, "--labeler", "choice"]
    data = ["--data", "TruthfulQA.csv", "--docs", "pages.jsonl", "--top-k", "3"]
    return CliRunner().invoke(main, ["bench", "truthfulqa", *data, *model, "--out", str(out)])


def record(server: OpenAIServer, out: Path) -> Result:
    questions = ["--questions", "q.txt", "--docs", "pages.jsonl"]
    return CliRunner().invoke(main, ["record", *questions, "--out", str(out)])


def score_file(server: OpenAIServer, out: Path) -> Result:
    model = ["--model", "scripted", "--base-url", server.base_url]
    return CliRunner().invoke(main, ["score-file", "rows.jsonl", *model, "--out", str(out)])


@pytest.mark.parametrize("command", [bench, record, score_file])
def test_a_command_that_keeps_its_work_elsewhere_does_it(
    command: Callable[[OpenAIServer, Path], Result],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What they keep stands in ``--out``, which is refused if it cannot be written."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    in_the_way = tmp_path / "cache"
    in_the_way.write_text("a file where the folder should be")
    monkeypatch.setenv("CONFLICTSCORE_CACHE_DIR", str(in_the_way))
    lamps_csv(Path("TruthfulQA.csv"), 2)
    write_jsonl(Path("pages.jsonl"), [{"text": text} for text in keepers(2)])
    Path("q.txt").write_text(QUESTION)
    Path("rows.jsonl").write_text(json.dumps({"answer": FIRST, "documents": TEXTS}) + "\n")

    with OpenAIServer(Quiz() if command is bench else World()) as server:
        done = command(server, Path("kept.jsonl"))
        refused = command(server, in_the_way / "kept.jsonl")

    assert done.exit_code == 0, done.stderr
    assert Path("kept.jsonl").exists()
    assert (caplog.text + done.stderr).count(RATHER) <= 1
    assert refused.exit_code == 2
    assert str(in_the_way / "kept.jsonl") in refused.stderr
