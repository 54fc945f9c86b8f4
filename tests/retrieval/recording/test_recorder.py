"""Asking a real search many questions over loopback, and the reasons to stop."""

import asyncio
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from conflictscore.errors import ConfigurationError, InputError, QuotaError
from conflictscore.retrieval.base import TopKRetriever
from conflictscore.retrieval.recording import (
    FAILURES_IN_A_ROW,
    RecordingReport,
    record_questions,
)
from conflictscore.retrieval.search_notes import note
from tests.fakes.search_server import Received, Reply, json_reply
from tests.full_disk import no_room
from tests.retrieval.pages.finding import Found
from tests.retrieval.recording.searching import (
    PARAMETERS,
    answer,
    asked,
    lines,
    questions,
    refusing,
    searching,
)

QUOTA = json_reply({"error": "the daily quota is used up"}, 429)
BROKEN = json_reply({"error": "engine trouble"}, 500)
TOO_LONG = json_reply({"error": "the question is too long"}, 400)
LOGIN = json_reply({"error": "who are you?"}, 401)


async def record(
    wanted: list[str], retriever: Any, out: Path, concurrency: int = 1, **options: Any
) -> RecordingReport:
    """One question after another, unless a test says otherwise."""
    options = {"search": "searxng", "parameters": PARAMETERS, **options}
    return await record_questions(wanted, retriever, out, concurrency=concurrency, **options)


async def test_every_question_is_a_line_with_what_was_found_and_how(out: Path) -> None:
    with searching() as (server, retriever):
        report = await record(questions(3), retriever, out)

    assert report == RecordingReport(wanted=3, recorded=3)
    assert asked(server) == questions(3)
    assert [line["question"] for line in lines(out)] == questions(3)
    first = lines(out)[0]
    assert (first["search"], first["parameters"], first["notes"]) == ("searxng", PARAMETERS, [])
    assert [result["rank"] for result in first["results"]] == [1, 2, 3]
    assert {result["provider"] for result in first["results"]} == {"searxng"}
    assert first["results"][1]["date"] == "2024-02-01T00:00:00"
    assert first["results"][1]["text"] == "Page 2 on: Which lamp is number 0? — “lit” in 1872."


async def test_a_repeated_question_is_asked_once(out: Path) -> None:
    with searching() as (server, retriever):
        report = await record(["A?", " A? ", "B?", "A?"], retriever, out)

    assert report == RecordingReport(wanted=2, recorded=2)
    assert asked(server) == ["A?", "B?"]


async def test_a_used_up_quota_ends_the_run_which_resumes_tomorrow(out: Path) -> None:
    wanted = questions(9)
    with searching(refusing({wanted[3]: QUOTA})) as (server, retriever):
        report = await record(wanted, retriever, out)

    assert isinstance(report.stopped, QuotaError)
    assert (report.recorded, report.left, report.failures) == (3, 6, ())
    assert asked(server) == wanted[:4]

    with searching() as (server, retriever):
        report = await record(wanted, retriever, out)

    assert report == RecordingReport(wanted=9, before=3, recorded=6)
    assert asked(server) == wanted[3:]


async def test_what_is_in_flight_when_the_quota_ends_is_recorded(out: Path) -> None:
    wanted = questions(6)
    stopped = threading.Event()

    def handler(request: Received) -> Reply:
        if request.parameters["q"] == wanted[0]:
            assert stopped.wait(30)
            return answer(request)
        return QUOTA

    def see(report: RecordingReport) -> None:
        if report.stopped:
            stopped.set()

    with searching(handler) as (server, retriever):
        report = await record(wanted, retriever, out, concurrency=2, on_progress=see)

    assert (report.recorded, report.left) == (1, 5)
    assert sorted(asked(server)) == wanted[:2]
    assert [line["question"] for line in lines(out)] == wanted[:1]


async def test_a_failed_question_is_counted_and_asked_by_the_next_run(out: Path) -> None:
    wanted = questions(4)
    with searching(refusing({wanted[1]: BROKEN, wanted[2]: TOO_LONG})) as (server, retriever):
        report = await record(wanted, retriever, out)

    assert (report.recorded, report.left, report.stopped) == (2, 2, None)
    assert [failure.question for failure in report.failures] == wanted[1:3]
    assert "engine trouble" in str(report.failures[0].error)
    assert [line["question"] for line in lines(out)] == [wanted[0], wanted[3]]
    with searching() as (server, retriever):
        report = await record(wanted, retriever, out)
    assert asked(server) == wanted[1:3]
    assert report.left == 0


async def test_a_search_that_fails_time_and_again_is_left_alone(out: Path) -> None:
    wanted = questions(20)
    sound = {1: answer, 7: answer}

    def handler(request: Received) -> Reply:
        return answer(request) if wanted.index(request.parameters["q"]) in sound else BROKEN

    with searching(handler) as (server, retriever):
        report = await record(wanted, retriever, out)

    # 0 fails, 1 is found, 2 to 6 fail
    assert asked(server) == wanted[: 2 + FAILURES_IN_A_ROW]
    assert report.stopped is report.failures[-1].error
    assert (report.recorded, len(report.failures), report.left) == (1, 1 + FAILURES_IN_A_ROW, 19)


async def test_questions_that_cannot_be_asked_do_not_count_as_failures_of_the_search(
    out: Path,
) -> None:
    wanted = questions(2 * FAILURES_IN_A_ROW)
    with searching(refusing(dict.fromkeys(wanted[:-1], TOO_LONG))) as (_, retriever):
        report = await record(wanted, retriever, out)

    assert (report.recorded, len(report.failures), report.stopped) == (1, len(wanted) - 1, None)


