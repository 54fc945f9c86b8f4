"""A chat model that replaces another one, driven through the real client."""

import asyncio
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import UUID

import openai
import pytest
from langchain_core.callbacks import (
    BaseCallbackHandler,
    UsageMetadataCallbackHandler,
    get_usage_metadata_callback,
)
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.load import dumps
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import SecretStr

from conflictscore.errors import ConfigurationError, InputError, ProviderError
from conflictscore.middleware import SelfCorrectingChatModel
from conflictscore.storage.cache import ContentCache
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer, Reply, from_cache
from tests.middleware.agents import FOUND, call_tool, search, texts
from tests.middleware.faces import BOTH, FACES, Ask
from tests.models.calling import calling
from tests.talking import LAMP, STANDING_ALONE, Failing, Shelf, Talk
from tests.world import DISAGREEING, PAPER, scripted_model

QUESTION = "When was the lamp lit?"
FIRST, LAST = "It was lit in 1871.", "It was lit in 1874."
AGREEING = [{"text": "The lamp was lit in 1874."}, {"text": "In 1874 they lit the lamp."}]


class Calls(BaseCallbackHandler):
    """The events of chat models that a caller's callbacks get."""

    def __init__(self) -> None:
        self.parents: dict[UUID, UUID | None] = {}
        self.models: list[UUID] = []
        self.models_of_chains: set[Any] = set()
        self.tokens: list[Any] = []

    def on_chain_start(self, serialized: Any, inputs: Any, **about: Any) -> None:
        self.parents[about["run_id"]] = about["parent_run_id"]
        self.models_of_chains.add(about["metadata"].get("ls_model_name"))

    def on_retriever_start(self, serialized: Any, query: Any, **about: Any) -> None:
        self.parents[about["run_id"]] = about["parent_run_id"]

    def on_chat_model_start(self, serialized: Any, messages: Any, **about: Any) -> None:
        self.parents[about["run_id"]] = about["parent_run_id"]
        self.models.append(about["run_id"])

    def on_llm_new_token(self, token: Any, **about: Any) -> None:
        self.tokens.append(token)

    def root(self, run: UUID) -> UUID:
        """The run to which this one belongs."""
        parent = self.parents[run]
        return run if parent is None else self.root(parent)


@pytest.fixture
def world() -> Talk:
    return Talk()


def wrapped(
    server: OpenAIServer, retriever: BaseRetriever | None, **settings: Any
) -> SelfCorrectingChatModel:
    return SelfCorrectingChatModel(
        scripted_model(server), retriever, content_cache=False, **{**PAPER, **settings}
    )


def run_of(message: BaseMessage) -> dict[str, Any]:
    run: dict[str, Any] = message.response_metadata["conflictscore"]
    return run


def steps(server: OpenAIServer, mark: str) -> list[ChatRequest]:
    return [request for request in server.requests if mark in request.prompt]


# The reply


@FACES
async def test_the_reply_carries_its_run_and_the_tokens_of_all_calls(ask: Ask, world: Talk) -> None:
    with OpenAIServer(from_cache(world, 3)) as server:
        reply = await ask(wrapped(server, Shelf()), QUESTION)

    run = run_of(reply)
    assert run["run_id"]
    assert json.loads(json.dumps(run, allow_nan=False)) == run
    assert run["usage"]["cache_read_tokens"] == 3 * len(server.requests)
    assert reply.usage_metadata == {
        "input_tokens": run["usage"]["input_tokens"],
        "output_tokens": run["usage"]["output_tokens"],
        "total_tokens": run["usage"]["input_tokens"] + run["usage"]["output_tokens"],
        "input_token_details": {"cache_read": 3 * len(server.requests)},
    }
    assert reply.response_metadata["model_name"] == "conflictscore/scripted"


