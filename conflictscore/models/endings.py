"""Reads how a reply ended: normally, cut off at a token limit, or stopped by its provider.

Limits without a stated reason were chosen by hand.
"""

import re
from collections.abc import Mapping
from typing import Any

from langchain_core.messages import BaseMessage

from conflictscore.errors import UnreadableReplyError

_ENDING_FIELDS = ("finish_reason", "stop_reason", "stopReason", "done_reason")
"""Metadata fields that say why a reply ended.

In order, these fields are from OpenAI and Gemini, Anthropic, Bedrock Converse, and Ollama.
"""
_NORMAL_ENDINGS = frozenset(
    (
        "complete",
        "completed",
        "done",
        "end",
        "end_turn",
        "endoftext",
        "eos",
        "eos_token",
        "finish",
        "finished",
        "unspecified",
        "function_call",
        "none",
        "stop",
        "stop_sequence",
        "stop_token",
        "stop_words",
        "success",
        "tool_call",
        "tool_calls",
        "tool_use",
    )
)
"""Reasons for a normal end, and values that give no reason, such as ``unspecified``. Any other
reason means that the reply may be incomplete."""
# Reasons that mean that a token limit was reached.
_LENGTH_ENDINGS = frozenset(
    (
        "context_window_exceeded",
        "length",
        "max_length",
        "max_new_tokens",
        "max_output_tokens",
        "max_tokens",
        "model_context_window_exceeded",
        "model_length",
        "token_limit",
    )
)
_FILTERED = re.compile(
    r"(?i)filter|safety|unsafe|policy|moderat|sensitiv|guardrail|block|prohibit|recitation|refus"
    r"|spii|harm|flagged|violat|censor|language|complian"
)
"""Matches reasons that depend on the content, so that another attempt would end in the same way.
Any other reason may mean that the server gave up while it was writing.
"""
_TELL_THE_END = frozenset(("anthropic", "deepseek", "mistralai", "ollama", "openai"))
"""Providers whose LangChain clients always report how a complete reply ended."""
NO_REASON = "no finish reason"
"""The reason that :func:`early_ending` returns if a reply's provider gave none."""
# At most this many characters of a reason are shown; a server may send more.
_ENDING_CHARS = 60


def abnormal_ending(message: BaseMessage) -> str | None:
    """Return the provider's reason for ending a reply early, or None if the reply is complete."""
    metadata: Mapping[str, Any] = message.response_metadata
    for ending in map(metadata.get, _ENDING_FIELDS):
        if ending is not None and ending != "":
            # Gemini's client may return the text of an enum member, such as "FinishReason.STOP" or
            # "FINISH_REASON_STOP".
            reason = str(getattr(ending, "name", ending)).rpartition(".")[2]
            reason = re.sub(r"(?i)^finish_reason_", "", reason)
            if reason.lower() not in _NORMAL_ENDINGS:
                return reason
    # OpenRouter adds the original provider's reason. Only token limits are looked for, since each
    # provider has its own words for a normal end.
    native = str(metadata.get("native_finish_reason") or "")
    if native.lower() in _LENGTH_ENDINGS:
        return native
    details = metadata.get("incomplete_details")  # the Responses API
    if isinstance(details, Mapping) and details.get("reason"):
        return str(details["reason"])
    feedback = metadata.get("prompt_feedback")  # Gemini, for a prompt that it refused
    block_reason = feedback.get("block_reason") if isinstance(feedback, Mapping) else None
    if (
        block_reason
        and str(getattr(block_reason, "name", block_reason)).lower() != "block_reason_unspecified"
    ):
        return str(getattr(block_reason, "name", block_reason))
    return "refusal" if message.additional_kwargs.get("refusal") else None


def early_ending(message: BaseMessage) -> str | None:
    """Return why an answer may be incomplete; None if the provider says that it is complete.

    Only the answer that is checked needs a finish reason, since without one it may have been
    interrupted. The format of a judge's reply shows whether it is complete.
    """
    metadata: Mapping[str, Any] = message.response_metadata
    # a server may also send the field as null or empty; the Responses API has the field "status"
    silent = all(metadata.get(name) in (None, "") for name in (*_ENDING_FIELDS, "status"))
    if silent and metadata.get("model_provider") in _TELL_THE_END:
        return NO_REASON
    return abnormal_ending(message)


def was_cut(message: BaseMessage) -> bool:
    """Return whether a reply was cut off at a token limit."""
    ending = abnormal_ending(message)
    return ending is not None and ending.lower() in _LENGTH_ENDINGS


def require_whole(message: BaseMessage, model: str, max_tokens: int) -> None:
    """Raise an error for a reply that did not end normally, with the provider's reason."""
    ending, text = abnormal_ending(message), str(message.text)
    if ending is None:
        return
    if was_cut(message):
        reason = f"it was cut off after {max_tokens} tokens"
        raise UnreadableReplyError(reason, provider=model, reply=text)
    # a repeated request with the reason may change a model's refusal, but not a filter's decision
    if ending == "refusal":
        raise UnreadableReplyError("it was a refusal", provider=model, reply=text)
    ending = ending[:_ENDING_CHARS]
    reason = f"it did not end normally; the provider's reason is “{ending}”"
    raise UnreadableReplyError(reason, provider=model, again=not _FILTERED.search(ending))
