"""The first call finds out what an endpoint can do, and all others use that."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from conflictscore.errors import ConfigurationError, ProviderError
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.profiles import known_profile, split_spec, with_options
from conflictscore.models.spec import open_model
from conflictscore.models.usage import UsageMeter
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer, Reply
from tests.models.calling import PROMPTS, SCHEMA

Refuses = Callable[[dict[str, Any]], Fault | None]


def endpoint(refuses: Refuses) -> OpenAIServer:
    """An endpoint that refuses some requests, and answers all others in the requested form."""

    def answer(request: ChatRequest) -> Reply | Fault:
        return refuses(request.body) or Reply('{"year": 1871}')

    return OpenAIServer(answer)


def refusing(field: str, message: str, status: int = 400) -> Refuses:
    return lambda body: Fault(status, message=message) if field in json.dumps(body) else None


async def year(model: LanguageModel) -> object:
    return await model.ask_json(
        "When?", SCHEMA, lambda o: o["year"], prompts=PROMPTS, meter=UsageMeter(), max_tokens=20
    )


async def text(model: LanguageModel) -> str:
    return await model.ask("When?", str, prompts=PROMPTS, meter=UsageMeter(), max_tokens=20)


def only(*forms: str) -> Refuses:
    """Accepts JSON only in some forms; refuses like DeepSeek, vLLM and others."""

    def refuses(body: dict[str, Any]) -> Fault | None:
        form = (body.get("response_format") or {}).get("type")
        form = form or ("tool" if "tools" in body else "prompt")
        return None if form in forms else Fault(400, message=f"{form}: no such format or tool")

    return refuses


@pytest.mark.parametrize(
    ("forms", "refused"),
    [
        (("json_schema",), 0),
        (("json_object", "prompt"), 1),
        (("tool", "prompt"), 2),
        (("prompt",), 3),
    ],
)
async def test_json_is_asked_for_in_the_first_way_that_an_endpoint_takes(
    forms: tuple[str, ...], refused: int
) -> None:
    with endpoint(only(*forms)) as server:
        model = open_model("test-model", base_url=server.base_url)
        assert [await year(model), await year(model)] == [1871, 1871]
        assert await year(open_model("test-model", base_url=server.base_url)) == 1871
    assert len(server.requests) == refused + 3, "it was found out once"
    stated = [json.dumps(SCHEMA["properties"]) in r.prompt for r in server.requests]
    assert stated == [number > 0 for number in range(refused)] + [refused > 0] * 3


async def test_many_first_calls_wait_for_what_the_first_one_finds_out() -> None:
    with endpoint(only("prompt")) as server:
        model = open_model("test-model", base_url=server.base_url)
        assert await asyncio.gather(*(year(model) for _ in range(8))) == [1871] * 8
    assert len(server.requests) == 3 + 8


async def test_a_refusal_that_has_nothing_to_do_with_the_form_is_reported_as_it_was() -> None:
    def refuses(body: dict[str, Any]) -> Fault:
        return Fault(400, message="no GPU" if "response_format" in body else "still none")

    with endpoint(refuses) as server:
        model = open_model("test-model", base_url=server.base_url)
        for _ in range(2):
            with pytest.raises(ProviderError, match="no GPU"):
                await year(model)
    assert len(server.requests) == 2 + 1


@pytest.mark.parametrize(
    "body", [b"", b"Internal Server Error", b'{"error": {"message": "Internal server error"}}']
)
async def test_a_form_that_only_ever_fails_is_given_up(body: bytes) -> None:
    def refuses(body_sent: dict[str, Any]) -> Fault | None:
        fault = Fault(500, body=body, retry_after="0.1")
        return fault if "response_format" in body_sent else None

    with endpoint(refuses) as server:
        model = open_model("test-model", base_url=server.base_url)
        years = [await year(model), *await asyncio.gather(*(year(model) for _ in range(8)))]
    assert years == [1871] * 9
    assert len(server.requests) == 3 + 9, "it was found out once"


async def test_calls_on_their_way_give_up_a_form_as_soon_as_one_has() -> None:
    failing = lambda body: Fault(500, body=b"") if "response_format" in body else None  # noqa: E731
    with endpoint(failing) as server:
        model = open_model("test-model", base_url=server.base_url)
        assert await asyncio.gather(*(year(model) for _ in range(8))) == [1871] * 8
    assert len(server.requests) <= 8 * (3 + 1)


async def test_a_server_that_fails_at_everything_is_probed_without_the_form_once() -> None:
    with endpoint(lambda body: Fault(500, body=b"", retry_after="0.1")) as server:
        model = open_model("test-model", base_url=server.base_url)
        for _ in range(2):
            with pytest.raises(ProviderError, match="HTTP 500"):
                await year(model)
    stated = [json.dumps(SCHEMA["properties"]) in request.prompt for request in server.requests]
    assert stated == [False] * 3 + [True] * 5 + [False] * 5


async def test_a_form_that_has_worked_is_kept_through_failures() -> None:
    faults = iter([None, *[Fault(500, body=b"", retry_after="0.1")] * 4, None])
    with endpoint(lambda body: next(faults)) as server:
        model = open_model("test-model", base_url=server.base_url)
        assert [await year(model), await year(model)] == [1871] * 2
    assert all("response_format" in request.body for request in server.requests)


async def test_a_prompt_that_is_too_long_is_sent_once() -> None:
    long = refusing("model", "This model's maximum context length is 10 tokens")
    with endpoint(long) as server, pytest.raises(ProviderError, match="maximum context"):
        await year(open_model("test-model", base_url=server.base_url))
    assert len(server.requests) == 1


def formed(body: dict[str, Any]) -> str:
    """The form in which a request asks for JSON."""
    form = (body.get("response_format") or {}).get("type")
    return str(form or ("tool" if "tools" in body else "prompt"))


@pytest.mark.parametrize(
    "message", ["response_format is not supported", "Invalid JSON schema: unknown keyword"]
)
async def test_an_endpoint_may_come_to_refuse_a_form_that_it_took(message: str) -> None:
    changed: list[bool] = []

    def refuses(body: dict[str, Any]) -> Fault | None:
        refused = changed and formed(body) in {"json_schema", "json_object"}
        return Fault(400, message=message) if refused else None

    with endpoint(refuses) as server:
        model = open_model("test-model", base_url=server.base_url)
        assert await year(model) == 1871
        changed.append(True)
        assert await asyncio.gather(*(year(model) for _ in range(4))) == [1871] * 4
        before = len(server.requests)
        assert await year(model) == 1871
    forms = [formed(request.body) for request in server.requests]
    assert forms[0] == "json_schema"
    assert forms[before:] == ["tool"], "it was found out once"


async def test_a_late_answer_brings_no_withdrawn_form_back() -> None:
    """One of two servers behind an address no longer takes a schema."""
    turns = iter(range(100))

    def refuses(body: dict[str, Any]) -> Fault | None:
        schema = formed(body) == "json_schema"
        return Fault(400, message="no json_schema here") if schema and next(turns) % 2 else None

    with endpoint(refuses) as server:
        model = open_model("test-model", base_url=server.base_url)
        assert await year(model) == 1871
        assert await asyncio.gather(*(year(model) for _ in range(6))) == [1871] * 6
        before = len(server.requests)
        assert [await year(model), await year(model)] == [1871, 1871]
    assert {formed(r.body) for r in server.requests[before:]} == {"json_object"}


async def test_a_schema_that_alone_fails_without_a_reason_is_asked_for_in_the_prompt() -> None:
    other = {**SCHEMA, "title": "other"}

    def refuses(body: dict[str, Any]) -> Fault | None:
        fails = "response_format" in body and '"other"' in json.dumps(body)
        return Fault(500, body=b"", retry_after="0.1") if fails else None

    with endpoint(refuses) as server:
        model = open_model("test-model", base_url=server.base_url)
        assert await year(model) == 1871
        years = [
            await model.ask_json(
                "When?",
                other,
                lambda o: o["year"],
                prompts=PROMPTS,
                meter=UsageMeter(),
                max_tokens=9,
            )
            for _ in range(2)
        ]
    assert years == [1871, 1871]
    assert len(server.requests) == 1 + 5 + 2


async def test_a_prompt_refused_for_itself_changes_nothing_for_other_prompts() -> None:
    long = "maximum context length is 10 tokens, in the messages and functions"

    def refuses(body: dict[str, Any]) -> Fault | None:
        return Fault(400, message=long) if "Where?" in json.dumps(body) else None

    with endpoint(refuses) as server:
        model = open_model("test-model", base_url=server.base_url)
        await year(model)
        with pytest.raises(ProviderError, match="maximum context"):
            await model.ask_json(
                "Where?", SCHEMA, str, prompts=PROMPTS, meter=UsageMeter(), max_tokens=9
            )
        await year(model)
    assert [formed(request.body) for request in server.requests] == ["json_schema"] * 3


async def test_a_refusal_that_ended_is_forgotten() -> None:
    """A form is learned even if an earlier failure left no form to try."""
    broken = [True]

    def refuses(body: dict[str, Any]) -> Fault | None:
        if broken:
            return Fault(400, message="no GPU")
        return Fault(400, message="no json_schema") if formed(body) == "json_schema" else None

    with endpoint(refuses) as server:
        model = open_model("test-model", base_url=server.base_url)
        with pytest.raises(ProviderError, match="no GPU"):
            await year(model)
        broken.clear()
        await text(model)
        assert await year(model) == 1871


async def test_limits_of_a_reply_are_learned_again() -> None:
    """The endpoint changes both the least limit and the limit's name."""
    least, name = [30], ["max_completion_tokens"]

    def refuses(body: dict[str, Any]) -> Fault | None:
        if name[0] not in body:
            sent = next(n for n in ("max_tokens", "max_completion_tokens") if n in body)
            return Fault(400, message=f"{sent}: Extra inputs are not permitted")
        if body[name[0]] < least[0]:
            return Fault(400, message=f"{name[0]} must be at least {least[0]}")
        return None

    with endpoint(refuses) as server:
        model = open_model("test-model", base_url=server.base_url)
        for lowest, sent_name in ((30, "max_completion_tokens"), (40, "max_tokens")):
            least[0], name[0] = lowest, sent_name
            await text(model)
        name[0] = "max_completion_tokens"
        await text(model)
    assert server.requests[-1].body["max_completion_tokens"] == 40


