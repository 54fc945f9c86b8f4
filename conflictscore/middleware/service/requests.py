"""Reads and validates requests, and says why an answer cannot be checked.

Limits without a stated reason were chosen by hand.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from conflictscore.errors import InputError
from conflictscore.loop.inputs import given_documents
from conflictscore.loop.question_check import check_question
from conflictscore.loop.state import RagInput, RagState
from conflictscore.loop.turns import history_of
from conflictscore.middleware.chat_loop import in_words
from conflictscore.middleware.corrector import correction_input
from conflictscore.middleware.messages import ChatQuestion, asked_in
from conflictscore.middleware.service.refusals import RefusedError
from conflictscore.middleware.service.wire import finite_json
from conflictscore.records import Document

_OURS = frozenset(
    {"model", "messages", "stream", "stream_options", "n", "response_format", "documents"}
)
"""Fields of a request that concern only its own call, so our other calls do not pass them on."""
_ROLES: Mapping[str, type[BaseMessage]] = {
    "system": SystemMessage,
    "developer": SystemMessage,
    "user": HumanMessage,
    "assistant": AIMessage,
}
"""Messages with any other role are from tools."""
_TOOLS = ("tools", "functions", "web_search_options")
"""If a request has any of these fields, the upstream first gets it unchanged."""

_FORMATS = ("text", "json_object", "json_schema")
"""Response formats whose answers can be checked."""

Probability = Annotated[float, Field(ge=0, le=1)]
Penalty = Annotated[float, Field(ge=-2, le=2)]
Tokens = Annotated[int, Field(ge=1, le=10_000_000)]
Word = Annotated[str, Field(max_length=64)]
Name = Annotated[str, Field(max_length=512)]
RequestDocuments = Annotated[list[str | dict[str, Any]], Field(max_length=1000)]
Tools = Annotated[list[dict[str, Any]], Field(max_length=256)]
"""The limits in these types bound the work that a single request can cause."""


class _Fields(BaseModel):
    """Base of the request models; a request with an unknown field is refused.

    The service sends the fields on to the upstream under its own key. Some upstream servers accept
    fields that replace the chat template, the model or the destination of the request.
    """

    model_config = ConfigDict(extra="forbid", strict=True)


class _Message(_Fields):
    """A message of the conversation, in OpenAI's format."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Any = None
    name: str | None = None
    tool_call_id: str | None = None
    tool_calls: Tools | None = None
    # fields of earlier replies
    function_call: dict[str, Any] | None = None
    refusal: str | None = None
    annotations: list[Any] | None = None
    audio: dict[str, Any] | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None
    reasoning_details: list[Any] | None = None
    extra_content: dict[str, Any] | None = None

    @field_validator("content")
    @classmethod
    def _texts_or_parts(cls, content: object) -> object:
        if content is None or isinstance(content, str):
            return content
        if not isinstance(content, list):
            raise ValueError("must be a string or a list of parts")  # noqa: TRY004 - pydantic's
        for part in content:
            if not isinstance(part, dict) or not isinstance(part.get("type"), str):
                raise ValueError("each part must be an object with a type")  # noqa: TRY004
            if part["type"] == "text" and not isinstance(part.get("text"), str):
                raise ValueError("a part of type text must have a text")
        return content


class _StreamOptions(_Fields):
    """Options for a streamed completion."""

    include_usage: bool | None = None
    include_obfuscation: bool | None = None


class _TemplateSettings(_Fields):
    """The only chat-template settings that are safe to pass on: whether the model thinks."""

    enable_thinking: bool | None = None
    thinking: bool | None = None


class _ResponseFormat(BaseModel):
    """The requested format of the answer; the upstream validates the fields of a JSON schema."""

    model_config = ConfigDict(extra="allow", strict=True)

    type: str


