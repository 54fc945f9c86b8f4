"""Reads requests of OpenAI's Responses API as equivalent chat completions.

A request with a field that this service cannot honour is refused. For example, a request for a
stored conversation or a hosted tool must not be silently ignored.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NoReturn

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic_core import PydanticCustomError

from conflictscore.middleware.service.earlier_answers import MESSAGE_PREFIX
from conflictscore.middleware.service.refusals import RefusedError
from conflictscore.middleware.service.requests import ChatRequest, read_chat, refusing

Fields = Mapping[str, Any]

_AS_IN_CHAT = (
    "model",
    "temperature",
    "top_p",
    "parallel_tool_calls",
    "user",
    "service_tier",
    "safety_identifier",
    "prompt_cache_key",
    "documents",
)
"""Fields that chat completions also have."""
_ONLY_AS: Fields = {
    "background": False,
    "include": [],
    "store": False,
    "top_logprobs": 0,
    "truncation": "disabled",
}
"""Fields for which only one value is supported."""
_TEXTS = frozenset({"input_text", "output_text", "text"})
"""The types of content parts that contain plain text."""


class _Part(BaseModel):
    """Base of the models for parts of the body, with strict types."""

    model_config = ConfigDict(strict=True)


class _Format(BaseModel):
    """The requested format of the answer, such as ``json_schema`` with its fields."""

    model_config = ConfigDict(extra="allow", strict=True)

    type: str


class _Text(_Part):
    """The requested format of the answer's text."""

    format: _Format | None = None
    verbosity: str | None = None


class _Reasoning(_Part):
    """How much the model should reason."""

    effort: str | None = None


class _StreamOptions(_Part):
    """Options for a stream; padding that hides the size of events is not supported."""

    include_obfuscation: Literal[False] | None = None


def _input(value: object, validate: ValidatorFunctionWrapHandler) -> Any:
    """Validate the conversation; one error message covers all formats that it may have."""
    with suppress(ValidationError):  # pydantic's error would list every member of the union
        if (content := validate(value)) != []:
            return content
    raise PydanticCustomError("input", "must be a string or a list of items, not empty")


class _ResponsesBody(_Part):
    """The supported fields; :func:`read_chat` validates those that chat completions also have."""

    model: Annotated[str, Field(min_length=1)]
    input: Annotated[str | list[dict[str, Any]], WrapValidator(_input)]
    instructions: str | None = None
    max_output_tokens: Annotated[int, Field(ge=1)] | None = None
    metadata: Annotated[dict[str, str], Field(max_length=16)] | None = None  # OpenAI's limit
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
    documents: list[str | dict[str, Any]] | None = None
    """Our extension: documents to check the answer against, instead of a search."""


@dataclass(frozen=True)
class ResponsesRequest:
    """A valid request for a response."""

    chat: ChatRequest = field(repr=False)
    """The equivalent request for a chat completion without streaming."""
    body: Fields = field(repr=False)
    """The whole body as sent."""
    stream: bool


def read_responses(body: Fields, earlier: Mapping[str, str]) -> ResponsesRequest:
    """Read a request for a response; an invalid field raises an error (400) that names it.

    ``earlier`` holds the texts of the earlier answers that the body refers to, by id.
    """
    with refusing():
        request = _ResponsesBody.model_validate(body)
    _check_supported(body)
    chat: dict[str, Any] = {name: body[name] for name in _AS_IN_CHAT if body.get(name) is not None}
    chat["messages"] = _messages(request, earlier)
    if request.max_output_tokens is not None:
        chat["max_completion_tokens"] = request.max_output_tokens
    if request.reasoning is not None and request.reasoning.effort is not None:
        chat["reasoning_effort"] = request.reasoning.effort
    if request.text is not None:
        chat |= _text_settings(request.text)
    if request.tools:
        chat["tools"] = [_tool(tool, f"tools[{at}]") for at, tool in enumerate(request.tools)]
        # only with tools, since chat completions refuse a choice among none
        if request.tool_choice is not None:
            chat["tool_choice"] = _tool_choice(request.tool_choice)
    return ResponsesRequest(read_chat(chat), body, bool(request.stream))


def _check_supported(body: Fields) -> None:
    """Refuse fields that this service would have to ignore; null fields count as absent."""
    for name, value in body.items():
        if value is None or (name in _ONLY_AS and value == _ONLY_AS[name]):
            continue
        if name in _ONLY_AS:
            _refuse_unsupported(name, f"; only {_ONLY_AS[name]!r} is")
        if name not in _ResponsesBody.model_fields:
            _refuse_unsupported(name)
    for name, model in (("reasoning", _Reasoning), ("text", _Text)):
        for inner, value in (body.get(name) or {}).items():
            if value is not None and inner not in model.model_fields:
                _refuse_unsupported(f"{name}.{inner}")


def _refuse_unsupported(param: str, more: str = "") -> NoReturn:
    message = f"{param} is not supported by this service{more}"
    raise RefusedError(400, message, code="unsupported_parameter", param=param)


