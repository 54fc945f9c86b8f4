"""retrieve: from the question to numbered documents, once a question."""

import asyncio
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from langchain_core.retrievers import BaseRetriever

from conflictscore.errors import ConfigurationError, InputError, NoDocumentsError
from conflictscore.models.calls import call
from conflictscore.nodes.letters import LETTERS
from conflictscore.nodes.state import RagState, RunRuntime
from conflictscore.records import Answer, Document, differs, encodable
from conflictscore.retrieval.documents import as_documents, to_documents
from conflictscore.retrieval.duplicates import mark_duplicates
from conflictscore.retrieval.search_notes import collecting
from conflictscore.threads import in_time


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
