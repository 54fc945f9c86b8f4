"""The cache of replies and verdicts, on real SQLite files."""

import json
import os
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conflictscore.errors import ConfigurationError
from conflictscore.storage import cache as cache_module
from conflictscore.storage.cache import ContentCache, cache_dir
from conflictscore.storage.database import SQLiteTables
from tests.full_disk import no_room

CONTENT = {"claim": "It was lit in 1871.", "judge": {"model": "m", "parameters": {"t": 0}}}

_TEXT = st.text(st.characters(codec=None), max_size=5)  # including lone surrogates
_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=6,
)
_CONTENT = st.dictionaries(_TEXT, _JSON, max_size=3)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache.sqlite"


def canonical(content: dict[str, Any]) -> str:
    return json.dumps(content, sort_keys=True, ensure_ascii=False)


def refused(path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        ContentCache(path)
    one_line_with_a_way_out(str(caught.value), path)


def one_line_with_a_way_out(message: str, path: Path) -> None:
    assert str(path) in message
    assert "--no-cache" in message
    assert "delete" not in message
    assert "\n" not in message


def warned_once(caplog: pytest.LogCaptureFixture, path: Path) -> str:
    """The only warning, which names the file and a remedy."""
    [record] = caplog.records
    assert record.levelname == "WARNING"
    one_line_with_a_way_out(record.getMessage(), path)
    assert record.getMessage().endswith("; until then, calls may have to be paid for again")
    return record.getMessage()


class TestContent:
    def test_a_value_is_found_again_after_the_file_was_closed(self, path: Path) -> None:
        first = ContentCache(path)
        first.put(CONTENT, {"label": "SUPPORTS", "score": 0.5, "snippet": None})
        first.close()
        again = ContentCache(path)
        assert again.get(CONTENT) == {"label": "SUPPORTS", "score": 0.5, "snippet": None}
        assert again.get({**CONTENT, "claim": "It was lit in 1874."}) is None

    @given(one=_CONTENT, other=_CONTENT)
    def test_two_contents_share_a_value_exactly_when_they_are_the_same_json(
        self, one: dict[str, Any], other: dict[str, Any]
    ) -> None:
        cache = ContentCache(":memory:")
        cache.put(one, {"v": 1})
        assert cache.get(dict(reversed(one.items()))) == {"v": 1}
        assert (cache.get(other) == {"v": 1}) is (canonical(one) == canonical(other))
        cache.close()

    def test_what_is_no_number_is_no_content(self, path: Path) -> None:
        with pytest.raises(ValueError, match="JSON"):
            ContentCache(path).put({"x": float("nan")}, {})


class TestSharing:
    def test_a_file_opened_by_many_at_once_is_opened_by_all(self, path: Path) -> None:
        together = threading.Barrier(8, timeout=30)

        def open_and_write(number: int) -> None:
            together.wait()
            ContentCache(path).put({"n": number}, {"v": number})

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(open_and_write, range(8)))
        cache = ContentCache(path)
        assert all(cache.get({"n": n}) == {"v": n} for n in range(8))

    def test_a_file_that_cannot_change_its_journal_just_now_is_opened_all_the_same(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ContentCache(path).close()
        reader = sqlite3.connect(path, isolation_level=None)
        reader.execute("PRAGMA journal_mode=DELETE")
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM cache").fetchall()
        monkeypatch.setattr(cache_module, "_BUSY_SECONDS", 0.01)
        cache = ContentCache(path)
        reader.execute("COMMIT")
        cache.put(CONTENT, {"v": 1})
        assert cache.get(CONTENT) == {"v": 1}

    def test_processes_write_at_once_and_lose_nothing(self, path: Path) -> None:
        program = (
            "import sys; from conflictscore.storage.cache import ContentCache\n"
            "cache, me = ContentCache(sys.argv[1]), int(sys.argv[2])\n"
            "for n in range(100): cache.put({'process': me, 'n': n}, {'v': [me, n]})\n"
        )
        writers = [
            subprocess.Popen([sys.executable, "-c", program, str(path), str(me)]) for me in range(3)
        ]
        assert [writer.wait(60) for writer in writers] == [0, 0, 0]
        cache = ContentCache(path)
        for me in range(3):
            assert all(cache.get({"process": me, "n": n}) == {"v": [me, n]} for n in range(100))


class TestUnusable:
    def test_a_file_that_is_no_database_is_left_alone_and_named(self, path: Path) -> None:
        ContentCache(path).close()
        damaged = path.read_bytes().replace(b"CREATE TABLE cache", b"CREATE TAB\xe8E cache")
        for content in (damaged, b"these are my notes, and not a cache. " * 40):
            path.write_bytes(content)
            refused(path)
            assert path.read_bytes() == content

    def test_of_a_database_with_damaged_pages_only_the_rest_is_had(
        self, path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        cache = ContentCache(path)
        for number in range(200):
            cache.put({"n": number}, {"v": "x" * 100})
        cache.close()
        whole = path.read_bytes()
        path.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
        damaged = ContentCache(path)
        assert [damaged.get({"n": n}) for n in (7, 8)] == [None, None]
        warned_once(caplog, path)

    def test_no_failure_quotes_what_is_kept(
        self, path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        cache = ContentCache(path)
        cache.put(CONTENT, {"reply": "SECRET"})
        with sqlite3.connect(path) as other:
            other.execute("UPDATE cache SET value = CAST(value || x'ff' AS TEXT)")
        other.close()
        assert cache.get(CONTENT) is None
        assert "SECRET" not in caplog.text

    @pytest.mark.parametrize(
        "value", ["", "{", "7", "null", "[1]", '{"v": NaN', "[" * 100_000, b"\xff\xfe", 7, 0.5]
    )
    def test_a_value_that_cannot_be_read_is_not_there_and_makes_room_for_another(
        self, path: Path, value: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        cache = ContentCache(path)
        cache.put(CONTENT, {"v": 1})
        with sqlite3.connect(path) as other:
            other.execute("UPDATE cache SET value = ?", (value,))
        other.close()
        assert cache.get(CONTENT) is None
        assert caplog.records == []
        cache.put(CONTENT, {"v": 2})
        assert cache.get(CONTENT) == {"v": 2}

    def test_where_no_file_can_be_is_named(self, path: Path) -> None:
        path.mkdir()
        refused(path)
        path.with_name("file").write_text("in the way")
        refused(path.parent / "file" / "deeper" / "cache.sqlite")

    def test_a_file_that_somebody_holds_for_too_long_is_waited_for_once_a_minute(
        self, path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.setattr(cache_module, "_BUSY_SECONDS", 0.01)
        cache = ContentCache(path)
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        cache.put(CONTENT, {})
        assert "locked" in warned_once(caplog, path)
        holder.execute("COMMIT")
        cache.put(CONTENT, {"v": 1})
        assert cache.get(CONTENT) is None
        now = time.monotonic()
        monkeypatch.setattr("time.monotonic", lambda: now + 61)
        cache.put(CONTENT, {"v": 1})
        assert cache.get(CONTENT) == {"v": 1}


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such limits")
class TestFullDisk:
    def test_what_was_kept_is_still_found_and_nothing_more_is_kept(
        self, path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(cache_module, "_REST_SECONDS", 0)
        cache = ContentCache(path)
        cache.put(CONTENT, {"v": 1})
        with no_room():
            for number in range(3):
                cache.put({"n": number}, {"v": number})
                assert cache.get({"n": number}) is None
            assert cache.get(CONTENT) == {"v": 1}
        warned_once(caplog, path)
        cache.put({"n": 7}, {"v": 7})
        assert cache.get({"n": 7}) == {"v": 7}


class TestPlace:
    def test_the_folder_is_the_configured_one_and_made_on_first_use(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = tmp_path / "not" / "there yet"
        monkeypatch.setenv("CONFLICTSCORE_CACHE_DIR", str(folder))
        assert cache_dir() == folder
        assert not folder.exists()
        ContentCache.default()
        assert (folder / "verdicts.sqlite").is_file()


class TestDefault:
    """The default cache of every entry point, which is optional."""

    @pytest.fixture
    def unusable(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        in_the_way = tmp_path / "cache"
        in_the_way.write_text("a file where the folder should be")
        monkeypatch.delenv("CONFLICTSCORE_STORE", raising=False)
        monkeypatch.setenv("CONFLICTSCORE_CACHE_DIR", str(in_the_way / "folder"))
        return in_the_way / "folder" / "verdicts.sqlite"

    def test_a_folder_that_cannot_be_made_is_one_warning(
        self, unusable: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        caches = [ContentCache.default(), ContentCache.default()]
        warned_once(caplog, unusable)
        for cache in caches:
            cache.put(CONTENT, {"label": "SUPPORTS"})
            assert cache.get(CONTENT) == {"label": "SUPPORTS"}

    def test_a_file_that_stays_locked_is_waited_for_once(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.delenv("CONFLICTSCORE_STORE", raising=False)
        monkeypatch.setenv("CONFLICTSCORE_CACHE_DIR", str(tmp_path))
        monkeypatch.setattr("conflictscore.storage.cache._BUSY_SECONDS", 0.05)
        with closing(sqlite3.connect(tmp_path / "verdicts.sqlite", isolation_level=None)) as file:
            file.execute("BEGIN EXCLUSIVE")
            ContentCache.default()
        warned_once(caplog, tmp_path / "verdicts.sqlite")
        cache = ContentCache.default()
        cache.put(CONTENT, {"label": "SUPPORTS"})
        assert cache.get(CONTENT) == {"label": "SUPPORTS"}
        assert ContentCache(tmp_path / "verdicts.sqlite").get(CONTENT) is None, "it is in memory"

    def test_a_file_that_is_none_of_sqlite_is_one_warning(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.delenv("CONFLICTSCORE_STORE", raising=False)
        monkeypatch.setenv("CONFLICTSCORE_CACHE_DIR", str(tmp_path))
        (tmp_path / "verdicts.sqlite").write_bytes(b"no database" * 100)
        cache = ContentCache.default()
        warned_once(caplog, tmp_path / "verdicts.sqlite")
        cache.put(CONTENT, {"label": "SUPPORTS"})
        assert cache.get(CONTENT) == {"label": "SUPPORTS"}


def test_writes_that_fail_at_once_do_not_keep_their_values(tmp_path: Path) -> None:
    tables = SQLiteTables(
        tmp_path / "runs.sqlite", unusable=lambda error: ConfigurationError(str(error)), rest=60.0
    )

    def frames() -> int:
        with pytest.raises(ConfigurationError, match="no such table") as failure:
            tables.execute("INSERT INTO missing VALUES ($1)", "a long answer")
        return len(failure.traceback)

    with closing(tables):
        frames()
        assert frames() == frames() == frames()
