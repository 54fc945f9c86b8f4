"""Detects whether a server cut the prompt, as some do silently if their context is too short."""

from collections.abc import Sequence

from langchain_core.messages import BaseMessage

from conflictscore.errors import FailureKind, ProviderError
from conflictscore.models.capabilities import Capabilities
from conflictscore.tokens import count_tokens

_LEAST_TOKENS = 1000
"""Shorter prompts are not tested: they fit every server, and token counts differ most for them."""
_CHARS_PER_TOKEN = 5
"""No script has more characters per token than this. So a server that reports at least one token
per five characters has read the whole prompt. This package's own count may be ten times too high
for scripts that a tokenizer knows well."""
_LEAST_WINDOW = 256
"""No server has a context window with fewer tokens."""
_LONGER = 2
"""If the server has read a prompt this many times as long, its window cannot explain a low
count."""
_SHARE = 0.5
"""A prompt was cut if the server read less than this share of it. For Latin text, the only case
left at this point, the counts of different tokenizers differ by less."""


def require_whole_prompt(
    tokens_read: int, messages: Sequence[BaseMessage], model: str, capabilities: Capabilities
) -> None:
    """Raise an error if the server reports reading far fewer tokens than were sent.

    Some servers, such as Ollama, do not count tokens found in their prompt cache. So a low count
    does not prove a cut if it is smaller than any context window, or if the same server has
    reported reading much longer prompts.

    Raises:
        ProviderError: The server cut the prompt; the message says how to give the server a longer
            context.
    """
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
            " in LM Studio, -c in llama.cpp), or state the actual length with"
            f" --context-window {tokens_read}",
            provider=model,
            failure=FailureKind.NO_ROOM,
        )
