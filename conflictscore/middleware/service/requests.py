"""What a caller asks for: read, checked, and sorted into what can be checked and what cannot."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NoReturn, cast

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from conflictscore.errors import InputError
from conflictscore.middleware.chat_loop import in_words
from conflictscore.middleware.messages import Asked, asked_in
from conflictscore.middleware.service.faults import RefusedError
from conflictscore.nodes.conversation import Turn
from conflictscore.nodes.retrieve import check_question, given_documents
from conflictscore.nodes.state import RagInput, RagState

__all__ = ["ChatRequest", "RunRequest", "read_chat", "read_json", "read_run"]

_OURS = frozenset({"model", "messages", "stream", "stream_options", "n", "response_format"})
"""Fields that never reach the calls that answer from documents."""
_TOOLS = ("tools", "functions", "web_search_options")
"""With any of these, the upstream is asked first, with the request as it is."""

Probability = Annotated[float, Field(ge=0, le=1)]
Penalty = Annotated[float, Field(ge=-2, le=2)]
Tokens = Annotated[int, Field(ge=1)]


class _Fields(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)


class _Message(_Fields):
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Any = None
    name: str | None = None
    tool_call_id: str | None = None
    tool_calls: list[dict[str, Any]] | None = None

    @field_validator("content")
    @classmethod
    def _texts_or_parts(cls, content: object) -> object:
        if content is None or isinstance(content, str):
            return content
        if not isinstance(content, list):
            raise ValueError("it is neither a text nor a list of parts")  # noqa: TRY004 - pydantic's
        for part in content:
            if not isinstance(part, dict) or not isinstance(part.get("type"), str):
                raise ValueError("each part is an object with a type")  # noqa: TRY004
            if part["type"] == "text" and not isinstance(part.get("text"), str):
                raise ValueError("a part of type text has a text")
        return content


class _StreamOptions(_Fields):
    include_usage: bool | None = None


class _ResponseFormat(_Fields):
    type: str


class _Body(_Fields):
    """The fields of OpenAI's chat completions that are of use here; any other rides along."""

    model: Annotated[str, Field(min_length=1)]
    messages: Annotated[list[_Message], Field(min_length=1)]
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    n: Annotated[int, Field(ge=1)] | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Probability | None = None
    max_tokens: Tokens | None = None
    max_completion_tokens: Tokens | None = None
    presence_penalty: Penalty | None = None
    frequency_penalty: Penalty | None = None
    stop: str | list[str] | None = None
    seed: int | None = None
    logprobs: bool | None = None
    response_format: _ResponseFormat | None = None
    modalities: list[str] | None = None
    tools: list[dict[str, Any]] | None = None
    functions: list[dict[str, Any]] | None = None


class RunRequest(BaseModel):
    """A question for ``POST /v1/runs``."""

    model_config = ConfigDict(extra="forbid", strict=True)

    question: str
    history: list[Turn] = []
    options: list[str] = []
    documents: list[dict[str, Any]] = []

    @property
    def start(self) -> RagInput:
        """What the loop starts from."""
        return {
            "question": self.question,
            "history": [turn.model_dump() for turn in self.history],
            "options": self.options,
            "documents": self.documents,
        }


@dataclass(frozen=True)
class ChatRequest:
    """A request for a chat completion that has the right form."""

    body: Mapping[str, Any] = field(repr=False)
    """All that was sent."""
    asked: Asked = field(repr=False)
    stream: bool
    include_usage: bool
    unchecked: str | None
    """Why no answer to it can be checked; None where one can."""

    @property
    def model(self) -> str:
        """The model that was asked for."""
        return str(self.body["model"])

    @property
    def upstream_first(self) -> bool:
        """Whether the upstream must have the request as it is: it may call tools, or has."""
        return any(self.body.get(name) for name in _TOOLS) or bool(self.asked.since)

    def answer_parameters(self, always: Mapping[str, Any]) -> dict[str, Any]:
        """What the caller wishes of an answer, as parameters of the calls that give one.

        Args:
            always: What stands in the body of every call.
        """
        given = {
            name: value
            for name, value in in_words(self.body).items()
            if name not in _OURS and value is not None
        }
        limits = [given.pop(name, None) for name in ("max_completion_tokens", "max_tokens")]
        most = next((limit for limit in limits if limit is not None), None)
        # in the body as they are: a server may know fields that no client library does
        parameters: dict[str, Any] = {"extra_body": {**always, **given}} if given else {}
        return parameters if most is None else {**parameters, "max_tokens": most}