class _Body(_Fields):
    """The fields of OpenAI's chat completions, and common fields of open-source servers.

    The ranges of OpenAI's API apply, such as 0 to 2 for ``temperature``.
    """

    model: Annotated[str, Field(min_length=1)]
    messages: Annotated[list[_Message], Field(min_length=1)]
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    n: Annotated[int, Field(ge=1, le=128)] | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Probability | None = None
    top_k: Annotated[int, Field(ge=-1, le=1_000_000)] | None = None
    min_p: Probability | None = None
    max_tokens: Tokens | None = None
    max_completion_tokens: Tokens | None = None
    presence_penalty: Penalty | None = None
    frequency_penalty: Penalty | None = None
    repetition_penalty: Annotated[float, Field(gt=0, le=10)] | None = None
    stop: Name | Annotated[list[Name], Field(max_length=16)] | None = None
    seed: Annotated[int, Field(ge=-(2**63), lt=2**63)] | None = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int, Field(ge=0, le=20)] | None = None
    logit_bias: Annotated[dict[Word, float], Field(max_length=1024)] | None = None
    response_format: _ResponseFormat | None = None
    modalities: list[Word] | None = None
    audio: dict[str, Any] | None = None
    prediction: dict[str, Any] | None = None
    tools: Tools | None = None
    tool_choice: Name | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    functions: Tools | None = None
    function_call: Name | dict[str, Any] | None = None
    web_search_options: dict[str, Any] | None = None
    reasoning_effort: Word | None = None
    verbosity: Word | None = None
    think: bool | None = None
    chat_template_kwargs: _TemplateSettings | None = None
    user: Name | None = None
    safety_identifier: Name | None = None
    prompt_cache_key: Name | None = None
    service_tier: Word | None = None
    store: bool | None = None
    metadata: Annotated[dict[Word, Name], Field(max_length=16)] | None = None
    documents: RequestDocuments | None = None
    """Our extension: documents to check the answer against, instead of a search."""


class _CorrectBody(_Fields):
    """The body of ``POST /v1/correct``: an answer, and documents or a question to check it with."""

    answer: str
    documents: RequestDocuments = []
    question: str | None = None


class _RunBody(_Fields):
    """The body of ``POST /v1/runs``: the input of the loop."""

    question: str
    history: list[Any] = []
    options: list[str] = []
    documents: RequestDocuments = []
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    """Temperature for calls that write an answer."""


