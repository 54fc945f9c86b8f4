"""contextualize: rewrite a question that depends on its conversation as a standalone question."""

from typing import Any

from conflictscore.answering.conversation import conversation_of, stand_alone_question
from conflictscore.errors import ProviderError
from conflictscore.loop.state import RagState, RunRuntime, spent
from conflictscore.models.usage import UsageMeter


async def contextualize(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Make the question independent of its conversation; if this fails, keep it and add a note."""
    original, context, meter = state["question"], runtime.context, UsageMeter()
    conversation = conversation_of(state, context.generator)
    question, is_clear, notes = original, state.get("is_question_clear", True), list[str]()
    if number := conversation.left_out:
        turns = "oldest turn was" if number == 1 else f"{number} oldest turns were"
        notes.append(
            f"the {turns} left out, since the conversation exceeds its share of the context window"
        )
    # system messages alone are instructions, so the question cannot depend on them
    if conversation.spoken:
        try:
            question = await stand_alone_question(original, conversation, context, meter)
        except ProviderError as failure:
            # the question may refer to its conversation, so it is not put to documents
            is_clear = False
            notes.append(
                f"the question was used as it was asked, without its conversation: {failure}"
            )
    if question != original:
        runtime.stream_writer({"event": "question", "asked": original, "question": question})
    return {
        "question": question,
        "is_question_clear": is_clear,
        "notes": [*state.get("notes", []), *notes],
        "usage": spent(state, meter.usage),
    }