@pytest.mark.parametrize("ask", [year, text])
async def test_a_parameter_that_a_refusal_names_is_left_out_from_then_on(ask: Any) -> None:
    refuses = refusing('"temperature"', "Unsupported value: 'temperature' does not support 0")
    with endpoint(refuses) as server:
        model = open_model("a-deployment", base_url=server.base_url)
        await ask(model)
        await ask(model)
    first, second, third = (r.body for r in server.requests)
    assert "temperature" in first
    assert "temperature" not in {**second, **third}
    assert second["max_completion_tokens"] > 20, "it reasons, and so has room for that"


@pytest.mark.parametrize("status", [400, 422])
async def test_the_limit_of_a_reply_is_called_as_the_endpoint_calls_it(status: int) -> None:
    refuses = refusing("max_completion_tokens", "body.max_completion_tokens: Extra inputs", status)
    with endpoint(refuses) as server:
        model = open_model("mistral-small", base_url=server.base_url)
        assert [await text(model), await year(model)] == ['{"year": 1871}', 1871]
    first, second, third = (r.body for r in server.requests)
    assert first["max_completion_tokens"] == second["max_tokens"] == third["max_tokens"] == 20
    assert "response_format" in third


@pytest.mark.parametrize(
    ("name", "profile"),
    [
        ("gpt-5-2025-08-07", "GPT-5"),
        ("o3-2025-04-16", "o3"),
        ("openai/o3", "o3"),
        ("openai/o4-mini:free", "o4-mini"),
        ("prod-gpt-5-mini", "GPT-5 Mini"),
        ("gpt-4o-2024-05-13", "GPT-4o (2024-05-13)"),
        ("openai/gpt-oss-20b", None),
        ("marco-o1", None),
        ("qwen3-30b", None),
    ],
)
def test_a_profile_is_found_without_date_vendor_and_alias(name: str, profile: str | None) -> None:
    assert known_profile(name).get("name") == profile


def test_an_option_does_not_let_a_model_with_unknown_settings_be_cached() -> None:
    with endpoint(only("json_object")) as server:
        model = replace(open_model("alias", base_url=server.base_url), parameters=None)
    assert with_options(model, {"temperature": "0", "json": "prompt"}).identity is None


async def test_what_the_user_says_of_a_model_is_not_found_out() -> None:
    spec = "alias?temperature=none&json=json_object&length=max_tokens&reasoning=yes"
    with endpoint(only("json_object")) as server:
        model = open_model(spec, base_url=server.base_url, context_window=4000)
        await year(model)
    [request] = server.requests
    assert (model.name, model.parameters, model.deterministic) == ("alias", {}, False)
    assert request.body["max_tokens"] == 20 + 2000
    assert "temperature" not in request.body


@pytest.mark.parametrize(
    "spec",
    [
        "m?",
        "m?temprature=0",
        "m?temperature=hot",
        "m?json=xml",
        "m?reasoning=1",
        "m?temperature=0&temperature=1",
    ],
)
def test_an_option_that_no_model_has_is_refused(spec: str) -> None:
    with pytest.raises(ConfigurationError, match="option"):
        split_spec(spec)
