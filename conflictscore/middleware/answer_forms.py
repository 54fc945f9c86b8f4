"""Reads and replaces answers that are a string, a message, a mapping or a pydantic model."""

import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any, NamedTuple

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from pydantic import BaseModel, ValidationError

from conflictscore.json_answers import check_of, json_values
from conflictscore.middleware.changed_blocks import with_text
from conflictscore.middleware.run_views import with_verdict
from conflictscore.models.endings import early_ending
from conflictscore.models.replies import reply_text
from conflictscore.records import Run

if TYPE_CHECKING:
    from langchain.agents.middleware import ModelResponse

_KEYS = (
    "answer",
    "output",
    "output_text",
    "result",
    "response",
    "generation",
    "text",
    "content",
    "message",
    "messages",
)
"""Keys under which chains and agents return their answer; the first key with an answer is used.
Specific names come before names that also hold other texts, such as a conversation's messages.
"""


class CheckedText(str):
    """An answer as an ordinary string, with the run that produced it as an attribute.

    Attributes:
        run: The run; its ``checked`` is ``fully``, ``partly`` or ``no``.
    """

    __slots__ = ("run",)
    run: Run

    @classmethod
    def of(cls, run: Run) -> "CheckedText":
        """Return the final answer of a run."""
        text = cls(run.answer or "")
        text.run = run
        return text


def answer_text(output: object) -> str | None:
    """Return the text of an answer, or the JSON of a structured answer; None for anything else."""
    try:
        return _place(output).text
    except RecursionError:  # a mapping that contains itself, for example
        return None


class _Place(NamedTuple):
    """The place of the answer in an output, and its text (None if there is no answer)."""

    text: str | None
    steps: tuple[Any, ...]
    """Keys and indexes that lead from the output to the part that directly contains the answer."""
    holder: object
    """The part that directly contains the answer: a string, a message, a completion, or data."""


def _place(output: object) -> _Place:
    """Locate the answer in an output. Every level of a nested output is read once."""
    if isinstance(output, str):
        return _Place(output, (), output)
    if isinstance(output, BaseMessage):
        return _Place(spoken(output), (), output)
    if _first_choice(output) is not None:
        # a completion that calls a tool, for example, has no text
        return _Place(_completion_text(output), (), output)
    if isinstance(output, Mapping):
        inside = _first_with_answer(output)
    elif isinstance(output, list) and output and isinstance(output[-1], BaseMessage | Mapping):
        last = _place(output[-1])
        # A mapping names its answer, which may be empty. A list names none: if its last part has no
        # words, for example a tool call, the whole list is data.
        inside = _within(-1, last) if last.text else None
    else:
        inside = None
    return inside or _Place(data_text(output), (), output)


def _first_with_answer(output: Mapping[Any, Any]) -> _Place | None:
    """Locate the first answer in a mapping; an empty one counts only if all answers are empty."""
    empty = None
    for key in _KEYS:
        inside = _place(output.get(key))
        if inside.text is None:
            continue
        if inside.text.strip():
            return _within(key, inside)
        empty = empty or _within(key, inside)
    return empty


def _within(step: str | int, inside: _Place) -> _Place:
    """Return a place relative to the mapping or list that contains it."""
    return inside._replace(steps=(step, *inside.steps))


def _completion_text(output: object) -> str | None:
    """Return the text of a ``ChatCompletion``, typed or plain JSON; None for anything else."""
    content = _field(_field(_first_choice(output), "message"), "content")
    return content if isinstance(content, str) else None


def _first_choice(output: object) -> object:
    """Return the first choice of a ``ChatCompletion``; None for anything else."""
    if not isinstance(output, BaseModel | Mapping):  # no other type can be copied with a new answer
        return None
    choices = _field(output, "choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if _field(first, "message") is not None else None


def ending_in(output: object) -> str | None:
    """Return why an answer may be incomplete; None if nothing says that it is."""
    holder = _place(output).holder
    if isinstance(holder, AIMessage):
        return early_ending(holder)
    choice = _first_choice(holder)
    # A mapping may lack the field. A typed choice always has it, and None there means that the
    # reply did not end normally.
    if choice is None or (isinstance(choice, Mapping) and "finish_reason" not in choice):
        return None
    # completions of any provider use OpenAI's names for endings
    ending = {"finish_reason": _field(choice, "finish_reason"), "model_provider": "openai"}
    return early_ending(AIMessage("", response_metadata=ending))


def _field(holder: object, name: str) -> Any:
    return holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)


def _completed(output: Any, run: Run) -> Any:
    """Return a ``ChatCompletion`` with the final answer, and the run in ``conflictscore``."""
    is_model = isinstance(output, BaseModel)
    # a deep copy, since the caller's own object must keep the first answer
    fields = output.model_dump() if is_model else deepcopy(dict(output))
    fields["choices"][0]["message"]["content"] = run.answer
    if run.flipped and "logprobs" in fields["choices"][0]:  # they belong to the first answer
        fields["choices"][0]["logprobs"] = None
    about = {**run.summary("reason", texts=False), **run.verdict()}
    if not is_model:
        return {**fields, "conflictscore": about}
    completion = type(output).model_validate(fields)
    _set_beside_fields(completion, about)
    return completion


def _set_beside_fields(model: BaseModel, about: Mapping[str, Any]) -> None:
    """Set the attribute ``conflictscore`` directly, since pydantic accepts only fields."""
    object.__setattr__(model, "conflictscore", about)


def no_text(name: str, output: object) -> str:
    """Return the error message for an answer without text; it names the function and the type."""
    pieces = "; join its pieces" if isinstance(output, Iterator | AsyncIterator) else ""
    return f"{name} returned {type(output).__name__}, not text{pieces}"


