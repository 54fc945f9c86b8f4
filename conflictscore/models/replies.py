"""Reading a model's reply: how it ended, and its text without reasoning.

Every step reads replies through here and :mod:`~conflictscore.models.json_replies`. Only
damage that loses nothing is undone. A reply that could be read in two ways is refused with a
ValueError, whose message can be given back to the model.
"""

import re
from collections.abc import Mapping
from typing import Any

from langchain_core.messages import BaseMessage

from conflictscore.errors import UnreadableReplyError

__all__ = [
    "INTERRUPTED_REASONING",
    "abnormal_ending",
    "reply_text",
    "require_whole",
    "unfenced",
    "was_cut",
    "without_reasoning",
]

INTERRUPTED_REASONING = "it was cut off while the model was still reasoning"

# How a reply ended.

_ENDING_FIELDS = ("finish_reason", "stop_reason", "stopReason", "done_reason")
"""OpenAI and Gemini; Anthropic; Bedrock Converse; Ollama."""
_NORMAL_ENDINGS = frozenset(
    {
        "complete",
        "end_turn",
        "eos",
        "eos_token",
        "finish_reason_unspecified",
        "function_call",
        "none",
        "stop",
        "stop_sequence",
        "tool_call",
        "tool_calls",
        "tool_use",
    }
)
"""A reason that is not listed may be anything, so a reply that gives one is not taken as whole."""
_LENGTH_ENDINGS = frozenset(
    {
        "length",
        "max_length",
        "max_output_tokens",
        "max_tokens",
        "model_context_window_exceeded",
        "model_length",
    }
)
_ENDING_CHARS = 60


def abnormal_ending(message: BaseMessage) -> str | None:
    """Why a reply ended before its end, by the provider's name for it; None for a whole reply.

    Args:
        message: The reply, with what its client put into ``response_metadata``.
    """
    said: Mapping[str, Any] = message.response_metadata
    for name in _ENDING_FIELDS:
        value = said.get(name)
        if value is not None and value != "":
            reason = str(getattr(value, "name", value)).rpartition(".")[2]
            if reason.lower() not in _NORMAL_ENDINGS:
                return reason
    details = said.get("incomplete_details")  # the Responses API
    if isinstance(details, Mapping) and details.get("reason"):
        return str(details["reason"])
    feedback = said.get("prompt_feedback")  # Gemini, for a prompt that it refused
    blocked = feedback.get("block_reason") if isinstance(feedback, Mapping) else None
    if blocked and str(getattr(blocked, "name", blocked)).lower() != "block_reason_unspecified":
        return str(getattr(blocked, "name", blocked))
    return "refusal" if message.additional_kwargs.get("refusal") else None


def was_cut(message: BaseMessage) -> bool:
    """Whether a reply ended at a limit of tokens."""
    ending = abnormal_ending(message)
    return ending is not None and ending.lower() in _LENGTH_ENDINGS


def require_whole(message: BaseMessage, model: str, max_tokens: int) -> None:
    """Refuse a reply that ended before its end.

    Args:
        message: The reply.
        model: Whose it is.
        max_tokens: The most tokens that it was allowed.

    Raises:
        UnreadableReplyError: It did not end normally; names the provider's reason.
    """
    ending, text = abnormal_ending(message), str(message.text)
    if ending is None:
        return
    if was_cut(message):
        reason = f"it was cut off after {max_tokens} tokens"
        raise UnreadableReplyError(reason, provider=model, reply=text)
    if ending == "refusal":
        raise UnreadableReplyError("it was a refusal", provider=model, reply=text)
    # a filter or a failure is no fault of form that the model could mend
    reason = f"it did not end normally but by “{ending[:_ENDING_CHARS]}”"
    raise UnreadableReplyError(reason, provider=model, again=False)


# The text of a reply.

_NAME = r"(?:think|thinking|thought|reasoning|reflection|seed:think)"
_TAGS = re.compile(
    rf"(?P<open>^[ \t]*(?:<{_NAME}>|\[THINK\]|◁think▷|<\|begin_of_thought\|>|<\|START_THINKING\|>))"
    rf"|</{_NAME}>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>|<\|END_THINKING\|>",
    re.MULTILINE | re.IGNORECASE,
)
_QUOTES = ("`", '"', "'", "“")
"""A closing tag behind one of these is spoken of, not used."""
_SOLUTION = re.compile(r"<\|(?:begin|end)_of_solution\|>|<\|(?:START|END)_RESPONSE\|>")
_HARMONY = re.compile(r"<\|channel\|>(?P<channel>[^<]*)(?:<\|constrain\|>[^<]*)?<\|message\|>")
_HARMONY_END = re.compile(r"<\|(?:end|return|call|start)\|>")


def reply_text(message: BaseMessage) -> str:
    """Text of a model's reply, without its reasoning.

    Raises:
        ValueError: The reply ended while the model was still reasoning.
    """
    return without_reasoning(str(message.text))


def without_reasoning(text: str) -> str:
    """A text without the reasoning blocks that a server left in it, and without a byte-order mark.

    A block has a tag such as ``<think>`` at the start of a line, and a closing one. Everything
    before a closing tag that stands alone is reasoning too: some chat templates put the opening tag
    into the prompt. Of OpenAI's Harmony format, the last channel that is no analysis is the reply.

    Raises:
        ValueError: A block is not closed.
    """
    text = text.lstrip("\ufeff")
    if "<|channel|>" in text:
        text = _last_channel(text)
    elif text.startswith("analysis") and "assistantfinal" in text:  # Harmony without its tokens
        text = text.rpartition("assistantfinal")[2]
    kept: list[str] = []
    start, is_open = 0, False
    for tag in _TAGS.finditer(text):
        if tag["open"]:
            kept += [] if is_open else [text[start : tag.start()]]
            is_open = True
        elif is_open or text[tag.start() - 1 : tag.start()] not in _QUOTES:
            kept = kept if is_open else []
            start, is_open = tag.end(), False
    if is_open:
        raise ValueError(INTERRUPTED_REASONING)
    if not start:
        return text
    return _SOLUTION.sub("", "".join([*kept, text[start:]])).lstrip()


def unfenced(text: str) -> str:
    """A text without a byte-order mark, and without the code fence that all of it stands in."""
    bare = text.lstrip("\ufeff").strip()
    first, _, rest = bare.partition("\n")
    if not (first.startswith("```") and rest.endswith("```")) or "```" in rest[:-3]:
        return bare
    return rest[:-3].strip()


def _last_channel(text: str) -> str:
    channels = [one for one in _HARMONY.finditer(text) if "analysis" not in one["channel"]]
    if not channels:
        raise ValueError(INTERRUPTED_REASONING)
    start = channels[-1].end()
    end = _HARMONY_END.search(text, start)
    return text[start : end.start() if end else len(text)]
