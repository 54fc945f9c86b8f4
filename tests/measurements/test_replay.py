"""The benchmark of recorded searches runs, and would notice a replay that is not one."""

import socket

import pytest
from click.testing import CliRunner
from langchain_core.documents import Document

from conflictscore.retrieval.recording.replay import RecordedRetriever
from measurements import replay


def test_a_replay_is_identical_and_calls_nobody() -> None:
    shown = CliRunner().invoke(replay.main, ["--questions", "3"])

    assert shown.exit_code == 0, shown.output
    assert "identical documents      3/3\n" in shown.stdout
    assert "network calls on replay  0\n" in shown.stdout


def test_a_replay_that_differs_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    search = RecordedRetriever.search

    def turned(self: RecordedRetriever, query: str, k: int) -> list[Document]:
        return search(self, query, k)[:: -1 if query.endswith("1?") else 1]

    monkeypatch.setattr(RecordedRetriever, "search", turned)
    shown = CliRunner().invoke(replay.main, ["--questions", "3"])

    assert shown.exit_code == 1
    assert "identical documents      2/3\n" in shown.stdout
    assert "network calls on replay  0\n" in shown.stdout


def test_a_replay_that_calls_somebody_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    search = RecordedRetriever.search

    def calling(self: RecordedRetriever, query: str, k: int) -> list[Document]:
        with socket.socket() as caller, pytest.raises(OSError, match="no network during"):
            caller.connect(("127.0.0.1", 9))
        return search(self, query, k)

    monkeypatch.setattr(RecordedRetriever, "search", calling)
    shown = CliRunner().invoke(replay.main, ["--questions", "3"])

    assert shown.exit_code == 1
    assert "identical documents      3/3\n" in shown.stdout
    assert "network calls on replay  3\n" in shown.stdout
