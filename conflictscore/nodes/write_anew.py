"""Writing an answer anew, with both sides of one claim in view (Tables 13 and 16)."""

from conflictscore.errors import ContextWindowError, ProviderError
from conflictscore.models.usage import UsageMeter
from conflictscore.nodes.answerer import answerer_of
from conflictscore.nodes.answering import RevisionRequest
from conflictscore.nodes.state import RagState, RunContext
from conflictscore.nodes.written import Written
from conflictscore.records import Attempt, Change, RevisionAction, differs
from conflictscore.threads import in_time

__all__ = ["write_anew"]


async def write_anew(
    last: Attempt, state: RagState, context: RunContext, meter: UsageMeter
) -> Written:
    """Put the claim to reconsider back to the answerer, with its evidence.

    Args:
        last: The answer to correct, with a report that disputes a claim.
        state: The run's.
        context: The run's.
        meter: Counts the calls.
    """
    report = last.report
    if report is None or report.reconsider is None:
        raise ValueError("an answer is written anew only where a claim is disputed")
    before = last.answer.text
    claim = report.evidence(report.reconsider).excluding_zero_weight(report.weights)
    looked = Change(
        round=last.round + 1,
        start=0,
        end=len(before),
        before=before,
        after=before,
        action=RevisionAction.KEEP,
        whole=True,
        claims=(claim,),
    )
    request = RevisionRequest(last.answer, claim, report.weights)
    try:
        async with in_time("the model"):
            given = await answerer_of(context).again(state, request, meter)
        failure = None if given.answer.text.strip() else "the new answer was empty"
    except (ProviderError, ContextWindowError) as error:
        failure = str(error)
    if failure is not None:
        return Written((looked.model_copy(update={"accepted": False, "note": failure}),))
    after = given.answer.text
    update = {"after": after, "reason": given.answer.justification}
    if differs(before, after):
        update["action"] = RevisionAction.REPLACE
    return Written((looked.model_copy(update=update),), given.answer, given.notes, given.seconds)