def _refuse(param: str, why: str) -> NoReturn:
    raise RefusedError(400, f"{param}: {why}", code="invalid_value", param=param)


def _text_settings(text: _Text) -> dict[str, Any]:
    chat: dict[str, Any] = {} if text.verbosity is None else {"verbosity": text.verbosity}
    if text.format is not None and text.format.type != "text":
        kind, details = text.format.type, text.format.model_dump(exclude={"type"})
        chat["response_format"] = {"type": kind, **({kind: details} if details else {})}
    return chat


def _tool(tool: Fields, param: str) -> dict[str, Any]:
    if tool.get("type") != "function":
        _refuse_unsupported(f"{param}.type", "; only 'function' is")
    _string(tool, "name", param)
    names = ("name", "description", "parameters", "strict")
    function = {name: tool[name] for name in names if tool.get(name) is not None}
    return {"type": "function", "function": function}


def _tool_choice(choice: str | Fields) -> Any:
    if isinstance(choice, str):
        return choice
    if choice.get("type") != "function":
        _refuse_unsupported("tool_choice.type", "; only 'function' is")
    return {"type": "function", "function": {"name": _string(choice, "name", "tool_choice")}}


def _messages(request: _ResponsesBody, earlier: Mapping[str, str]) -> list[dict[str, Any]]:
    """Convert the items of a conversation to chat messages."""
    items = request.input
    if isinstance(items, str):
        items = [{"role": "user", "content": items}]
    messages: list[dict[str, Any]] = []
    if request.instructions:
        messages.append({"role": "system", "content": request.instructions})
    for at, item in enumerate(items):
        param = f"input[{at}]"
        match item.get("type") or "message":
            case "message":
                messages.append(_message(item, param))
            case "function_call":
                _add_call(messages, item, param)
            case "function_call_output":
                output = _content(item.get("output"), f"{param}.output")
                call_id = _string(item, "call_id", param)
                messages.append({"role": "tool", "tool_call_id": call_id, "content": output})
            case "item_reference" if str(item.get("id")).startswith(MESSAGE_PREFIX):
                messages.append({"role": "assistant", "content": _earlier(item, param, earlier)})
            case "reasoning":  # from an earlier reply; chat completions have no field for it
                continue
            case _:
                kinds = "message, function_call and function_call_output"
                _refuse_unsupported(f"{param}.type", f"; only {kinds} are")
    return messages


def _message(item: Fields, param: str) -> dict[str, Any]:
    role = item.get("role")
    if role not in ("user", "assistant", "system", "developer"):
        _refuse(f"{param}.role", "must be user, assistant, system or developer")
    return {"role": role, "content": _content(item.get("content"), f"{param}.content")}


def _earlier(reference: Fields, param: str, earlier: Mapping[str, str]) -> str:
    """Return the text of the earlier answer that an ``item_reference`` names."""
    text = earlier.get(reference["id"])
    if text is None:
        _refuse(
            f"{param}.id",
            "this answer is not stored here, or no longer stored; send the message itself, as the"
            " AI SDK does with providerOptions.openai.store set to false",
        )
    return text


def _add_call(messages: list[dict[str, Any]], item: Fields, param: str) -> None:
    """Add a function call to the assistant's message to which it belongs."""
    function = {name: _string(item, name, param) for name in ("name", "arguments")}
    call = {"id": _string(item, "call_id", param), "type": "function", "function": function}
    if not messages or messages[-1]["role"] != "assistant":
        messages.append({"role": "assistant", "content": None})
    messages[-1].setdefault("tool_calls", []).append(call)


def _string(item: Fields, name: str, param: str) -> str:
    text = item.get(name)
    if not isinstance(text, str):
        _refuse(f"{param}.{name}", "must be a string")
    return text


def _content(content: object, param: str) -> str | list[dict[str, Any]]:
    """Convert a message's content; plain text becomes one string, which every upstream accepts."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or not content:
        _refuse(param, "must be a string or a list of parts, not empty")
    parts = [_part(part, f"{param}[{at}]") for at, part in enumerate(content)]
    if all(part["type"] == "text" for part in parts):
        return "".join(part["text"] for part in parts)
    return parts


def _part(part: object, param: str) -> dict[str, Any]:
    if not isinstance(part, dict):
        _refuse(param, "must be an object with a type")
    kind = part.get("type")
    if isinstance(kind, str) and kind in _TEXTS:
        return {"type": "text", "text": _string(part, "text", param)}
    if kind == "refusal":
        return {"type": "text", "text": _string(part, "refusal", param)}
    if kind == "input_image" and isinstance(part.get("image_url"), str):
        detail = {"detail": part["detail"]} if part.get("detail") else {}
        return {"type": "image_url", "image_url": {"url": part["image_url"], **detail}}
    _refuse_unsupported(
        f"{param}.type", "; only input_text, output_text, refusal and input_image by URL are"
    )
