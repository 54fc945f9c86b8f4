"""justify: ask why the answer was changed, where no reason came with it."""

from typing import Any

from conflictscore.active_content import without_active_content
from conflictscore.answering.answer_replies import cited_documents, read_text
from conflictscore.answering.conversation import conversation_of
from conflictscore.answering.evidence_text import conflict_details
from conflictscore.errors import BudgetError, ProviderError
from conflictscore.loop.rounds import flipped_by
from conflictscore.loop.state import (
    RagState,
    RunRuntime,
    attempts_of,
    changes_in,
    documents_of,
    may_be_given_up,
    spent,
    with_changes,
)
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import material

_REPLY_TOKENS = 160


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
