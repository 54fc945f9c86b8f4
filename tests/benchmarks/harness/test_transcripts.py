"""A run's folder is self-contained: it has calls, templates and how documents were found."""

import asyncio
import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from conflictscore.benchmarks.harness.outcome import read_run
from conflictscore.benchmarks.harness.transcript_files import (
    TornTranscriptError,
    read_transcript,
    session_files,
)
from conflictscore.benchmarks.harness.transcripts import TranscriptWriter
from conflictscore.cli.report import export
from conflictscore.errors import InputError
from conflictscore.models.prices import PriceTable
from conflictscore.prompts import PromptSet
from tests.benchmarks.harness.quiz import Quiz, lamps, run_quiz
from tests.fakes.openai_server import OpenAIServer


def calls_of(folder: Path) -> list[dict[str, Any]]:
    return [call for path in session_files(folder) for call in read_transcript(path)]


async def test_each_call_is_there_with_what_was_sent_and_who_replied_what(tmp_path: Path) -> None:
    quiz = Quiz()
    with OpenAIServer(quiz) as server:
        run = await run_quiz(tmp_path / "run", server, lamps(2, free_form=True))
    calls = calls_of(tmp_path / "run")
    used = run.figures.cost.usage.values()
    assert sum(not call["cached"] for call in calls) == quiz.asked.total()
    assert sum(not call["cached"] for call in calls) == sum(usage.calls for usage in used)
    assert sum(call["cached"] for call in calls) == sum(usage.cached_calls for usage in used)
    first = next(call for call in calls if call["step"] == "loop")
    assert first["question"] in ("lamp-0", "lamp-1")
    assert "When was lamp" in first["messages"][0]["content"]
    assert first["reply"]
    assert first["served"]
    assert first["parameters"]["max_tokens"] or first["parameters"]["max_completion_tokens"]
    assert not first["cached"]
    assert {call["step"] for call in calls} >= {"loop", "control-rag", "grade"}
    answers = [ended.answer for result in run.results for ended in result.methods.values()]
    graded = {call["key"] for call in calls if call["step"] == "grade"}
    assert graded == {answer.text for answer in answers if answer is not None}


async def test_no_key_and_no_path_is_in_any_file_of_a_run(tmp_path: Path) -> None:
    key = "sk-very-secret-key-of-a-test"
    with OpenAIServer(Quiz(), api_key=key) as server:
        model = ChatOpenAI(model="scripted", base_url=server.base_url, api_key=SecretStr(key))
        await run_quiz(tmp_path / "run", model, lamps(1))
    for path in (tmp_path / "run").rglob("*"):
        content = path.read_bytes() if path.is_file() else b""
        assert key.encode() not in content
        assert str(tmp_path).encode() not in content
    text = json.dumps(calls_of(tmp_path / "run"))
    assert key not in text
    assert str(tmp_path) not in text


async def test_a_resumed_run_has_a_transcript_a_session_and_replies_of_the_cache_are_marked(
    tmp_path: Path,
) -> None:
    with OpenAIServer(Quiz()) as server:
        await run_quiz(tmp_path / "run", server, lamps(1))
        (tmp_path / "run" / "records.jsonl").write_text("")
        await run_quiz(tmp_path / "run", server, lamps(1))
        await run_quiz(tmp_path / "run", server, lamps(1))
    first, second = session_files(tmp_path / "run")
    asked, again = list(read_transcript(first)), list(read_transcript(second))
    assert {call["cached"] for call in asked} == {False}
    kept = [call for call in again if call["cached"]]
    assert kept
    replies = {call["messages"][0]["content"]: call for call in asked}
    for call in kept:
        original = replies[call["messages"][0]["content"]]
        assert (call["reply"], call["served"]) == (original["reply"], original["served"])


async def test_without_transcripts_there_are_none(tmp_path: Path) -> None:
    await run_quiz(tmp_path / "run", Quiz(), lamps(1), transcripts=False)
    assert session_files(tmp_path / "run") == []
    result = CliRunner().invoke(
        export, [str(tmp_path / "run"), "--calls", str(tmp_path / "calls.jsonl")]
    )
    assert isinstance(result.exception, InputError)
    assert "no transcript" in str(result.exception)


async def test_a_folder_is_read_elsewhere_and_lists_what_it_lacks(tmp_path: Path) -> None:
    run = await run_quiz(tmp_path / "run", Quiz(), lamps(2))
    elsewhere = tmp_path / "another machine" / "run"
    shutil.copytree(tmp_path / "run", elsewhere)
    shutil.rmtree(tmp_path / "run")
    read = read_run(elsewhere, PriceTable({}))
    assert read.figures.paired == run.figures.paired
    assert read.notes == ()
    texts = json.loads((elsewhere / "templates.json").read_text())
    stored = read.manifest.configuration["prompts"]["sha256"]
    assert PromptSet(texts, name="stored").sha256 == stored

    texts.pop("multiple_choice_rag")
    (elsewhere / "templates.json").write_text(json.dumps(texts))
    [path] = session_files(elsewhere)
    whole_file = path.read_bytes()
    path.write_bytes(whole_file[:-30])
    template, torn = read_run(elsewhere, PriceTable({})).notes
    assert "a template is missing or was changed" in template
    assert "because the run was killed" in torn

    (elsewhere / "templates.json").write_text("{")
    [template, *_] = read_run(elsewhere, PriceTable({})).notes
    assert "templates.json: damaged" in template
    assert template.endswith("which prompts were sent")

    (elsewhere / "templates.json").unlink()
    path.write_bytes(whole_file)
    lines = gzip.decompress(whole_file).split(b"\n")
    path.write_bytes(gzip.compress(b"\n".join([*lines[:2], lines[2][:20], *lines[3:]])))
    _, torn_line = read_run(elsewhere, PriceTable({})).notes
    assert "line 3: damaged (not JSON)" in torn_line
    assert json.loads(lines[0])["text"], "the first line is a text to which calls refer"
    changed_text = lines[0].replace(b"document", b"Document", 1)
    assert changed_text != lines[0]
    path.write_bytes(gzip.compress(b"\n".join([changed_text, *lines[1:]])))
    _, forged = read_run(elsewhere, PriceTable({})).notes
    assert "line 1: damaged (the text was changed)" in forged

    path.write_bytes(b"not gzip")
    template, damaged = read_run(elsewhere, PriceTable({})).notes
    assert "templates.json: missing" in template
    assert template.endswith("which prompts were sent")
    assert "damaged after line 0" in damaged