@FACES
async def test_callbacks_that_add_up_tokens_count_each_call_once(
    ask: Ask, chat: SelfCorrectingChatModel
) -> None:
    passed, own = UsageMetadataCallbackHandler(), UsageMetadataCallbackHandler()
    chat.callbacks = [own]  # which calls inside do not inherit
    with get_usage_metadata_callback() as around:
        reply = await ask(chat, QUESTION, {"callbacks": [passed]})

    [of_calls] = around.usage_metadata.values()
    assert around.usage_metadata.keys() == {"scripted"}
    assert passed.usage_metadata == around.usage_metadata
    assert own.usage_metadata == {"conflictscore/scripted": reply.usage_metadata}
    assert reply.usage_metadata["total_tokens"] == of_calls["total_tokens"] > 0


@BOTH
async def test_a_reply_that_calls_tools_counts_once(ask: Ask) -> None:
    server_of_calls = OpenAIServer(lambda request: call_tool(request, "search", query="lamp"))
    with server_of_calls as server, get_usage_metadata_callback() as counted:
        reply = await ask(wrapped(server, Shelf()).bind_tools([SEARCH]), QUESTION)
    assert [*counted.usage_metadata.values()] == [reply.usage_metadata]


@BOTH
async def test_earlier_messages_are_the_conversation_before_the_question(
    ask: Ask, chat: SelfCorrectingChatModel, world: Talk, shelf: Shelf
) -> None:
    _, called, brought = _searched("The lamp was lit in 1999.")
    thought = {"type": "thinking", "thinking": "Hm."}
    messages = [
        SystemMessage(LAMP[0]["content"]),
        HumanMessage([{"type": "text", "text": LAMP[1]["content"]}]),
        *(called, brought, AIMessage([thought, {"type": "text", "text": LAMP[2]["content"]}])),
        HumanMessage("When was it lit?"),
    ]

    run = run_of(await ask(chat, messages))
    with_tools = run_of(await ask(chat.bind_tools([SEARCH]), messages))

    assert shelf.queries == [STANDING_ALONE] * 2
    assert (run["asked"], run["question"]) == ("When was it lit?", STANDING_ALONE)
    assert LAMP[2]["content"] in world.prompts["contextualize"][0]
    assert not any(word in world.prompts["contextualize"][0] for word in ("Hm.", "1999"))
    said, *_ = world.conversations("generate")
    roles = ["system", "user", "assistant", "tool", "assistant", "user"]
    assert [role for role, _ in said] == roles
    assert said[-1][1].endswith("\n\nWhen was it lit?")
    for one in (run, with_tools):
        assert [d["title"] for d in one["documents"]] == ["Gazette", "Log", "Walks"]


@pytest.mark.parametrize("model_kwargs", [{}, {"streaming": True}])
def test_only_the_answers_get_the_call_parameters_of_the_caller(
    server: OpenAIServer, model_kwargs: dict[str, Any]
) -> None:
    inner = scripted_model(server).model_copy(update=model_kwargs)
    chat = SelfCorrectingChatModel(inner, Shelf(), content_cache=False, **PAPER, top_p=0.5)

    chat.bind(temperature=0.3).invoke([*LAMP, ("user", "When?")], stop=["\n\n"])

    for mark in ("Answer the question with", "on which the documents disagree. Look"):
        for request in steps(server, mark):
            sent = (request.body["temperature"], request.body["top_p"], request.body["stop"])
            assert sent == (0.3, 0.5, ["\n\n"])
    for mark in ("the separate claims", "document_snippet", "Say why", "last message:"):
        for request in steps(server, mark):
            assert not {"temperature", "top_p", "stop"} & set(request.body)
    assert len(server.requests) == 12


def test_the_models_own_reply_is_asked_for_each_time(
    server: OpenAIServer, world: Talk, tmp_path: Path
) -> None:
    cache = ContentCache(tmp_path / "replies.sqlite")
    chat = SelfCorrectingChatModel(
        calling(server, cache=cache), Shelf(), content_cache=cache, **PAPER
    )
    for _ in range(2):
        chat.invoke(QUESTION)

    assert world.asked["generate"] == 2
    assert world.asked["label"] == 6, "verdicts are kept: three for each answer"


