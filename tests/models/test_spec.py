"""From a spec string, or a user's own chat model, to a language model."""

import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from conflictscore.errors import ConfigurationError, UnreadableReplyError
from conflictscore.models.spec import (
    OPENAI_DEFAULT,
    default_spec,
    from_chat_model,
    open_model,
    require_effort,
)
from conflictscore.models.usage import UsageMeter
from tests.fakes.openai_server import OpenAIServer, then
from tests.models.calling import KEY, PROMPTS, ask


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(then("hello")) as server:
        yield server


@pytest.fixture
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


with_key = pytest.mark.usefixtures("_key")


class TestDefault:
    def test_without_a_key_the_model_is_local(self) -> None:
        assert default_spec() == "local"

    @with_key
    def test_with_a_key_it_is_openais(self) -> None:
        assert default_spec() == f"openai:{OPENAI_DEFAULT}"


class TestOtherProviders:
    def test_a_spec_of_init_chat_model_opens_that_providers_model(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AZURE_OPENAI_API_KEY", KEY)
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "http://127.0.0.1:9")
        monkeypatch.setenv("OPENAI_API_VERSION", "2024-10-21")

        model = open_model("azure_openai:gpt-4.1-mini")

        assert model.name == "gpt-4.1-mini"
        assert model.endpoint.startswith("http://127.0.0.1:9/openai")
        assert getattr(model.chat, "temperature", None) == 0

    @pytest.mark.parametrize(
        ("spec", "words"),
        [
            ("groq:small:8b", r"^groq:small:8b: .*pip install.*langchain-groq"),
            ("azure_openai:gpt-4.1-mini", r"^azure_openai:gpt-4\.1-mini cannot be set up"),
        ],
    )
    def test_what_is_missing_is_said(self, spec: str, words: str) -> None:
        with pytest.raises(ConfigurationError, match=words):
            open_model(spec)

    def test_without_langchain_it_says_what_to_install(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "langchain.chat_models", None)
        with pytest.raises(ConfigurationError, match=r"needs LangChain \(pip install .*langchain"):
            open_model("anthropic:claude-sonnet-4-5")


