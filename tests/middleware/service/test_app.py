"""The service inside a user's own app, and its metrics."""

import subprocess
import sys

import pytest
from fastapi import FastAPI
from langchain_core.language_models import FakeListChatModel
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from conflictscore.errors import ConfigurationError, install_hint
from conflictscore.graph.create import run_context
from conflictscore.middleware.service import ServiceSettings, create_app
from tests.fakes.openai_server import Fault, OpenAIServer
from tests.middleware.service.serving import (
    QUESTION,
    UPSTREAM_KEY,
    ChatWorld,
    Served,
    listening,
    user,
)
from tests.talking import Shelf
from tests.world import PAPER


@pytest.fixture
def chat(upstream: OpenAIServer) -> ChatOpenAI:
    """A caller's own chat model, with a field that it always sends."""
    return ChatOpenAI(
        model="scripted",
        base_url=upstream.base_url,
        api_key=SecretStr(UPSTREAM_KEY),
        extra_body={"always": 1},
    )


def test_it_can_be_mounted_in_another_app(upstream: OpenAIServer, chat: ChatOpenAI) -> None:
    service = create_app(
        run_context(chat, Shelf(), cache=False, **PAPER), ServiceSettings(no_auth=True)
    )
    outer = FastAPI()
    outer.mount("/checked", service)

    with listening(outer) as (address, loop, app):
        served = Served(f"{address}/checked", app, loop, upstream)
        run = served.run(served.ask(seed=5))
        page = served.http.get("/")

    assert run["status"] == "corrected"
    assert page.status_code == 200
    answering = [r for r in upstream.requests if r.body.get("seed") == 5]
    assert answering
    assert all(r.body["always"] == 1 for r in answering)


def test_a_model_that_is_not_an_endpoint_cannot_be_served() -> None:
    context = run_context(FakeListChatModel(responses=["So."]), Shelf(), cache=False)

    with pytest.raises(ConfigurationError, match="not an OpenAI-compatible endpoint"):
        create_app(context)


def test_without_a_search_only_what_tools_bring_is_checked(chat: ChatOpenAI) -> None:
    app = create_app(run_context(chat, cache=False), ServiceSettings(no_auth=True))
    brought = {"role": "tool", "tool_call_id": "1", "content": "The lamp was lit in 1871."}

    with listening(app) as (address, loop, _):
        served = Served(address, app, loop, None)
        alone, with_tool = served.ask(), served.ask([*user(), brought])

    assert alone.headers["x-conflictscore-status"] == "passed-through"
    assert "there is no search" in alone.json()["conflictscore"]["notes"][0]
    assert with_tool.headers["x-conflictscore-status"] == "scored"


def test_a_missing_extra_is_named() -> None:
    script = (
        "import sys\n"
        "sys.modules['fastapi'] = None\n"
        "from conflictscore.cli import main\n"
        "main(['serve', '--docs', 'examples'])\n"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)

    assert done.returncode == 2
    assert install_hint("serve") in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_run_is_counted_with_its_results(served: Served) -> None:
    usage = served.ask().json()["usage"]
    served.http.get("/v1/runs/unknown")
    served.http.get("/elsewhere")

    for once in (
        'runs_total{status="corrected"}',
        "flips_total",
        'request_seconds_count{route="/v1/chat/completions"}',
        'requests_total{route="/v1/chat/completions",status="200"}',
        'requests_total{route="/v1/runs/{run_id}",status="404"}',
        'requests_total{route="other",status="404"}',
    ):
        assert served.metric(f"conflictscore_{once}") == 1, once
    assert served.metric("conflictscore_requests_in_flight") == 0  # reading it is none
    read = served.metric('conflictscore_tokens_total{direction="input"}')
    assert read == usage["prompt_tokens"]


def test_no_label_comes_from_a_caller(world: ChatWorld, served: Served) -> None:
    world.broken["generate"] = Fault(500, message="caller-text", should_retry=False)

    served.ask("caller-text", model="caller-text", user="caller-text")
    served.http.get("/caller-text")
    served.http.request("CALLER-TEXT", "/v1/models")
    said = served.http.get("/metrics").text

    assert "caller-text" not in said.casefold()
    assert QUESTION not in said