def read_json(data: bytes) -> dict[str, Any]:
    """The JSON object of a request's body.

    Raises:
        RefusedError: It is none (400).
    """
    try:
        value = json.loads(data, parse_constant=_no_number)
        json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise RefusedError(400, "the body is nested too deeply", code="invalid_json") from None
    except UnicodeError:
        raise RefusedError(400, "the body is not all Unicode text", code="invalid_json") from None
    except ValueError as error:
        raise RefusedError(
            400, f"the body is not valid JSON: {error}", code="invalid_json"
        ) from None
    if not isinstance(value, dict):
        raise RefusedError(400, "the body is no JSON object", code="invalid_json")
    return value


def read_chat(body: Mapping[str, Any]) -> ChatRequest:
    """Read a request for a chat completion.

    Raises:
        RefusedError: A field is missing or wrong, and which (400).
    """
    try:
        checked = _Body.model_validate(body)
    except ValidationError as error:
        raise _wrong_field(error) from None
    asked = asked_in(_messages(checked.messages))
    return ChatRequest(
        body=body,
        asked=asked,
        stream=bool(checked.stream),
        include_usage=bool(checked.stream_options and checked.stream_options.include_usage),
        unchecked=_out_of_reach(checked, asked),
    )


def read_run(body: Mapping[str, Any]) -> RunRequest:
    """Read a request for a run.

    Raises:
        RefusedError: A field is missing or wrong, and which (400).
    """
    try:
        request = RunRequest.model_validate(body)
        check_question(request.question, request.options)
        given_documents(cast("RagState", request.start))
    except ValidationError as error:
        raise _wrong_field(error) from None
    except InputError as error:
        raise RefusedError(400, str(error), code="invalid_value") from None
    return request


def _out_of_reach(body: _Body, asked: Asked) -> str | None:
    if (body.n or 1) > 1:
        return f"n is {body.n}, and only a single answer can be checked"
    if body.logprobs:
        return "logprobs are asked for, and an answer that is given again has none"
    if body.response_format is not None and body.response_format.type != "text":
        return f"response_format is {body.response_format.type}, and only text can be checked"
    if body.modalities is not None and body.modalities != ["text"]:
        return "modalities holds more than text"
    if asked.other_content:
        return "a message holds more than text"
    if not asked.question:
        return "no user message asks anything"
    if body.messages[-1].role == "assistant":
        return "the last message is the assistant's own, to be gone on with"
    return None


def _messages(messages: list[_Message]) -> list[BaseMessage]:
    """The conversation as far as its texts go, for reading what it asks."""
    tools = {
        call.get("id"): (call.get("function") or {}).get("name")
        for message in messages
        for call in message.tool_calls or ()
        if isinstance(call.get("function"), dict)
    }
    return [_message(message, tools) for message in messages]


def _message(message: _Message, tools: Mapping[Any, Any]) -> BaseMessage:
    content = "" if message.content is None else message.content
    if message.role in ("system", "developer"):
        return SystemMessage(content)
    if message.role == "user":
        return HumanMessage(content)
    if message.role == "assistant":
        return AIMessage(content)
    name = message.name or tools.get(message.tool_call_id)
    return ToolMessage(
        content,
        name=name if isinstance(name, str) else None,
        tool_call_id=message.tool_call_id or "",
    )


def _wrong_field(error: ValidationError) -> RefusedError:
    detail = error.errors(include_url=False, include_input=False)[0]
    param = ""
    for step in detail["loc"]:
        param += f"[{step}]" if isinstance(step, int) else f".{step}" if param else step
    reason = str(detail["msg"]).removeprefix("Value error, ")
    return RefusedError(400, f"{param}: {reason}", param=param, code="invalid_value")


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")
