"""correct and justify: write again what is disputed, in place or anew, and ask why it changed.

The paper asks for a reason in multiple choice only (Table 16; 17 in arXiv v1), and small models
leave it out even there. A flip without a reason cannot be reviewed, so one short question of our
own follows it.
"""

import re
from typing import Any

from conflictscore.active_content import without_active_content
from conflictscore.errors import BudgetError, ContextWindowError, ProviderError
from conflictscore.json_answers import is_json
from conflictscore.models.usage import UsageMeter
from conflictscore.nodes.answer_replies import cited_documents, read_text
from conflictscore.nodes.answerer import announce, answerer_of
from conflictscore.nodes.conflict_details import conflict_details
from conflictscore.nodes.conversation import conversation_of
from conflictscore.nodes.decide import flipped_by, unexplained
from conflictscore.nodes.state import (
    RagState,
    Reconsider,
    RevisionRequest,
    RunContext,
    RunRuntime,
    Written,
    attempts_of,
    changes_in,
    documents_of,
    may_be_given_up,
    spent,
    timed,
    with_changes,
)
from conflictscore.nodes.write_in_place import write_in_place
from conflictscore.prompts import material, material_line
from conflictscore.records import Attempt, Change, ConflictReport, RevisionAction, differs
from conflictscore.threads import in_time

_NUMBER_TOKENS = 16
_REPLY_TOKENS = 160


async def correct(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Have the disputed claims of the last answer looked at again, with their evidence.

    Free-form answers are written in place, passage by passage, and JSON value by value; a choice
    between options, and every text where the run follows the paper, anew. Each passage that was
    looked at is a Change, also where it is kept. If no look succeeded, the earlier answer stands.
    """
    context, attempts, meter = runtime.context, attempts_of(state), UsageMeter()
    last = attempts[-1]
    if last.report is None or not last.report.disputed:
        raise ValueError("correct was reached without a disputed claim")
    anew = context.settings.regeneration == "paper" or state["options"]
    write = write_anew if anew and not is_json(last.answer.text) else write_in_place
    written = await write(last, state, context, meter)
    update: dict[str, Any] = {
        "changes": with_changes(state, written.changes),
        "usage": spent(state, meter.usage),
    }
    if written.answer is None:
        failure = str(written.changes[0].note)
        note = f"the earlier answer stands, because it could not be regenerated: {failure}"
        return update | {
            "decision": "justify" if unexplained(attempts) else "record",
            "reason": note,
            "regeneration_error": failure,
            "notes": [*state["notes"], note, *written.notes],
        }
    number = last.round + 1
    announce(runtime, number, written.answer)
    if not context.check_last and number >= context.settings.max_rounds:
        unscored = Attempt(round=number, answer=written.answer)
        update |= {"decision": "record", "attempts": [*state["attempts"], unscored.to_json()]}
    else:
        update["decision"] = "decompose"
    return update | {
        "draft": written.answer.to_json(),
        "notes": [*state["notes"], *written.notes],
        "timings": timed(state, "correct", written.seconds),
    }


async def write_anew(
    last: Attempt, state: RagState, context: RunContext, meter: UsageMeter
) -> Written:
    """Put one claim with conflicts back to the answerer, with its evidence.

    The paper puts back "the main claim that had conflicts" and leaves open which; the run's context
    says by which reading it is chosen.
    """
    report = last.report
    if report is None or report.reconsider is None:
        raise ValueError("an answer is written anew only where a claim is disputed")
    before = last.answer.text
    number, notes = await _chosen(report, last, state, context, meter)
    claim = report.evidence(number).excluding_zero_weight(report.weights)
    looked = Change.kept(before, 0, [claim], round=last.round + 1, whole=True)
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
    told = (*notes, *given.notes)
    return Written((looked.model_copy(update=update),), given.answer, told, given.seconds)


def claims_by_choice(report: ConflictReport) -> dict[Reconsider, int]:
    """The claim to put back by each choice that asks no model; ValueError if none is disputed."""
    if report.reconsider is None:
        raise ValueError("no claim is disputed")
    return {
        "worst": report.reconsider,
        "first": min(report.disputed, default=report.reconsider),
        "most-evidence": next(iter(report.disputed), report.reconsider),
    }


async def _chosen(
    report: ConflictReport, last: Attempt, state: RagState, context: RunContext, meter: UsageMeter
) -> tuple[int, tuple[str, ...]]:
    """The number of the claim to put back, and notes; a model that names none leaves the worst."""
    disputed, known = report.disputed, claims_by_choice(report)
    if len(disputed) < 2 or context.reconsider != "asked":
        return known.get(context.reconsider, known["worst"]), ()
    claims = {number: report.evidence(number).claim.text for number in sorted(disputed)}
    prompt = context.prompts.render(
        "main_claim",
        question=material_line(state["question"]),
        answer=material(last.answer.text),
        claims="\n".join(f"{number}. {material_line(text)}" for number, text in claims.items()),
    )

    def read(reply: str) -> int:
        found = re.search(r"\d{1,4}", reply)
        if found is None or int(found[0]) not in claims:
            raise ValueError(f"it names none of the claims {', '.join(map(str, claims))}")
        return int(found[0])

    try:
        asked = answerer_of(context).reply(state, prompt, read, meter, max_tokens=_NUMBER_TOKENS)
        return await asked, ()
    except (ProviderError, ContextWindowError) as error:
        note = f"the model named no main claim, so the most contradicted one was taken: {error}"
        return known["worst"], (note,)


async def justify(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Ask the generator for one sentence; a failure is noted, and the flip stays without reason."""
    attempts, documents, meter = attempts_of(state), documents_of(state), UsageMeter()
    context, changed = runtime.context, flipped_by(attempts)
    changes = changes_in(state, changed.round) if changed else ()
    about = [claim for change in changes if change.applied for claim in change.claims]
    if changed is None or not about:
        raise ValueError("justify was reached without a change of the answer")
    weights = attempts[-1].report.weights if attempts[-1].report else {}
    prompt = context.prompts.render(
        "justify",
        question=material(state["question"]),
        before=material(attempts[0].answer.text),
        after=material(changed.answer.text),
        claim=material(about[0].claim.text),
        evidence=conflict_details(about[0], documents, context.prompts, weights),
    )
    try:
        history = conversation_of(state, context.generator).messages
        reason = await context.reader(meter).ask(prompt, read_text, _REPLY_TOKENS, history=history)
    except (ProviderError, BudgetError) as error:
        if isinstance(error, BudgetError) and not may_be_given_up(state, context):
            raise
        note = f"the change has no justification: {error}"
        return {"notes": [*state["notes"], note], "usage": spent(state, meter.usage)}
    reason = " ".join(without_active_content(reason).split())
    cited = cited_documents(reason, [d.number for d in documents])
    answer = changed.answer.model_copy(update={"justification": reason, "cited": cited})
    explained = [*state["attempts"]]
    explained[attempts.index(changed)] = changed.model_copy(update={"answer": answer}).to_json()
    reasoned = [c.model_copy(update={"reason": reason}) if c.applied else c for c in changes]
    return {
        "attempts": explained,
        "changes": with_changes(state, reasoned),
        "usage": spent(state, meter.usage),
    }
