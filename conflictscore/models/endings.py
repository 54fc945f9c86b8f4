"""How a reply ended: normally, cut at a limit of tokens, or stopped by its provider."""

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import BaseMessage

from conflictscore.errors import UnreadableReplyError

_ENDING_FIELDS = ("finish_reason", "stop_reason", "stopReason", "done_reason")
"""OpenAI and Gemini; Anthropic; Bedrock Converse; Ollama."""
_NORMAL_ENDINGS = frozenset(
    (
        "complete",
        "completed",
        "done",
        "end",
        "end_turn",
        "eos",
        "eos_token",
        "finish",
        "finished",
        "unspecified",
        "function_call",
        "none",
        "stop",
        "stop_sequence",
        "success",
        "tool_call",
        "tool_calls",
        "tool_use",
    )
)
"""A reason that is not listed may be anything, so a reply that gives one is not taken as whole."""
_LENGTH_ENDINGS = frozenset(
    (
        "context_window_exceeded",
        "length",
        "max_length",
        "max_output_tokens",
        "max_tokens",
        "model_context_window_exceeded",
        "model_length",
    )
)
_FAILED_ENDINGS = frozenset(
    (
        "abort",
        "aborted",
        "error",
        "insufficient_system_resource",
        "malformed_function_call",
        "network_error",
        "other",
        "unknown",
    )
)
"""The server gave up while it wrote, which another attempt may not meet."""
_ENDING_CHARS = 60


def abnormal_ending(message: BaseMessage) -> str | None:
    """The provider's name for why a reply ended early; None for a whole reply."""
    metadata: Mapping[str, Any] = message.response_metadata
    for name in _ENDING_FIELDS:
        ending = metadata.get(name)
        if ending is not None and ending != "":
            reason = str(getattr(ending, "name", ending)).rpartition(".")[2]
            if reason.lower().removeprefix("finish_reason_") not in _NORMAL_ENDINGS:
                return reason
    native = str(metadata.get("native_finish_reason") or "")  # OpenRouter's, beside its own
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


def was_cut(message: BaseMessage) -> bool:
    """Whether a reply ended at a limit of tokens."""
    ending = abnormal_ending(message)
    return ending is not None and ending.lower() in _LENGTH_ENDINGS


def require_whole(message: BaseMessage, model: str, max_tokens: int) -> None:
    """Refuse a reply that did not end normally, by the provider's reason."""
    ending, text = abnormal_ending(message), str(message.text)
    if ending is None:
        return
    if was_cut(message):
        reason = f"it was cut off after {max_tokens} tokens"
        raise UnreadableReplyError(reason, provider=model, reply=text)
    if ending == "refusal":
        raise UnreadableReplyError("it was a refusal", provider=model, reply=text)
    # a filter is no fault of form that the model could mend; a failure may pass
    reason = f"it did not end normally but by “{ending[:_ENDING_CHARS]}”"
    is_failure = ending.lower() in _FAILED_ENDINGS
    raise UnreadableReplyError(reason, provider=model, again=is_failure)
