"""cite: answers with the numbers of documents in them ("DRAGged into Conflicts", section 5.1)."""

from typing import Any

from conflictscore.errors import InputError
from conflictscore.models.usage import UsageMeter
from conflictscore.nodes.answerer import REPLY_TOKENS, ask_with_documents
from conflictscore.nodes.behaviour import all_behaviours, typed_fields
from conflictscore.nodes.replies import read_text
from conflictscore.nodes.state import (
    RagState,
    RunRuntime,
    conflict_type_of,
    documents_of,
    spent,
)
from conflictscore.nodes.typed_replies import inline_citations, read_typed_answer
from conflictscore.records import Answer, ConflictType

__all__ = ["cite", "classify_and_cite", "take_type"]

_TYPE_TOKENS = 160


async def take_type(state: RagState, _: RunRuntime) -> dict[str, Any]:
    """Take the conflict type that is given with the question.

    Raises:
        InputError: There is none, or it is unknown.
    """
    given = state.get("conflict_type")
    try:
        return {"conflict_type": ConflictType(given or "").value}
    except ValueError:
        known = ", ".join(ConflictType)
        raise InputError(f"conflict_type is {given!r}; one of {known} is needed") from None


async def cite(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Answer as the type of the conflict asks, or plainly where no type is known.

    Raises:
        ConfigurationError: The context window is too small for the documents.
        ProviderError: The model failed, or twice gave a reply that cannot be read.
    """
    context, meter = runtime.context, UsageMeter()
    fields = typed_fields(conflict_type_of(state), context.prompts)
    template = "cited_typed" if fields else "cited_rag"
    answer, notes = await ask_with_documents(
        state,
        context,
        meter,
        template,
        fields,
        read_text,
        reply_tokens=REPLY_TOKENS,
        step="answer",
        parameters=context.answer_parameters,
    )
    return _answered(state, runtime, answer, notes, meter)


async def classify_and_cite(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Tell the type of the conflict and answer as it asks, in one call.

    Raises:
        ConfigurationError: The context window is too small for the documents.
        ProviderError: The model failed, or twice gave a reply that cannot be read.
    """
    context, meter = runtime.context, UsageMeter()
    fields = {
        "types": context.prompts.render("conflict_types"),
        "rules": all_behaviours(context.prompts),
    }
    ((kind, reason), answer), notes = await ask_with_documents(
        state,
        context,
        meter,
        "cited_taxonomy_aware",
        fields,
        read_typed_answer,
        reply_tokens=REPLY_TOKENS + _TYPE_TOKENS,
        step="answer",
        parameters=context.answer_parameters,
    )
    runtime.stream_writer({"event": "conflict_type", "type": kind.value, "reason": reason})
    return {
        "conflict_type": kind.value,
        "conflict_type_reason": reason,
        **_answered(state, runtime, answer, notes, meter),
    }


def _answered(
    state: RagState, runtime: RunRuntime, answer: str, notes: list[str], meter: UsageMeter
) -> dict[str, Any]:
    runtime.stream_writer({"event": "answer", "round": 0, "answer": answer})
    numbers = [document.number for document in documents_of(state)]
    return {
        "draft": Answer(text=answer).to_json(),
        "cited": list(inline_citations(answer, numbers)),
        "notes": [*state["notes"], *notes],
        "usage": spent(state, meter.usage),
    }
