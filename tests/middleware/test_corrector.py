"""From an answer and its documents to the corrected answer: in Python, over HTTP, as a command."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from langchain_core.documents import Document
from langchain_core.messages import HumanMessage

from conflictscore import (
    InputError,
    UncheckedAnswerError,
    acorrect,
    acorrect_batch,
    correct,
    correct_batch,
)
from conflictscore.cli import main
from conflictscore.loop.inputs import NO_QUESTION
from conflictscore.middleware import SelfCorrectingChatModel
from conflictscore.middleware.corrector import correction_input
from conflictscore.retrieval.documents import as_documents
from tests.fakes.openai_server import OpenAIServer
from tests.middleware.agents import AgentWorld
from tests.middleware.service.serving import ChatWorld, serving
from tests.talking import Shelf
from tests.world import DISAGREEING, PAPER, PAPER_OPTIONS, scripted_model

ANSWER, CORRECTED = "It was lit in 1871.", "It was lit in 1874."
QUESTION = "When was the lamp lit?"
TEXTS = [document["text"] for document in DISAGREEING]
ROW: dict[str, Any] = {"answer": ANSWER, "documents": TEXTS}


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")


def options(server: OpenAIServer) -> dict[str, Any]:
    return {"model": "scripted", "base_url": server.base_url, "cache": False, **PAPER}


@pytest.mark.parametrize(
    "documents", [DISAGREEING, TEXTS, [Document(text) for text in TEXTS]], ids=str
)
def test_an_answer_is_corrected_with_its_documents(server: OpenAIServer, documents: Any) -> None:
    run = correct(ANSWER, documents, QUESTION, **options(server))

    assert (run.first_answer, run.answer, run.checked) == (ANSWER, CORRECTED, "fully")
    assert run.report is not None
    assert run.report.conflicting


def test_an_empty_document_is_left_out_with_a_note(server: OpenAIServer) -> None:
    run = correct(ANSWER, [*TEXTS, "  "], QUESTION, **options(server))

    assert (run.answer, len(run.documents)) == (CORRECTED, len(TEXTS))
    assert any("1 of 4 documents" in note for note in run.notes)


def test_without_a_question_prompts_hold_a_neutral_one(server: OpenAIServer) -> None:
    run = correct(ANSWER, DISAGREEING, **options(server))

    assert (run.answer, run.question) == (CORRECTED, NO_QUESTION)


def test_a_text_is_one_document(server: OpenAIServer) -> None:
    assert len(correct(ANSWER, TEXTS[0], QUESTION, **options(server)).documents) == 1


def test_the_async_form_serves_several_event_loops_and_keeps_models_open(
    server: OpenAIServer,
) -> None:
    async def several() -> set[str | None]:
        runs = [acorrect(ANSWER, TEXTS, QUESTION, **options(server)) for _ in range(3)]
        return {run.answer for run in await asyncio.gather(*runs)}

    assert [asyncio.run(several()) for _ in range(2)] == [{CORRECTED}, {CORRECTED}]


def test_a_key_that_is_replaced_in_the_environment_is_used_by_the_next_call(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key in ("first", "second"):
        monkeypatch.setenv("OPENAI_API_KEY", key)
        correct(ANSWER, TEXTS, QUESTION, **options(server))
        assert server.requests[-1].headers["authorization"] == f"Bearer {key}"


def test_a_batch_keeps_the_order_of_its_rows(server: OpenAIServer) -> None:
    rows: list[dict[str, Any]] = [
        {"answer": ANSWER, "documents": DISAGREEING, "question": QUESTION},
        {"answer": "The tower is white.", "documents": TEXTS[2]},
    ]
    waited = correct_batch(rows, **options(server))
    awaited = asyncio.run(acorrect_batch(iter(rows), concurrency=1, **options(server)))

    for runs in (waited, awaited):
        assert [run.first_answer for run in runs] == [row["answer"] for row in rows]
        assert runs[0].answer == CORRECTED


def test_a_batch_refuses_rows_of_which_too_little_was_checked(server: OpenAIServer) -> None:
    single = {**ROW, "documents": TEXTS[2]}  # one document, so checked in part
    rows = [ROW, single, {**ROW, "answer": " "}, single]
    allowed = correct_batch(rows, require="partly", **options(server))

    assert [run.checked for run in allowed] == ["fully", "partly", "no", "partly"]
    assert len({run.run_id for run in allowed} - {None}) == 4
    refused = r"row 2: .*single.*rows refused too: 4$"
    with pytest.raises(UncheckedAnswerError, match=refused) as error:
        correct_batch(rows, require="fully", **options(server))
    with pytest.raises(UncheckedAnswerError, match=refused):
        asyncio.run(acorrect_batch(rows, require="fully", **options(server)))
    verdict = error.value.verdict
    assert (verdict["checked"], verdict["kind"]) == ("partly", "one_document")


def test_a_single_mapping_is_one_document_and_its_keys_are_none() -> None:
    start = correction_input(ANSWER, {"title": "Log", "text": "Lit in 1874."}, None)
    [document] = as_documents(start["documents"])
    assert (document.title, document.text) == ("Log", "Lit in 1874.")


def test_documents_without_text_are_counted_in_any_iterable(server: OpenAIServer) -> None:
    run = correct(ANSWER, iter([*TEXTS, "  "]), QUESTION, **options(server))

    assert any("1 of 4 documents" in note for note in run.notes)


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: correct(" ", TEXTS), "answer is empty"),
        (lambda: correct(ANSWER, []), "documents is empty"),
        (lambda: correct(ANSWER, [{}]), "document 1, field text"),
        (lambda: correct(ANSWER, {}), "document 1, field text"),
        (lambda: correct(ANSWER, 3), "documents is int, not a list"),  # type: ignore[arg-type]
        (lambda: correct(ANSWER, TEXTS, 3), "question is int"),  # type: ignore[arg-type]
        (lambda: correct_batch([{"answer": ANSWER}]), "row 1 lacks a field"),
        (lambda: correct_batch([{**ROW, "text": ""}]), "row 1 has an unknown field 'text'"),
        (lambda: correct_batch([ROW] * 2, concurrency=0), "concurrency is 0"),
        (lambda: correct_batch([ROW, {**ROW, "documents": []}]), "row 2: documents is empty"),
    ],
)
def test_bad_input_is_named_before_a_model_is_opened(
    call: Callable[[], object], complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint):
        call()


def test_the_command_corrects_an_answer(server: OpenAIServer, tmp_path: Path) -> None:
    for document in DISAGREEING:
        (tmp_path / f"{document['title']}.md").write_text(document["text"])
    models = ["--model", "scripted", "--base-url", server.base_url, "--no-cache", *PAPER_OPTIONS]
    result = CliRunner().invoke(
        main, ["correct", "--answer", ANSWER, "--docs", str(tmp_path), *models, "--json"]
    )

    said = json.loads(result.stdout)
    assert (result.exit_code, said["answer"], said["first_answer"]) == (0, CORRECTED, ANSWER)


class TestService:
    def test_an_answer_is_corrected_and_its_run_stored(self) -> None:
        with serving(ChatWorld()) as served:
            reply = served.http.post("/v1/correct", json={**ROW, "question": QUESTION})
            question = {"answer": ANSWER, "question": QUESTION}
            searched = served.http.post("/v1/correct", json=question)
            stored = served.run(reply)

        run = reply.json()
        assert (run["answer"], run["checked"], run["status"]) == (CORRECTED, "fully", "corrected")
        assert reply.headers["x-conflictscore-checked"] == "fully"
        assert stored == run
        assert searched.json()["answer"] == CORRECTED

    @pytest.mark.parametrize(
        ("body", "param"),
        [
            ({"documents": TEXTS}, "answer"),
            ({"answer": " ", "question": QUESTION}, "answer"),
            ({"answer": ANSWER}, "documents"),
            ({"answer": ANSWER, "documents": [1]}, "documents[0]"),
            ({"answer": ANSWER, "documents": TEXTS, "model": "m"}, "model"),
        ],
    )
    def test_a_wrong_field_is_named(self, body: dict[str, Any], param: str) -> None:
        with serving(ChatWorld()) as served:
            reply = served.http.post("/v1/correct", json=body)

        assert reply.status_code == 400
        assert reply.json()["error"]["param"].startswith(param)
        assert served.upstream.requests == []

    def test_documents_passed_with_a_conversation_are_used_and_not_forwarded(self) -> None:
        with serving(ChatWorld()) as served:
            mine = {"text": "The lamp was lit in 1871.", "title": "Mine"}
            run = served.run(served.ask(documents=[mine]))
            wrong = served.ask(documents=[{}])

        assert [document["title"] for document in run["documents"]] == ["Mine"]
        assert not any("documents" in request.body for request in served.upstream.requests)
        assert (wrong.status_code, wrong.json()["error"]["param"]) == (400, "documents")


@pytest.mark.parametrize("bound", [False, True])
def test_the_chat_model_takes_documents_that_are_in_the_prompt(bound: bool) -> None:
    prompt = [HumanMessage(f"Use only this: {' '.join(TEXTS)}\n\n{QUESTION}")]
    shelf = Shelf()
    with OpenAIServer(world := AgentWorld(tools=())) as server:
        inner = scripted_model(server)
        chat: Any = SelfCorrectingChatModel(inner, shelf, content_cache=False, **PAPER)
        told = {"documents": DISAGREEING, "question": QUESTION}
        reply = chat.bind(**told).invoke(prompt) if bound else chat.invoke(prompt, **told)

    run = reply.response_metadata["conflictscore"]
    assert shelf.queries == []
    assert (reply.text, run["question"], run["checked"]) == (CORRECTED, QUESTION, "fully")
    assert world.requests["generate"][0].messages == [{"role": "user", "content": prompt[0].text}]
    assert not any("documents" in request.body for request in server.requests)
