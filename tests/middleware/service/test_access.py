"""Who is admitted, and what they may see."""

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from conflictscore.errors import InputError
from conflictscore.middleware.service import ServiceSettings
from conflictscore.middleware.service.keys import KeyHolder, key_holder, read_keys
from tests.fakes.openai_server import Fault, OpenAIServer
from tests.middleware.service.serving import (
    QUESTION,
    UPSTREAM_KEY,
    ChatWorld,
    Served,
    asking,
    serving,
)


@pytest.fixture(scope="module")
def local() -> Iterator[Served]:
    """A service without keys."""
    with serving(ChatWorld()) as served:
        yield served


@pytest.fixture(scope="module")
def keyed() -> Iterator[Served]:
    """A service with two keys."""
    with serving(ChatWorld(), settings={"keys": (ONE, OTHER)}) as served:
        yield served


def asked(served: Served, *headers: tuple[str, str]) -> int:
    """The status of a request with bare headers."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    version = "1.1" if any(name == "host" for name, _ in headers) else "1.0"
    request = f"GET /v1/models HTTP/{version}\r\n{lines}connection: close\r\n\r\n"
    with served.connect(request.encode("latin-1")) as connection:
        return int(connection.makefile("rb").readline().split()[1])


ONE, OTHER = "key-number-one-0123456789", "key-number-two-0123456789"


@pytest.mark.parametrize(
    "authorization",
    [None, "Bearer", f"Bearer {ONE[:-1]}", f"Bearer {ONE}0", f"Basic {ONE}", ONE, "Bearer \xff"],
)
@pytest.mark.parametrize(
    ("method", "path"),
    [
        *(("POST", f"/v1/{path}") for path in ("chat/completions", "runs")),
        *(("GET", f"/v1/{path}") for path in ("runs/any", "models", "models/conflictscore")),
        ("GET", "/metrics"),
    ],
)
def test_without_a_valid_key_nothing_is_given(
    keyed: Served, method: str, path: str, authorization: str | None
) -> None:
    given = {} if authorization is None else {b"authorization": authorization.encode("latin-1")}
    with httpx2.Client(base_url=keyed.address, trust_env=False, timeout=60) as client:
        reply = client.request(method, path, headers=given)
        open_to_all = client.get("/healthz")

    assert (reply.status_code, reply.json()["error"]["code"]) == (401, "invalid_api_key")
    assert ONE[:-1] not in reply.text
    assert open_to_all.json() == {"status": "ok"}


def test_a_key_sees_its_own_runs_only(upstream: OpenAIServer) -> None:
    with serving(upstream, settings={"keys": (ONE, OTHER)}) as served:
        run_id = served.ask().headers["x-conflictscore-run-id"]
        own = served.http.get(f"/v1/runs/{run_id}")
        theirs = served.http.get(f"/v1/runs/{run_id}", headers={"authorization": f"Bearer {OTHER}"})

    assert own.status_code == 200
    assert (theirs.status_code, theirs.json()["error"]["code"]) == (404, "run_not_found")


OURS = ["localhost:8400", "127.0.0.1", "[::1]:8400", "LocalHost:8400", "127.8.4.1"]
FOREIGN = [
    *("conflictscore.test", "10.0.0.1", "localhost.test", "", ":8400", "localhost.", "127.1"),
    *("0.0.0.0", "[::]", "[::1", "::1", "localhost:", "localhost:port", "localhost:80@evil.test"),
    *("evil.test@localhost", "evil.test/@localhost", "evil.test#@localhost"),
    *("evil.test?@localhost", "evil.test\\@localhost", "localhost/evil.test"),
    *("localhost evil.test", "localhost,evil.test", "evil.test, localhost", "[evil.test"),
    *("[evil.test]", "evil_test:x", "127.0.0.1\xa0"),
]


@pytest.mark.parametrize("host", [*OURS, *FOREIGN])
def test_without_keys_it_answers_only_to_this_machines_names(local: Served, host: str) -> None:
    assert asked(local, ("host", host)) == (200 if host in OURS else 403)


ORIGINS = [
    *("http://evil.test", "null", "http://localhost.evil.test:8400"),
    *("http://localhost@evil.test", "localhost"),
]


@pytest.mark.parametrize(
    "header",
    [
        *(("host", host) for host in ("localhost", "evil.test")),
        *(("origin", origin) for origin in ORIGINS),
        ("x-forwarded-for", "127.0.0.1"),
        ("X-Forwarded-Host", "localhost"),
        ("forwarded", "for=127.0.0.1;host=localhost"),
        ("via", "1.1 proxy"),
        ("x-real-ip", "127.0.0.1"),
    ],
)
def test_no_header_makes_a_foreign_request_local(local: Served, header: tuple[str, str]) -> None:
    assert asked(local, ("host", "localhost"), header) in (400, 403)


def test_the_services_own_page_may_ask_it_and_nobody_without_a_host(local: Served) -> None:
    assert asked(local) in (400, 403)
    for origin in ("http://localhost:8400", "http://127.0.0.1", "http://[::1]:8400"):
        assert asked(local, ("host", "localhost:8400"), ("origin", origin)) == 200


async def test_another_machine_is_refused_under_the_name_of_this_one(local: Served) -> None:
    transport = httpx2.ASGITransport(local.app, client=("10.0.0.7", 5000))
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
        assert (await client.get("/v1/models")).status_code == 403


@pytest.mark.parametrize("settings", [{"no_auth": True}, {"keys": (ONE,)}])
def test_otherwise_it_answers_to_any_name(upstream: OpenAIServer, settings: dict[str, Any]) -> None:
    with serving(upstream, settings=settings) as served:
        reply = served.http.get("/v1/models", headers={"host": "conflictscore.test"})

    assert reply.status_code == 200


def test_questions_and_keys_are_not_logged_and_keys_go_nowhere(
    world: ChatWorld, upstream: OpenAIServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", "conflictscore")
    caplog.set_level("INFO")
    quoting = Fault(500, message=f"I cannot answer {QUESTION!r}", should_retry=False)
    world.broken["regenerate"] = quoting

    with serving(upstream, settings={"keys": (ONE,)}) as served:
        reply = served.ask()
        run = served.run(reply)
        served.ask(stream=True)
        assert served.metric('conflictscore_failures_total{kind="regeneration"}') == 2

    assert re.search(r"run \w+: failed: regeneration", caplog.text)
    for secret in (QUESTION, "1871", ONE, UPSTREAM_KEY):
        assert secret not in caplog.text
    assert reply.status_code == 200
    assert ONE not in json.dumps([run, [dict(r.headers) for r in upstream.requests]])


@pytest.mark.parametrize(
    "wrong",
    [
        {"mode": "guess"},
        {"on_failure": "shrug"},
        {"first_answer": "oracle"},
        {"max_body": 0},
        {"max_concurrent": 0},
        {"timeout": 0},
        {"timeout": float("inf")},
        {"heartbeat": 31},
        {"keys": ("short",)},
        {"keys": ("a key with spaces in it",)},
        {"keys": ("schlüssel-number-0123456789",)},
    ],
)
def test_settings_out_of_range_are_refused_without_showing_a_key(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError) as raised:
        ServiceSettings(**wrong)

    [(name, value)] = wrong.items()
    assert (name if name != "keys" else "key 1") in str(raised.value)
    if name == "keys":
        assert value[0] not in str(raised.value)


def test_settings_do_not_show_their_keys() -> None:
    assert ONE not in repr(ServiceSettings(keys=(ONE,)))


@pytest.mark.parametrize("path", ["/v1/models/", "/v1/runs/", "/page", "/metrics/"])
def test_the_host_of_a_request_is_repeated_nowhere(upstream: OpenAIServer, path: str) -> None:
    with serving(upstream, settings={"no_auth": True}) as served:
        served.http.headers["host"] = "evil.test"
        reply = served.http.get(path, follow_redirects=False)

    assert reply.status_code == 404
    assert "evil.test" not in f"{reply.headers}{reply.text.replace(path, '')}"


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/", "text/html"), ("/page/main.js", "javascript"), ("/page/page.css", "text/css")],
)
def test_the_pages_files_come_with_a_strict_policy(local: Served, path: str, kind: str) -> None:
    reply = local.http.get(path)

    assert reply.status_code == 200
    assert kind in reply.headers["content-type"]
    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert reply.headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize("path", ["", "none.js", "..%2fapp.py", "%2e%2e/app.py"])
def test_no_other_file_is_served(local: Served, path: str) -> None:
    assert local.http.get(f"/page/{path}").status_code == 404


class TestKeyLines:
    def test_a_name_a_key_or_its_digest(self) -> None:
        digest = hashlib.sha256(ONE.encode())
        plain = key_holder(f"door {ONE} runs=all", "line 1")
        hashed = key_holder(f"door sha256:{digest.hexdigest().upper()}", "line 2")

        assert plain == KeyHolder("door", digest.digest(), reads_all=True)
        assert hashed == KeyHolder("door", digest.digest())
        assert key_holder(ONE, "line 3").name == digest.hexdigest()[:32]
        assert key_holder(f"door {ONE}==", "line 4").digest != digest.digest()

    @pytest.mark.parametrize(
        "line",
        [
            "short",
            "door short",
            f"two words {ONE}",
            f"na/me {ONE}",
            "door sha256:1234",
            f"door {ONE}\xe9",
            f"door {ONE} request=5",
            f"door {ONE} requests=5 usd=0.5",  # daily limits of an earlier version
        ],
    )
    def test_a_wrong_line_is_named_and_not_shown(self, line: str) -> None:
        with pytest.raises(InputError, match=r"^line 7") as raised:
            key_holder(line, "line 7")
        assert ONE not in str(raised.value)
        assert "short" not in str(raised.value)


def test_a_file_names_callers_or_is_refused(upstream: OpenAIServer, tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text(f"# keys\ndoor {ONE}\ndoor {OTHER}\n")
    with serving(upstream, settings={"key_file": path}) as served:
        served.key = ONE
        run = served.ask().headers["x-conflictscore-run-id"]
        served.key = OTHER
        found = served.http.get(f"/v1/runs/{run}")
    assert found.status_code == 200, "the same caller, by name"

    for wrong in ("", f"door {ONE} x=y", None):
        path.unlink() if wrong is None else path.write_text(wrong)
        with pytest.raises(InputError, match="--key-file") as raised:
            read_keys(path)
        assert ONE not in str(raised.value)


def test_a_key_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "keys.txt"
    path.write_text(f"# keys\nlobby {ONE}\n", "utf-8-sig")

    assert [holder.name for holder in read_keys(path)] == ["lobby"]


class TestPagesOfOtherOrigins:
    """Browsers let a page call the service only if its origin was named."""

    PAGE = "https://chat.example"

    def preflight(self, served: Served, origin: str) -> Any:
        return served.http.options(
            "/v1/chat/completions",
            headers={
                "origin": origin,
                "access-control-request-method": "POST",
                "access-control-request-headers": "authorization, content-type, x-stainless-lang",
            },
        )

    @pytest.mark.parametrize("keys", [(), ("a-key-of-the-front-door-0123456789",)])
    def test_an_allowed_origin_is_admitted_and_reads_the_verdict(
        self, upstream: OpenAIServer, keys: tuple[str, ...]
    ) -> None:
        settings = {"cors_origins": (self.PAGE,), "keys": keys}
        with serving(upstream, settings=settings) as served:
            asked = self.preflight(served, self.PAGE)
            client = served.http
            client.headers["origin"] = self.PAGE
            reply = client.post("/v1/chat/completions", json=asking())

        assert asked.status_code == 200
        assert "x-stainless-lang" in asked.headers["access-control-allow-headers"]
        assert reply.status_code == 200
        assert reply.headers["access-control-allow-origin"] == self.PAGE
        exposed = reply.headers["access-control-expose-headers"]
        assert "x-conflictscore-checked" in exposed
        assert "x-conflictscore-reason" in exposed

    def test_any_other_is_not(self, upstream: OpenAIServer) -> None:
        with serving(upstream, settings={"cors_origins": (self.PAGE,)}) as served:
            for origin in ("https://evil.test", "https://chat.example.evil.test", "null"):
                asked = self.preflight(served, origin)
                client = served.http
                client.headers["origin"] = origin
                reply = client.post("/v1/chat/completions", json=asking())

                assert asked.status_code == 400
                assert reply.status_code == 403
                assert "access-control-allow-origin" not in reply.headers

    @pytest.mark.parametrize("origin", ["*", "chat.example", "https://chat.example/", "null", ""])
    def test_an_invalid_origin_is_refused_at_the_start(self, origin: str) -> None:
        with pytest.raises(InputError, match="is not an origin"):
            ServiceSettings(cors_origins=(origin,))