class TestOpenAI:
    @pytest.mark.parametrize("spec", ["openai:gpt-4.1-mini", "gpt-4.1-mini"])
    def test_without_a_key_it_says_what_to_set_and_what_needs_none(self, spec: str) -> None:
        with pytest.raises(ConfigurationError, match=r'gpt-4\.1-mini needs a key.*model "local"'):
            open_model(spec)

    @with_key
    def test_the_window_is_the_models_or_the_one_given_or_a_small_one(self) -> None:
        assert open_model("openai:gpt-4.1-mini").context_window > 1_000_000
        assert open_model("openai:gpt-4.1-mini", context_window=5000).context_window == 5000
        assert open_model("openai:never-heard-of").context_window == 8192

    @with_key
    def test_the_key_shows_in_no_description(self) -> None:
        model = open_model("openai:gpt-4.1-mini")
        assert KEY not in repr(model)
        assert KEY not in str(model.identity)

    async def test_a_plain_model_is_asked_at_temperature_zero_and_may_be_cached(
        self, server: OpenAIServer
    ) -> None:
        model = open_model("gpt-4.1-mini", base_url=server.base_url)
        await ask(model)
        body = server.requests[0].body
        assert (body["temperature"], body["max_completion_tokens"]) == (0, 9)
        assert (model.deterministic, model.parameters) == (True, {"temperature": 0})

    @pytest.mark.parametrize(
        ("name", "told", "parameters"),
        [
            ("o3", True, {"reasoning_effort": "high"}),
            ("gpt-5.1", True, {"reasoning_effort": "high"}),
            ("gpt-4.1-mini", False, {"temperature": 0}),
            ("never-heard-of", True, {"temperature": 0, "reasoning_effort": "high"}),
        ],
    )
    async def test_a_reasoning_effort_is_sent_to_models_that_may_accept_it_for_text_and_json(
        self, server: OpenAIServer, name: str, told: bool, parameters: dict[str, Any]
    ) -> None:
        model = open_model(name, base_url=server.base_url, reasoning_effort="high")
        await ask(model)
        with suppress(UnreadableReplyError):
            form = {"title": "said", "type": "object", "properties": {}}
            await model.ask_json(
                "hi", form, dict, prompts=PROMPTS, meter=UsageMeter(), max_tokens=9
            )
        assert len(server.requests) > 1
        wanted = {"reasoning_effort": "high"} if told else {}
        for request in server.requests:
            body = request.body
            assert {k: v for k, v in body.items() if k == "reasoning_effort"} == wanted
            assert ("temperature" in body) is ("temperature" in parameters)
        assert model.parameters == parameters
        if told:
            assert model.thinking_tokens >= 4096
            require_effort("high", open_model("gpt-4.1-mini", base_url=server.base_url), model)
        else:
            with pytest.raises(ConfigurationError, match=r"'high' can be set for gpt-4\.1-mini;"):
                require_effort("high", model, model)

    def test_a_users_own_chat_model_gets_a_reasoning_effort_if_it_has_one(self) -> None:
        own = ChatOpenAI(model="o3", api_key=SecretStr("k"))
        told = from_chat_model(own, reasoning_effort="low")
        assert getattr(told.chat, "reasoning_effort", None) == "low"
        assert (told.parameters or {})["reasoning_effort"] == "low"
        assert own.reasoning_effort is None
        with pytest.raises(ConfigurationError, match="no reasoning effort"):
            require_effort("low", from_chat_model(FakeListChatModel(responses=[])))

    async def test_a_reasoning_model_gets_no_temperature_and_room_to_think(
        self, server: OpenAIServer
    ) -> None:
        model = open_model("o4-mini", base_url=server.base_url)
        await ask(model)
        body = server.requests[0].body
        assert "temperature" not in body
        assert body["max_completion_tokens"] == 9 + model.thinking_tokens
        assert model.thinking_tokens > 1000
        assert (model.deterministic, model.parameters) == (False, {})


