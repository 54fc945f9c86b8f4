"""Builds whole or streamed output of OpenAI's Responses API from chat completions."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

from openai.types import responses as types

from conflictscore.middleware.service.completions import Completion, text_of, usage_of
from conflictscore.middleware.service.earlier_answers import MESSAGE_PREFIX
from conflictscore.middleware.service.refusals import RefusedError, internal_error
from conflictscore.middleware.service.responses_request import ResponsesRequest
from conflictscore.middleware.service.service import RequestRecord
from conflictscore.middleware.service.wire import frame
from conflictscore.models.usage import whole_tokens

_CUT_BECAUSE = {"length": "max_output_tokens", "content_filter": "content_filter"}
"""The reason why a response is incomplete, for each finish reason of a completion."""
_TOO_MANY = 429
"""The HTTP status of a request that exceeds a rate limit."""

_Message = types.ResponseOutputMessage
_Call = types.ResponseFunctionToolCall


class ResponseForm:
    """Builds the response to one request: its fields, output items and events."""

    def __init__(self, request: ResponsesRequest, record: RequestRecord) -> None:
        self._record = record
        body = request.body
        self._common: dict[str, Any] = {
            "id": f"resp_{record.run_id}",
            "object": "response",
            "created_at": record.created,
            "background": False,
            "instructions": body.get("instructions"),
            "max_output_tokens": body.get("max_output_tokens"),
            "metadata": body.get("metadata") or {},
            "model": record.model,
            "parallel_tool_calls": body.get("parallel_tool_calls") is not False,
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

    def whole(self, completion: Completion) -> types.Response:
        """Return the response for a completion, with the completion's ``conflictscore`` field."""
        choice = completion["choices"][0]
        cut = _CUT_BECAUSE.get(str(choice.get("finish_reason")))
        items = self._items(completion)
        if cut and items:
            items[-1].status = "incomplete"
        return self.begun(
            "incomplete" if cut else "completed",
            incomplete_details={"reason": cut} if cut else None,
            output=items,
            usage=_usage(completion),
            conflictscore=completion["conflictscore"],
        )

    def begun(self, status: str = "in_progress", **more: Any) -> types.Response:
        """Return the response with this status; by default a response without output yet."""
        fields: dict[str, Any] = {"output": [], "error": None, "usage": None}
        fields |= {**self._common, "status": status, **more}
        # not validated, since the request's own fields are repeated as they were sent
        return types.Response.construct(None, **fields)

    def _items(self, completion: Completion) -> list[_Message | _Call]:
        """Return the output items: a message if there is text, and function calls."""
        message, run_id = completion["choices"][0]["message"], self._record.run_id
        calls = message.get("tool_calls") or []
        text, refusal = text_of(completion), message.get("refusal")
        items: list[_Message | _Call] = []
        if text or refusal or not calls:
            part: types.ResponseOutputText | types.ResponseOutputRefusal
            if refusal and not text:
                part = types.ResponseOutputRefusal(type="refusal", refusal=str(refusal))
            else:
                part = types.ResponseOutputText(
                    type="output_text", text=text, annotations=[], logprobs=[]
                )
            items.append(
                _Message(
                    id=f"{MESSAGE_PREFIX}{run_id}",
                    type="message",
                    role="assistant",
                    status="completed",
                    content=[part],
                )
            )
        for at, call in enumerate(calls):
            function = call.get("function") or {}
            items.append(
                _Call(
                    id=f"fc_{run_id}_{at}",
                    type="function_call",
                    status="completed",
                    call_id=call.get("id") or f"call_{at}",
                    name=function.get("name") or "",
                    arguments=function.get("arguments") or "",
                )
            )
        return items

    async def frames(
        self, work: "asyncio.Task[Completion]", heartbeat: float
    ) -> AsyncIterator[bytes]:
        """Return the response as a stream of numbered events, in the order of OpenAI's API.

        Until the answer is ready, ``response.in_progress`` is repeated to keep the stream alive.
        """
        number = 0

        def event(kind: str, **fields: Any) -> bytes:
            nonlocal number
            name = f"response.{kind}"
            plain = {key: _plain(value) for key, value in fields.items()}
            event_frame = frame({"type": name, "sequence_number": number, **plain}, name)
            number += 1
            return event_frame

        yield event("created", response=self.begun())
        yield event("in_progress", response=self.begun())
        while not (await asyncio.wait({work}, timeout=heartbeat))[0]:
            yield event("in_progress", response=self.begun())
        try:
            response = self.whole(work.result())
        except Exception as error:  # noqa: BLE001 - the status is sent, so the stream has the error
            refusal = error if isinstance(error, RefusedError) else internal_error(error)
            code = "rate_limit_exceeded" if refusal.status == _TOO_MANY else "server_error"
            failure = {"code": code, "message": str(refusal)}
            yield event("failed", response=self.begun("failed", error=failure))
            return
        for index, item in enumerate(response.output):
            for kind, fields in _events_of(item, index):
                yield event(kind, **fields)
        yield event(str(response.status), response=response)


def _events_of(item: Any, index: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the events of an output item, each as a kind and its fields."""
    at = {"output_index": index}
    is_message = isinstance(item, _Message)
    hollow: dict[str, Any] = {"content": []} if is_message else {"arguments": ""}
    begun_item = item.model_copy(update={"status": "in_progress", **hollow})
    yield "output_item.added", {**at, "item": begun_item}
    inner = {**at, "item_id": item.id}
    if is_message:
        yield from _events_of_part(item.content[0], {**inner, "content_index": 0})
    else:
        yield "function_call_arguments.delta", {**inner, "delta": item.arguments}
        whole = {"name": item.name, "arguments": item.arguments}
        yield "function_call_arguments.done", {**inner, **whole}
    yield "output_item.done", {**at, "item": item}


def _events_of_part(part: Any, at: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the events of a message's text or refusal; checked text is sent in one piece."""
    is_text = isinstance(part, types.ResponseOutputText)
    key = "text" if is_text else "refusal"
    logprobs: dict[str, Any] = {"logprobs": []} if is_text else {}
    words = getattr(part, key)
    yield "content_part.added", {**at, "part": part.model_copy(update={key: ""})}
    yield f"{part.type}.delta", {**at, "delta": words, **logprobs}
    yield f"{part.type}.done", {**at, key: words, **logprobs}
    yield "content_part.done", {**at, "part": part}


def as_json(response: types.Response) -> dict[str, Any]:
    """Return a response as the JSON that is sent."""
    return response.model_dump(mode="json", by_alias=True, warnings=False)


def _plain(value: Any) -> Any:
    return as_json(value) if hasattr(value, "model_dump") else value


def _usage(completion: Completion) -> types.ResponseUsage | None:
    """Return a completion's token counts in the format of a response; None if it reports none."""
    usage = completion.get("usage")
    if not usage or not isinstance(usage, Mapping):
        return None
    tokens, details = usage_of(completion), usage.get("completion_tokens_details")
    reasoning = details.get("reasoning_tokens") if isinstance(details, Mapping) else 0
    cached = {"cached_tokens": tokens.cache_read_tokens, "cache_write_tokens": 0}
    return types.ResponseUsage.construct(
        input_tokens=tokens.input_tokens,
        input_tokens_details=cached,
        output_tokens=tokens.output_tokens,
        output_tokens_details={"reasoning_tokens": whole_tokens(reasoning)},
        total_tokens=tokens.input_tokens + tokens.output_tokens,
    )
