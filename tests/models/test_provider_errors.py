"""The provider's words reach the user, wherever a provider puts them and whichever client reads."""

import json
from typing import Any

import pytest

from conflictscore.errors import ConfigurationError, ProviderError
from conflictscore.models.provider_faults import error_in_completion
from conflictscore.models.spec import open_model
from conflictscore.threads import deadline
from tests.fakes.openai_server import Fault, OpenAIServer, Reply, then
from tests.models.calling import ask, calling, failure


def body(value: Any, status: int = 400) -> Fault:
    text = value if isinstance(value, str) else json.dumps(value)
    return Fault.raw(text.encode(), status)


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ({"error": "out of memory"}, "out of memory"),
        ({"error": {"message": "out of memory", "type": "x"}}, "out of memory"),
        ({"error": [{"message": "out of memory"}]}, "out of memory"),
        ({"detail": "out of memory"}, "out of memory"),
        ({"detail": [{"loc": ["body", "n"], "msg": "too big"}]}, "body.n: too big"),
        ({"object": "error", "message": "out of memory"}, "out of memory"),
        ({"message": {"text": 1, "detail": "out of memory"}}, "out of memory"),
        ({"errors": ["out of", "memory"]}, "out of; memory"),
        (
            {"error": {"message": "Provider error", "metadata": {"raw": '{"error": "no GPU"}'}}},
            "Provider error; no GPU",
        ),
        ("out of memory", "out of memory"),
        ("<html><head><title>502 Bad Gateway</title></head><body>x</body></html>", "502 Bad"),
    ],
)
async def test_what_the_provider_says_is_in_the_error(sent: Any, words: str) -> None:
    with OpenAIServer(then(body(sent))) as server:
        error = await failure(calling(server))
    assert isinstance(error, ProviderError)
    assert f"HTTP 400: {words}" in str(error)


@pytest.mark.parametrize(
    "sent",
    [
        {"error": {"message": "no credit left", "code": 402}},
        {"error": "no credit left", "status": "402"},
        {"choices": [{"index": 0, "message": {}, "error": {"code": 402, "message": "no credit"}}]},
    ],
)
async def test_an_error_in_a_200_has_its_own_status(sent: Any) -> None:
    with OpenAIServer(then(body(sent, 200))) as server:
        error = await failure(open_model("test-model", base_url=server.base_url))
        assert len(server.requests) == 1
    assert isinstance(error, ProviderError)
    assert (error.status, "HTTP 402: no credit" in str(error)) == (402, True)


async def test_an_error_in_a_200_is_tried_again_as_one_in_the_status_line() -> None:
    busy = body({"error": {"message": "busy", "code": 503}}, 200)
    with OpenAIServer(then(busy, "hello")) as server:
        model = open_model("test-model", base_url=server.base_url)
        said = await ask(model)
    assert said == "hello"


@pytest.mark.parametrize("status", [403, 404])
async def test_a_call_that_is_refused_after_others_were_answered_says_nothing_of_the_key(
    status: int,
) -> None:
    refused = Fault(status, message="Input flagged: violence")
    with OpenAIServer(then("welcome", refused)) as server:
        model = calling(server)
        await ask(model)
        error = await failure(model)
    assert isinstance(error, ProviderError)
    assert f"HTTP {status}: Input flagged: violence" in str(error)


@pytest.mark.parametrize(
    ("fault", "is_setting"),
    [
        (Fault(403, message="no access"), True),
        (Fault(403, message="Your input was flagged by moderation"), False),
        (Fault(404, message="nothing here"), True),
        (Fault(404, message="blocked by the content policy"), False),
        (Fault(401, message="Input flagged"), True),
    ],
)
async def test_the_first_call_tells_a_wrong_setting_from_a_refused_text(
    fault: Fault, is_setting: bool
) -> None:
    with OpenAIServer(then(fault)) as server:
        error = await failure(calling(server))
    assert isinstance(error, ConfigurationError) is is_setting
    assert fault.message in str(error)


async def test_a_key_that_stops_being_good_is_named_by_its_provider() -> None:
    gone = Fault(403, message="The API key was revoked")
    with OpenAIServer(then(Reply("welcome"), gone)) as server:
        model = calling(server)
        await ask(model)
        assert isinstance(await failure(model), ConfigurationError)


async def test_a_wait_that_the_runs_time_cut_short_says_what_it_waited_for() -> None:
    busy = Fault(429, retry_after="60", message="too many requests a minute")
    with OpenAIServer(then(busy)) as server:
        model = open_model("test-model", base_url=server.base_url)
        with deadline(1, 1):
            error = await failure(model)
    assert "may take 1 s; it was waiting to retry, since test-model failed with HTTP 429" in str(
        error
    )
    assert "too many requests a minute" in str(error)


@pytest.mark.parametrize("blank", ["", " \n\t"])
def test_a_blank_body_is_not_a_providers_error(blank: str) -> None:
    assert error_in_completion(blank) is None


def test_a_page_in_place_of_a_completion_is_the_providers_error() -> None:
    error = error_in_completion(" out of memory\n")
    assert error is not None
    assert error.message == "out of memory"


@pytest.mark.parametrize("choices", [True, 1, "none", {"0": {}}])
def test_choices_of_another_type_are_no_completion_and_no_crash(choices: object) -> None:
    assert error_in_completion({"choices": choices}) is None
    error = error_in_completion({"choices": choices, "message": "out of memory"})
    assert error is not None
