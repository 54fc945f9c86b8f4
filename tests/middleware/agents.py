"""A scripted model that works as an agent: it searches once per question, then answers."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import tool

from conflictscore.middleware import ConflictScoreMiddleware
from tests.fakes.openai_server import ChatRequest, Fault, Reply
from tests.world import DISAGREEING, PAPER, World, step_of

Invoke = Callable[..., dict[str, Any]]
"""Invokes an agent, synchronously or not, with its input and the arguments of ``invoke``."""

QUESTION: dict[str, Any] = {"messages": [{"role": "user", "content": "When was the lamp lit?"}]}

FOUND = "\n".join(document["text"] for document in DISAGREEING)
CORRECTED = ["When was the lamp lit?", "search", FOUND, "It was lit in 1874."]


@tool(response_format="content_and_artifact")
def search(query: str) -> tuple[str, list[Document]]:
    """Search for documents."""
    found = [
        Document(d["text"], metadata={"title": d["title"], "url": d["url"]}) for d in DISAGREEING
    ]
    return FOUND, found


def agent_of(
    model: BaseChatModel,
    *,
    tools: Any = (search,),
    outside: Any = (),
    inside: Any = (),
    about: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Any:
    """An agent in the paper's loop: ``about`` are its arguments, ``settings`` the middleware's."""
    ours = ConflictScoreMiddleware(**{"cache": False, **PAPER, **settings})
    middleware = [*outside, ours, *inside]
    return create_agent(model, list(tools), middleware=middleware, **(about or {}))


def texts(messages: list[BaseMessage]) -> list[str]:
    """The text of each message; for a tool call, the names of the tools."""
    return [
        " ".join(call["name"] for call in m.tool_calls)
        if isinstance(m, AIMessage) and m.tool_calls
        else str(m.text)
        for m in messages
    ]


def call_tool(
    request: ChatRequest, name: str, says: str = "", torn: bool = False, **arguments: Any
) -> Reply:
    """A reply that calls a tool; ``torn`` halves the arguments' JSON."""
    written = json.dumps(arguments)
    function = {"name": name, "arguments": written[: len(written) // 2] if torn else written}
    call = {"index": 0, "id": f"call-{len(request.messages)}", "type": "function"}
    return Reply(says, "tool_calls", tool_calls=({**call, "function": function},))


@dataclass
class AgentWorld(World):
    """Calls each of ``tools`` once per question, then answers ``generate`` or ``regenerate``."""

    tools: tuple[str, ...] = ("search",)
    standing_alone: str = "When was the lamp of the lighthouse lit?"
    failing: Counter[str] = field(default_factory=Counter)
    """For each step, how many of its first requests get HTTP 503."""
    instead: dict[str, Callable[[ChatRequest], Reply | str | Fault]] = field(default_factory=dict)
    """The replies of a step, in place of the world's."""
    requests: dict[str, list[ChatRequest]] = field(default_factory=dict)

    def __call__(self, request: ChatRequest) -> Reply | str | Fault:
        step = self._step_of(request)
        self.requests.setdefault(step, []).append(request)
        if step not in ("contextualize", "generate", "regenerate", "tools"):
            return super().__call__(request)
        self.asked[step] += 1
        self.prompts.setdefault(step, []).append(request.prompt)
        if self.asked[step] <= self.failing[step]:
            return Fault(status=503, message="overloaded")
        if step in self.instead:
            return self.instead[step](request)
        if step == "tools":
            return call_tool(request, self.tools[_tool_turns(request)], query="lamp")
        if step == "generate":
            return self.answer
        if step == "contextualize":
            return self.standing_alone
        if isinstance(self.regenerated, str):
            return self.regenerated
        return self.regenerated[self.asked["regenerate"] - 1]

    def _step_of(self, request: ChatRequest) -> str:
        prompt = request.prompt
        if prompt.startswith("That reply could not be used"):  # the actual request comes before it
            prompt = next(m["content"] for m in request.messages if m["role"] == "user")
        step = step_of(prompt)
        if step not in ("generate", "regenerate"):
            return step
        if "The user's last message:" in request.prompt:
            return "contextualize"
        if step_of(request.prompt) == "regenerate":
            return "regenerate"
        more = request.body.get("tools") and _tool_turns(request) < len(self.tools)
        return "tools" if more else "generate"


def _tool_turns(request: ChatRequest) -> int:
    """How often tools have been called since the last question."""
    roles = [message["role"] for message in request.messages]
    last = len(roles) - 1 - roles[::-1].index("user")
    return roles[last:].count("tool")
