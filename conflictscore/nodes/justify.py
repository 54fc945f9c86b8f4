"""justify: ask for the reason of a change that came without one.

The paper asks for a reason in multiple choice only (Table 16; 17 in arXiv v1), and small models
leave it out even there. A flip without a reason cannot be reviewed, so one short question of our
own follows it.
"""

from typing import Any

from conflictscore.active_content import without_active_content
from conflictscore.errors import BudgetError, ProviderError
from conflictscore.models.usage import UsageMeter
from conflictscore.nodes.answer_replies import cited_documents, read_text
from conflictscore.nodes.conflict_details import conflict_details
from conflictscore.nodes.conversation import conversation_of
from conflictscore.nodes.decide import flipped_by
from conflictscore.nodes.second_look.readers import Reader
from conflictscore.nodes.state import (
    RagState,
    RunRuntime,
    attempts_of,
    changes_in,
    documents_of,
    may_be_given_up,
    spent,
    weights_of,
    with_changes,
)
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
    prompt = context.prompts.render(
        "justify",
        question=material(state["question"]),
        before=material(attempts[0].answer.text),
        after=material(changed.answer.text),
        claim=material(about[0].claim.text),
        evidence=conflict_details(about[0], documents, context.prompts, weights_of(state)),
    )
    try:
        history = conversation_of(state, context.generator).messages
        reader = Reader(context.generator, context.prompts, meter)
        reason = await reader.ask(prompt, read_text, _REPLY_TOKENS, history=history)
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
