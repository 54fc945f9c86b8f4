"""Detects whether a server cut the prompt, as some do silently if their context is too short.

The limits were chosen by hand, for the reasons given with them.
"""

from collections.abc import Sequence

from langchain_core.messages import BaseMessage

from conflictscore.errors import FailureKind, ProviderError
from conflictscore.models.capabilities import Capabilities
from conflictscore.records import Usage
from conflictscore.tokens import count_tokens

_LEAST_TOKENS = 1000
"""Shorter prompts are not tested: they fit every server's window, and token counts of different
tokenizers differ most for short texts."""
_CHARS_PER_TOKEN = 5
"""No script has more characters per token on average. So a server that reports at least one token
per five characters has read the whole prompt. For some scripts, this package may estimate ten times
as many tokens as a good tokenizer counts.
"""
_LEAST_WINDOW = 256
"""Minimum size of any server's context window, in tokens."""
_LONGER = 2
"""A server that cuts a prompt still fills its window. If a server once reported at least twice as
many tokens as for this prompt, its window has room for more. So the server did not cut this prompt.
"""
_SHARE = 0.5
"""A prompt counts as cut if the server read less than this share of its tokens. Only Latin text is
compared in this way, since text in other scripts has fewer characters for each token. For Latin
text, the counts of different tokenizers differ by less than this factor."""
_SAME_SHARE = 0.9
"""Two token counts of the same prompt are treated as equal if they differ by less than a tenth."""


def may_be_cut(cost: Usage, messages: Sequence[BaseMessage], capabilities: Capabilities) -> bool:
    """Return whether the server reports reading far fewer tokens than were sent.

    Some servers, such as Ollama, do not count tokens found in their prompt cache. So a low count
    does not show a cut in three cases. First, the count is smaller than any context window. Second,
    the server has reported reading a much longer prompt. Third, the server reports at least as many
    cached tokens.
    """
    tokens_read = cost.input_tokens
    longest = capabilities.most_tokens_read = max(capabilities.most_tokens_read, tokens_read)
    if tokens_read < _LEAST_WINDOW or longest >= _LONGER * tokens_read:
        return False
    if capabilities.counts_no_cache or cost.cache_read_tokens >= tokens_read:
        return False
    if sum(len(message.text) for message in messages) <= _CHARS_PER_TOKEN * tokens_read:
        return False
    tokens_sent = _tokens_of(messages)
    return tokens_sent >= _LEAST_TOKENS and tokens_read < _SHARE * tokens_sent


def require_whole_prompt(
    tokens_read: int,
    read_again: int,
    messages: Sequence[BaseMessage],
    model: str,
    capabilities: Capabilities,
) -> None:
    """Compare a server's token counts for a prompt that was sent twice; raise if it was cut.

    A server that cut the prompt reports the same count again. A server that leaves out cached
    tokens reports a lower count, since the prompt is now cached.

    Raises:
        ProviderError: The server cut the prompt; the message says how to give the server a longer
            context.
    """
    if read_again < _SAME_SHARE * tokens_read:
        capabilities.counts_no_cache = True
        return
    raise ProviderError(
        f"{model} read {tokens_read:,} of about {_tokens_of(messages):,} tokens of the prompt: its"
        " server cut the rest; give it a longer context (num_ctx in Ollama, the context length"
        " in LM Studio, -c in llama.cpp), or state the actual length with"
        f" --context-window {tokens_read}",
        provider=model,
        failure=FailureKind.NO_ROOM,
    )


def _tokens_of(messages: Sequence[BaseMessage]) -> int:
    return sum(count_tokens(message.text) for message in messages)