def spoken(message: BaseMessage, prompt: str = "") -> str:
    """Return a message's text without reasoning, or the whole text if the reasoning is cut off.

    ``prompt`` is the prompt that the model received; it is empty if the caller does not have it.
    """
    try:
        return reply_text(message, prompt)
    except ValueError:  # cut off while reasoning, so use the text that a user would read
        return str(message.text)


def data_text(data: object) -> str | None:
    """Convert a structured answer to JSON; return None if it is not structured or has no values.

    A pydantic model is written with its field names, since an alias for writing may differ
    from the alias for reading.
    """
    try:
        text = (
            data.model_dump_json(by_alias=False)
            if isinstance(data, BaseModel)
            else json.dumps(data, ensure_ascii=False, allow_nan=False)
        )
    except (TypeError, ValueError, RecursionError):
        return None
    return text if json_values(text) else None


def rebuilt(data: Any, text: str) -> Any:
    """Make a value of the same type from JSON; raise ValidationError if the JSON does not fit."""
    if isinstance(data, BaseModel):
        return type(data).model_validate_json(text, by_alias=False, by_name=True)
    return json.loads(text)


def why_not_rebuilt(data: object, text: str) -> str | None:
    """Return why a text, such as JSON, cannot replace an answer; None if it can.

    Messages and completions accept any text. Only the caller's own pydantic models can reject it.
    """
    data = _place(data).holder
    try:
        is_data = isinstance(data, BaseModel) and not isinstance(data, BaseMessage)
        if is_data and _completion_text(data) is None:
            rebuilt(data, text)
    except ValidationError:
        return f"the result would not be a valid {type(data).__name__}"
    return None


def structured_with(response: "ModelResponse[Any]", message: BaseMessage) -> "ModelResponse[Any]":
    """Put the JSON and the metadata of a message into an agent's structured response."""
    from langchain.agents.middleware import ModelResponse

    data, text = response.structured_response, str(message.text)
    is_new = text != data_text(data)
    new, result = rebuilt(data, text) if is_new else data, []
    if isinstance(new, BaseModel) and is_new:  # the model's JSON follows a schema with aliases
        text = new.model_dump_json(by_alias=True)
    for part in response.result:
        update: dict[str, Any] = {}
        if isinstance(part, AIMessage):
            update["response_metadata"] = message.response_metadata
            if is_new and part.tool_calls:
                update["tool_calls"] = _calls_with(json.loads(text), part, response)
            elif is_new:  # some clients repeat the JSON, parsed, in additional_kwargs
                update |= {"content": text, "additional_kwargs": {}}
        elif is_new and isinstance(part.content, str):  # a result of that tool call quotes the data
            update["content"] = part.content.replace(str(data), str(new))
        result.append(part.model_copy(update=update))
    return ModelResponse(result=result, structured_response=new)


def _calls_with(
    arguments: Any, message: AIMessage, response: "ModelResponse[Any]"
) -> list[dict[str, Any]]:
    """Return a message's tool calls, with new arguments for the call that is the answer.

    The agent has already replied to this call, but must still make the other calls.
    """
    replied_to = {part.tool_call_id for part in response.result if isinstance(part, ToolMessage)}
    return [
        {**call, "args": arguments} if not replied_to or call["id"] in replied_to else {**call}
        for call in message.tool_calls
    ]


def check_of_format(response_format: object) -> Callable[[str], str | None] | None:
    """Return a function that checks answers against a format; None if the format is not JSON."""
    if isinstance(response_format, type) and issubclass(response_format, BaseModel):
        return check_of(response_format.model_json_schema())
    if not isinstance(response_format, Mapping):
        return None
    if response_format.get("type") == "json_object":
        return check_of(None)
    if response_format.get("type") != "json_schema":
        return None
    form = response_format.get("json_schema")
    schema = form.get("schema") if isinstance(form, Mapping) else None
    return check_of(schema if isinstance(schema, Mapping) else None)


def in_its_form(run: Run, output: object) -> Any:
    """Return the final answer of a run, in the format of the function's own answer.

    A message gets the verdict in ``response_metadata["conflictscore"]``. A mapping gets the run
    under the key ``conflictscore``, a pydantic model as an attribute of that name, and a string as
    the attribute ``run``.
    """
    summary = {**run.summary("reason", texts=False), **run.verdict()}
    if _completion_text(output) is not None:
        return _completed(output, run)
    place = _place(output)
    if isinstance(output, Mapping):
        changed = _put(output, place.steps, _replaced(place.holder, run))
        return {**changed, "conflictscore": summary}
    if isinstance(output, BaseModel) and not isinstance(output, BaseMessage):
        model = rebuilt(output, run.answer or "") if run.flipped else output.model_copy()
        _set_beside_fields(model, summary)
        return model
    return _put(output, place.steps, _replaced(place.holder, run))


def _put(output: Any, steps: tuple[Any, ...], new: Any) -> Any:
    """Return a copy of an output with a new part at the place to which the steps lead."""
    if not steps:
        return new
    inside = _put(output[steps[0]], steps[1:], new)
    return [*output[:-1], inside] if isinstance(output, list) else {**output, steps[0]: inside}


def _replaced(holder: Any, run: Run) -> Any:
    """Return the final answer in the same form as the first answer; data keeps its type."""
    if isinstance(holder, str):
        return CheckedText.of(run)
    if _completion_text(holder) is not None:
        return _completed(holder, run)
    if isinstance(holder, BaseMessage):
        message = with_verdict(holder, run)
        if not run.flipped:
            return message
        content = with_text(holder.content, str(holder.text), run.answer or "")
        return message.model_copy(update={"content": content})
    return rebuilt(holder, run.answer or "") if run.flipped else holder
