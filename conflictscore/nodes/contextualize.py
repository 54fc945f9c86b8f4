"""contextualize: rewrite a follow-up question so that it stands alone."""

from typing import Any

from conflictscore.errors import ProviderError
from conflictscore.models.usage import UsageMeter
from conflictscore.nodes.answer_replies import read_text
from conflictscore.nodes.conversation import Conversation, conversation_of
from conflictscore.nodes.second_look.readers import Reader
from conflictscore.nodes.state import RagState, RunContext, RunRuntime, spent
from conflictscore.prompts import material, material_line
from conflictscore.tokens import count_tokens

_LEAST_TOKENS = 128
_MOST_TOKENS = 1024
_TOKENS_PER_TOKEN = 2
"""A question that stands alone is somewhat longer; a reply beyond this is not a question."""


async def contextualize(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Rewrite the question with the conversation before it; it stays where that fails, noted."""
    asked, context, meter = state["question"], runtime.context, UsageMeter()
    conversation = conversation_of(state, context.generator)
    question, notes = asked, list[str]()
    if conversation.left_out:
        notes.append(
            f"the {conversation.left_out} oldest turns of the conversation were left out: they are"
            " longer than its share of the context window"
        )
    if conversation.spoken:
        try:
            question = await _standing_alone(asked, conversation, context, meter)
        except ProviderError as failure:
            notes.append(
                f"the question was used as it was asked, without its conversation: {failure}"
            )
    if question != asked:
        runtime.stream_writer({"event": "question", "asked": asked, "question": question})
    return {
        "question": question,
        "notes": [*state.get("notes", []), *notes],
        "usage": spent(state, meter.usage),
    }


async def _standing_alone(
    asked: str, conversation: Conversation, context: RunContext, meter: UsageMeter
) -> str:
    turns = (
        context.prompts.render("turn", role=turn.role, text=material_line(turn.content))
        for turn in conversation.spoken
    )
    prompt = context.prompts.render(
        "contextualize", history="\n".join(turns), question=material(asked)
    )
    length = count_tokens(asked, context.generator.name)
    room = min(_MOST_TOKENS, _LEAST_TOKENS + _TOKENS_PER_TOKEN * length)
    return await Reader(context.generator, context.prompts, meter).ask(prompt, read_text, room)
