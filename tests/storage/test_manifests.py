"""Differences between two manifests, and tables in a file."""

from pathlib import Path
from typing import Any

import pytest

from conflictscore.errors import ConfigurationError
from conflictscore.storage.database import SQLiteTables, storable
from conflictscore.storage.manifests import differences

LONG = "a" * 60


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ({"a": 1, "b": "x"}, {"b": "x", "a": 2}, ["a was 1 and is now 2"]),
        ({"a": {"b": {"c": 1.5}}}, {"a": {"b": {"c": None}}}, ["a.b.c was 1.5 and is now null"]),
        ({"a": 1}, {"b": "é"}, ["a was 1 and is now missing", 'b was missing and is now "é"']),
        (
            {"a": {}},
            {"a": {"b": 1}},
            ["a was {} and is now missing", "a.b was missing and is now 1"],
        ),
        ({"a": [1, 2]}, {"a": [1, 3]}, ["a was [1, 2] and is now [1, 3]"]),
        (
            {"a": LONG + "1"},
            {"a": LONG + "2"},
            ['a was ...aaaaaaaaaa1" and is now ...aaaaaaaaaa2"'],
        ),
        (
            {"a": "1" + LONG},
            {"a": "2" + LONG},
            [f'a was "1{"a" * 38}... and is now "2{"a" * 38}...'],
        ),
        ({"a": "b" * 39}, {"a": "a" * 38}, [f'a was "{"b" * 39}... and is now "{"a" * 38}"']),
    ],
)
def test_a_difference_is_one_line_that_shows_both_sides(
    old: dict[str, Any], new: dict[str, Any], lines: list[str]
) -> None:
    assert differences(old, new) == lines


# Tables in a file of their own


def unusable(error: Exception) -> ConfigurationError:
    return ConfigurationError(f"the tables cannot be used ({type(error).__name__})")


def test_tables_keep_what_they_are_given_and_tell_how_it_ended(tmp_path: Path) -> None:
    path = tmp_path / "tables.sqlite"
    tables, told = SQLiteTables(path, unusable=unusable), list[Any]()
    tables.make("CREATE TABLE IF NOT EXISTS a (x)", "CREATE TABLE IF NOT EXISTS b (x)")

    tables.execute("INSERT INTO a VALUES ($1)", "one")
    tables.later("INSERT INTO b VALUES ($1)", "two", on_done=told.append)
    tables.later("INSERT INTO nowhere VALUES ($1)", "three", on_done=told.append)

    assert tables.execute("SELECT x FROM a") == [("one",)]
    [fine, failed] = told
    assert fine is None
    assert str(failed) == "the tables cannot be used (OperationalError)"
    tables.close()
    again = SQLiteTables(path, unusable=unusable)
    assert again.execute("SELECT x FROM b WHERE x = $1", "two") == [("two",)]
    assert not again.remote
    listed = again.each.format("$1")
    assert again.execute(listed, '["u", "v"]') == [("u",), ("v",)]
    again.close()


def test_what_hears_of_a_statement_may_run_further_ones(tmp_path: Path) -> None:
    path = tmp_path / "tables.sqlite"
    tables, heard = SQLiteTables(path, unusable=unusable), list[Any]()
    tables.make("CREATE TABLE IF NOT EXISTS a (x)")

    def go_on(error: ConfigurationError | None) -> None:
        heard.append((error, tables.execute("SELECT x FROM a")))
        tables.later("INSERT INTO a VALUES ($1)", "two", on_done=heard.append)

    tables.later("INSERT INTO a VALUES ($1)", "one", on_done=go_on)
    tables.close()

    assert heard == [(None, [("one",)]), None]
    again = SQLiteTables(path, unusable=unusable)
    assert again.execute("SELECT x FROM a") == [("one",), ("two",)]
    again.close()


def test_tables_in_memory_leave_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tables = SQLiteTables(None, unusable=unusable)
    assert tables.execute("SELECT 1") == [(1,)]
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_database_is_told_in_the_callers_words(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("these are my notes, and no table. " * 40)

    with pytest.raises(ConfigurationError, match=r"^the tables cannot be used \(DatabaseError\)$"):
        SQLiteTables(path, unusable=unusable)


def test_what_no_database_can_hold_is_replaced() -> None:
    assert storable(["a\0b", "c\ud83d", 7, 0.5, None]) == ["a b", "c?", 7, 0.5, None]
