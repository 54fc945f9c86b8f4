"""Whether a server cut the prompt, as some do silently if their context is short."""

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from conflictscore.errors import FailureKind, ProviderError
from conflictscore.models.capabilities import Capabilities
from conflictscore.models.usage import cost_of
from conflictscore.tokens import count_tokens

_LEAST_TOKENS = 1000
"""Shorter prompts fit every server, and their counts differ most."""
_CHARS_PER_TOKEN = 5
"""Text of any script has fewer, emoji included, so a server that reports more has read it all: our
count of such text may be ten times that of a model whose tokenizer knows it."""
_LEAST_WINDOW = 256
"""No server has a shorter context window."""
_LONGER = 2
"""A prompt that was read this many times as long shows that the window is not the cause."""
_SHARE = 0.5
"""Tokenizers' counts of Latin text, which is what remains, differ by less than this."""


def require_whole_prompt(
    reply: Any, messages: Sequence[BaseMessage], model: str, capabilities: Capabilities
) -> None:
    """Refuse a reply whose server reports far fewer prompt tokens than were sent.

    Some servers, such as Ollama, leave out the tokens that they found in their prompt cache. So a
    low count is no cut where it is below any context window, or where the same server has reported
    to read much longer prompts.

    Raises:
        ProviderError: It cut the prompt; says how to give it a longer context.
    """
    tokens_read = cost_of(reply).input_tokens
    longest = capabilities.most_tokens_read = max(capabilities.most_tokens_read, tokens_read)
    if tokens_read < _LEAST_WINDOW or longest >= _LONGER * tokens_read:
        return
    if sum(len(message.text) for message in messages) <= _CHARS_PER_TOKEN * tokens_read:
        return
    tokens_sent = sum(count_tokens(message.text) for message in messages)
    if tokens_sent >= _LEAST_TOKENS and tokens_read < _SHARE * tokens_sent:
        raise ProviderError(
            f"{model} read {tokens_read:,} of about {tokens_sent:,} tokens of the prompt: its"
            " server cut the rest; give it a longer context (num_ctx in Ollama, the context length"
            " in LM Studio, -c in llama.cpp), or tell this program about it with"
            f" --context-window {tokens_read}",
            provider=model,
            failure=FailureKind.NO_ROOM,
        )
