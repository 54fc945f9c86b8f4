"""receive: use an answer to be scored as the draft, and number its documents."""

from typing import Any
from uuid import uuid4

from conflictscore.errors import InputError
from conflictscore.loop.inputs import EMPTY_RUN, given_documents
from conflictscore.loop.state import RagState, RunRuntime, plain_records
from conflictscore.records import Answer
from conflictscore.retrieval.duplicates import mark_duplicates, mark_in_thread
from conflictscore.retrieval.search_notes import collecting

_LONG_CHARS = 4000
"""Documents with at least this many characters in total are compared in a worker thread. Comparing
shorter documents blocks the event loop for less time than it takes to wake a thread."""


async def receive(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Number the documents, mark near-duplicates, and use the answer as the draft."""
    answer: object = state.get("answer", "")
    if not isinstance(answer, str):
        raise InputError(f"the answer is {type(answer).__name__}, not a string")
    text = answer.strip()
    if not text:
        raise InputError("the answer is empty")
    with collecting() as notes:
        documents = given_documents(state)
    if not documents:
        raise InputError("there are no documents to score the answer against")
    if sum([len(document.text) for document in documents]) < _LONG_CHARS:
        documents = mark_duplicates(documents)
    else:
        documents = await mark_in_thread(documents)
    return {
        **EMPTY_RUN,
        "notes": notes,
        "documents": plain_records(state, "documents", documents),
        "draft": Answer(text=text).to_json(),
        "run_id": runtime.context.run_id or uuid4().hex,
    }
