"""retrieve: find documents, or use documents that the caller passed, and number them."""

from typing import Any
from uuid import uuid4

from conflictscore.errors import ConfigurationError
from conflictscore.loop.inputs import given_documents, read_question
from conflictscore.loop.searching import find_documents
from conflictscore.loop.state import RagState, RunRuntime
from conflictscore.retrieval.duplicates import mark_in_thread


async def retrieve(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Find documents, or use documents that the caller passed; mark near-duplicates.

    In the loop, ``begin`` has already validated the input. A graph that only answers begins here,
    so the input is validated here too, and the fields that ``begin`` sets are given defaults.
    """
    question, options = read_question(state)
    notes: list[str] = []
    if documents := given_documents(state):
        documents = await mark_in_thread(documents)
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
