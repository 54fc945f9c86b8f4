"""begin, receive and retrieve: a run's input is checked, and its documents are numbered."""

import asyncio
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from langchain_core.messages import HumanMessage
from langchain_core.retrievers import BaseRetriever

from conflictscore.errors import ConfigurationError, InputError, NoDocumentsError
from conflictscore.models.calls import call
from conflictscore.nodes.answer_replies import LETTERS
from conflictscore.nodes.conversation import history_of, messages_of, turns_in
from conflictscore.nodes.state import RagState, RunContext, RunRuntime
from conflictscore.records import Answer, Document, differs, encodable
from conflictscore.retrieval.documents import as_documents, to_documents
from conflictscore.retrieval.duplicates import mark_duplicates
from conflictscore.retrieval.search_notes import collecting
from conflictscore.threads import in_time

EMPTY_RUN: dict[str, Any] = {
    **dict.fromkeys(("run_id", "draft", "decomposition_error", "unclaimed", "decision", "reason")),
    **dict.fromkeys(("regeneration_error", "answer", "first_answer", "flipped", "justification")),
    **dict.fromkeys(("checked", "report", "final_report")),
    **{name: [] for name in ("changes", "claims", "evidence", "attempts", "searches", "notes")},
    **{name: {} for name in ("usage", "timings")},
}
"""The state of a run before its first step."""


def whole_input(given: dict[str, Any], context: RunContext) -> dict[str, Any]:
    """The input of a run with nothing left over from an earlier question of its thread.

    A question joins the thread's messages. Documents of an earlier question stay where there is no
    retriever: there would be nothing to answer from.
    """
    blank: dict[str, Any] = {"question": "", "options": [], "history": [], "draft_answer": None}
    if context.retriever is not None:
        blank["documents"] = []
    whole = {**blank, **{name: value for name, value in given.items() if value is not None}}
    question = whole["question"]
    if messages := messages_of(whole.get("messages"), "messages"):
        whole["messages"] = messages
    elif isinstance(question, str) and question.strip():
        whole["messages"] = [HumanMessage(question)]
    return whole


async def begin(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Check the input before anything is paid for, and start the run from nothing.

    Without a ``question``, the last human message is it. Without a ``history``, the messages before
    that one are: on a checkpointer's thread, the earlier questions and their answers.
    """
    messages = state.get("messages") or []
    human = [place for place, one in enumerate(messages) if isinstance(one, HumanMessage)]
    question = state["question"]
    if human and not str(question).strip():
        question = str(messages[human[-1]].text)
    question, options = read_question({**state, "question": question})
    given_documents(state)
    turns = history_of(state["history"]) or turns_in(messages[: human[-1]] if human else [])
    history = [turn._asdict() for turn in turns]
    return {**EMPTY_RUN, "question": question, "asked": question, "options": options} | {
        "history": history
    }


async def receive(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Number the documents, mark near-duplicates, and take the answer as the draft."""
    given: object = state.get("answer", "")
    if not isinstance(given, str):
        raise InputError(f"the answer is {type(given).__name__}, not a text")
    text = given.strip()
    if not text:
        raise InputError("the answer is empty")
    documents = given_documents(state)
    if not documents:
        raise InputError("there are no documents to score the answer against")
    marked = await asyncio.to_thread(mark_duplicates, documents)
    return {
        **EMPTY_RUN,
        "documents": [document.to_json() for document in marked],
        "draft": Answer(text=text).to_json(),
        "run_id": runtime.context.run_id or uuid4().hex,
    }


async def retrieve(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Find documents, or take those of the caller, and mark near-duplicates."""
    question, options = read_question(state)
    notes: list[str] = []
    if documents := given_documents(state):
        documents = await asyncio.to_thread(mark_duplicates, documents)
    elif (retriever := runtime.context.retriever) is not None:
        documents, notes = await find_documents(retriever, question)
    else:
        raise ConfigurationError(
            "nothing to answer from: give a retriever, or documents with the question"
        )
    runtime.stream_writer(
        {
            "event": "documents",
            "documents": [{"number": d.number, "title": d.title, "url": d.url} for d in documents],
        }
    )
    return {
        "question": question,
        "asked": state.get("asked", question),
        "options": options,
        "documents": [document.to_json() for document in documents],
        "run_id": runtime.context.run_id or uuid4().hex,
        "method": runtime.context.method.value,
        "notes": [*state.get("notes", []), *notes],
        "changes": [],
    }


async def find_documents(
    retriever: BaseRetriever, question: str
) -> tuple[tuple[Document, ...], list[str]]:
    """Search, number the documents, at least one, and mark near-duplicates; notes on the search."""
    with collecting() as left:
        async with in_time("the search"):
            found = await call(retriever, question)
        documents = await asyncio.to_thread(to_documents, found)
    notes = [*getattr(retriever, "notes", ()), *left]
    if not documents:
        why = f" ({'; '.join(left)})" if left else ""
        raise NoDocumentsError(f"no documents found for: {question}{why}")
    return await asyncio.to_thread(mark_duplicates, documents), notes


def read_question(state: RagState) -> tuple[str, list[str]]:
    """The question and its options, after a check of all input."""
    question = str(encodable(state.get("question", ""))).strip()
    options = [option.strip() for option in encodable(state.get("options") or [])]
    check_question(question, options)
    given_answer(state, options)
    return question, options


def given_answer(state: RagState, options: Sequence[str]) -> Answer | None:
    """The first answer that the caller gave; None where there is none."""
    text = state.get("draft_answer")
    if text is None:
        return None
    if not text.strip():
        raise InputError("draft_answer is empty; leave it out to have the question answered")
    if not options:
        return Answer(text=text.strip())
    for number, option in enumerate(options):
        if not differs(text, option):
            return Answer(text=option, option=number)
    raise InputError("draft_answer is none of the options; give the full text of one")


def given_documents(state: RagState) -> tuple[Document, ...]:
    """The documents that the caller gave, numbered from 1 in their order; copies are not marked."""
    return as_documents(state.get("documents") or ())


def check_question(question: str, options: Sequence[str]) -> None:
    """Check the question before anything is paid for."""
    if not question.strip():
        raise InputError("the question is empty")
    if not options:
        return
    told = sum(bool(option.strip()) for option in options)
    if told < max(2, len(options)):
        raise InputError(f"multiple choice takes two options or more with text, got {told}")
    if told > len(LETTERS):
        raise InputError(f"multiple choice takes {len(LETTERS)} options at most, got {told}")
    if len({option.strip().casefold() for option in options}) < len(options):
        raise InputError("two options are the same")
