"""contextualize: rewrite a question that only a conversation explains, so that it stands alone."""

from typing import Any

from conflictscore.answering.conversation import conversation_of, stand_alone_question
from conflictscore.errors import ProviderError
from conflictscore.loop.state import RagState, RunRuntime, spent
from conflictscore.models.usage import UsageMeter


async def contextualize(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Rewrite the question with the conversation before it; it stays where that fails, noted."""
    original, context, meter = state["question"], runtime.context, UsageMeter()
    conversation = conversation_of(state, context.generator)
    question, notes = original, list[str]()
    if conversation.left_out:
        notes.append(
            f"the {conversation.left_out} oldest turns of the conversation were left out: they are"
            " longer than its share of the context window"
        )
    if conversation.spoken:
        try:
            question = await stand_alone_question(original, conversation, context, meter)
        except ProviderError as failure:
            notes.append(
                f"the question was used as it was asked, without its conversation: {failure}"
            )
    if question != original:
        runtime.stream_writer({"event": "question", "asked": original, "question": question})
    return {
        "question": question,
        "notes": [*state.get("notes", []), *notes],
        "usage": spent(state, meter.usage),
    }
