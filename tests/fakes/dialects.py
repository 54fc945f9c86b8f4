"""A loopback server that speaks the protocols of several providers, for their own clients."""

import json
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

__all__ = ["DialectServer", "anthropic", "gemini", "openai"]

Body = Mapping[str, Any]
Answer = Callable[[Body], tuple[int, Any]]


class DialectServer:
    """Answers every POST; ``bodies`` holds what was sent.

    Args:
        answer: Gives a status and a JSON body for the JSON body of a request.
    """

    def __init__(self, answer: Answer) -> None:
        self.bodies: list[dict[str, Any]] = []
        bodies = self.bodies

        class Connection(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                """Keeps the test's output clean."""

            def do_POST(self) -> None:
                bodies.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
                status, body = answer(bodies[-1])
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Connection)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._http.shutdown()
        self._http.server_close()


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