@dataclass(frozen=True)
class ChatRequest:
    """A valid request for a chat completion."""

    body: Mapping[str, Any] = field(repr=False)
    """The request for the upstream: the body without ``documents``."""
    asked: ChatQuestion = field(repr=False)
    stream: bool
    include_usage: bool
    unchecked: str | None
    """Why the answer cannot be checked; None if it can."""

    @property
    def model(self) -> str:
        """The requested model."""
        return str(self.body["model"])

    @property
    def upstream_first(self) -> bool:
        """Whether the upstream must get the unchanged request, because it may call tools."""
        return any(self.body.get(name) for name in _TOOLS) or bool(self.asked.since)

    def answer_parameters(self, always: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters of calls that write an answer: ``always`` and the caller's own."""
        wishes = {
            name: value
            for name, value in in_words(self.body).items()
            if name not in _OURS and value is not None
        }
        limits = [wishes.pop(name, None) for name in ("max_completion_tokens", "max_tokens")]
        most = next((limit for limit in limits if limit is not None), None)
        # pass them in the body, since servers accept fields that client libraries do not know
        parameters: dict[str, Any] = {"extra_body": {**always, **wishes}} if wishes else {}
        return parameters if most is None else {**parameters, "max_tokens": most}


def read_json(data: bytes) -> dict[str, Any]:
    """Return the JSON object in a request's body; refuse anything else (400)."""
    try:
        value = finite_json(data)
        json.dumps(value, ensure_ascii=False).encode()  # fails for lone surrogates
    except (ValueError, RecursionError) as error:
        reason = f"the body is not valid JSON: {error}"
        raise RefusedError(400, reason, code="invalid_json") from None
    if not isinstance(value, dict):
        raise RefusedError(400, "the body is not a JSON object", code="invalid_json")
    return value


def read_chat(body: Mapping[str, Any]) -> ChatRequest:
    """Read a request for a chat completion; errors for invalid fields (400) name the field."""
    with refusing():
        checked = _Body.model_validate(body)
    chat_question = asked_in(_messages(checked.messages), _documents(checked.documents))
    # compute these now, since large requests are read in a worker thread
    _ = chat_question.documents, chat_question.left_out
    return ChatRequest(
        body={name: value for name, value in body.items() if name != "documents"},
        asked=chat_question,
        stream=bool(checked.stream),
        include_usage=bool(checked.stream_options and checked.stream_options.include_usage),
        unchecked=_out_of_reach(checked, chat_question),
    )


def read_run(body: Mapping[str, Any]) -> tuple[RagInput, dict[str, Any]]:
    """Return the loop's input for ``POST /v1/runs``, and parameters for the calls that answer."""
    with refusing():
        fields = _RunBody.model_validate(body).model_dump()
        temperature = fields.pop("temperature")
        start = cast("RagInput", fields)
        check_question(start["question"], start["options"])
        history_of(start["history"])
        given_documents(cast("RagState", start))
    return start, {} if temperature is None else {"temperature": temperature}


def read_correct(body: Mapping[str, Any]) -> RagInput:
    """Return the loop's input for ``POST /v1/correct``."""
    with refusing():
        checked = _CorrectBody.model_validate(body)
        if not checked.answer.strip():
            message = "answer is empty; give the text to check"
            raise RefusedError(400, message, code="invalid_value", param="answer")
        if checked.documents:
            return correction_input(checked.answer, checked.documents, checked.question)
        if not (checked.question or "").strip():
            message = "give documents to check the answer against, or a question to search with"
            raise RefusedError(400, message, code="invalid_value", param="documents")
        return {"question": str(checked.question), "draft_answer": checked.answer}


@contextmanager
def refusing(param: str | None = None) -> Iterator[None]:
    """Turn errors about invalid input into refusals that name the field (400)."""
    try:
        yield
    except ValidationError as error:
        detail = error.errors(include_url=False, include_input=False)[0]
        param = ""
        for step in detail["loc"]:
            param += f"[{step}]" if isinstance(step, int) else f".{step}" if param else step
        reason = str(detail["msg"]).removeprefix("Value error, ")
        if detail["type"] == "extra_forbidden":
            reason = "this service does not support the field"
        message = f"{param}: {reason}"
        raise RefusedError(400, message, param=param, code="invalid_value") from None
    except InputError as error:
        raise RefusedError(400, str(error), code="invalid_value", param=param) from None


def _documents(documents: list[str | dict[str, Any]] | None) -> tuple[Document, ...]:
    with refusing("documents"):
        return given_documents({"documents": documents or ()})


def _out_of_reach(body: _Body, chat_question: ChatQuestion) -> str | None:
    """Return why the answer to a request cannot be checked; None if it can."""
    if (body.n or 1) > 1:
        return f"n is {body.n}, but only a single answer can be checked"
    if body.logprobs:
        return "logprobs were requested, but corrected answers have none"
    kind = body.response_format.type if body.response_format else "text"
    if kind not in _FORMATS:
        return f"response_format is {kind}, but only text and JSON can be checked"
    if body.modalities is not None and body.modalities != ["text"]:
        return "modalities contains more than text"
    if chat_question.other_content:
        return "a message contains more than text"
    if not chat_question.question:
        return "no user message has a question"
    if body.messages[-1].role == "assistant":
        return "the last message is by the assistant, and the model would have to continue it"
    return None


def _messages(messages: list[_Message]) -> list[BaseMessage]:
    tools = {
        call.get("id"): (call.get("function") or {}).get("name")
        for message in messages
        for call in message.tool_calls or ()
        if isinstance(call.get("function"), dict) and isinstance(call.get("id"), str)
    }
    return [_message(message, tools) for message in messages]


def _message(message: _Message, tools: Mapping[Any, Any]) -> BaseMessage:
    content = "" if message.content is None else message.content
    if kind := _ROLES.get(message.role):
        return kind(content)
    name = message.name or tools.get(message.tool_call_id)
    return ToolMessage(
        content,
        name=name if isinstance(name, str) else None,
        tool_call_id=message.tool_call_id or "",
    )
