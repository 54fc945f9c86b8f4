"""Verdicts, runs, reviews and budgets in a real PostgreSQL server, which is stopped and stalled."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import pytest

from conflictscore.errors import ConfigurationError
from conflictscore.middleware.service.kept_runs import RUNNING, KeptRuns, RunFilter
from conflictscore.reviewing import add_runs_page
from conflictscore.storage import postgres
from conflictscore.storage.cache import ContentCache
from conflictscore.storage.postgres import PostgresTables
from tests.fakes.openai_server import OpenAIServer
from tests.middleware.service.serving import serving, until
from tests.postgres_server import PostgresServer, postgres_server
from tests.world import World


@pytest.fixture(scope="module")
def running() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def server(running: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[PostgresServer]:
    """The server without tables, and a store that retries quickly."""
    monkeypatch.setattr(postgres, "_REST_S", 0.05)
    yield running
    with opened(running) as tables:
        tables.execute("DROP SCHEMA conflictscore CASCADE")


@contextmanager
def opened(server: PostgresServer) -> Iterator[PostgresTables]:
    with closing(PostgresTables(server.url)) as tables:
        yield tables


def finish(runs: KeptRuns, name: str, **run: Any) -> None:
    runs.begin(name, "me")
    runs.finish(name, {"run": name, **run})
    until(lambda: runs.get(name, "me"))


def kept(tables: PostgresTables) -> list[str]:
    return [name for (name,) in tables.execute("SELECT id FROM runs ORDER BY id")]


async def _shares_sessions(connection: object) -> bool:
    return False


class TestCache:
    def test_what_one_process_stored_another_one_finds(self, server: PostgresServer) -> None:
        odd = {"text": "a\ud83d \0 $1 '; --", "claim": "x"}
        program = (
            "from conflictscore.storage.cache import ContentCache\n"
            "cache = ContentCache.default()\n"
            "for n in range(100): cache.put({'n': n}, {'v': n})\n"
            "cache.put({'text': 'a\\ud83d \\0 $1 \\'; --', 'claim': 'x'}, {'r': 'b\\udc00\\0'})\n"
        )
        env = {"CONFLICTSCORE_STORE": server.url, "PYTHONPATH": ":".join(sys.path)}
        subprocess.run([sys.executable, "-c", program], check=True, env=env)

        with opened(server) as tables:
            cache = ContentCache(tables)
            assert [cache.get({"n": n}) for n in (0, 99, 100)] == [{"v": 0}, {"v": 99}, None]
            assert cache.get(odd) == {"r": "b\udc00\0"}

    def test_a_server_that_goes_away_is_a_miss_and_a_warning_and_comes_back(
        self,
        server: PostgresServer,
        caplog: pytest.LogCaptureFixture,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(postgres, "_TRIES", 1000)  # with short pauses, for a slow start
        with opened(server) as tables:
            cache = ContentCache(tables)
            cache.put({"n": 1}, {"v": 1})
            until(lambda: cache.get({"n": 1}))
            server.stop()
            try:
                assert cache.get({"n": 1}) is None
                cache.put({"n": 2}, {"v": 2})
            finally:
                server.start()
            until(lambda: cache.get({"n": 1}))
            with opened(server) as elsewhere:
                other = ContentCache(elsewhere)
                until(lambda: other.get({"n": 2}) == {"v": 2})
        # asyncio may log here about another test's event loop
        [record] = [one for one in caplog.records if one.name.startswith("conflictscore.")]
        assert record.levelname == "WARNING"
        assert "store postgresql:///postgres cannot be used" in record.getMessage()
        assert "SECRET" not in caplog.text

    def test_a_server_that_says_nothing_holds_nobody_up_for_long(
        self, server: PostgresServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(postgres, "_PATIENCE_S", 0.2)
        with opened(server) as tables:
            cache = ContentCache(tables)
            with server.held_up():
                assert cache.get({"n": 1}) is None
            cache.put({"n": 1}, {"v": 1})
            until(lambda: cache.get({"n": 1}))


class TestOpening:
    @pytest.mark.parametrize(
        ("url", "complaint"),
        [
            ("redis://u:SECRET@here", "the store must be postgresql://"),
            ("postgresql://u:SE/CRET@here:SECRET", "the store must be postgresql://"),
            ("postgresql://u:SECRET@127.0.0.1:1/x", "store postgresql://127.0.0.1:1/x cannot be"),
            ("postgresql://u:SECRET@/x?host=/nowhere", "store postgresql:///x cannot be used"),
            ("postgresql://u:SECRET@/x?sslmode=odd", "store postgresql:///x cannot be used"),
        ],
    )
    def test_a_store_that_cannot_be_used_is_told_in_one_line(
        self, url: str, complaint: str
    ) -> None:
        with pytest.raises(ConfigurationError, match=complaint) as caught:
            PostgresTables(url)
        assert "SECRET" not in str(caught.value)
        assert "\n" not in str(caught.value)


class TestRuns:
    def test_processes_share_runs_and_those_in_progress_within_the_same_bounds(
        self, server: PostgresServer
    ) -> None:
        with opened(server) as one, opened(server) as other:
            mine = KeptRuns(most=2, most_bytes=1000, store=one)
            yours = KeptRuns(most=2, most_bytes=1000, store=other)
            mine.begin("x", "me")
            until(lambda: yours.look_up("x", "me") is RUNNING)
            assert yours.look_up("x", "you") is None
            for name in "abc":
                finish(mine, name)
            until(lambda: kept(other) == ["b", "c"])
            assert yours.look_up("c", None) == {"run": "c"}
            finish(mine, "d", text="x" * 970)
            until(lambda: kept(other) == ["d"])

    def test_a_run_that_its_process_no_longer_confirms_is_unfinished_until_it_ends(
        self, server: PostgresServer
    ) -> None:
        with opened(server) as one, opened(server) as other:
            mine = KeptRuns(most=2, most_bytes=1000, store=one)
            yours = KeptRuns(
                most=2, most_bytes=1000, store=other, unfinished=lambda run: {"lost": run.run_id}
            )
            mine.begin("x", "me")
            until(lambda: yours.look_up("x", "me") is RUNNING)
            other.execute("UPDATE in_progress SET until = 0")
            assert yours.look_up("x", "me") == {"lost": "x"}
            assert mine.finish("x", {"run": "x"}).result(5)
            assert yours.look_up("x", "me") == {"run": "x"}

    def test_a_run_of_a_killed_process_is_unfinished_at_once(
        self, server: PostgresServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(postgres, "_NEW_SERVER_S", 0)
        program = (
            "import sys, time\n"
            "from conflictscore.middleware.service.kept_runs import KeptRuns\n"
            "from conflictscore.storage.postgres import PostgresTables\n"
            "runs = KeptRuns(most=2, most_bytes=1000, store=PostgresTables(sys.argv[1]))\n"
            "runs.begin('x', 'me')\n"
            "time.sleep(600)\n"
        )
        with opened(server) as tables:
            runs = KeptRuns(
                most=2, most_bytes=1000, store=tables, unfinished=lambda run: {"lost": run.run_id}
            )
            process = subprocess.Popen([sys.executable, "-c", program, server.url])
            try:
                until(lambda: runs.look_up("x", "me") is RUNNING)
            finally:
                process.kill()
                process.wait()
            tables.execute("UPDATE in_progress SET until = until + 3600")
            until(lambda: runs.look_up("x", "me") == {"lost": "x"})

    def test_a_run_of_a_process_without_sessions_of_its_own_is_not_given_up(
        self, server: PostgresServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(postgres, "_NEW_SERVER_S", 0)
        monkeypatch.setattr(postgres, "_is_direct", _shares_sessions)
        with opened(server) as one, opened(server) as other:
            mine, yours = (KeptRuns(most=2, most_bytes=1000, store=each) for each in (one, other))
            mine.begin("x", "me")
            until(lambda: yours.look_up("x", "me") is RUNNING)
            assert one.session is None

    def test_runs_wait_for_the_server_only_up_to_a_limit(
        self, server: PostgresServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(postgres, "_TRIES", 1000)
        monkeypatch.setattr(postgres, "_WAITING_CHARS", 1000)
        with opened(server) as tables:
            runs = KeptRuns(most=5, most_bytes=1000, store=tables)
            server.stop()
            stored = []
            for name in "abc":
                runs.begin(name, "me")
                stored.append(runs.finish(name, {"run": name, "text": "x" * 400}))
            assert stored[2].result(20) is False
            server.start()
            assert [future.result(60) for future in stored] == [True, True, False]

    def test_a_run_that_finishes_while_the_server_says_nothing_is_kept_once_it_speaks(
        self, server: PostgresServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(postgres, "_PATIENCE_S", 0.2)
        failures: list[str] = []
        with opened(server) as tables:
            runs = KeptRuns(most=5, most_bytes=1000, store=tables)
            with server.held_up():
                for name in "ab":
                    runs.begin(name, "me")
                    runs.finish(name, {"run": name}, lambda: failures.append("lost"))
                with pytest.raises(ConfigurationError):
                    runs.get("a", "me")
                assert runs.is_running("a", "me"), "it is neither lost nor kept yet"
            with opened(server) as elsewhere:
                until(lambda: kept(elsewhere) == ["a", "b"])
                listed = KeptRuns(most=5, most_bytes=1000, store=elsewhere).listed
                until(lambda: len(listed(RunFilter())[1]) == 2)
            until(lambda: not any(runs.is_running(name, "me") for name in "ab"))
        assert failures == []

    def test_a_run_that_waits_for_the_server_is_tried_once_more_when_the_process_ends(
        self, server: PostgresServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(postgres, "_REST_S", 60.0)
        with opened(server) as tables:
            runs = KeptRuns(most=5, most_bytes=1000, store=tables)
            server.stop()
            runs.begin("a", "me")
            runs.finish("a", {"run": "a"})
            server.start()
        with opened(server) as other:
            assert kept(other) == ["a"]

    def test_without_its_store_a_run_is_told_to_be_lost(self, server: PostgresServer) -> None:
        failures: list[str] = []
        with opened(server) as tables:
            runs = KeptRuns(most=2, most_bytes=1000, store=tables)
            server.stop()
            try:
                runs.begin("a", "me")
                runs.finish("a", {}, lambda: failures.append("a"))
                until(lambda: failures)
                with pytest.raises(ConfigurationError):
                    runs.get("a", "me")
            finally:
                server.start()


class TestRunsPage:
    def test_lists_reviews_and_exports_of_all_services_are_one(
        self, server: PostgresServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        world = World()
        with ExitStack() as held:
            name = "conflictscore.middleware.service.service.shared_tables"
            monkeypatch.setattr(name, lambda url: held.enter_context(opened(server)))
            settings = {"store": server.url}
            upstream = held.enter_context(OpenAIServer(world))
            mine, yours = (
                held.enter_context(serving(upstream, settings=settings)) for _ in range(2)
            )
            for served in (mine, yours):
                add_runs_page(served.app)
            client = yours.http

            def listed(**query: str) -> list[str]:
                reply = client.get("/v1/runs", params=query)
                assert reply.status_code == 200, reply.text
                return [run["run_id"] for run in reply.json()["data"]]

            changed = mine.run(mine.ask())["run_id"]
            world.regenerated = world.answer
            alike = mine.run(mine.ask("Was it 100%_sure!\0?"))["run_id"]
            until(lambda: listed() == [alike, changed])
            review = {"reviewer": "Ann", "verdict": "better", "comment": "a\0"}
            for verdict in ("worse", "better"):
                place = f"/v1/runs/{changed}/reviews"
                assert mine.http.post(place, json={**review, "verdict": verdict}).status_code == 201

            assert listed(changed="true") == listed(status="corrected") == [changed]
            assert listed(changed="false", disputed="true") == [alike]
            assert (
                listed(review="open") == listed(reviewer="bob", review="open", q="sure") == [alike]
            )
            assert listed(review="reviewed") == listed(reviewer="Ann") == [changed]
            assert listed(q="WAS it 100%_sure!") == [alike]
            assert listed(q="was%it") == listed(q="' OR 1=1 --") == listed(q="\0\0", page="2") == []
            [run, _] = yours.http.get("/v1/runs?page=1").json()["data"][::-1]
            assert (run["reviewers"], run["flipped"], run["disputed"]) == (["Ann"], True, True)
            totals = client.get("/v1/reviews").json()
            assert (totals["runs"], totals["reviewed"], totals["kept_in"]) == (2, 1, "store")
            assert totals["tables"][0]["verdicts"] == {"better": 1}
            assert client.get(f"/v1/runs/{changed}%00/reviews").status_code == 404
            table = client.get("/v1/reviews/export", params={"to": "jsonl", "review": "reviewed"})
            assert [row["verdicts"] for row in map(json.loads, table.text.splitlines())][1] == [
                "better"
            ]

            server.stop()
            try:
                for reply in (client.get("/v1/runs"), mine.http.post(place, json=review)):
                    assert (reply.status_code, reply.json()["error"]["code"]) == (
                        503,
                        "runs_not_kept",
                    )
            finally:
                server.start()
            until(lambda: client.get("/v1/runs").status_code == 200)

    def test_what_is_listed_goes_with_its_run_and_comes_to_runs_of_an_earlier_version(
        self, server: PostgresServer
    ) -> None:
        with opened(server) as tables:
            runs = KeptRuns(most=2, most_bytes=10_000, store=tables)
            for name in "abc":
                finish(runs, name, created=1)
            until(lambda: not tables.execute("SELECT id FROM run_lines WHERE id = 'a'"))
            tables.execute("DELETE FROM run_lines")
            total, found = KeptRuns(most=2, most_bytes=10_000, store=tables).listed(RunFilter())
        assert (total, [run.run_id for run in found]) == (2, ["c", "b"])
