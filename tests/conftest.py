"""Keeps this machine's settings out of the tests."""

import gc
import multiprocessing
import os
import signal
import ssl
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

import httpcore2
import hypothesis
import pytest

_SETTINGS = (
    "OPENAI_API_KEY",
    "OPENAI_API_BASE",
    "OPENAI_BASE_URL",
    "OPENAI_ORG_ID",
    "OPENAI_PROXY",
    "GOOGLE_API_KEY",
    "GOOGLE_CSE_ID",
    "SERPER_API_KEY",
    "SEARXNG_URL",
    "VERTEX_API_KEY",
    "VERTEX_SERVING_CONFIG",
    "SSL_CERT_FILE",
    "LANGCHAIN_TRACING_V2",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
)

# Read once, when LangGraph is imported, which is before any fixture runs.
os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"

# The time that an example takes depends on the machine's load. New examples are drawn each time.
hypothesis.settings.register_profile(
    "untimed",
    deadline=None,
    max_examples=50,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("untimed")

# Each client of a model reads this machine's certificates, which takes 20 ms: once is enough.
_read_certificates = httpcore2.default_ssl_context


@cache
def _certificates(trust_env: bool, *named: str | None) -> ssl.SSLContext:
    return _read_certificates(_trust_env=trust_env)


def _certificates_read_once(*, _trust_env: bool = True) -> ssl.SSLContext:
    named = map(os.environ.get, ("SSL_CERT_FILE", "SSL_CERT_DIR"))
    return _certificates(_trust_env, *named)


httpcore2.default_ssl_context = _certificates_read_once

# A job started in the background ignores Ctrl-C, and so would every program that a test starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_xdist_auto_num_workers() -> int:
    """Two workers more than processors, since tests wait for servers and other processes."""
    return (os.cpu_count() or 1) + 2


def pytest_collection_finish() -> None:
    """Exempt modules and tests, which live to the end, from repeated garbage collection."""
    gc.freeze()


@pytest.fixture(scope="module")
def spawning(request: pytest.FixtureRequest) -> Any:
    """Starts processes that a test may kill, with the test's module already imported."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([request.module.__name__])
    return context


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the user's keys, endpoints and proxies, and turn tracing off."""
    for name in _SETTINGS:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("LANGSMITH_TRACING", "false")


@pytest.fixture(autouse=True)
def _nothing_of_another_endpoint() -> Iterator[None]:
    """Drop what the process keeps per address: langchain-openai's clients, and our capabilities.

    A later test whose server happens to get the same port would reuse the clients' connections,
    which belong to a closed event loop, and believe that the server takes what another one took. A
    worker may not have the open connections of 128 clients either.
    """
    yield
    if capabilities := sys.modules.get("conflictscore.models.capabilities"):
        capabilities.Capabilities._known.clear()
    if clients := sys.modules.get("langchain_openai.chat_models._client_utils"):
        clients._cached_sync_httpx_client.cache_clear()
        clients._cached_async_httpx_client.cache_clear()


@pytest.fixture
def world() -> Any:
    from tests.world import World

    return World()


@pytest.fixture
def server(world: Any) -> Iterator[Any]:
    from tests.fakes.openai_server import OpenAIServer

    with OpenAIServer(world) as running:
        yield running


@pytest.fixture(scope="module")
def window() -> Iterator[Any]:
    from tests.browser import browser

    with browser() as driver:
        yield driver


@pytest.fixture
def reader(window: Any) -> Iterator[Any]:
    from tests.browser import Reader, severe

    window.get("about:blank")
    severe(window)
    yield Reader(window)
    window.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    window.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    window.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
