"""Requests of OpenAI's Responses API, read as the chat completions that they amount to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NoReturn

from pydantic import BaseModel, ConfigDict, Field

from conflictscore.middleware.service.refusals import RefusedError
from conflictscore.middleware.service.requests import ChatRequest, read_chat, refusing

__all__ = ["ResponsesRequest", "read_responses"]

Fields = Mapping[str, Any]

_AS_IN_CHAT = (
    *("model", "temperature", "top_p", "parallel_tool_calls", "user", "service_tier"),
    *("safety_identifier", "prompt_cache_key"),
)
"""Fields that chat completions have too."""
_ONLY_AS: Mapping[str, Any] = {
    "background": False,
    "include": [],
    "store": False,
    "top_logprobs": 0,
    "truncation": "disabled",
}
"""Fields of which only this value can be had."""
_TEXTS = {"input_text", "output_text", "text"}


class _Format(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)

    type: str


class _Text(BaseModel):
    model_config = ConfigDict(strict=True)

    format: _Format | None = None
    verbosity: str | None = None


class _Reasoning(BaseModel):
    model_config = ConfigDict(strict=True)

    effort: str | None = None


class _StreamOptions(BaseModel):
    model_config = ConfigDict(strict=True)

    include_obfuscation: Literal[False] | None = None


class _ResponsesBody(BaseModel):
    """The fields that are understood; chat completions check those that they share."""

    model_config = ConfigDict(strict=True)

    model: Annotated[str, Field(min_length=1)]
    input: str | Annotated[list[dict[str, Any]], Field(min_length=1)]
    instructions: str | None = None
    max_output_tokens: Annotated[int, Field(ge=1)] | None = None
    metadata: dict[str, str] | None = None
    parallel_tool_calls: bool | None = None
    prompt_cache_key: str | None = None
    reasoning: _Reasoning | None = None
    safety_identifier: str | None = None
    service_tier: str | None = None
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    temperature: float | None = None
    text: _Text | None = None
    tool_choice: str | dict[str, Any] | None = None
    tools: list[dict[str, Any]] | None = None
    top_p: float | None = None
    user: str | None = None


@dataclass(frozen=True)
class ResponsesRequest:
    """A valid request for a response."""

    chat: ChatRequest = field(repr=False)
    """The same as a chat completion that is not streamed."""
    body: Fields = field(repr=False)
    """All that was sent."""
    stream: bool


def read_responses(body: Fields) -> ResponsesRequest:
    """Read a request for a response; what is wrong or not supported is refused by name (400)."""
    with refusing():
        checked = _ResponsesBody.model_validate(body)
    _check_supported(body)
    chat: dict[str, Any] = {name: body[name] for name in _AS_IN_CHAT if body.get(name) is not None}
    chat["messages"] = _messages(checked)
    if checked.max_output_tokens is not None:
        chat["max_completion_tokens"] = checked.max_output_tokens
    if checked.reasoning is not None and checked.reasoning.effort is not None:
        chat["reasoning_effort"] = checked.reasoning.effort
    if checked.text is not None:
        chat |= _text_settings(checked.text)
    if checked.tools:
        chat["tools"] = [_tool(tool, f"tools[{at}]") for at, tool in enumerate(checked.tools)]
        if checked.tool_choice is not None:
            chat["tool_choice"] = _tool_choice(checked.tool_choice)
    return ResponsesRequest(read_chat(chat), body, bool(checked.stream))


def _check_supported(body: Fields) -> None:
    for name, value in body.items():
        only = _ONLY_AS.get(name)
        if value is None or (name in _ONLY_AS and value == only):
            continue
        if name in _ONLY_AS:
            _unsupported(name, f"; only {only!r} is")
        if name not in _ResponsesBody.model_fields:
            _unsupported(name)
    for name, known in (("reasoning", _Reasoning), ("text", _Text)):
        for inner, value in (body.get(name) or {}).items():
            if value is not None and inner not in known.model_fields:
                _unsupported(f"{name}.{inner}")


def _unsupported(param: str, more: str = "") -> NoReturn:
    said = f"{param} is not supported by this service{more}"
    raise RefusedError(400, said, code="unsupported_parameter", param=param)


def _wrong(param: str, said: str) -> NoReturn:
    raise RefusedError(400, f"{param}: {said}", code="invalid_value", param=param)


def _text_settings(text: _Text) -> dict[str, Any]:
    chat: dict[str, Any] = {} if text.verbosity is None else {"verbosity": text.verbosity}
    if text.format is not None and text.format.type != "text":
        given = text.format.model_dump(exclude={"type"})
        kind = text.format.type
        chat["response_format"] = {"type": kind, **({kind: given} if given else {})}
    return chat


def _tool(tool: Fields, param: str) -> dict[str, Any]:
    if tool.get("type") != "function":
        _unsupported(f"{param}.type", "; only 'function' is")
    if not isinstance(tool.get("name"), str):
        _wrong(f"{param}.name", "must be a string")
    shown = ("name", "description", "parameters", "strict")
    return {"type": "function", "function": {k: tool[k] for k in shown if tool.get(k) is not None}}


def _tool_choice(choice: str | Fields) -> Any:
    if isinstance(choice, str):
        return choice
    if choice.get("type") != "function":
        _unsupported("tool_choice.type", "; only 'function' is")
    return {"type": "function", "function": {"name": choice.get("name")}}


def _messages(body: _ResponsesBody) -> list[dict[str, Any]]:
    given = [{"role": "user", "content": body.input}] if isinstance(body.input, str) else body.input
    messages: list[dict[str, Any]] = []
    if body.instructions:
        messages.append({"role": "system", "content": body.instructions})
    for at, item in enumerate(given):
        param = f"input[{at}]"
        match item.get("type", "message"):
            case "message":
                messages.append(_message(item, param))
            case "function_call":
                _add_call(messages, item, param)
            case "function_call_output":
                said = _content(item.get("output"), f"{param}.output")
                call = _string(item, "call_id", param)
                messages.append({"role": "tool", "tool_call_id": call, "content": said})
            case _:
                _unsupported(f"{param}.type", "; message, function_call and its output are")
    return messages


def _message(item: Fields, param: str) -> dict[str, Any]:
    role = item.get("role")
    if role not in ("user", "assistant", "system", "developer"):
        _wrong(f"{param}.role", "must be user, assistant, system or developer")
    return {"role": role, "content": _content(item.get("content"), f"{param}.content")}


def _add_call(messages: list[dict[str, Any]], item: Fields, param: str) -> None:
    """A call of a function, in the assistant's message that it belongs to."""
    function = {name: _string(item, name, param) for name in ("name", "arguments")}
    call = {"id": _string(item, "call_id", param), "type": "function", "function": function}
    if not messages or messages[-1]["role"] != "assistant":
        messages.append({"role": "assistant", "content": None})
    messages[-1].setdefault("tool_calls", []).append(call)


def _string(item: Fields, name: str, param: str) -> str:
    if not isinstance(value := item.get(name), str):
        _wrong(f"{param}.{name}", "must be a string")
    return value


def _content(content: object, param: str) -> str | list[dict[str, Any]]:
    """Content of a message: one text where it is text alone, as every upstream accepts it."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or not content:
        _wrong(param, "must be a string or a list of parts")
    parts = [_part(part, f"{param}[{at}]") for at, part in enumerate(content)]
    if all(part["type"] == "text" for part in parts):
        return "".join(part["text"] for part in parts)
    return parts


def _part(part: object, param: str) -> dict[str, Any]:
    if not isinstance(part, dict):
        _wrong(param, "must be an object with a type")
    kind = part.get("type")
    if kind in _TEXTS:
        return {"type": "text", "text": _string(part, "text", param)}
    if kind == "refusal":
        return {"type": "text", "text": _string(part, "refusal", param)}
    if kind == "input_image" and isinstance(part.get("image_url"), str):
        detail = {"detail": part["detail"]} if part.get("detail") else {}
        return {"type": "image_url", "image_url": {"url": part["image_url"], **detail}}
    _unsupported(f"{param}.type", "; input_text, output_text, refusal and input_image by URL are")