async def test_a_wrong_setting_ends_the_run_and_keeps_what_there_is(out: Path) -> None:
    wanted = questions(9)
    with searching(refusing(dict.fromkeys(wanted[2:], LOGIN))) as (server, retriever):
        with pytest.raises(ConfigurationError, match="user name and password"):
            await record(wanted, retriever, out)
        assert asked(server) == wanted[:3]
    assert [line["question"] for line in lines(out)] == wanted[:2]


async def test_a_cancelled_run_keeps_what_was_found_and_frees_the_file(out: Path) -> None:
    hanging = asyncio.Event()

    class Hangs(BaseRetriever):
        def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
            raise NotImplementedError

        async def _aget_relevant_documents(self, query: str, **_: Any) -> list[Document]:
            if query == "B?":
                hanging.set()
                await asyncio.Event().wait()
            return []

    run = asyncio.create_task(record(["A?", "B?", "C?"], Hangs(), out))
    await hanging.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run

    with searching() as (server, retriever):
        assert (await record(["A?", "B?", "C?"], retriever, out)).before == 1
        assert asked(server) == ["B?", "C?"]


async def test_notes_go_to_the_question_that_they_are_about(out: Path) -> None:
    class Noting(TopKRetriever):
        @property
        def notes(self) -> tuple[str, ...]:
            return ("about every question",)

        def search(self, query: str, k: int) -> list[Document]:
            both.wait(30)
            note(f"about {query} \ud83d")
            return []

    both = threading.Barrier(2)
    await record(["A?", "B?"], Noting(), out, concurrency=2)

    assert {line["question"]: line["notes"] for line in lines(out)} == {
        "A?": ["about every question", "about A? \ufffd"],
        "B?": ["about every question", "about B? \ufffd"],
    }


@pytest.mark.parametrize(
    ("search", "recorded"),
    [
        ("searxng:http://me:s3cret@host:80/s", "searxng:http://host:80/s"),
        ("searxng:https://me:s3c@ret@host", "searxng:https://host"),
        ("recorded:mail/me@home.jsonl", "recorded:mail/me@home.jsonl"),
    ],
)
async def test_a_password_is_not_recorded(out: Path, search: str, recorded: str) -> None:
    with searching() as (_, retriever):
        await record(["A?"], retriever, out, search=search)
        await record(["A?", "B?"], retriever, out, search=search)

    assert [line["search"] for line in lines(out)] == [recorded] * 2


async def test_what_cannot_be_asked_is_refused_before_anything_is(out: Path) -> None:
    with searching() as (server, retriever):
        with pytest.raises(InputError, match="a question is empty"):
            await record(["A?", " \n"], retriever, out)
        with pytest.raises(InputError, match="concurrency must be at least 1, but is 0"):
            await record(["A?"], retriever, out, concurrency=0)
        assert not server.requests


async def test_other_settings_are_refused_before_anything_is_asked(out: Path) -> None:
    with searching() as (server, retriever):
        await record(["A?"], retriever, out)
        with pytest.raises(InputError, match="top_k was 3 and is now 4"):
            await record(["B?"], retriever, out, parameters={**PARAMETERS, "top_k": 4})
        assert asked(server) == ["A?"]


async def test_parameters_are_the_same_when_they_are_read_again(out: Path) -> None:
    docs = ("a.md", os.fsdecode(b"caf\xe9.md"))  # a name that is not text
    with searching() as (_, retriever):
        for wanted in (["A?"], ["B?"]):
            await record(wanted, retriever, out, parameters={"docs": docs})

    assert [line["parameters"] for line in lines(out)] == [{"docs": ["a.md", "caf\ufffd.md"]}] * 2


@pytest.mark.parametrize("content", ["These are my notes", '{"text": "my corpus"}', "[1", "{\n"])
def test_another_file_is_neither_cut_nor_added_to(out: Path, content: str) -> None:
    out.write_text(content)
    with searching() as (_, retriever), pytest.raises(InputError, match=r"r\.jsonl, line 1: not "):
        asyncio.run(record(["A?"], retriever, out))
    assert out.read_text() == content


def test_a_file_cut_at_any_byte_keeps_its_whole_lines_and_is_resumed(out: Path) -> None:
    nothing = Found(documents=[])
    asyncio.run(record(["Où?", "B?"], nothing, out))
    whole = out.read_bytes()
    first = whole.index(b"\n") + 1
    for cut in range(len(whole) + 1):
        out.write_bytes(whole[:cut])
        report = asyncio.run(record(["Où?", "B?"], nothing, out))
        # a line that lacks only its newline is complete
        assert report.before == (cut >= first - 1) + (cut >= len(whole) - 1)
        assert [line["question"] for line in lines(out)] == ["Où?", "B?"]


def test_a_full_disk_is_one_line_and_costs_nothing_that_was_recorded(out: Path) -> None:
    with searching() as (_, retriever):
        asyncio.run(record(["A?"], retriever, out))
        content = out.read_bytes()
        with no_room(len(content) + 50), pytest.raises(InputError, match=r"File too large.*resume"):
            asyncio.run(record(["A?", "B?"], retriever, out))
        assert out.read_bytes() == content
        assert (asyncio.run(record(["A?", "B?"], retriever, out))).recorded == 1
