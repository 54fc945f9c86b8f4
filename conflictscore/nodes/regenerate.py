"""regenerate: answer again with both sides of the conflict in view (Tables 13 and 16)."""

from typing import Any

from conflictscore.errors import ProviderError
from conflictscore.models.usage import UsageMeter
from conflictscore.models.window import fit_documents
from conflictscore.nodes.evidence import conflict_details
from conflictscore.nodes.generate import REPLY_TOKENS, option_fields
from conflictscore.nodes.replies import read_reconsidered_choice, read_text
from conflictscore.nodes.state import (
    RagState,
    RunRuntime,
    attempts_of,
    documents_of,
    spent,
)
from conflictscore.prompts import material
from conflictscore.records import Answer, ClaimEvidence

__all__ = ["regenerate"]


async def regenerate(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Put the claim to reconsider back to the model, with its evidence.

    A model that fails here is recorded in the notes, and the earlier answer stands.
    """
    last, meter = attempts_of(state)[-1], UsageMeter()
    if last.report is None or last.report.reconsider is None:
        raise ValueError("regenerate was reached without a conflicting claim")
    claim = last.report.evidence(last.report.reconsider)
    try:
        answer = await _ask_again(state, runtime, last.answer, claim, meter)
    except ProviderError as error:
        note = f"the first answer stands, because it could not be regenerated: {error}"
        return {
            "decision": "record",
            "reason": note,
            "notes": [*state["notes"], note],
            "usage": spent(state, meter.usage),
        }
    runtime.stream_writer({"event": "answer", "round": last.round + 1, "answer": answer.text})
    return {
        "draft": answer.to_json(),
        "reconsidered": claim.to_json(),
        "usage": spent(state, meter.usage),
    }


async def _ask_again(
    state: RagState, runtime: RunRuntime, before: Answer, claim: ClaimEvidence, meter: UsageMeter
) -> Answer:
    context, options, documents = runtime.context, state["options"], documents_of(state)
    template = "multiple_choice_regenerate" if options else "free_form_regenerate"
    fields = {
        "question": material(state["question"]),
        "answer": material(before.text),
        "claim": material(claim.claim.text),
        "evidence": conflict_details(claim, documents, context.prompts),
        **option_fields(options),
    }
    fitted = fit_documents(
        documents,
        context.generator,
        context.prompts,
        around=context.prompts.render(template, documents="", **fields),
        reply_tokens=REPLY_TOKENS,
    )
    prompt = context.prompts.render(
        template, documents=context.prompts.documents(fitted.documents), **fields
    )

    def read(reply: str) -> Answer:
        if not options:
            return Answer(text=read_text(reply))
        choice = read_reconsidered_choice(reply, options, [d.number for d in documents])
        return Answer(
            text=options[choice.option],
            option=choice.option,
            justification=choice.justification,
            cited=choice.cited,
        )

    return await context.generator.ask(
        prompt, read, prompts=context.prompts, meter=meter, max_tokens=REPLY_TOKENS
    )
