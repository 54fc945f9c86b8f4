"""Stories of second looks, wherever a flip is read: terminal, page of the service, export."""

import json
from collections.abc import Iterator
from io import StringIO

import pytest
from langchain_openai import ChatOpenAI
from rich.console import Console

from conflictscore import create_self_correcting_rag
from conflictscore.benchmarks.harness.report.exports import answer_table
from conflictscore.benchmarks.harness.report.page.report_run import live_run
from conflictscore.loop.state import RagInput
from conflictscore.middleware.service.loop_run import with_markup
from conflictscore.nodes.record import run_of
from conflictscore.records import Run
from conflictscore.reporting.run_log import LoggedRun
from conflictscore.reporting.terminal import print_run
from tests.fakes.openai_server import OpenAIServer
from tests.revising import DOCUMENTS, RevisingWorld
from tests.world import scripted_model

SINGLE = (
    "A single document that disagrees changes nothing: “The lamp was lit in 1871” (Doc 3) against"
)
FOR_1874 = (
    "“The lamp was lit in 1874.” (from documents 1, 2 asked separately): documents 1, 2 for it"
)


@pytest.fixture
def model() -> Iterator[ChatOpenAI]:
    with OpenAIServer(RevisingWorld()) as server:
        yield scripted_model(server)


def ended(model: ChatOpenAI, first: str) -> Run:
    graph = create_self_correcting_rag(model, cache=False)
    asked: RagInput = {
        "question": "When was the lamp lit?",
        "documents": DOCUMENTS,
        "draft_answer": first,
    }
    return run_of(graph.invoke(asked))


def printed(run: Run) -> str:
    out = StringIO()
    print_run(run, Console(file=out, width=500))
    return out.getvalue()


def test_a_flip_tells_who_voted_for_what_everywhere(model: ChatOpenAI) -> None:
    run = ended(model, "The lamp was lit in 1871.")
    stored = run.to_json()
    table = answer_table([live_run("runs", [LoggedRun(run, {})], {})], ".jsonl")
    rows = {row["method"]: row["story"] for row in map(json.loads, table.splitlines())}
    terminal = printed(run)

    assert run.answer == "The lamp was lit in 1874."
    assert "How the documents voted\n" in terminal
    assert terminal.count("By the documents' vote") == 1, "the reason is told once"
    assert FOR_1874 in terminal
    assert any(FOR_1874 in line for line in with_markup(stored)["story"][0])
    assert any(FOR_1874 in line for line in rows["regenerated-rag"])


def test_a_kept_answer_is_printed_with_the_reason(model: ChatOpenAI) -> None:
    terminal = printed(ended(model, "The lamp was lit in 1874."))

    assert (
        "Kept after a second look\n  A single document that disagrees changes nothing" in terminal
    )
    assert SINGLE in terminal


def test_a_stored_run_of_another_version_has_no_story() -> None:
    run = {"answer": "It was 1874.", "first_answer": "", "changes": [{"unknown": 1}]}
    assert with_markup(run)["story"] == []
