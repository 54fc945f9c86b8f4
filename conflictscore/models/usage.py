"""What the model calls of one step cost."""

import threading
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, UsageMetadata
from langchain_core.outputs import ChatGeneration, LLMResult

from conflictscore.records import Usage

__all__ = ["UsageMeter"]


class UsageMeter(BaseCallbackHandler):
    """Adds up the calls it is passed to, with their tokens as the provider reports them."""

    run_inline = True
    """LangChain hands everything else to a worker thread, dozens of times a call."""

    def __init__(self) -> None:
        self.usage = Usage()
        self._lock = threading.Lock()  # LangChain calls back from several threads at once

    def cached(self) -> None:
        """Count a call that a cache answered."""
        self._count(Usage(cached_calls=1))

    def on_llm_end(self, response: LLMResult, **kwargs: Any) -> None:
        """Count a call that was answered."""
        generation = response.generations[0][0] if response.generations[0] else None
        message = generation.message if isinstance(generation, ChatGeneration) else None
        tokens = message.usage_metadata if isinstance(message, AIMessage) else None
        self.add(
            input_tokens=tokens["input_tokens"] if tokens else 0,
            output_tokens=tokens["output_tokens"] if tokens else 0,
            cache_read_tokens=_found_in_cache(tokens) if tokens else 0,
        )

    def add(self, *, input_tokens: int, output_tokens: int, cache_read_tokens: int = 0) -> None:
        """Count a call that was answered, with its tokens."""
        self._count(
            Usage(
                calls=1,
                input_tokens=input_tokens,
                cache_read_tokens=cache_read_tokens,
                output_tokens=output_tokens,
            )
        )

    def _count(self, usage: Usage) -> None:
        with self._lock:
            self.usage += usage


def _found_in_cache(tokens: UsageMetadata) -> int:
    """The input tokens that came from the provider's prompt cache; never more than there are."""
    details = tokens.get("input_token_details") or {}
    # LangChain puts a service tier before the name: flex_cache_read
    said = [n for name, n in details.items() if name.endswith("cache_read") and isinstance(n, int)]
    return max(0, min(sum(said), tokens["input_tokens"]))
