"""OpenAI's chat completions, whole and in chunks."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from conflictscore.middleware.service.evidence import brief
from conflictscore.middleware.service.service import Ticket
from conflictscore.records import Usage

__all__ = ["Chunks", "completion_of", "text_of", "usage_of", "why_no_text"]

_PIECE = re.compile(r"\S+\s*|\s+")
_WORDS_A_CHUNK = 4


def completion_of(
    ticket: Ticket,
    run: Mapping[str, Any],
    text: str,
    *,
    base: Mapping[str, Any] | None = None,
    complete: bool = True,
) -> dict[str, Any]:
    """The chat completion that a caller gets.

    Args:
        ticket: The request.
        run: The evidence.
        text: The answer.
        base: The upstream's own completion that the answer began with, kept as far as it is it.
        complete: Whether nothing of the run is still going on.
    """
    spent = Usage.model_validate(run["usage"])
    whole = {
        "id": f"chatcmpl-{ticket.run_id}",
        "object": "chat.completion",
        "created": ticket.created,
        "model": ticket.model,
        "usage": None,
        **(base or {}),
        "conflictscore": brief(run, complete=complete),
    }
    if base is None or spent != usage_of(base):
        whole["usage"] = {
            "prompt_tokens": spent.input_tokens,
            "completion_tokens": spent.output_tokens,
            "total_tokens": spent.input_tokens + spent.output_tokens,
            "prompt_tokens_details": {"cached_tokens": spent.cache_read_tokens},
        }
    if base is None or text_of(base) != text:
        message = {"role": "assistant", "content": text, "refusal": None}
        finish = "stop"
        if base is not None and text.startswith(text_of(base)):
            finish = base["choices"][0].get("finish_reason") or finish
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
        whole["choices"] = [choice]
    return whole


def usage_of(completion: Mapping[str, Any]) -> Usage:
    """What the upstream's own call cost."""
    usage = completion.get("usage")
    counts = usage if isinstance(usage, Mapping) else {}
    details = counts.get("prompt_tokens_details")
    found = details.get("cached_tokens") if isinstance(details, Mapping) else 0
    given = (counts.get("prompt_tokens"), counts.get("completion_tokens"), found)
    read, written, cached = (n if isinstance(n, int) and n > 0 else 0 for n in given)
    return Usage(
        calls=1,
        input_tokens=read,
        cache_read_tokens=min(cached, read),
        output_tokens=written,
    )


def text_of(completion: Mapping[str, Any]) -> str:
    """The text of the first message; empty where it has none."""
    return _text_in(completion["choices"][0]["message"].get("content"))


def why_no_text(completion: Mapping[str, Any]) -> str | None:
    """Why an upstream's reply is no answer in words; None where it is one."""
    message = completion["choices"][0]["message"]
    if message.get("tool_calls") or message.get("function_call"):
        return "the model calls tools"
    if message.get("refusal"):
        return "the model refuses to answer"
    return None if text_of(completion).strip() else "the reply has no text"


class Chunks:
    """The chunks of one streamed completion."""

    def __init__(self, ticket: Ticket, *, include_usage: bool) -> None:
        self._include_usage = include_usage
        self._common = {
            "id": f"chatcmpl-{ticket.run_id}",
            "object": "chat.completion.chunk",
            "created": ticket.created,
            "model": ticket.model,
        }

    def opening(self) -> dict[str, Any]:
        """Who speaks."""
        return self._chunk({"role": "assistant", "content": ""})

    def sign_of_life(self) -> dict[str, Any]:
        """Nothing, for clients that wait so long for a chunk and no longer."""
        return self._chunk({"content": ""})

    def message(self, completion: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """All that is said: a text in pieces, anything else of a message in one."""
        for choice in completion["choices"]:
            index, message = choice.get("index", 0), choice["message"]
            content = message.get("content")
            words = _PIECE.findall(_text_in(content))
            for start in range(0, len(words), _WORDS_A_CHUNK):
                piece = "".join(words[start : start + _WORDS_A_CHUNK])
                yield self._chunk({"content": piece}, index)
            others = {**message, "content": _beside_text(content)}
            rest = {k: v for k, v in others.items() if k != "role" and v}
            if calls := rest.get("tool_calls"):
                rest["tool_calls"] = [{**call, "index": at} for at, call in enumerate(calls)]
            if rest:
                yield self._chunk(rest, index)

    def ending(self, completion: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Why it ended, what is known of the run, and what it cost where that is asked for."""
        last = [
            self._chunk({}, choice.get("index", 0), choice.get("finish_reason") or "stop")
            for choice in completion["choices"]
        ]
        last[-1]["conflictscore"] = completion["conflictscore"]
        yield from last
        if self._include_usage:
            yield {**self._common, "choices": [], "usage": completion["usage"]}

    def _chunk(
        self, delta: Mapping[str, Any], index: int = 0, finish: str | None = None
    ) -> dict[str, Any]:
        choice = {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish}
        return {**self._common, "choices": [choice]}


def _text_in(content: object) -> str:
    """The text of a message; some upstreams send a list of parts."""
    if isinstance(content, list):
        return "".join(part["text"] for part in content if _is_text(part))
    return content if isinstance(content, str) else ""


def _beside_text(content: object) -> object:
    """What a message holds that is no text; None where that is nothing."""
    if isinstance(content, list):
        return [part for part in content if not _is_text(part)]
    return None if isinstance(content, str) else content


def _is_text(part: object) -> bool:
    if not isinstance(part, dict) or part.get("type") != "text":
        return False
    return isinstance(part.get("text"), str)
