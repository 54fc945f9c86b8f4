"""An append-only file of lines: resumed after any crash, and written by one process at a time."""

import errno
import json
import multiprocessing
import os
from itertools import islice
from pathlib import Path

import pytest

from conflictscore.errors import ConfigurationError, InputError
from conflictscore.storage import record_file
from conflictscore.storage.record_file import (
    RecordFile,
    RecordLine,
    RecordLines,
    append_line,
    json_line,
    no_json,
)
from tests.full_disk import no_room

_WRITERS, _LINES = 4, 50


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "records.jsonl"


def add(path: Path, *values: int) -> list[RecordLine]:
    """Add lines, and return the previous ones."""
    with RecordFile(path) as file:
        before = list(file.lines)
        file.resume()
        for value in values:
            file.append(json_line({"value": value}))
    return before


def test_what_was_added_is_read_with_its_place(path: Path) -> None:
    add(path, 1)
    before = add(path, 22)
    assert before == [RecordLine(1, 0, b'{"value": 1}\n')]
    assert list(RecordLines(path)) == [*before, RecordLine(2, 13, b'{"value": 22}\n')]


def test_cut_at_any_byte_a_file_keeps_its_whole_lines_and_takes_more(path: Path) -> None:
    add(path, 1, 2)
    whole = path.read_bytes()
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        with RecordFile(path) as file:
            kept = list(file.lines)
            only_lacks_its_end = whole[cut : cut + 1] == b"\n"
            assert len(kept) == whole[:cut].count(b"\n") + only_lacks_its_end
            assert file.resume() == cut - sum(len(line.text) for line in kept)
            for value in (1, 2)[len(kept) :]:
                file.append(json_line({"value": value}))
        assert path.read_bytes() == whole


def test_a_last_line_that_only_lacks_its_end_may_count_and_then_gets_it(path: Path) -> None:
    path.write_bytes(b'{"value": 1}')
    lines = RecordLines(path, is_half=no_json)
    assert [line.text for line in lines] == [b'{"value": 1}']
    assert (lines.size, lines.half, lines.ended) == (12, 0, False)

    with RecordFile(path, is_half=no_json) as file:
        assert [line.number for line in file.lines] == [1]
        assert file.resume() == 0
        file.append(b"{}\n")
    assert path.read_bytes() == b'{"value": 1}\n{}\n'


def test_a_file_is_left_as_it_is_until_it_is_resumed(path: Path) -> None:
    path.write_bytes(b"notes of mine")
    with RecordFile(path) as file:
        assert list(file.lines) == []
        with pytest.raises(RuntimeError, match="resume"):
            file.append(b"{}\n")
    assert path.read_bytes() == b"notes of mine"


@pytest.mark.parametrize("lines_read", [0, 1])
def test_lines_that_were_not_read_are_kept_on_resuming(path: Path, lines_read: int) -> None:
    add(path, 1, 2, 3)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"half')
    with RecordFile(path) as file:
        list(islice(file.lines, lines_read))
        assert file.resume() == len(b'{"half')
        file.append(b"{}\n")
    assert path.read_bytes() == whole + b"{}\n"


def test_two_commands_do_not_write_at_once(path: Path) -> None:
    with RecordFile(path), pytest.raises(InputError) as refused:
        RecordFile(path)
    assert str(refused.value) == (
        f"{path}: another command is writing to it; wait for it to end, or give another file"
    )
    RecordFile(path).close()


def test_where_no_file_can_be_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be written \(it is not a file\)"):
        RecordFile(tmp_path)
    with pytest.raises(InputError, match=r"r\.jsonl: cannot be written \(No such file"):
        RecordFile(tmp_path / "nowhere" / "r.jsonl")
    with pytest.raises(InputError, match=r": cannot be read \(Is a directory\)$"):
        list(RecordLines(tmp_path))
    with pytest.raises(FileNotFoundError):
        list(RecordLines(tmp_path / "nowhere"))


def test_lines_are_forced_onto_the_disk_after_a_while_and_at_the_end(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda file: synced.append(os.fstat(file).st_size))
    with RecordFile(path) as file:
        file.resume()
        file.append(b"{}\n")
        monkeypatch.setattr(record_file, "_SYNC_SECONDS", 0)
        file.append(b"{}\n")
        assert synced == [6]
    assert synced == [6, 6]


def test_a_disk_that_does_not_take_the_last_lines_is_told_of(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    file = RecordFile(path)
    file.resume()
    file.append(b"{}\n")
    monkeypatch.setattr(os, "fsync", full)

    with pytest.raises(ConfigurationError, match=os.strerror(errno.ENOSPC)):
        file.close()


@pytest.mark.parametrize(
    ("number", "remedy"),
    [(errno.ENOSPC, "free up space there"), (errno.EIO, "remove the cause")],
)
def test_a_failed_write_names_its_own_cause(
    path: Path, monkeypatch: pytest.MonkeyPatch, number: int, remedy: str
) -> None:
    def failing(file: object, line: bytes) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(record_file, "_write", failing)
    with RecordFile(path) as file:
        file.resume()
        with pytest.raises(ConfigurationError) as refused:
            file.append(b"{}\n")

    assert f"({os.strerror(number)}); {remedy}, and run the same" in str(refused.value)


def test_a_value_is_one_line_whatever_it_holds() -> None:
    value = {"text": "un phare\u2028 \ud83d à\néclats"}
    for escape in (True, False):
        line = json_line(value, escape=escape)
        assert line.count(b"\n") == 1
        assert json.loads(line) == value
        assert line.isascii() == escape
    assert json_line(value) == json_line(value, escape=True)
    with pytest.raises(ValueError, match="JSON compliant"):
        json_line(float("nan"))


def test_half_a_line_in_a_shared_file_is_closed_off(path: Path) -> None:
    append_line(path, b'{"a": 1}\n')
    with path.open("ab") as file:
        file.write(b'{"half')
    append_line(path, b'{"b": 2}\n')
    assert path.read_bytes() == b'{"a": 1}\n{"half\n{"b": 2}\n'


def test_a_line_that_cannot_be_written_is_taken_off_again(path: Path) -> None:
    path.write_bytes(b'{"half')
    with no_room(100), pytest.raises(OSError, match=os.strerror(errno.EFBIG)):
        append_line(path, b'{"b": 2}\n' * 10_000)
    assert path.read_bytes() == b'{"half'


def _add_lines(path: Path, writer: int) -> None:
    for number in range(_LINES):
        append_line(path, json_line([writer, number, "x" * 10_000]))


def test_writers_that_race_leave_no_blank_line_and_none_within_another(path: Path) -> None:
    path.write_bytes(b'{"half')
    spawning = multiprocessing.get_context("forkserver")
    writers = [spawning.Process(target=_add_lines, args=(path, n)) for n in range(_WRITERS)]
    for process in writers:
        process.start()
    for process in writers:
        process.join(60)

    half, *lines = path.read_bytes().splitlines()
    assert half == b'{"half'
    found = [tuple(json.loads(line)[:2]) for line in lines]
    assert sorted(found) == [(w, n) for w in range(_WRITERS) for n in range(_LINES)]
