"""Odd settings and plugged-in parts: nothing about them is ignored silently."""

import asyncio
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.retrievers import BaseRetriever

from conflictscore.benchmarks.harness import session
from conflictscore.benchmarks.harness.outcome import BenchmarkRun
from conflictscore.benchmarks.harness.records import Question
from conflictscore.benchmarks.running import run_benchmark
from conflictscore.errors import ConfigurationError, InputError
from conflictscore.graph.create import run_context
from conflictscore.retrieval.recording import RecordedRetriever, record_questions
from tests.benchmarks.harness.quiz import RIGHT, WRONG, Quiz, changed, lamps, run_quiz, told
from tests.fakes.openai_server import OpenAIServer
from tests.talking import Shelf
from tests.world import scripted_model


class Cancelling(BaseRetriever):
    """Gives up like a library whose own deadline has passed."""

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        raise asyncio.CancelledError


async def test_a_retriever_that_cancels_itself_fails_its_question_and_no_worker(
    tmp_path: Path,
) -> None:
    bare = changed(lamps(4), lambda _: ())
    run = await run_quiz(tmp_path / "run", Quiz(), bare, retriever=Cancelling())
    assert (run.figures.ended, run.figures.failed) == (4, 4)


async def test_half_a_character_in_a_reply_ends_no_run_and_no_resumption(tmp_path: Path) -> None:
    quiz = Quiz(failing={("generate", 0): f"{told(0, WRONG)} \ud83d"})
    records, benchmark = tmp_path / "run/records.jsonl", lamps(2, free_form=True)
    with OpenAIServer(quiz) as server:
        run = await run_quiz(tmp_path / "run", server, benchmark)
        # as left by a version that kept the lone surrogate, killed before the last grade
        kept = records.read_text().replace("\\ufffd", "\\ud83d").splitlines(keepends=True)
        records.write_text("".join(kept[:-1]))
        resumed = await run_quiz(tmp_path / "run", server, benchmark)
    assert (run.figures.failed, resumed.figures.failed) == (0, 0)
    first = resumed.results[0].methods["rag"]
    assert first.answer is not None
    assert first.answer.text == f"{told(0, WRONG)} \ufffd"
    assert first.value("truthful") is False


@pytest.mark.parametrize(
    ("field", "step"), [('"documents":', "documents"), ('"attempts":', "loop")]
)
async def test_a_damaged_value_ends_a_resumed_run_with_one_clear_line(
    field: str, step: str, tmp_path: Path
) -> None:
    records = tmp_path / "run/records.jsonl"
    with OpenAIServer(Quiz()) as server:
        await run_quiz(tmp_path / "run", server, lamps(1))
        records.write_text(records.read_text().replace(field, '"lost":'))
        with pytest.raises(InputError, match=f"step {step}: .* edited; start a new run"):
            await run_quiz(tmp_path / "run", server, lamps(1))


async def test_records_tell_which_of_two_steps_in_one_second_is_newer(tmp_path: Path) -> None:
    with OpenAIServer(Quiz()) as server:
        await run_quiz(tmp_path / "run", server, lamps(2))
    rows = (tmp_path / "run/records.jsonl").read_text().splitlines()
    times = [json.loads(row)["time"] for row in rows]
    assert len(set(times)) == len(times)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"benchmark": "truthfulqa"}, "truthfulqa needs data"),
        ({"data": "q.csv"}, "data and form apply only to a benchmark given by name"),
        ({"form": "mc2"}, "data and form apply only to a benchmark given by name"),
        ({"missing": "skipp"}, "missing is 'skipp'; give fail or skip"),
        ({"methods": "rag"}, "methods is the string 'rag'; give a list of names"),
    ],
)
def test_a_wrong_argument_is_named_before_a_folder_is_made(
    tmp_path: Path, wrong: dict[str, Any], said: str
) -> None:
    given: dict[str, Any] = {"benchmark": lamps(1), "folder": tmp_path / "run", **wrong}
    with pytest.raises(InputError, match=said):
        run_benchmark(**given)
    assert not (tmp_path / "run").exists()


def recording(folder: Path, name: str, *texts: str) -> Path:
    """A recording with these documents for each of two questions."""
    path = folder / name
    shelf = Shelf(found=[{"text": text} for text in texts])
    asked = [question.question for question in lamps(2).questions]
    parameters = {"top_k": 3, "read_pages": False}
    asyncio.run(record_questions(asked, shelf, path, search="shelf", parameters=parameters))
    return path


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        (("b.jsonl", 3), "hashes.recording"),
        (("a.jsonl", 2), r"configuration.retrieval.retriever.settings.k was 3 and is now 2"),
    ],
)
def test_a_run_is_not_resumed_with_another_recording_or_number_of_documents(
    tmp_path: Path, other: tuple[str, int], difference: str
) -> None:
    recording(tmp_path, "a.jsonl", told(0, WRONG), told(0, RIGHT), told(1, RIGHT))
    recording(tmp_path, "b.jsonl", told(1, RIGHT), told(1, WRONG), told(0, WRONG))
    bare = changed(lamps(2), lambda _: ())

    def run(name: str, k: int, model: BaseChatModel) -> BenchmarkRun:
        return run_benchmark(
            bare,
            tmp_path / "run",
            model=model,
            retriever=RecordedRetriever.from_file(tmp_path / name, k=k),
            methods=["rag"],
            labeler="choice",
            cache=False,
        )

    with OpenAIServer(Quiz()) as server:
        model = scripted_model(server)
        assert run("a.jsonl", 3, model).figures.ended == 2
        with pytest.raises(InputError, match=f"other settings.*{difference}"):
            run(*other, model)
        assert run("a.jsonl", 3, model).figures.ended == 2


@pytest.mark.parametrize("query", ["SECRET", "key=SECRET", "&key=SECRET", "%53ECRET", "a&b=SECRET"])
async def test_a_failure_tells_no_query_string_of_an_address(query: str) -> None:
    async def refused() -> dict[str, Any]:
        raise OSError(f"403 for url https://search.test/find?{query} (is it down? yes)")

    outcome = await session._outcome_of(refused)

    assert outcome.error == "OSError: 403 for url https://search.test/find?... (is it down? yes)"


async def test_a_missing_retriever_ends_the_session_and_fails_no_single_question() -> None:
    question = Question(id="1", question="When was the lamp lit?")
    with OpenAIServer(Quiz()) as server:
        context = run_context(scripted_model(server), None, cache=False)
    work = partial(session._documents, context, question)
    with pytest.raises(ConfigurationError, match="needs a retriever"):
        await session._outcome_of(work)
