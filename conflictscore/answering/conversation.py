"""Functions that cut a conversation to fit, and rewrite a question to be clear without it.

Limits without a stated reason were chosen by hand.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from langchain_core.messages import (
    BaseMessage,
)

from conflictscore.answering.answer_replies import read_text
from conflictscore.errors import ProviderError
from conflictscore.loop.state import RagState, RunContext
from conflictscore.loop.turns import MESSAGE_TYPES, Turn, history_of
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import material, material_line, neutral
from conflictscore.tokens import count_tokens

_LEAST_TOKENS = 128  # Room for a full question, even if the original is only "And in 1931?"
_MOST_TOKENS = 1024  # Stops a model that repeats itself; a longer question is used as it was asked.
_TOKENS_PER_TOKEN = 2
"""Maximum number of reply tokens per token of the question.

A rewritten question is somewhat longer than the original; a reply that exceeds this limit is not a
question.
"""

# Question marks (usual, full-width, Arabic), and the Japanese particle that ends a question.
_QUESTION_MARKS = ("?", "\uff1f", "\u061f", "か", "か。")
_CLOSING = " \t\n\"'”’»)*_"
# 1 / _SHARE of the context window is for the conversation, and most of the remainder for documents.
# With a larger share, long conversations would leave documents unread. Chosen by hand.
_SHARE = 4
# Tokens that a chat message needs in addition to its text: its role and the marks around it.
_FRAME_TOKENS = 4


@dataclass(frozen=True)
class Conversation:
    """The part of a conversation that a model sees."""

    turns: tuple[Turn, ...]  # Oldest first.
    left_out: int = 0  # Number of older messages that did not fit.

    @property
    def messages(self) -> tuple[BaseMessage, ...]:
        """Return the turns as chat messages."""
        return tuple(MESSAGE_TYPES[turn.role](content=neutral(turn.content)) for turn in self.turns)

    @property
    def spoken(self) -> tuple[Turn, ...]:
        """Return the turns of the user and the assistant, without system turns."""
        return tuple(turn for turn in self.turns if turn.role != "system")


def conversation_of(state: RagState, model: LanguageModel) -> Conversation:
    """Return the conversation so far, cut to at most a quarter of a model's context window.

    System messages are always kept. The oldest of the other messages are left out first. If
    messages are left out, the first remaining message is the user's, because many chat templates
    refuse any other order.
    """
    turns = history_of(state.get("history"))
    sizes = [count_tokens(turn.content) + _FRAME_TOKENS for turn in turns]
    spoken_indices = [index for index, turn in enumerate(turns) if turn.role != "system"]
    # system messages are always kept, so the room is what they leave
    room = (
        model.context_window // _SHARE - sum(sizes) + sum(sizes[index] for index in spoken_indices)
    )
    n_shown = 0
    for index in reversed(spoken_indices):
        room -= sizes[index]
        if room < 0:
            break
        n_shown += 1
    n_left_out = len(spoken_indices) - n_shown
    if n_left_out:
        for index in spoken_indices[n_left_out:]:
            if turns[index].role != "assistant":
                break
            n_left_out += 1
    left_out = frozenset(spoken_indices[:n_left_out])
    shown_turns = (turn for index, turn in enumerate(turns) if index not in left_out)
    return Conversation(tuple(shown_turns), left_out=n_left_out)


def read_after(messages: Sequence[BaseMessage], prompt: str) -> str:
    """Return the text of the messages and of the prompt that follows them, for counting tokens."""
    return "\n".join([*(f"{message.type}: {message.text}" for message in messages), prompt])


async def stand_alone_question(
    question: str, conversation: Conversation, context: RunContext, meter: UsageMeter
) -> str:
    """Return the question, rewritten by a model so that it is clear without the conversation.

    The answering model is asked first. If it fails, a judge that is a different model is asked. A
    question that depends on its conversation cannot be put to documents, so a second try is
    worthwhile.
    """
    turns = (
        context.prompts.render("turn", role=turn.role, text=material_line(turn.content))
        for turn in conversation.spoken
    )
    prompt = context.prompts.render(
        "contextualize", history="\n".join(turns), question=material(question)
    )
    length = count_tokens(question)
    room = min(_MOST_TOKENS, _LEAST_TOKENS + _TOKENS_PER_TOKEN * length)
    read_reply = partial(_read_question, question)
    try:
        return await context.reader(meter).ask(prompt, read_reply, room)
    except ProviderError:
        if context.decomposer is context.generator:
            raise
        return await context.judge(meter).ask(prompt, read_reply, room)


def _read_question(question: str, reply: str) -> str:
    """Read a rewritten question.

    If the original ends in a question mark, the rewrite must not be a statement. A statement would
    suggest an answer to every model that reads it.
    """
    text = read_text(reply)
    asks = text.rstrip(_CLOSING).endswith(_QUESTION_MARKS)
    if question.rstrip(_CLOSING).endswith(_QUESTION_MARKS) and not asks:
        raise ValueError("it is a statement, not a rewritten question")
    return text
