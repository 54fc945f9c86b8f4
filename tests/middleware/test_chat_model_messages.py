"""Questions in chat messages."""

from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from conflictscore.middleware.messages import asked_in


def said(content: Any = "", **fields: Any) -> ToolMessage:
    return ToolMessage(content, tool_call_id="1", name="search", **fields)


def test_a_conversation_is_read_as_a_question_with_a_history() -> None:
    call = {"name": "search", "args": {}, "id": "1", "type": "tool_call"}
    messages = [
        SystemMessage("Be brief."),
        AIMessage(" ", tool_calls=[call]),
        HumanMessage("Hello."),
        AIMessage([{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Hello!"}]),
        HumanMessage(["When was ", {"type": "text", "text": "it lit? "}]),
        AIMessage("", tool_calls=[call]),
        said("Lit in 1871."),
    ]

    asked = asked_in(messages)

    assert asked.question == "When was it lit?"
    assert asked.history == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello."},
        {"role": "assistant", "content": "Hello!"},
    ]
    assert asked.since == tuple(messages[5:])
    assert not asked.other_content


@pytest.mark.parametrize(
    "message",
    [
        HumanMessage([{"type": "image_url", "image_url": {"url": "https://a.test/i.png"}}]),
        HumanMessage([{"type": "text", "text": "Hear:"}, {"type": "audio", "base64": "AAAA"}]),
        ChatMessage(content="Hello.", role="narrator"),
    ],
)
def test_what_text_cannot_stand_for_is_told(message: BaseMessage) -> None:
    assert asked_in([message, HumanMessage("When?")]).other_content