def test_an_answer_that_is_longer_than_the_caller_allows_is_the_callers(world: Talk) -> None:
    def answer(request: ChatRequest) -> Reply | str | Fault:
        short = request.body.get("max_completion_tokens") == 5
        return Reply("It was", finish_reason="length") if short else world(request)

    with OpenAIServer(answer) as server:
        reply = wrapped(server, Shelf(), max_tokens=5, max_rounds=0).invoke(QUESTION)

    assert (reply.text, reply.response_metadata["finish_reason"]) == ("It was", "length")


def test_reasoning_in_a_reply_to_given_documents_is_not_checked(world: Talk) -> None:
    world.answer = f"<think>\nThe log is older: 1802.\n</think>\n\n{LAST}"

    with OpenAIServer(world) as server:
        run = run_of(wrapped(server, Shelf()).invoke(QUESTION, documents=AGREEING))

    assert (run["first_answer"], run["answer"], run["checked"]) == (LAST, LAST, "fully")


# Streams


def streaming(server: OpenAIServer) -> SelfCorrectingChatModel:
    model = scripted_model(server).model_copy(update={"streaming": True})
    return SelfCorrectingChatModel(model, Shelf(), content_cache=False, **PAPER)


@pytest.mark.parametrize(("finish_reason", "checked"), [("stop", "fully"), ("", "partly")])
def test_an_answer_whose_stream_ends_without_a_finish_reason_is_checked_in_part(
    world: Talk, finish_reason: str, checked: str
) -> None:
    world.answer = LAST

    def stopping(request: ChatRequest) -> Reply | str | Fault:
        reply = world(request)
        return Reply(reply, finish_reason=finish_reason) if reply == LAST else reply

    with OpenAIServer(stopping) as server:
        run = run_of(streaming(server).invoke(QUESTION))

    assert run["checked"] == checked
    kinds = [gap["kind"] for gap in run["examined"]["gaps"]]
    assert kinds == ([] if checked == "fully" else ["unfinished_answer"])


def test_a_stream_with_an_event_without_data_is_a_clear_line() -> None:
    empty = Fault.raw(b"retry: 3000\n\ndata: [DONE]\n\n")

    with OpenAIServer(lambda _: empty) as server, pytest.raises(ProviderError) as caught:
        streaming(server).invoke(QUESTION)

    assert str(caught.value) == "scripted failed: its stream has an event that is not JSON"


@FACES
async def test_callbacks_see_every_call_inside_as_a_part_of_this_one_and_no_token_of_a_draft(
    ask: Ask, chat: SelfCorrectingChatModel, server: OpenAIServer
) -> None:
    calls = Calls()

    await ask(chat, QUESTION, {"callbacks": [calls]})

    ours, *inner = calls.models
    assert len(inner) == len(server.requests)
    assert {calls.root(run) for run in inner} == {ours}
    assert calls.tokens in ([], [LAST])
    assert calls.models_of_chains == {None}


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("face", ["sync", "async"])
async def test_a_graph_around_it_streams_the_reply_and_nothing_else(
    server: OpenAIServer, face: str, streaming: bool
) -> None:
    """The draft is not among the messages, and the steps of the run are events of the graph."""
    inner = scripted_model(server).model_copy(update={"streaming": streaming})
    chat = SelfCorrectingChatModel(inner, Shelf(), content_cache=False, **PAPER)

    def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [chat.invoke(state["messages"])]}

    async def aanswer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await chat.ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState).add_node("answer", RunnableLambda(answer, afunc=aanswer))
    saver = InMemorySaver()
    graph = builder.add_edge(START, "answer").compile(checkpointer=saver)
    thread: RunnableConfig = {"configurable": {"thread_id": "one"}}
    modes: Any = ["messages", "custom"]

    for _ in range(2):  # a second turn on the same thread
        start: Any = {"messages": [HumanMessage(QUESTION)]}
        if face == "sync":
            parts: Any = list(graph.stream(start, thread, stream_mode=modes, subgraphs=True))
        else:
            stream = graph.astream(start, thread, stream_mode=modes, subgraphs=True)
            parts = [part async for part in stream]

        assert {namespace for namespace, _, _ in parts} == {()}
        [(message, _)] = [part for _, mode, part in parts if mode == "messages"]
        assert message.text == LAST

    namespaces = {entry.config["configurable"]["checkpoint_ns"] for entry in saver.list(None)}
    assert namespaces == {""}
    assert len(graph.get_state(thread).values["messages"]) == 4


