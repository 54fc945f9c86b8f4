"""What goes over the wire to and from OpenAI's chat completions, and the JSON it is written in."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

_TOKEN = re.compile("[\U0001f000-\U0001faff]|[^\\s\U0001f000-\U0001faff]+")


@dataclass(frozen=True)
class ChatRequest:
    """What a client sent; ``headers`` has lower-case names, ``raw`` is the body to the byte."""

    body: dict[str, Any]
    headers: dict[str, str] = field(repr=False)
    raw: bytes = field(default=b"", repr=False)
    path: str = ""

    @property
    def model(self) -> str:
        return str(self.body["model"])

    @property
    def messages(self) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = self.body["messages"]
        return messages

    @property
    def prompt(self) -> str:
        """Text of the last user message; empty where there is none."""
        said = [_text(message) for message in self.messages if message["role"] == "user"]
        return said[-1] if said else ""


@dataclass(frozen=True)
class Reply:
    """A model's reply; tokens are counted roughly, one a word, where they are not given."""

    text: str = ""
    finish_reason: str = "stop"
    logprobs: Mapping[str, float] | None = None
    """Token -> logprob at the first position, sent only to a request that asks for logprobs."""
    refusal: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    """Of the input tokens, those from the prompt cache; None for a provider that does not say."""


@dataclass(frozen=True)
class Fault:
    """A failure: an HTTP status with OpenAI's error body, a broken body, or no reply at all."""

    status: int = 500
    retry_after: str | None = None
    message: str = "the server failed, as it was told to"
    code: str | None = None
    should_retry: bool | None = None
    """Sent as ``x-should-retry``, which OpenAI's client obeys before it looks at the status."""
    body: bytes | None = None
    silence: float | None = None
    """Seconds without a byte before the connection is closed."""
    announced: int | None = None
    """What ``content-length`` says, where it is not the truth."""

    @classmethod
    def hang(cls, seconds: float) -> "Fault":
        """Says nothing for this long, or until the server closes, then drops the connection."""
        return cls(silence=seconds)

    @classmethod
    def drop(cls) -> "Fault":
        """Closes the connection without a reply."""
        return cls(silence=0)

    @classmethod
    def raw(cls, body: bytes, status: int = 200) -> "Fault":
        """Sends this body, labelled as JSON whatever it is."""
        return cls(status, body=body)


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in content if part["type"] == "text")


def error(fault: Fault) -> bytes:
    kinds = {429: "requests", 500: "server_error", 503: "server_error"}
    kind = kinds.get(fault.status, "invalid_request_error")
    detail = {"message": fault.message, "type": kind, "param": None, "code": fault.code}
    return json.dumps({"error": detail}).encode()


def _tokens(text: str) -> int:
    """A token for each emoji and each word; more for a word that no tokenizer takes as one."""
    words = _TOKEN.findall(text)
    return sum(len(word) // 4 if len(word) > 200 else 1 for word in words)


def _usage(request: ChatRequest, reply: Reply) -> dict[str, Any]:
    asked, said = " ".join(map(_text, request.messages)), reply.refusal or reply.text
    read = _tokens(asked) if reply.input_tokens is None else reply.input_tokens
    written = _tokens(said) if reply.output_tokens is None else reply.output_tokens
    usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
    if reply.cached_tokens is None:
        return usage
    return {**usage, "prompt_tokens_details": {"cached_tokens": reply.cached_tokens}}


def _logprobs(request: ChatRequest, reply: Reply) -> dict[str, Any] | None:
    if not (request.body.get("logprobs") and reply.logprobs):
        return None
    ranked = [
        {"token": token, "logprob": logprob, "bytes": list(token.encode())}
        for token, logprob in sorted(reply.logprobs.items(), key=lambda item: -item[1])
    ]
    top = ranked[: request.body.get("top_logprobs") or 0]
    return {"content": [{**ranked[0], "top_logprobs": top}], "refusal": None}


def completion(request: ChatRequest, reply: Reply) -> dict[str, Any]:
    said = {"content": None if reply.refusal else reply.text, "refusal": reply.refusal}
    choice = {
        "index": 0,
        "message": {"role": "assistant", **said},
        "logprobs": _logprobs(request, reply),
        "finish_reason": reply.finish_reason,
    }
    common = {"id": "chatcmpl-1", "object": "chat.completion", "created": 0}
    usage = _usage(request, reply)
    return {**common, "model": request.model, "choices": [choice], "usage": usage}


def chunks(request: ChatRequest, reply: Reply) -> Iterator[dict[str, Any]]:
    common = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0}
    common["model"] = request.model

    def chunk(delta: dict[str, str], **rest: Any) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None, **rest}
        return {**common, "choices": [choice]}

    yield chunk({"role": "assistant", "content": ""})
    kind, logprobs = "refusal" if reply.refusal else "content", _logprobs(request, reply)
    for word in re.findall(r"\S+\s*|\s+", reply.refusal or reply.text):
        yield chunk({kind: word}, logprobs=logprobs)
        logprobs = None
    yield chunk({}, finish_reason=reply.finish_reason)
    if (request.body.get("stream_options") or {}).get("include_usage"):
        yield {**common, "choices": [], "usage": _usage(request, reply)}
