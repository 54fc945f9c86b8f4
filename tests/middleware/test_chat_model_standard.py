"""LangChain's standard tests of chat models, over a loopback server."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_tests.integration_tests import ChatModelIntegrationTests
from langchain_tests.unit_tests import ChatModelUnitTests

from conflictscore.middleware import SelfCorrectingChatModel
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer, Reply
from tests.middleware.agents import call_tool
from tests.talking import Shelf, Talk
from tests.world import scripted_model

_TEXT = "你好, こんにちは"
"""The value for a tool's text parameter."""


class Assistant(Talk):
    """Calls a tool if one is offered, and fills in any form that is requested."""

    def __call__(self, request: ChatRequest) -> Reply | str | Fault:
        if request.body.get("tools") and request.messages[-1]["role"] != "tool":
            function = _chosen(request)
            return call_tool(request, function["name"], **_filled_in(function["parameters"]))
        form = request.body.get("response_format", {})
        if form.get("type") == "json_object":
            return json.dumps({"setup": "Why?", "punchline": "Because."})
        if "json_schema" in form and form["json_schema"]["name"] != "evidence_label":
            return json.dumps(_filled_in(form["json_schema"]["schema"]))
        return super().__call__(request)


def _chosen(request: ChatRequest) -> dict[str, Any]:
    functions = [tool["function"] for tool in request.body["tools"]]
    choice = request.body.get("tool_choice")
    wanted = choice["function"]["name"] if isinstance(choice, dict) else functions[0]["name"]
    found: dict[str, Any] = next(f for f in functions if f["name"] == wanted)
    return found


def _filled_in(schema: dict[str, Any]) -> dict[str, Any]:
    return {
        name: 3 if kind.get("type") == "integer" else _TEXT
        for name, kind in schema["properties"].items()
    }


@pytest.fixture(scope="module", autouse=True)
def _server(request: pytest.FixtureRequest) -> Iterator[None]:
    with OpenAIServer(Assistant()) as server:
        for suite in (TestUnit, TestIntegration):
            suite.server = server
        yield


class Suite:
    """The facts about the model that both suites need."""

    server: OpenAIServer

    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return SelfCorrectingChatModel

    @property
    def chat_model_params(self) -> dict[str, Any]:
        inner = scripted_model(self.server)
        return {"model": inner, "retriever": Shelf(), "content_cache": False}

    @property
    def standard_chat_model_params(self) -> dict[str, Any]:
        return {"temperature": 0, "max_tokens": 600, "stop": ["\n\n\n"]}

    @property
    def supports_json_mode(self) -> bool:
        return True

    @property
    def supports_anthropic_inputs(self) -> bool:
        return True

    @property
    def model_override_value(self) -> str:
        return "another-model"


class TestUnit(Suite, ChatModelUnitTests):
    """Construction, tools, structured output and tracing parameters."""


@pytest.mark.filterwarnings("ignore:Received a Pydantic BaseModel V1 schema")
class TestIntegration(Suite, ChatModelIntegrationTests):
    """Calls, streams, conversations, usage, tools and structured output."""
