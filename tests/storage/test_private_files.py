"""Stored files belong to their owner alone, whatever the umask is."""

import errno
import os
import sqlite3
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conflictscore.errors import InputError
from conflictscore.reporting.run_log import append_log, check_log
from conflictscore.storage.cache import ContentCache
from conflictscore.storage.locks import lock_folder
from conflictscore.storage.private_files import write_whole
from conflictscore.storage.record_file import RecordFile
from conflictscore.storage.sqlite_files import connect

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")


@pytest.fixture(autouse=True, params=[0o000, 0o022])
def _umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def mode(path: Path) -> str:
    return oct(stat.S_IMODE(path.stat().st_mode))


def _record(path: Path) -> None:
    RecordFile(path).close()


def _log(path: Path) -> None:
    check_log(path)
    append_log(path, {})


WRITERS: dict[str, Callable[[Path], None]] = {
    "records": _record,
    "log": _log,
    "manifest": lambda path: write_whole(path, b"{}"),
    "cache": lambda path: ContentCache(path).close(),
    "database": lambda path: connect(path).close(),
}


@pytest.mark.parametrize("kind", WRITERS)
def test_a_new_file_and_one_that_all_could_read_are_the_owners_alone(
    kind: str, tmp_path: Path
) -> None:
    new, old = tmp_path / "new", tmp_path / "old"
    old.touch(0o644)
    for path in (new, old):
        WRITERS[kind](path)
        assert mode(path) == "0o600"


def test_so_are_the_files_that_sqlite_keeps_beside_its_own(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    cache = ContentCache(path)
    cache.put({"a": 1}, {"b": 2})
    beside = [tmp_path / f"cache.sqlite{end}" for end in ("", "-wal", "-shm")]
    assert [mode(file) for file in beside] == ["0o600"] * 3

    for file in beside:  # as an earlier version left them
        file.chmod(0o644)
    again = ContentCache(path)
    assert [mode(file) for file in beside] == ["0o600"] * 3
    assert again.get({"a": 1}) == {"b": 2}


def test_a_second_connection_leaves_the_locks_of_the_first_alone(tmp_path: Path) -> None:
    path = tmp_path / "locked.sqlite"
    first = connect(path)
    first.execute("CREATE TABLE kept (value)")
    first.execute("BEGIN IMMEDIATE")
    connect(path).close()
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        connect(path, timeout=0).execute("INSERT INTO kept VALUES (1)")


def test_folders_of_a_run_and_of_the_cache_are_the_owners_alone(tmp_path: Path) -> None:
    ContentCache(tmp_path / "cache" / "verdicts.sqlite")
    assert mode(tmp_path / "cache") == "0o700"
    new, old = tmp_path / "runs" / "new", tmp_path / "old"
    old.mkdir(0o755)
    for folder in (new, old):
        with lock_folder(folder, otherwise="folder"):
            pass
        assert mode(folder) == "0o700"
        assert {mode(file) for file in folder.iterdir()} == {"0o600"}


def test_a_pipe_keeps_its_mode(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe, 0o644)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    before = mode(pipe)
    append_log(pipe, {})
    assert os.read(reader, 9) == b"{}\n"
    os.close(reader)
    assert mode(pipe) == before


@pytest.mark.parametrize("place", ["no/such/folder/page.html", "file/page.html", f"{'x' * 255}"])
def test_what_cannot_be_written_is_one_line_with_a_way_out(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"cannot be written .*give a path"):
        write_whole(tmp_path / place, b"page")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_full_disk_is_not_taken_for_a_missing_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_file: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(InputError, match="give a path in a folder that exists"):
        write_whole(tmp_path / "missing" / "figures.json", b"{}")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=r"No space left on device\); free up space there"):
        write_whole(tmp_path / "figures.json", b"{}")
    assert not [*tmp_path.iterdir()]
