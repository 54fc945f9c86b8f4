"""A loopback server that speaks the protocols of several providers, for their own clients."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from tests.fakes.search_server import Received, Reply, SearchServer, json_reply

Body = Mapping[str, Any]


class DialectServer(SearchServer):
    """Answers the JSON body of every request with a status and a JSON body."""

    def __init__(self, answer: Callable[[Body], tuple[int, Any]]) -> None:
        def handle(request: Received) -> Reply:
            status, body = answer(request.json)
            return json_reply(body, status)

        super().__init__(handle)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The bodies of the requests so far."""
        return [request.json for request in self.requests]


def anthropic(body: Body, text: str, stop: str = "end_turn") -> dict[str, Any]:
    """A message of Anthropic's API: a thinking block before the text, or a tool call."""
    content = [{"type": "thinking", "thinking": "It says so.", "signature": "s"}]
    if tools := body.get("tools"):
        call = {"type": "tool_use", "id": "t", "name": tools[0]["name"], "input": json.loads(text)}
        content, stop = [call], "tool_use" if stop == "end_turn" else stop
    else:
        content.append({"type": "text", "text": text})
    usage = {"input_tokens": 10, "output_tokens": 3}
    named = {"id": "m", "type": "message", "role": "assistant", "model": "claude"}
    return {**named, "content": content, "stop_reason": stop, "stop_sequence": None, "usage": usage}


def gemini(body: Body, text: str, stop: str = "STOP") -> dict[str, Any]:
    """A response of the Gemini API."""
    content = {"parts": [{"text": text}], "role": "model"}
    candidate = {"content": content, "finishReason": stop, "index": 0}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 3, "totalTokenCount": 13}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini"}


def openai(body: Body, text: str, stop: str = "stop") -> dict[str, Any]:
    """A chat completion, as Azure, DeepSeek, Mistral and OpenRouter send it."""
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if tools := body.get("tools"):
        function = {"name": tools[0]["function"]["name"], "arguments": text}
        call = {"id": "t", "type": "function", "function": function}
        message = {"role": "assistant", "content": "", "tool_calls": [call]}
        stop = "tool_calls" if stop == "stop" else stop
    choice = {"index": 0, "message": message, "finish_reason": stop}
    usage = {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}
    named = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
    return {**named, "choices": [choice], "usage": usage}
