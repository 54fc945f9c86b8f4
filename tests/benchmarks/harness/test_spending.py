"""The store of what the calls of a run cost."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from conflictscore.benchmarks.harness.spending import Spending
from conflictscore.errors import ConfigurationError
from conflictscore.records import Usage

_CALL = Usage(calls=1, input_tokens=1200, cache_read_tokens=1024, output_tokens=9)


def test_calls_are_added_up_by_step_and_model_across_sessions(tmp_path: Path) -> None:
    path, place = tmp_path / "spent.sqlite", ("one", "loop", "k")
    with closing(Spending(path)) as first, first.at(place):
        first.add("model-a", _CALL)
        first.add("model-b", _CALL)
    with closing(Spending(path)) as second:
        second.add("model-a", Usage(cached_calls=1))
        assert second.total() == {"model-a": _CALL + Usage(cached_calls=1), "model-b": _CALL}
        assert second.of(place, {"model-a": _CALL}) == {"model-a": Usage(), "model-b": _CALL}


@pytest.mark.parametrize("kept", [0, 4096])
def test_a_damaged_file_is_one_line_and_never_begins_again_at_nothing(
    tmp_path: Path, kept: int
) -> None:
    path = tmp_path / "spent.sqlite"
    with closing(Spending(path)) as spending:
        for number in range(200):
            with spending.at(("one", "loop", f"{number}")):
                spending.add("model", _CALL)
    whole = path.read_bytes()
    path.write_bytes(whole[:kept] + b"\xff" * (len(whole) - kept))

    with pytest.raises(ConfigurationError, match=r"spent\.sqlite: cannot be used .*put back"):
        Spending(path).total()


def test_a_file_from_before_the_prompt_cache_was_counted_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "spent.sqlite"
    with closing(sqlite3.connect(path)) as earlier, earlier:
        earlier.execute(
            "CREATE TABLE spent (question TEXT NOT NULL, step TEXT NOT NULL, key TEXT NOT NULL,"
            " model TEXT NOT NULL, calls INTEGER NOT NULL, cached_calls INTEGER NOT NULL,"
            " input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL)"
        )
        earlier.execute("INSERT INTO spent VALUES ('one', 'loop', 'k', 'model', 2, 1, 30, 4)")
    before = Usage(calls=2, cached_calls=1, input_tokens=30, output_tokens=4)
    for sessions in range(2):
        with closing(Spending(path)) as spending:
            assert spending.total() == {"model": sum([_CALL] * sessions, before)}
            spending.add("model", _CALL)