# Tools


def _searched(content: str = "", **fields: Any) -> list[AnyMessage]:
    call = {"name": "search", "args": {"query": "lamp"}, "id": "1", "type": "tool_call"}
    return [
        HumanMessage(QUESTION),
        AIMessage("", tool_calls=[call]),
        ToolMessage(content, tool_call_id="1", name="search", **fields),
    ]


SEARCH = {
    "name": "search",
    "description": "Find documents.",
    "parameters": {"type": "object", "properties": {"query": {"type": "string"}}},
}


@FACES
async def test_a_reply_that_calls_tools_is_returned_untouched(ask: Ask, shelf: Shelf) -> None:
    with OpenAIServer(lambda request: call_tool(request, "search", query="lamp")) as server:
        chat = wrapped(server, shelf)
        reply = await ask(chat.bind_tools([SEARCH], tool_choice="search"), QUESTION)

    [called] = reply.tool_calls
    assert (called["name"], called["args"]) == ("search", {"query": "lamp"})
    assert "conflictscore" not in reply.response_metadata
    [request] = server.requests
    assert request.messages == [{"content": QUESTION, "role": "user"}]
    assert request.body["tool_choice"]["function"]["name"] == "search"
    assert shelf.queries == []


@BOTH
async def test_an_answer_after_tools_is_scored_against_what_they_returned(
    ask: Ask, chat: SelfCorrectingChatModel, server: OpenAIServer, world: Talk, shelf: Shelf
) -> None:
    artifact = [
        Document(d["text"], metadata={"title": d["title"], "url": d["url"]}) for d in DISAGREEING
    ]

    reply = await ask(chat.bind_tools([SEARCH]), _searched("3 found", artifact=artifact))

    assert reply.text == LAST
    assert run_of(reply)["first_answer"] == FIRST
    assert [d["title"] for d in run_of(reply)["documents"]] == ["Gazette", "Log", "Walks"]
    assert shelf.queries == []
    first, *later = server.requests
    assert [message["role"] for message in first.messages] == ["user", "assistant", "tool"]
    assert not any("tools" in request.body for request in later)
    assert reply.usage_metadata
    inside = run_of(reply)["usage"]["input_tokens"]
    read = sum(len((message["content"] or "").split()) for message in first.messages)
    assert reply.usage_metadata["input_tokens"] == inside + read
    assert (world.asked["generate"], world.asked["regenerate"]) == (1, 1)


def test_a_whole_answer_in_the_place_of_a_draft_that_was_cut_off_does_not_look_cut_off(
    world: Talk,
) -> None:
    def cut_off_at_first(request: ChatRequest) -> Reply | str | Fault:
        if any(message["role"] == "tool" for message in request.messages):
            return Reply(FIRST, finish_reason="length")
        return world(request)

    with OpenAIServer(cut_off_at_first) as server:
        reply = wrapped(server, None).invoke(_searched(json.dumps(DISAGREEING)))

    assert (reply.text, reply.response_metadata["finish_reason"]) == (LAST, "stop")


