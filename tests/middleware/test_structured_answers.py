"""JSON answers at every entry point: corrected value by value, or mentioned in a note."""

import json
import re
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from pydantic import BaseModel, field_validator

from conflictscore import correct
from conflictscore.middleware import ConflictScoreMiddleware, SelfCorrectingChatModel, self_correct
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer, Reply
from tests.middleware.agents import AgentWorld, call_tool, search
from tests.middleware.service.serving import serving
from tests.talking import Shelf
from tests.world import DISAGREEING, scripted_model

QUESTION = "When was the lamp lit, and by whom?"
DOCUMENTS = [*DISAGREEING, {"text": "Oil for the lamp of 1874.", "title": "Bills", "url": ""}]
ANSWER = '{"lit": 1871,  "note": "Lit by hand."}'
RIGHT = ANSWER.replace("1871", "1874")
NOTE = "the value at /lit is disputed"
SENTENCES = '{"lit": "It was lit in 1871. It is tall, and white."}'
FENCED = '```json\n{"a/b": {"lit": 1871}}\n```'
_VALUE = re.compile(r"^(\d+)\. (\S+): (.*)$", re.MULTILINE)


class JsonWorld(AgentWorld):
    """A model whose answer is data; it knows a statement for each year in it."""

    def __call__(self, request: ChatRequest) -> Reply | str | Fault:
        prompt = request.prompt
        if "data in JSON" not in prompt:
            return super().__call__(request)
        asked = _VALUE.findall(prompt[prompt.rindex("Question:") :])
        lines = []
        for number, path, value in asked:
            statement = value if " " in value else "none"
            lit = f"It was lit in {value}.".replace("true", "1871")
            lines.append(f"{number}. {lit if path.endswith('lit') else statement}")
        return "\n".join(lines)

    def reading(self, document: str) -> str:
        """A document's year, in words."""
        years = re.findall(r"\b18\d\d\b", document)
        return f"It was lit in {years[0]}." if years else "The document does not say."


class Lamp(BaseModel):
    """A structured answer."""

    lit: int
    note: str = ""


class EvenLamp(Lamp):
    """A structured answer that does not allow 1874."""

    @field_validator("lit")
    @classmethod
    def _known(cls, year: int) -> int:
        if year == 1874:
            raise ValueError("no such year")
        return year


@pytest.fixture
def server() -> Any:
    with OpenAIServer(JsonWorld(answer=ANSWER, tools=())) as server:
        yield server


def settings(server: OpenAIServer, role: str = "judge") -> dict[str, Any]:
    """The model in its role, and its labeler, without a cache."""
    return {role: scripted_model(server), "cache": False, "labeler": "json"}


@pytest.mark.parametrize("regeneration", ["revise", "paper"])
def test_correct_replaces_a_value_and_leaves_the_rest_byte_for_byte(
    server: OpenAIServer, regeneration: Any
) -> None:
    chosen = {
        **settings(server, "model"),
        "regeneration": regeneration,
        "guard": regeneration == "revise",
    }
    run = correct(ANSWER, DOCUMENTS, QUESTION, **chosen)

    assert run.answer == RIGHT
    assert run.checked == "fully"
    assert any(NOTE in note and "contradicted by document 1" in note for note in run.notes)


@pytest.mark.parametrize(
    ("answer", "becomes", "pointer"),
    [
        ('[{"who": null, "lit": "1871"}]', '[{"who": null, "lit": "1874"}]', "/0/lit"),
        (FENCED, FENCED.replace("1871", "1874"), "/a~1b/lit"),
        ('{"lit": true}', '{"lit": true}', "/lit"),
        ('{"day": "1871"}', '{"day": "1871"}', None),
        (SENTENCES, SENTENCES, "/lit"),
    ],
)
def test_a_value_is_replaced_by_one_of_its_type_or_named(
    server: OpenAIServer, answer: str, becomes: str, pointer: str | None
) -> None:
    run = correct(answer, DOCUMENTS, QUESTION, **settings(server, "model"))

    assert (run.answer, run.flipped) == (becomes, becomes != answer)
    named = [note for note in run.notes if "is disputed" in note]
    assert len(named) == (pointer is not None)
    assert all(f"the value at {pointer} is disputed" in note for note in named)
    if answer == SENTENCES:
        assert run.checked == "partly"
        assert any("several sentences" in note for note in run.notes)


