"""retrieve: from the question to numbered documents, once a question."""

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from pydantic import ValidationError

from conflictscore.errors import ConfigurationError, InputError, NoDocumentsError
from conflictscore.models.faces import call
from conflictscore.nodes.state import RagState, RunRuntime
from conflictscore.records import Document
from conflictscore.retrieval.documents import to_documents

__all__ = ["check_question", "given_documents", "refuse_used_thread", "retrieve"]


async def retrieve(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Find the documents, or take the ones that are given.

    Raises:
        InputError: The question is empty, the options are not two different texts, or the thread
            holds another question already.
        NoDocumentsError: The retriever found nothing.
    """
    refuse_used_thread(state)
    question = state.get("question", "").strip()
    options = [option.strip() for option in state.get("options") or []]
    check_question(question, options)
    documents = await _documents(state, runtime, question)
    runtime.stream_writer(
        {
            "event": "documents",
            "documents": [{"number": d.number, "title": d.title, "url": d.url} for d in documents],
        }
    )
    return {
        "question": question,
        "options": options,
        "documents": [document.to_json() for document in documents],
        "run_id": uuid4().hex,
        "method": runtime.context.method.value,
        "notes": list(getattr(runtime.context.retriever, "notes", ())),
        "reconsidered": None,
    }


async def _documents(state: RagState, runtime: RunRuntime, question: str) -> tuple[Document, ...]:
    if given := given_documents(state):
        return given
    retriever = runtime.context.retriever
    if retriever is None:
        raise ConfigurationError(
            "nothing to answer from: give a retriever, or documents with the question"
        )
    documents = to_documents(await call(retriever, question))
    if not documents:
        raise NoDocumentsError(f"no documents found for: {question}")
    return documents


def given_documents(state: RagState) -> tuple[Document, ...]:
    """The documents that the caller brought, numbered from 1 in their order.

    Raises:
        InputError: One has no text, or a field that is unknown or of the wrong type.
    """
    documents = []
    for number, item in enumerate(state.get("documents") or [], start=1):
        try:
            document = Document.model_validate({**item, "number": number})
        except (ValidationError, TypeError) as error:
            detail = error.errors()[0] if isinstance(error, ValidationError) else None
            where = ".".join(str(part) for part in detail["loc"]) if detail else "the document"
            reason = detail["msg"] if detail else "it is no mapping"
            raise InputError(f"document {number}, field {where}: {reason}") from None
        if not document.text.strip():
            raise InputError(f"document {number}, field text: it is empty")
        documents.append(document)
    return tuple(documents)


def refuse_used_thread(state: RagState) -> None:
    """Refuse a second question on a checkpointer's thread: it would meet the first one's state."""
    if state.get("run_id"):
        raise InputError(
            "this thread holds another question; use a new thread_id, or go on with invoke(None)"
        )


def check_question(question: str, options: Sequence[str]) -> None:
    """Check what is asked, before anything is paid for.

    Raises:
        InputError: The question is empty, or the options are not two different texts.
    """
    if not question.strip():
        raise InputError("the question is empty")
    if not options:
        return
    if len(options) != 2 or not all(option.strip() for option in options):
        raise InputError(f"multiple choice takes two options with text, got {len(options)}")
    if options[0].strip().casefold() == options[1].strip().casefold():
        raise InputError("the two options are the same")
