"""Whether a model was stopped before it had said everything, as each provider's client says it."""

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import BaseMessage

__all__ = ["was_cut"]

_REASONS = {
    "finish_reason": {"length", "max_tokens"},  # chat completions, and Gemini in capitals
    "stop_reason": {"max_tokens"},  # Anthropic
    "stopReason": {"max_tokens"},  # Bedrock Converse
    "done_reason": {"length"},  # Ollama
}


def was_cut(message: BaseMessage) -> bool:
    """Whether a reply ended at the most tokens that it could have.

    Args:
        message: The reply, with what its client put into ``response_metadata``.
    """
    said: Mapping[str, Any] = message.response_metadata
    if any(str(said.get(field)).lower() in reasons for field, reasons in _REASONS.items()):
        return True
    details = said.get("incomplete_details")  # the Responses API
    return isinstance(details, Mapping) and details.get("reason") == "max_output_tokens"
