"""A benchmark run: methods that share their first answer, resume, budgets, failures."""

from functools import partial
from pathlib import Path

import pytest

from conflictscore.benchmarks.harness.methods.registry import DOCUMENTS
from conflictscore.benchmarks.harness.store import RunStore
from conflictscore.errors import ConfigurationError, InputError
from conflictscore.retrieval.recording import RecordedRetriever, record_questions
from tests.benchmarks.harness.quiz import RIGHT, WRONG, Quiz, changed, lamps, run_quiz
from tests.fakes.openai_server import Fault, OpenAIServer
from tests.talking import Shelf


async def test_the_methods_share_one_first_answer_and_are_paired_by_it(tmp_path: Path) -> None:
    quiz = Quiz(first={1: RIGHT}, second={1: WRONG, 2: WRONG})
    run = await run_quiz(tmp_path / "run", quiz, lamps(3))
    paired = {p.method: p for p in run.figures.paired}
    again = paired["regenerated-rag"]
    assert (again.corrected, again.harmed, again.both_wrong) == (1, 1, 1)
    assert quiz.asked["generate"] == 6, "a first answer and a control for each"
    assert all(record.error is None for record in RunStore.read(tmp_path / "run").records())
    assert run.figures.ended == 3


async def test_a_free_form_answer_is_judged_once_for_all_methods_that_gave_it(
    tmp_path: Path,
) -> None:
    quiz = Quiz(second={1: WRONG})
    run = await run_quiz(tmp_path / "run", quiz, lamps(2, free_form=True))
    # lamp 0 changes its answer, lamp 1 does not
    assert (quiz.by_lamp["truthful", 0], quiz.by_lamp["truthful", 1]) == (2, 1)
    assert quiz.by_lamp["helpful", 0] == 2
    rag, again = (run.results[0].methods[m] for m in ("rag", "regenerated-rag"))
    assert (rag.value("truthful"), again.value("truthful")) == (False, True)
    assert run.figures.measures == ("truthful", "informative")


async def test_a_failing_model_fails_its_question_and_the_run_goes_on(tmp_path: Path) -> None:
    fault = Fault(status=500, message="out of order")
    quiz = Quiz(failing={("generate", 1): fault})
    with OpenAIServer(quiz) as server:
        run = await run_quiz(tmp_path / "run", server, lamps(3))
        assert run.figures.failed == 1
        failed = run.results[1].methods["guarded-rag"]
        assert failed.answer is None
        assert "HTTP 500" in str(failed.error)
        assert run.figures.methods[0].measures["accuracy"].n == 2

        before = quiz.asked.total()
        again = await run_quiz(tmp_path / "run", server, lamps(3))
        assert quiz.asked.total() == before, "a failure stays one until it is tried again"
        assert again.figures.failed == 1

        quiz.failing.clear()
        tried = await run_quiz(tmp_path / "run", server, lamps(3), retry_failed=True)
        assert tried.figures.failed == 0
        assert quiz.by_lamp["generate", 0] == 2, "what succeeded is not asked again"


async def test_labels_and_second_answers_that_faults_took_are_taken_up_again_and_nothing_else(
    tmp_path: Path,
) -> None:
    fault = Fault(status=500, message="out of order")
    quiz = Quiz(failing={("choice", 0): fault, ("regenerate", 1): fault})
    with OpenAIServer(quiz) as server:
        methods = ("rag", "regenerated-rag")
        ask = partial(run_quiz, tmp_path / "run", server, lamps(3), methods=methods)
        run = await ask()
        quiz.failing.clear()
        again = await ask()
        tried = await ask(retry_failed=True)
    broken = run.results[1].methods
    assert broken["rag"].answer is not None
    assert "HTTP 500" in str(broken["regenerated-rag"].error)
    transitions = run.figures.transitions[0]
    assert (transitions.conflict, transitions.failed, transitions.revised.count) == (2, 1, 1)
    assert run.figures.coverage.value == again.figures.coverage.value == pytest.approx(2 / 3)
    assert (tried.figures.coverage.value, tried.figures.failed) == (1, 0)
    assert tried.figures.transitions[0].revised.count == 3
    assert [quiz.by_lamp["generate", lamp] for lamp in range(3)] == [1] * 3


async def test_a_wrong_key_ends_the_run_at_once(tmp_path: Path) -> None:
    quiz = Quiz()
    with (
        OpenAIServer(quiz, api_key="another") as server,
        pytest.raises(ConfigurationError, match="refused the key"),
    ):
        await run_quiz(tmp_path / "run", server, lamps(3))
    records = RunStore.read(tmp_path / "run").records()
    assert {record.step for record in records} <= {DOCUMENTS}


async def test_questions_that_a_recording_lacks_are_named_or_left_out(tmp_path: Path) -> None:
    recording = tmp_path / "recorded.jsonl"
    parameters = {"top_k": 3, "read_pages": False}
    asked = ["When was lamp 0 lit?"]
    await record_questions(asked, Shelf(), recording, search="shelf", parameters=parameters)
    retriever = RecordedRetriever.from_file(recording)
    benchmark = changed(lamps(2), lambda _: ())
    with OpenAIServer(Quiz()) as server:
        ask = partial(run_quiz, tmp_path / "run", server, benchmark, retriever=retriever)
        with pytest.raises(InputError, match=r"1 of 2 questions are not recorded \('When was"):
            await ask()
        run = await ask(missing="skip", methods=("rag",))
    assert [result.question.id for result in run.results] == ["lamp-0"]
    assert any("not in the recording: 1" in note for note in run.notes)


async def test_the_papers_method_is_asked_and_charged_for_the_papers_steps_alone(
    tmp_path: Path,
) -> None:
    benchmark, paper = lamps(3, free_form=True), ("rag", "control-rag", "regenerated-rag")
    with OpenAIServer(alone := Quiz()) as server:
        run = await run_quiz(tmp_path / "paper", server, benchmark, methods=paper)
    with OpenAIServer(guarding := Quiz()) as server:
        guarded = await run_quiz(
            tmp_path / "guarded", server, benchmark, methods=(*paper, "guarded-rag")
        )
    # only the guard needs the second answers' claims and labels, and the reason for each
    assert (alone.asked["decompose"], guarding.asked["decompose"]) == (3, 6)
    assert (alone.asked["justify"], guarding.asked["justify"]) == (0, 3)
    spent, other = (r.figures.cost.tokens_per_net_correction for r in (run, guarded))
    assert spent["regenerated-rag"] == other["regenerated-rag"]
    assert (other["guarded-rag"] or 0) > (other["regenerated-rag"] or 0)
    assert [result.flipped("regenerated-rag") for result in run.results] == [True] * 3
    assert all(r.methods["regenerated-rag"].report is None for r in run.results)
