"""Asks for a whole new answer, as in the paper, and shows one disputed claim with its evidence.

Limits without a stated reason were chosen by hand.
"""

import re

from conflictscore.answering.answerer import answerer_of
from conflictscore.errors import ContextWindowError, FailureKind, ProviderError
from conflictscore.loop.state import (
    RagState,
    Reconsider,
    RevisionRequest,
    RunContext,
    Written,
)
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import material, material_line
from conflictscore.records import Attempt, Change, ConflictReport, RevisionAction, differs
from conflictscore.threads import in_time

_NUMBER_TOKENS = 16  # the reply needs room for a number, and for a word such as "Claim" before it


async def write_anew(
    last: Attempt, state: RagState, context: RunContext, meter: UsageMeter
) -> Written:
    """Show the answerer one disputed claim with its evidence, and ask for a new answer.

    The paper asks about "the main claim that had conflicts" but does not say which claim that is.
    The run's context specifies how to choose the claim.
    """
    report = last.report
    if report is None or report.reconsider is None:
        raise ValueError("an answer is rewritten only if a claim is disputed")
    before = last.answer.text
    number, notes = await _chosen(report, last, state, context, meter)
    claim = report.evidence(number).excluding_zero_weight(report.weights)
    change = Change.kept(before, 0, [claim], round=last.round + 1, whole=True)
    request = RevisionRequest(last.answer, claim, report.weights)
    try:
        # a model's calls have a deadline of their own, but those of a caller's agent have none
        async with in_time("the model"):
            reply = await answerer_of(context).again(state, request, meter)
        failure = None if reply.answer.text.strip() else FailureKind.UNREADABLE
        note = "the new answer was empty"
    except (ProviderError, ContextWindowError) as error:
        failure, note = error.failure, str(error)
    if failure is not None:
        update = {"accepted": False, "note": note, "failure": failure}
        return Written((change.model_copy(update=update),), notes=notes)
    after = reply.answer.text
    update = {"after": after, "reason": reply.answer.justification}
    if differs(before, after):
        update["action"] = RevisionAction.REPLACE
    all_notes = (*notes, *reply.notes)
    return Written((change.model_copy(update=update),), reply.answer, all_notes, reply.seconds)


def claims_by_choice(report: ConflictReport) -> dict[Reconsider, int]:
    """Return the number of the claim that each method chooses, for the methods that need no model.

    ``report.disputed`` lists the claims with the most evidence first. Raise ValueError if no claim
    is disputed.
    """
    if report.reconsider is None:
        raise ValueError("no claim is disputed")
    # reports stored by the earliest versions do not have ``disputed``
    return {
        "worst": report.reconsider,
        "first": min(report.disputed, default=report.reconsider),
        "most-evidence": next(iter(report.disputed), report.reconsider),
    }


async def _chosen(
    report: ConflictReport, last: Attempt, state: RagState, context: RunContext, meter: UsageMeter
) -> tuple[int, tuple[str, ...]]:
    """Choose the claim to reconsider, and return its number, with any notes.

    If the model names no claim, the most contradicted claim is chosen.
    """
    numbers, numbers_by_choice = report.disputed, claims_by_choice(report)
    if len(numbers) < 2 or context.reconsider != "asked":
        # "asked" has no number of its own; it is chosen here only if a single claim is disputed
        return numbers_by_choice.get(context.reconsider, numbers_by_choice["worst"]), ()
    # the order of the answer, since the order of importance would suggest a choice
    claims = {number: report.evidence(number).claim.text for number in sorted(numbers)}
    prompt = context.prompts.render(
        "main_claim",
        question=material_line(state["question"]),
        answer=material(last.answer.text),
        claims="\n".join(f"{number}. {material_line(text)}" for number, text in claims.items()),
    )

    def read(reply: str) -> int:
        match = re.search(r"\d{1,4}", reply)
        if match is None or int(match[0]) not in claims:
            raise ValueError(f"it named none of the claims {', '.join(map(str, claims))}")
        return int(match[0])

    try:
        async with in_time("the model"):
            answerer = answerer_of(context)
            number = await answerer.reply(state, prompt, read, meter, max_tokens=_NUMBER_TOKENS)
    except (ProviderError, ContextWindowError) as error:
        note = f"the model named no main claim, so the most contradicted one was chosen: {error}"
        return numbers_by_choice["worst"], (note,)
    return number, ()
