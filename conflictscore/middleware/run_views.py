"""Views of a run: the short verdict for a message, the full run, and the run without its texts."""

from collections.abc import Mapping
from typing import Any, TypeVar

from langchain_core.messages import BaseMessage

from conflictscore.records import Examined, Run
from conflictscore.records.run import short_id

Message = TypeVar("Message", bound=BaseMessage)

_TEXTS = ("question", "justification", "reason", "asked")
_LISTS = ("documents", "attempts", "changes", "searches")
_REDACTED = "the answer was redacted after its check, so the texts of its run were removed"


def whole(run: Run) -> dict[str, Any]:
    """Return the whole run, for an agent's state or the caller of a decorated function."""
    return run.summary("attempts", "reason", "status")


def with_verdict(message: Message, run: Run) -> Message:
    """Add the verdict on a run to its message as ``response_metadata["conflictscore"]``."""
    metadata = {**message.response_metadata, "conflictscore": run.verdict()}
    return message.model_copy(update={"response_metadata": metadata})


def verdict_of(run: Mapping[str, Any]) -> dict[str, Any]:
    """Return the verdict on a run from :func:`whole`, as :meth:`conflictscore.Run.verdict` does.

    The result of :func:`whole` is a summary, from which no :class:`Run` can be built again.
    """
    gap = Examined.model_validate(run.get("examined") or {}).main_gap
    # the first answer's scores do not apply to a changed answer that was not scored again
    first_report = None if run.get("flipped") else run.get("report")
    report = run.get("final_report") or first_report or {}
    return {
        "checked": run.get("checked") or "no",
        "reason": gap.in_short if gap else None,
        "kind": gap.kind.value if gap else None,
        "cs_c": report.get("cs_c"),
        "cs_r": report.get("cs_r"),
        "flipped": bool(run.get("flipped")),
        "status": run["status"],
        "run_id": short_id(run["run_id"]),
    }


def redacted(run: Mapping[str, Any], answer: str) -> dict[str, Any]:
    """Remove the texts from a run whose answer other middleware has redacted.

    The redacted words may occur in any text of the run: in the answer, in its claims, or in the
    judge's quotations. Scores, numbers and kinds are kept.
    """
    ledger = Examined.model_validate(run.get("examined") or {})
    gaps = tuple(gap.model_copy(update={"note": gap.in_short}) for gap in ledger.gaps)
    bare = ledger.model_copy(update={"gaps": gaps})
    return {
        **run,
        "answer": answer,
        "first_answer": answer,
        "notes": [*(gap.note for gap in gaps), _REDACTED],
        "examined": bare.to_json(),
        "report": _figures(run.get("report")),
        "final_report": _figures(run.get("final_report")),
        **{name: None for name in _TEXTS if name in run},
        **{name: [] for name in _LISTS if name in run},
    }


def _figures(report: object) -> dict[str, Any] | None:
    if not isinstance(report, Mapping):
        return None
    return {name: figure for name, figure in report.items() if name not in ("claims", "error")}