def test_texts_are_kept_once_and_come_back_byte_for_byte(tmp_path: Path) -> None:
    line = "The keeper of the lamp says that it was lit in 1874, and others say so too. " * 3
    prompt = f"Answer.\n\n{line}\nshort\r\n{line}\n\u2028{line}\ud83d"
    call = {
        "question": "q",
        "step": "loop",
        "key": "",
        "parameters": "{}",
        "messages": [{"role": "human", "content": prompt}],
        "reply": "",
    }
    with TranscriptWriter(tmp_path) as writer:
        for number in range(50):
            writer.write({**call, "reply": f"reply {number}"})
    [path] = session_files(tmp_path)
    read = list(read_transcript(path))
    assert [one["reply"] for one in read] == [f"reply {n}" for n in range(50)]
    assert {one["messages"][0]["content"] for one in read} == {prompt}


def test_whatever_a_kill_leaves_is_read_up_to_the_last_whole_line(tmp_path: Path) -> None:
    call = {"question": "q", "step": "loop", "key": "", "parameters": "{}", "messages": []}
    with TranscriptWriter(tmp_path) as writer:
        for number in range(5):
            writer.write({**call, "reply": f"reply {number}"})
    [path] = session_files(tmp_path)
    whole = path.read_bytes()
    counts = set()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        calls = read_transcript(path)
        read: list[str] = []
        with pytest.raises(TornTranscriptError, match=r"session-1\.jsonl\.gz"):
            read.extend(one["reply"] for one in calls)
        assert read == [f"reply {n}" for n in range(len(read))]
        counts.add(len(read))
    assert counts == set(range(6))


async def test_every_call_is_exported_with_whole_texts(tmp_path: Path) -> None:
    await run_quiz(tmp_path / "run", Quiz(), lamps(1))
    out = tmp_path / "calls.jsonl"
    result = CliRunner().invoke(export, [str(tmp_path / "run"), "--calls", str(out)])
    assert result.exit_code == 0, result.output
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [{"run": "run", **call} for call in calls_of(tmp_path / "run")] == rows


def test_an_export_that_fails_leaves_the_earlier_file_as_it_was(tmp_path: Path) -> None:
    asyncio.run(run_quiz(tmp_path / "run", Quiz(), lamps(1)))
    out = tmp_path / "calls.jsonl"
    out.write_text("earlier\n")
    session_files(tmp_path / "run")[0].write_bytes(gzip.compress(b'{"question": "q"}\n'))
    result = CliRunner().invoke(export, [str(tmp_path / "run"), "--calls", str(out)])
    assert result.exit_code
    assert out.read_text() == "earlier\n"
    assert {path.name for path in tmp_path.iterdir()} == {"run", "calls.jsonl"}


def test_a_session_gets_a_number_of_its_own_after_an_earlier_file_was_deleted(
    tmp_path: Path,
) -> None:
    call = {"question": "q", "step": "loop", "key": "", "parameters": "{}", "messages": []}
    for _ in range(2):
        with TranscriptWriter(tmp_path) as writer:
            writer.write({**call, "reply": "a reply"})
    session_files(tmp_path)[0].unlink()
    with TranscriptWriter(tmp_path) as writer:
        writer.write({**call, "reply": "a later reply"})
    assert [path.name for path in session_files(tmp_path)] == [
        "session-2.jsonl.gz",
        "session-3.jsonl.gz",
    ]
    assert [one["reply"] for one in calls_of(tmp_path)] == ["a reply", "a later reply"]


async def test_a_copy_beside_the_transcripts_is_no_session(tmp_path: Path) -> None:
    await run_quiz(tmp_path / "run", Quiz(), lamps(1))
    [path] = session_files(tmp_path / "run")
    shutil.copy(path, path.with_name("session-1 (copy).jsonl.gz"))
    assert session_files(tmp_path / "run") == [path]
    assert read_run(tmp_path / "run", PriceTable({})).notes == ()


@pytest.mark.parametrize("line", ['{"text": "a", "is": 5}', '{"text": ["a"], "is": "b"}', "5"])
def test_a_line_of_another_form_is_damaged(line: str, tmp_path: Path) -> None:
    path = tmp_path / "session-1.jsonl.gz"
    path.write_bytes(gzip.compress(f"{line}\n".encode()))
    with pytest.raises(InputError, match="line 1: damaged"):
        list(read_transcript(path))


async def test_bytes_after_the_end_of_a_transcript_are_not_ignored(tmp_path: Path) -> None:
    await run_quiz(tmp_path / "run", Quiz(), lamps(1))
    [path] = session_files(tmp_path / "run")
    path.write_bytes(path.read_bytes() * 2)  # two sessions, joined by hand
    with pytest.raises(InputError, match="further bytes after the end"):
        list(read_transcript(path))