@pytest.mark.parametrize(
    ("held", "right"),
    [
        ({"lit": 1871}, {"lit": 1874}),
        (Lamp(lit=1871), Lamp(lit=1874)),
        ([{"lit": 1871}], [{"lit": 1874}]),
        ({"result": {"lit": 1871}}, {"result": {"lit": 1874}}),
        ({"lit": 1874}, {"lit": 1874}),
        (EvenLamp(lit=1871), EvenLamp(lit=1871)),
    ],
    ids=["mapping", "model", "list", "deeper", "right", "no-such-value"],
)
def test_data_within_a_mapping_stays_data_of_its_kind(
    server: OpenAIServer, held: object, right: object
) -> None:
    decorate = self_correct(**settings(server))

    reply = decorate(lambda question, documents: {"output": held, "steps": 2})(QUESTION, DOCUMENTS)

    assert (reply["output"], reply["steps"]) == (right, 2)


def test_functions_that_return_data_get_it_back_in_their_form(server: OpenAIServer) -> None:
    decorate = self_correct(**settings(server))

    def came(said: Any) -> Any:
        return decorate(lambda question, documents: said)(QUESTION, DOCUMENTS)

    text, mapping = came(ANSWER), came({"lit": 1871, "note": "Lit by hand."})
    model, strict = came(Lamp(lit=1871)), came(EvenLamp(lit=1871))

    assert (text, text.run.flipped) == (RIGHT, True)
    assert mapping.pop("conflictscore")["flipped"] is True
    assert mapping == {"lit": 1874, "note": "Lit by hand."}
    assert model == Lamp(lit=1874)
    assert model.conflictscore["checked"] == "fully"
    assert strict == EvenLamp(lit=1871)
    assert any(NOTE in note for note in strict.conflictscore["notes"])


def test_a_chat_model_that_is_asked_for_json(server: OpenAIServer) -> None:
    chat = SelfCorrectingChatModel(
        scripted_model(server), Shelf(found=DOCUMENTS), labeler="json", content_cache=False
    )

    reply = chat.bind(response_format={"type": "json_object"}).invoke(QUESTION)

    assert reply.text == RIGHT
    assert reply.response_metadata["conflictscore"]["flipped"] is True
    first = next(r for r in server.requests if "response_format" in r.body)
    assert first.body["response_format"] == {"type": "json_object"}


def json_schema(**lit: Any) -> dict[str, Any]:
    """A response format with this schema for the year."""
    schema = {"type": "object", "properties": {"lit": {"type": "integer", **lit}}}
    return {"type": "json_schema", "json_schema": {"name": "lamp", "schema": schema}}


@pytest.mark.parametrize(
    ("form", "mode", "said", "status"),
    [
        ({"type": "json_object"}, "correct", RIGHT, "corrected"),
        (json_schema(), "correct", RIGHT, "corrected"),
        (json_schema(enum=[1871, 1872]), "correct", ANSWER, "kept"),
        (json_schema(), "annotate", ANSWER, "annotated"),
    ],
)
def test_a_completion_in_json_stays_valid(
    server: OpenAIServer, form: dict[str, Any], mode: Any, said: str, status: str
) -> None:
    loop: dict[str, Any] = {"labeler": "json", "regeneration": "revise", "guard": True}
    found, settings = Shelf(found=DOCUMENTS), {"mode": mode}
    with serving(server, retriever=found, settings=settings, **loop) as served:
        reply = served.ask(response_format=form)
        streamed = served.ask(response_format=form, stream=True)

    body = reply.json()
    assert body["choices"][0]["message"]["content"] == said
    assert body["conflictscore"]["status"] == status
    assert any(NOTE in note for note in body["conflictscore"]["notes"])
    chunks = [json.loads(line[5:]) for line in streamed.text.splitlines() if "choices" in line]
    parts = [chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks]
    assert "".join(parts) == said


def test_a_reply_that_is_not_the_json_asked_for_passes_through_unchecked() -> None:
    with serving(JsonWorld(answer='{"lit": 18', tools=())) as served:
        body = served.ask(response_format={"type": "json_object"}).json()

    assert body["choices"][0]["message"]["content"] == '{"lit": 18'
    assert body["conflictscore"]["checked"] == "no"
    assert "the reply is not the requested JSON" in body["conflictscore"]["notes"]


class CallingWorld(JsonWorld):
    """A model that answers by calling a required tool."""

    def __call__(self, request: ChatRequest) -> Reply | str | Fault:
        if request.body.get("tools"):
            return call_tool(request, str(self.tools[0]), lit=1871, note="Lit by hand.")
        return super().__call__(request)


