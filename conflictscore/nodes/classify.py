"""classify: how the documents of a question relate ("DRAGged into Conflicts", task 1).

Ours in the loop, where the type decides how an answer is regenerated; the first step of that
paper's strategy ``pipeline``.
"""

from typing import Any, NamedTuple

from conflictscore.errors import ContextWindowError, ProviderError
from conflictscore.models.usage import UsageMeter
from conflictscore.nodes.answerer import ask_with_documents
from conflictscore.nodes.state import RagState, RunContext, RunRuntime, spent
from conflictscore.nodes.typed_replies import read_type
from conflictscore.records import ConflictType

__all__ = ["ToldType", "classify", "tell_type"]

_REPLY_TOKENS = 160


class ToldType(NamedTuple):
    """The type of a conflict, or why there is none."""

    kind: ConflictType | None
    """None where the model gave none."""
    reason: str | None
    """The model's, where it gave one."""
    error: str | None
    """Set exactly where there is no type."""
    notes: list[str]
    """What the reader of the answer should know of."""


async def classify(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Predict the conflict type from the question and its documents.

    A model that fails here is recorded, and the run goes on without a type.
    """
    meter = UsageMeter()
    told = await tell_type(state, runtime.context, meter)
    notes, usage = [*state["notes"], *told.notes], spent(state, meter.usage)
    if told.kind is None:
        return {
            "conflict_type": None,
            "classification_error": told.error,
            "notes": notes,
            "usage": usage,
        }
    kind, reason = told.kind.value, told.reason
    runtime.stream_writer({"event": "conflict_type", "type": kind, "reason": reason})
    return {
        "conflict_type": kind,
        "conflict_type_reason": reason,
        "notes": notes,
        "usage": usage,
    }


async def tell_type(state: RagState, context: RunContext, meter: UsageMeter) -> ToldType:
    """Ask for the conflict type of a question and its documents; a model that fails gives none.

    Args:
        state: Has the question and the documents.
        context: Has the generator and the templates.
        meter: Counts the calls.
    """
    try:
        (kind, reason), notes = await ask_with_documents(
            state,
            context,
            meter,
            "classify_conflict",
            {"types": context.prompts.render("conflict_types")},
            read_type,
            reply_tokens=_REPLY_TOKENS,
            step="tell the type of the conflict",
        )
    except (ProviderError, ContextWindowError) as error:
        note = f"the run continued without a conflict type, because there was none: {error}"
        return ToldType(kind=None, reason=None, error=str(error), notes=[note])
    return ToldType(kind=kind, reason=reason, error=None, notes=notes)
