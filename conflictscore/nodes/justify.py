"""justify: why an answer changed, where its regeneration gave no reason.

The paper asks for a reason in multiple choice only (Table 16), and small models leave it out even
there. A flip without a reason cannot be reviewed, so here it is followed by one short question of
our own.
"""

from typing import Any

from conflictscore.errors import BudgetError, ProviderError
from conflictscore.models.usage import UsageMeter
from conflictscore.nodes.conflict_details import conflict_details
from conflictscore.nodes.conversation import conversation_of
from conflictscore.nodes.decide import flipped_by
from conflictscore.nodes.replies import cited_documents, read_text
from conflictscore.nodes.state import (
    RagState,
    RunRuntime,
    attempts_of,
    documents_of,
    spent,
    weights_of,
)
from conflictscore.prompts import material

__all__ = ["justify"]

_REPLY_TOKENS = 160


async def justify(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Ask the generator for one sentence; a failure is noted, and the flip stays without one."""
    attempts, documents, meter = attempts_of(state), documents_of(state), UsageMeter()
    context, changed = runtime.context, flipped_by(attempts)
    if changed is None or changed.reconsidered is None:
        raise ValueError("justify was reached without a regenerated answer")
    prompt = context.prompts.render(
        "justify",
        question=material(state["question"]),
        before=material(attempts[0].answer.text),
        after=material(changed.answer.text),
        claim=material(changed.reconsidered.claim.text),
        evidence=conflict_details(
            changed.reconsidered, documents, context.prompts, weights_of(state)
        ),
    )
    try:
        reason = await context.generator.ask(
            prompt,
            read_text,
            prompts=context.prompts,
            meter=meter,
            max_tokens=_REPLY_TOKENS,
            history=conversation_of(state, context.generator).messages,
        )
    except (ProviderError, BudgetError) as error:
        if isinstance(error, BudgetError) and not state.get("revisions"):
            raise
        note = f"the change has no justification: {error}"
        return {"notes": [*state["notes"], note], "usage": spent(state, meter.usage)}
    answer = changed.answer.model_copy(
        update={
            "justification": " ".join(reason.split()),
            "cited": cited_documents(reason, [d.number for d in documents]),
        }
    )
    explained = [*state["attempts"]]
    explained[attempts.index(changed)] = changed.model_copy(update={"answer": answer}).to_json()
    return {"attempts": explained, "usage": spent(state, meter.usage)}