@pytest.mark.parametrize(
    ("name", "choice"),
    [
        ("Lamp", {"type": "function", "function": {"name": "Lamp"}}),  # as instructor requests it
        ("final_result", "required"),  # as PydanticAI requests it
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_the_call_of_a_forced_tool_is_an_answer_through_the_service(
    name: str, choice: Any, stream: bool
) -> None:
    loop: dict[str, Any] = {"labeler": "json", "regeneration": "revise", "guard": True}
    tool = {"name": name, "parameters": Lamp.model_json_schema()}
    asked: dict[str, Any] = {"tools": [{"type": "function", "function": tool}]}

    with serving(
        CallingWorld(answer=ANSWER, tools=(name,)), retriever=Shelf(found=DOCUMENTS), **loop
    ) as served:
        reply = served.ask(**asked, tool_choice=choice, stream=stream)
        unforced = served.ask(**asked, tool_choice="auto")

    lines = [line for line in reply.text.splitlines() if line.startswith("data: {")]
    bodies = [json.loads(line[5:]) for line in lines] if stream else [reply.json()]
    choices = [body["choices"][0] for body in bodies if body["choices"]]
    messages = [choice.get("delta") or choice.get("message") or {} for choice in choices]
    [call] = [call for message in messages for call in message.get("tool_calls") or ()]
    assert call["function"]["name"] == name
    assert json.loads(call["function"]["arguments"]) == {"lit": 1874, "note": "Lit by hand."}
    assert bodies[-1]["conflictscore"]["flipped"]
    [free_call] = unforced.json()["choices"][0]["message"]["tool_calls"]
    assert json.loads(free_call["function"]["arguments"])["lit"] == 1871


class StructuredWorld(JsonWorld):
    """An agent's model that ends with a structured answer, by a tool or in its content."""

    def __call__(self, request: ChatRequest) -> Reply | str | Fault:
        named = [t["function"]["name"] for t in request.body.get("tools") or ()]
        if self._step_of(request) in ("generate", "tools") and "Lamp" in named:
            if request.messages[-1]["role"] == "user":
                return call_tool(request, "search", query="lamp")
            return call_tool(request, "Lamp", lit=1871, note="Lit by hand.")
        return super().__call__(request)


@pytest.mark.parametrize("strategy", [ToolStrategy, ProviderStrategy])
@pytest.mark.parametrize("approve", [False, True])
def test_an_agents_structured_response(strategy: Any, approve: bool) -> None:
    world = StructuredWorld(answer=ANSWER) if strategy is ToolStrategy else JsonWorld(answer=ANSWER)
    with OpenAIServer(world) as server:
        model = scripted_model(server)
        judged = ConflictScoreMiddleware(
            retriever=Shelf(found=DOCUMENTS), sources=(), approve_flips=approve, **settings(server)
        )
        agent: Any = create_agent(
            model, [search], middleware=[judged], response_format=strategy(Lamp)
        )
        state = agent.invoke({"messages": [("user", QUESTION)]})

    year = 1871 if approve else 1874
    assert state["structured_response"] == Lamp(lit=year, note="Lit by hand.")
    assert state["conflict"]["checked"] == "fully"
    assert any(NOTE in note for note in state["conflict"]["notes"])
    assert f"{year}" in str(state["messages"][-1].content)


@pytest.mark.parametrize("strategy", [ToolStrategy, ProviderStrategy])
def test_a_structured_answer_without_documents_is_refused_and_leaves_no_call_behind(
    strategy: Any,
) -> None:
    world = StructuredWorld(answer=ANSWER) if strategy is ToolStrategy else JsonWorld(answer=ANSWER)
    world.tools = ()
    with OpenAIServer(world) as server:
        judged = ConflictScoreMiddleware(
            sources=(), require="fully", refusal="Please ask our staff.", **settings(server)
        )
        agent: Any = create_agent(
            scripted_model(server), [], middleware=[judged], response_format=strategy(Lamp)
        )
        state = agent.invoke({"messages": [("user", QUESTION)]})

    *_, last = state["messages"]
    assert last.content == "Please ask our staff."
    assert state["conflict"]["checked"] == "no"
    calls = [call for each in state["messages"] for call in getattr(each, "tool_calls", ())]
    assert "Lamp" not in [call["name"] for call in calls]
    replies = [each.tool_call_id for each in state["messages"] if each.type == "tool"]
    assert [call["id"] for call in calls] == replies
    assert "1871" not in str(state["messages"])
