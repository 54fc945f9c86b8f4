"""OpenAI's responses, in one piece and as a stream of events, built from chat completions."""

from collections.abc import Iterator, Mapping
from typing import Any

from conflictscore.middleware.service.answer_stream import AnswerStream, Completion
from conflictscore.middleware.service.completions import chunks_of, text_of
from conflictscore.middleware.service.refusals import RefusedError
from conflictscore.middleware.service.responses_request import ResponsesRequest
from conflictscore.middleware.service.service import RequestRecord
from conflictscore.middleware.service.wire import frame

__all__ = ["ResponseForm"]

_CUT_BECAUSE = {"length": "max_output_tokens", "content_filter": "content_filter"}
_TOO_MANY = 429

Item = dict[str, Any]


class ResponseForm:
    """One request's response."""

    def __init__(self, request: ResponsesRequest, record: RequestRecord) -> None:
        self._record = record
        self.streamed = request.stream
        body = request.body
        self._common = {
            "id": f"resp_{record.run_id}",
            "object": "response",
            "created_at": record.created,
            "background": False,
            "instructions": body.get("instructions"),
            "max_output_tokens": body.get("max_output_tokens"),
            "metadata": body.get("metadata") or {},
            "model": record.model,
            "parallel_tool_calls": body.get("parallel_tool_calls") is not False,
            "previous_response_id": None,
            "reasoning": {"effort": None, "summary": None, **(body.get("reasoning") or {})},
            "store": False,
            "temperature": body.get("temperature"),
            "text": {"format": {"type": "text"}, **(body.get("text") or {})},
            "tool_choice": body.get("tool_choice") or "auto",
            "tools": body.get("tools") or [],
            "top_p": body.get("top_p"),
            "truncation": "disabled",
            "user": body.get("user"),
        }

    def stream(self, heartbeat: float) -> AnswerStream:
        """The response as a stream of events."""
        return _ResponseStream(self, heartbeat)

    def whole(self, completion: Completion) -> dict[str, Any]:
        """The response for a completion, with its ``conflictscore`` field."""
        cut = _CUT_BECAUSE.get(str(completion["choices"][0].get("finish_reason")))
        items = self.items(completion)
        if cut and items:
            items[-1]["status"] = "incomplete"
        known = ("conflictscore",) if "conflictscore" in completion else ()
        return {
            **self.begun("incomplete" if cut else "completed"),
            "incomplete_details": {"reason": cut} if cut else None,
            "output": items,
            "usage": _usage(completion.get("usage")),
            **{name: completion[name] for name in known},
        }

    def begun(self, status: str = "in_progress") -> dict[str, Any]:
        """The response before there is any output."""
        empty: Item = {"error": None, "incomplete_details": None, "output": [], "usage": None}
        return {**self._common, "status": status, **empty}

    def items(self, completion: Completion) -> list[Item]:
        """The output items: a message where there is text, and function calls."""
        message, run_id = completion["choices"][0]["message"], self._record.run_id
        calls = message.get("tool_calls") or []
        text, refusal = text_of(completion), message.get("refusal")
        items: list[Item] = []
        if text or refusal or not calls:
            part: Item = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
            if refusal and not text:
                part = {"type": "refusal", "refusal": refusal}
            said = {"id": f"msg_{run_id}", "role": "assistant", "content": [part]}
            items.append({"type": "message", "status": "completed", **said})
        for at, call in enumerate(calls):
            function = call.get("function") or {}
            items.append(
                {
                    "id": f"fc_{run_id}_{at}",
                    "type": "function_call",
                    "status": "completed",
                    "call_id": call.get("id") or f"call_{at}",
                    "name": function.get("name") or "",
                    "arguments": function.get("arguments") or "",
                }
            )
        return items


class _ResponseStream(AnswerStream):
    """The events of a response, numbered, in the order that OpenAI's API has them."""

    def __init__(self, form: ResponseForm, heartbeat: float) -> None:
        super().__init__(heartbeat)
        self._form, self._number = form, 0

    def _opening(self) -> Iterator[bytes]:
        for kind in ("created", "in_progress"):
            yield self._event(kind, response=self._form.begun())

    def _waiting(self) -> bytes:
        return self._event("in_progress", response=self._form.begun())

    def _message(self, completion: Completion) -> Iterator[bytes]:
        for index, item in enumerate(self._form.whole(completion)["output"]):
            at = {"output_index": index}
            hollow: Item = {"content": []} if item["type"] == "message" else {"arguments": ""}
            hollow = {**item, "status": "in_progress", **hollow}
            yield self._event("output_item.added", **at, item=hollow)
            inner = {**at, "item_id": item["id"]}
            if item["type"] == "message":
                yield from self._part(item["content"][0], {**inner, "content_index": 0})
            else:
                arguments = item["arguments"]
                yield self._event("function_call_arguments.delta", **inner, delta=arguments)
                done = {**inner, "name": item["name"], "arguments": arguments}
                yield self._event("function_call_arguments.done", **done)
            yield self._event("output_item.done", **at, item=item)

    def _part(self, part: Item, at: Mapping[str, Any]) -> Iterator[bytes]:
        key = "text" if part["type"] == "output_text" else "refusal"
        kind = part["type"]
        more: Item = {"logprobs": []} if key == "text" else {}
        yield self._event("content_part.added", **at, part={**part, key: ""})
        for chunk in chunks_of(part[key]):
            yield self._event(f"{kind}.delta", **at, delta=chunk, **more)
        yield self._event(f"{kind}.done", **at, **{key: part[key]}, **more)
        yield self._event("content_part.done", **at, part=part)

    def _ending(self, completion: Completion) -> Iterator[bytes]:
        response = self._form.whole(completion)
        yield self._event(response["status"], response=response)

    def _failure(self, refusal: RefusedError) -> bytes:
        code = "rate_limit_exceeded" if refusal.status == _TOO_MANY else "server_error"
        error = {"code": code, "message": str(refusal)}
        return self._event("failed", response={**self._form.begun("failed"), "error": error})

    def _event(self, kind: str, **data: Any) -> bytes:
        name, number = f"response.{kind}", self._number
        self._number += 1
        return frame({"type": name, "sequence_number": number, **data}, name)


def _usage(usage: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if not usage:
        return None
    read, written = usage.get("prompt_tokens") or 0, usage.get("completion_tokens") or 0
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    thought = (usage.get("completion_tokens_details") or {}).get("reasoning_tokens") or 0
    return {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": 0},
        "output_tokens": written,
        "output_tokens_details": {"reasoning_tokens": thought},
        "total_tokens": read + written,
    }