def test_an_agent_takes_it_for_its_model(world: Talk) -> None:
    agents = pytest.importorskip("langchain.agents")

    def answer(request: ChatRequest) -> Reply | str | Fault:
        if request.body.get("tools") and request.messages[-1]["role"] == "user":
            return call_tool(request, "search", query="lamp")
        return world(request)

    with OpenAIServer(answer) as server:
        agent = agents.create_agent(wrapped(server, None), [search], system_prompt="Be brief.")
        start = {"messages": [{"role": "user", "content": QUESTION}]}
        parts = list(agent.stream(start, stream_mode="messages"))

    assert texts([message for message, _ in parts]) == ["search", FOUND, LAST]
    assert run_of(parts[-1][0])["flipped"]


@BOTH
@pytest.mark.parametrize(
    ("messages", "said", "note"),
    [
        ([HumanMessage(QUESTION)], FIRST, "no tool has returned documents since the question"),
        (_searched(" "), FIRST, "no tool has returned documents since the question"),
        (_searched("no such host", status="error"), FIRST, "no tool has returned documents"),
        (
            [SystemMessage("Greet."), AIMessage("Hello.")],
            FIRST,
            "there is no question in a human message",
        ),
        (_searched("Lit in 1871."), "", "the reply has no text"),
    ],
)
async def test_an_answer_that_cannot_be_scored_is_left_with_a_note(
    ask: Ask, messages: list[AnyMessage], said: str, note: str
) -> None:
    with OpenAIServer(lambda _: said) as bare:
        reply = await ask(wrapped(bare, None).bind_tools([SEARCH]), messages)

    run = run_of(reply)
    [noted] = run["notes"]
    assert noted.startswith(f"not scored: {note}")
    assert reply.text == said
    assert (run["first_answer"], run["flipped"], run["report"]) == (said, False, None)
    assert len(run["run_id"]) == 32
    assert len(bare.requests) == 1


def test_a_model_without_tools_or_forms_says_so_at_once() -> None:
    chat = SelfCorrectingChatModel(FakeListChatModel(responses=[]), content_cache=False, **PAPER)

    with pytest.raises(NotImplementedError):
        chat.bind_tools([SEARCH])
    with pytest.raises(NotImplementedError):
        chat.with_structured_output({"title": "Year", "type": "object", "properties": {}})


# Output that is not text, and failures


@BOTH
async def test_content_other_than_text_reaches_the_model_and_its_own_reply_is_returned(
    ask: Ask, chat: SelfCorrectingChatModel, server: OpenAIServer, shelf: Shelf
) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    shown = HumanMessage([{"type": "text", "text": "Whose lamp is this?"}, image])
    told = ChatMessage(content="Hello.", role="narrator")
    again = HumanMessage(QUESTION)

    for messages in ([shown], [shown, AIMessage("A keeper's."), again], [told, again]):
        reply = await ask(chat, messages)

        sent = server.requests[-1].messages[0]["content"]
        assert (sent if messages[0] is told else sent[1]) in ("Hello.", image)
        assert reply.text == FIRST
        assert run_of(reply)["notes"] == ["not scored: the conversation contains more than text"]
    assert len(server.requests) == 3
    assert shelf.queries == []


@BOTH
@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ConnectionError("https://search.test/?key=hunter2hunter2"), "ConnectionError"),
        (ProviderError("the search is down", provider="search"), "the search is down"),
    ],
)
async def test_a_search_that_fails_is_raised_or_passed_over_with_a_note(
    ask: Ask, server: OpenAIServer, error: Exception, reason: str
) -> None:
    down = Failing(error=error)

    with pytest.raises(type(error)):
        await ask(wrapped(server, down), QUESTION)
    before = len(server.requests)
    passing = wrapped(server, down, on_failure="pass_through").bind_tools([SEARCH])
    reply = await ask(passing, QUESTION)

    assert reply.text == FIRST
    assert run_of(reply)["notes"] == [f"not scored: {reason}"]
    assert len(server.requests) == before + 1, "the draft is not made again"


