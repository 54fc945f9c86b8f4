"""Corrected answers in a form that the caller requests."""

import json
from functools import reduce
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler, UsageMetadataCallbackHandler
from langchain_core.exceptions import OutputParserException
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.messages.ai import add_usage
from langchain_core.utils.function_calling import convert_to_json_schema
from langgraph.graph import START, MessagesState, StateGraph
from openai import InternalServerError
from pydantic import BaseModel
from typing_extensions import TypedDict

from conflictscore.middleware import SelfCorrectingChatModel
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer
from tests.middleware.faces import BOTH, FACES, Ask
from tests.talking import Shelf, Talk
from tests.world import PAPER, scripted_model

QUESTION = "When was the lamp lit?"
LAST = "It was lit in 1874."
FORM = '{"year": 1874}'


class Lit(BaseModel):
    """When a lamp was lit."""

    year: int


class LitIn(TypedDict):
    """When a lamp was lit."""

    year: int


class Clerk(Talk):
    """Fills in forms with the year at the end of the last answer."""

    form: Fault | str | None = None
    """The reply in place of a form."""

    def __call__(self, request: ChatRequest) -> Any:
        if not request.prompt.startswith("Put your last answer into the form"):
            return super().__call__(request)
        said = request.messages[-2]["content"]
        return self.form or json.dumps({"year": int(said.removesuffix(".")[-4:])})


@pytest.fixture
def world() -> Clerk:
    return Clerk()


@BOTH
@pytest.mark.parametrize("schema", [Lit, LitIn, Lit.model_json_schema()])
async def test_the_final_answer_is_put_into_a_form(
    ask: Ask, chat: SelfCorrectingChatModel, server: OpenAIServer, schema: Any
) -> None:
    shaped = chat.with_structured_output(schema)
    result = await ask(shaped, [SystemMessage("Be brief."), HumanMessage(QUESTION)])

    assert Lit.model_validate(result) == Lit(year=1874)
    assert isinstance(result, Lit if schema is Lit else dict)
    said = [(message["role"], message["content"]) for message in server.requests[-1].messages]
    assert said[:-1] == [("system", "Be brief."), ("user", QUESTION), ("assistant", LAST)]


class Calls(BaseCallbackHandler):
    """The events of chat models and failures that a caller's callbacks get."""

    def __init__(self) -> None:
        self.options, self.seen, self.failures = list[Any](), set[str](), list[Any]()

    def on_chat_model_start(self, serialized: Any, messages: Any, **about: Any) -> None:
        self.options.append(about["options"])

    def on_llm_new_token(self, token: Any, **about: Any) -> None:
        self.seen.add(token)

    def on_llm_error(self, error: BaseException, **about: Any) -> None:
        self.failures.append(error)

    def on_retriever_start(self, serialized: Any, query: str, **about: Any) -> None:
        self.seen.add(query)


@FACES
async def test_callbacks_see_one_call_with_the_tokens_of_all_and_no_draft(
    ask: Ask, server: OpenAIServer
) -> None:
    calls, inside, outside = Calls(), *(UsageMetadataCallbackHandler() for _ in range(2))
    inner = scripted_model(server).model_copy(update={"callbacks": [inside]})
    chat = SelfCorrectingChatModel(inner, Shelf(), content_cache=False, **PAPER)

    shaped = chat.with_structured_output(Lit, method="json_mode")
    await ask(shaped, QUESTION, {"callbacks": [calls, outside]})

    [options] = calls.options
    form = options["ls_structured_output_format"]
    assert form["schema"] == convert_to_json_schema(Lit)
    assert form["kwargs"] == {"method": "json_mode"}
    assert calls.seen == {FORM}
    [counted] = outside.usage_metadata.values()
    spent = reduce(add_usage, inside.usage_metadata.values())
    for kind in ("input_tokens", "output_tokens"):
        assert counted[kind] == spent[kind]


@BOTH
async def test_a_call_that_fails_fails_once(
    ask: Ask, chat: SelfCorrectingChatModel, world: Clerk
) -> None:
    world.form, calls = Fault(should_retry=False), Calls()
    with pytest.raises(InternalServerError) as raised:
        await ask(chat.with_structured_output(Lit), QUESTION, {"callbacks": [calls]})
    assert calls.failures == [raised.value]


@BOTH
async def test_a_graph_around_it_streams_the_form_and_nothing_else(
    ask: Ask, chat: SelfCorrectingChatModel
) -> None:
    shaped = chat.with_structured_output(Lit)

    async def answer(state: MessagesState) -> dict[str, Any]:
        form = await ask(shaped, state["messages"])
        return {"messages": [AIMessage(str(form.year))]}

    graph = StateGraph(MessagesState).add_node(answer).add_edge(START, "answer").compile()
    start: Any = {"messages": [HumanMessage(QUESTION)]}
    parts = [part async for part in graph.astream(start, stream_mode="messages")]

    texts = [str(message.text) for message, _ in parts if isinstance(message, BaseMessage)]
    assert texts == [FORM, "1874"]


@pytest.mark.parametrize("include_raw", [False, True])
@pytest.mark.parametrize("method", ["json_schema", "json_mode"])
async def test_the_form_is_asked_for_with_the_call_parameters_of_the_answers(
    server: OpenAIServer, include_raw: bool, method: str
) -> None:
    search = {"type": "function", "function": {"name": "search"}}
    chat = SelfCorrectingChatModel(
        scripted_model(server),
        Shelf(),
        content_cache=False,
        **PAPER,
        top_p=0.5,
        model_kwargs={"tools": [search], "response_format": {"type": "x"}},
    )
    shaped = chat.with_structured_output(Lit, method=method, include_raw=include_raw)

    await shaped.ainvoke(QUESTION)

    sent = server.requests[-1].body
    assert (sent["top_p"], sent["response_format"]["type"]) == (
        0.5,
        "json_object" if method == "json_mode" else "json_schema",
    )
    assert not any("tools" in request.body for request in server.requests)


@BOTH
async def test_the_raw_message_has_the_run_and_a_form_that_cannot_be_read_is_raised_or_returned(
    ask: Ask, chat: SelfCorrectingChatModel, world: Clerk
) -> None:
    shaped = chat.with_structured_output(Lit.model_json_schema(), include_raw=True)
    read = await ask(shaped, QUESTION)
    world.form = "In 1874, I think."
    unread = await ask(shaped, QUESTION)

    with pytest.raises(OutputParserException, match="In 1874, I think"):
        await ask(chat.with_structured_output(Lit.model_json_schema()), QUESTION)
    assert (read["parsed"], read["raw"].text, read["parsing_error"]) == ({"year": 1874}, FORM, None)
    assert (unread["parsed"], unread["raw"].text) == (None, world.form)
    assert isinstance(unread["parsing_error"], OutputParserException)
    for result in (read, unread):
        run = result["raw"].response_metadata["conflictscore"]
        assert (run["answer"], run["flipped"], run["report"]["cs_c"]) == (LAST, True, 1.0)
