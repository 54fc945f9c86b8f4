"""Handles structured answers that are the arguments of a forced tool call.

Instructor and PydanticAI request structured output this way by default. The arguments are checked
as JSON, value by value, and put back into the call.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from conflictscore.json_answers import json_values
from conflictscore.middleware.service.completions import Completion, text_of

_OUTPUT_TOOL = "final_result"
"""The beginning of the names of PydanticAI's output tools, which it may offer beside others."""


def forced_schema(body: Mapping[str, Any], draft: Completion) -> Mapping[str, Any] | None:
    """Return the schema of the tool call that is the answer; None if there is no such call."""
    call = _only_call(draft)
    if call is None or not json_values(str(call["function"].get("arguments"))):
        return None
    tools = [
        tool["function"]
        for tool in body.get("tools") or ()
        if isinstance(tool, Mapping) and isinstance(tool.get("function"), Mapping)
    ]
    name = call["function"].get("name")
    tool = next((tool for tool in tools if tool.get("name") == name), None)
    if tool is None or not _is_forced(name, body.get("tool_choice"), tools):
        return None
    schema = tool.get("parameters")
    return schema if isinstance(schema, Mapping) else {}


def _is_forced(name: object, choice: object, tools: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a request forces a call of this tool, or offers it as the output tool."""
    if isinstance(choice, Mapping):
        function = choice.get("function")
        return isinstance(function, Mapping) and function.get("name") == name
    is_output = len(tools) == 1 or str(name).startswith(_OUTPUT_TOOL)
    return choice == "required" and is_output


def as_words(draft: Completion) -> Completion:
    """Turn the arguments of a completion's only tool call into the text of its message."""
    choice, call = draft["choices"][0], _only_call(draft)
    text = call["function"]["arguments"] if call else text_of(draft)
    message = {"role": "assistant", "content": text}
    return {**draft, "choices": [{**choice, "message": message}]}


def as_call(completion: Completion, draft: Completion) -> Completion:
    """Put the text of a completion back into the draft's tool call, as its arguments."""
    choice, call = draft["choices"][0], _only_call(draft)
    if call is None:
        return completion
    function = {**call["function"], "arguments": text_of(completion)}
    message = {**choice["message"], "tool_calls": [{**call, "function": function}]}
    return {**completion, "choices": [{**choice, "message": message}]}


def _only_call(draft: Completion) -> Mapping[str, Any] | None:
    calls = draft["choices"][0]["message"].get("tool_calls")
    call = calls[0] if isinstance(calls, list) and len(calls) == 1 else None
    is_call = isinstance(call, Mapping) and isinstance(call.get("function"), Mapping)
    return call if is_call else None