@pytest.mark.parametrize("on_failure", ["raise", "pass_through"])
def test_a_wrong_key_or_setting_is_always_raised(world: Talk, on_failure: str) -> None:
    with (
        OpenAIServer(world, api_key="right") as server,
        pytest.raises(openai.AuthenticationError),  # the model's own error, as without the wrapper
    ):
        wrapped(server, Shelf(), on_failure=on_failure).invoke(QUESTION)
    with (
        OpenAIServer(world) as server,
        pytest.raises(ConfigurationError, match="nothing to answer from"),
    ):
        wrapped(server, None, on_failure=on_failure).invoke(QUESTION)
    with pytest.raises(InputError, match="max_rounds is 21"):
        wrapped(server, Shelf(), max_rounds=21, on_failure=on_failure).invoke(QUESTION)


# The settings


def test_nothing_is_opened_before_the_first_call() -> None:
    chat = SelfCorrectingChatModel("openai:gpt-4.1-mini", Shelf(), content_cache=False, **PAPER)

    with pytest.raises(ConfigurationError, match="needs a key"):
        chat.invoke(QUESTION)


def test_a_setting_that_is_changed_counts_from_then_on(
    chat: SelfCorrectingChatModel, world: Talk
) -> None:
    assert chat.invoke(QUESTION).text == LAST
    once = chat.model_copy(update={"max_rounds": 0})

    assert once.invoke(QUESTION).text == FIRST
    assert chat.invoke(QUESTION).text == LAST
    chat.max_rounds = 0
    assert chat.invoke(QUESTION).text == FIRST


def test_one_model_may_be_used_from_threads_and_from_one_event_loop_after_another(
    chat: SelfCorrectingChatModel,
) -> None:
    with ThreadPoolExecutor(4) as pool:
        texts = [reply.text for reply in pool.map(chat.invoke, [QUESTION] * 4)]
    texts += [asyncio.run(chat.ainvoke(QUESTION)).text for _ in range(2)]

    assert texts == [LAST] * 6


def test_no_form_of_it_contains_keys() -> None:
    secret = "zaphod-0042-beeblebrox"
    inner = ChatOpenAI(model="m", api_key=SecretStr(secret), base_url="http://127.0.0.1:9/v1")
    url = f"http://user:{secret}@127.0.0.1:9/v1"
    chat = SelfCorrectingChatModel(
        inner, Shelf(), judge=inner, base_url=url, content_cache=False, **PAPER
    )

    forms = [repr(chat), str(chat.model_dump()), chat.model_dump_json(), dumps(chat)]
    forms += [str(chat.asdict()), str(chat._get_ls_params())]

    assert all(secret not in form for form in forms)


def test_settings_tell_one_model_from_another(server: OpenAIServer) -> None:
    plain = wrapped(server, Shelf())
    others = [
        wrapped(server, Shelf(), max_rounds=2),
        wrapped(server, Shelf(), effort="thorough"),
        wrapped(server, Shelf(), temperature=0.5),
        wrapped(server, Shelf(), judge="local"),
    ]

    assert plain.asdict() == wrapped(server, Shelf()).asdict()
    assert all(plain.asdict() != other.asdict() for other in others)
    assert plain.asdict()["_type"] == "self-correcting"


def test_it_has_the_name_and_counts_the_tokens_of_the_model_inside(server: OpenAIServer) -> None:
    class Counting(FakeListChatModel):
        def get_token_ids(self, text: str) -> list[int]:
            return [7] * len(text)

        def get_num_tokens_from_messages(self, messages: Any, tools: Any = None) -> int:
            return 42

    chat = SelfCorrectingChatModel(Counting(responses=[]), content_cache=False, **PAPER)

    assert (chat.get_num_tokens("lamp"), chat.get_num_tokens_from_messages([])) == (4, 42)
    assert wrapped(server, None).model_name == "scripted"
    assert SelfCorrectingChatModel("local").model_name == "local"


def test_the_package_is_light_until_a_wrapper_is_used() -> None:
    script = "import sys, conflictscore.middleware; assert 'langgraph' not in sys.modules"

    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
