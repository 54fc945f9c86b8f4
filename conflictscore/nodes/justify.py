"""justify: ask the model why it changed the answer, if it gave no reason.

The paper asks for a reason only if the question has options (Table 16, or Table 17 in arXiv v1),
and small models omit the reason even then. A flip without a reason cannot be reviewed, so this node
asks one short question.
"""

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

# Room for a reply of one sentence; a reply that is cut off here is asked for once more. The number
# was chosen, not measured.
_REPLY_TOKENS = 160


async def justify(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Ask the generator for one sentence; if that fails, add a note instead."""
    attempts, documents, meter = attempts_of(state), documents_of(state), UsageMeter()
    context, changed_attempt = runtime.context, flipped_by(attempts)
    changes = changes_in(state, changed_attempt.round) if changed_attempt else ()
    about = [claim for change in changes if change.applied for claim in change.claims]
    if changed_attempt is None or not about:
        raise ValueError("justify was reached without a change of the answer")
    # a change without a reason is a whole new answer, which was rewritten for a single claim
    weights = attempts[-1].report.weights if attempts[-1].report else {}
    prompt = context.prompts.render(
        "justify",
        question=material(state["question"]),
        before=material(attempts[0].answer.text),
        after=material(changed_attempt.answer.text),
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
    # users see the reason, and a document could have made the model add a link or an image to it
    reason = " ".join(without_active_content(reason).split())
    numbers = cited_documents(reason, [d.number for d in documents])
    update = {"justification": reason, "cited": numbers}
    answer = changed_attempt.answer.model_copy(update=update)
    explained_attempt = changed_attempt.model_copy(update={"answer": answer})
    new_attempts = [*state["attempts"]]
    new_attempts[attempts.index(changed_attempt)] = explained_attempt.to_json()
    new_changes = [c.model_copy(update={"reason": reason}) if c.applied else c for c in changes]
    return {
        "attempts": new_attempts,
        "changes": with_changes(state, new_changes),
        "usage": spent(state, meter.usage),
    }
