"""regenerate: answer again with both sides of the conflict in view (Tables 13 and 16)."""

from typing import Any

from conflictscore.errors import ContextWindowError, ProviderError
from conflictscore.models.usage import UsageMeter
from conflictscore.nodes.answerer import announce, answerer_of
from conflictscore.nodes.decide import unexplained
from conflictscore.nodes.state import (
    Doubt,
    RagState,
    RunRuntime,
    attempts_of,
    spent,
    timed,
)
from conflictscore.records import Revision, Way
from conflictscore.threads import in_time

__all__ = ["regenerate"]


async def regenerate(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Put the claim to reconsider back to the answerer, with its evidence.

    If there is no other answer, the earlier one stands, with a note.
    """
    last, meter = attempts_of(state)[-1], UsageMeter()
    if last.report is None or last.report.reconsider is None:
        raise ValueError("regenerate was reached without a conflicting claim")
    claim = last.report.evidence(last.report.reconsider).heard(last.report.weights)
    doubt = Doubt(last.answer, claim, last.report.weights)
    try:
        async with in_time("the one who answers"):
            given = await answerer_of(runtime.context).again(state, doubt, meter)
        failure = None if given.answer.text.strip() else "the new answer was empty"
    except (ProviderError, ContextWindowError) as error:
        failure = str(error)
    usage = spent(state, meter.usage)
    if failure is not None:
        note = f"the earlier answer stands, because it could not be regenerated: {failure}"
        return {
            "decision": "justify" if unexplained(attempts_of(state)) else "record",
            "reason": note,
            "regeneration_error": failure,
            "notes": [*state["notes"], note],
            "usage": usage,
        }
    announce(runtime, last.round + 1, given.answer)
    whole = Revision(
        round=last.round + 1,
        start=0,
        end=len(last.answer.text),
        before=last.answer.text,
        after=given.answer.text,
        way=Way.REPLACE,
        whole=True,
        reason=given.answer.justification,
        claims=(claim,),
    )
    return {
        "decision": "regenerate",
        "draft": given.answer.to_json(),
        "revisions": [whole.to_json()] if runtime.context.guard else [],
        "reconsidered": claim.to_json(),
        "notes": [*state["notes"], *given.notes],
        "usage": usage,
        "timings": timed(state, "regenerate", given.seconds),
    }