class TestEndpoint:
    @with_key
    @pytest.mark.parametrize("spec", ["some-model", "openai:some-model"])
    async def test_any_compatible_endpoint_is_called_with_the_key(
        self, server: OpenAIServer, spec: str
    ) -> None:
        model = open_model(spec, base_url=server.base_url)
        assert await ask(model) == "hello"
        assert (model.name, model.endpoint) == ("some-model", server.base_url)
        [request] = server.requests
        assert (request.model, request.headers["authorization"]) == ("some-model", f"Bearer {KEY}")

    async def test_it_may_come_from_the_environment(
        self, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        model = open_model("openai:some-model")
        assert await ask(model) == "hello"
        assert (model.name, model.endpoint) == ("some-model", server.base_url)

    async def test_a_name_with_a_colon_is_the_endpoints_business(
        self, server: OpenAIServer
    ) -> None:
        await ask(open_model("vendor:some-model:free", base_url=server.base_url))
        assert server.requests[0].model == "vendor:some-model:free"

    async def test_a_password_in_the_address_is_used_and_never_recorded(
        self, server: OpenAIServer
    ) -> None:
        url = server.base_url.replace("http://", "http://user:swordfish@")
        model = open_model("some-model", base_url=f"{url}/?token=swordfish")
        assert model.endpoint == server.base_url
        assert "swordfish" not in str(model.identity)
        assert await ask(open_model("some-model", base_url=url)) == "hello"
        assert server.requests[0].headers["authorization"].startswith("Basic ")

    @pytest.mark.parametrize(
        "url",
        [
            "ftp://user:swordfish@host/v1",
            "user:swordfish@host/v1",
            "localhost:8080/v1",
            "http://",
            "http:///v1",
            "http://[swordfish",
            "http://swordfish:port/v1",
            "http://sword fish/v1",
        ],
    )
    def test_an_invalid_address_is_refused_without_showing_a_password(self, url: str) -> None:
        with pytest.raises(ConfigurationError, match=r"base_url .*http://HOST:PORT/v1") as caught:
            open_model("some-model", base_url=url)
        assert "swordfish" not in str(caught.value)

    def test_an_address_may_be_an_ipv6_literal(self) -> None:
        model = open_model("some-model", base_url="http://[::1]:8000/v1")
        assert model.endpoint == "http://[::1]:8000/v1"

    def test_reasoning_leaves_half_of_a_small_window_to_prompt_and_reply(
        self, server: OpenAIServer
    ) -> None:
        model = open_model("o4-mini", base_url=server.base_url, context_window=6000)
        assert model.thinking_tokens == 3000

    def test_all_models_of_an_endpoint_share_its_limit(self, server: OpenAIServer) -> None:
        one = open_model("one", base_url=server.base_url)
        two = open_model("two", base_url=f"{server.base_url}/")
        assert one.limit is two.limit
        assert one.limit is not open_model("one", base_url="http://elsewhere.test/v1").limit


@with_key
@pytest.mark.parametrize("spec", ["", " ", "openai:", "openai: ", "nobody:claude", ":nothing"])
def test_a_spec_that_names_no_model_is_refused_with_the_forms_there_are(spec: str) -> None:
    with pytest.raises(ConfigurationError, match=r"unknown model .*openai:NAME, local") as caught:
        open_model(spec)
    assert repr(spec) in str(caught.value)


def test_a_base_url_does_not_go_with_the_local_model() -> None:
    with pytest.raises(ConfigurationError, match=r"base_url"):
        open_model("local", base_url="http://127.0.0.1:1/v1")


def own(server: OpenAIServer | None = None, **settings: Any) -> ChatOpenAI:
    if server is not None:
        settings["base_url"] = server.base_url
    return ChatOpenAI(model="some-model", api_key=SecretStr(KEY), **settings)


class _Telling(FakeListChatModel):
    setting: Any

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"setting": self.setting}


class TestOwnChatModel:
    async def test_it_is_asked_as_it_is(self, server: OpenAIServer) -> None:
        model = from_chat_model(own(server, temperature=0.7))
        assert await ask(model) == "hello"
        assert server.requests[0].body["temperature"] == 0.7
        assert (model.name, model.endpoint) == ("some-model", server.base_url)
        assert not model.deterministic

    def test_plain_settings_tell_two_models_apart(self, server: OpenAIServer) -> None:
        identity = from_chat_model(own(server, temperature=0.7)).identity
        assert identity is not None
        assert identity == from_chat_model(own(server, temperature=0.7)).identity
        assert identity != from_chat_model(own(server, temperature=0.8)).identity
        assert KEY not in str(identity)

    def test_the_endpoint_tells_two_models_apart_also_where_the_client_found_it_itself(
        self, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        at_home = from_chat_model(own())
        assert at_home.endpoint == "https://api.openai.com/v1"
        monkeypatch.setenv(
            "OPENAI_BASE_URL", server.base_url.replace("http://", "http://user:swordfish@")
        )
        elsewhere = from_chat_model(own())
        assert elsewhere.endpoint == server.base_url
        assert "swordfish" not in str(elsewhere.identity)

    def test_a_model_that_tells_nothing_of_its_settings_is_not_cached(self) -> None:
        chat = GenericFakeChatModel(messages=iter([AIMessage("hello")]))
        assert from_chat_model(chat).identity is None

    @pytest.mark.parametrize("setting", [iter("ab"), float("nan")], ids=["iterator", "nan"])
    def test_a_model_whose_settings_are_not_plain_json_is_not_cached(self, setting: object) -> None:
        assert from_chat_model(_Telling(responses=[], setting="a")).identity is not None
        assert from_chat_model(_Telling(responses=[], setting=setting)).identity is None
