"""Runs with methods other than the paper's: by strategy, from fewer documents, in place."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from conflictscore.benchmarks.harness.conflict_types import ConflictType
from conflictscore.benchmarks.harness.methods.controls import _resampled
from conflictscore.benchmarks.harness.methods.method_opening import method_of
from conflictscore.benchmarks.harness.methods.registry import COMMON_METHODS, METHODS
from conflictscore.benchmarks.harness.outcome import BenchmarkRun
from conflictscore.benchmarks.harness.store import RunStore
from conflictscore.benchmarks.harness.transcript_files import read_transcript, session_files
from conflictscore.errors import InputError
from tests.benchmarks.harness.dry import named
from tests.benchmarks.harness.quiz import RIGHT, WRONG, Quiz, lamps, run_quiz, told
from tests.fakes.openai_server import Fault, OpenAIServer, Reply

OUTDATED, MISINFORMATION = ConflictType.OUTDATED, ConflictType.MISINFORMATION
STRATEGIES = ("rag", "pipeline", "taxonomy-aware", "oracle")

free = partial(lamps, free_form=True)


def text_of(run: BenchmarkRun, method: str, question: int = 0) -> str | None:
    answer = run.results[question].methods[method].answer
    return None if answer is None else answer.text


def value_of(folder: Path, step: str) -> dict[str, Any]:
    records = RunStore.read(folder).records()
    ordered = sorted(records, key=lambda record: record.question)  # questions end in any order
    return next(record.value or {} for record in ordered if record.step == step)


def test_every_method_is_the_object_that_its_line_in_the_registry_names() -> None:
    assert [method_of(name).name for name in METHODS] == list(METHODS)
    for name, entry in METHODS.items():
        method = method_of(name)
        assert method.step == (entry.step or name)


class TestStrategies:
    async def test_without_a_type_it_answers_plainly_until_it_is_tried_again(
        self, tmp_path: Path
    ) -> None:
        quiz = Quiz(failing={("classify", 0): "Hard to say."})
        with OpenAIServer(quiz) as server:
            again = partial(run_quiz, tmp_path / "run", server, free(1))
            run = await again(methods=("rag", "pipeline"))
            assert run.results[0].predicted == {"pipeline": None}
            assert text_of(run, "pipeline") == f"{told(0, WRONG)} [1]"
            [note] = value_of(tmp_path / "run", "pipeline")["notes"]
            assert "without a conflict type" in note
            quiz.failing.clear()
            tried = await again(methods=("rag", "pipeline"), retry_failed=True)
        assert tried.results[0].predicted == {"pipeline": OUTDATED}
        assert quiz.by_lamp["generate", 0] == 1

    async def test_each_tells_or_is_told_the_type_and_cites(self, tmp_path: Path) -> None:
        quiz = Quiz(kinds={0: "misinformation"})
        run = await run_quiz(tmp_path / "run", quiz, free(1), methods=STRATEGIES)
        [result] = run.results
        assert result.predicted == {"pipeline": MISINFORMATION, "taxonomy-aware": MISINFORMATION}
        assert text_of(run, "pipeline") == f"{told(0, RIGHT)} [2]"
        assert text_of(run, "taxonomy-aware") == f"{told(0, RIGHT)} [2][3]"
        typed = quiz.prompts["cite"]
        assert ["relate: misinformation" in p for p in typed] == [True, False]
        assert "relate: outdated" in typed[1], "only the oracle hears what people told"
        assert value_of(tmp_path / "run", "oracle")["conflict_type"] == "outdated"
        assert {t.method for t in run.figures.types} == {"pipeline", "taxonomy-aware"}
        assert {p.method: p.corrected for p in run.figures.paired if p.measure == "truthful"} == {
            "pipeline": 1,
            "taxonomy-aware": 1,
            "oracle": 1,
        }


class TestRevised:
    async def test_a_disputed_answer_is_corrected_in_place_and_a_right_one_stays(
        self, tmp_path: Path
    ) -> None:
        quiz = Quiz(first={1: RIGHT})
        run = await run_quiz(tmp_path / "run", quiz, free(2), methods=("rag", "revised-rag"))
        assert [text_of(run, "revised-rag", n) for n in (0, 1)] == [told(n, RIGHT) for n in (0, 1)]
        moved = {p.method: (p.corrected, p.harmed) for p in run.figures.paired[::2]}
        assert moved == {"revised-rag": (1, 0)}
        [flip] = value_of(tmp_path / "run", "revised-rag")["changes"]
        assert flip["before"] == told(0, WRONG)

    async def test_what_began_with_a_loop_that_was_taken_again_is_taken_again(
        self, tmp_path: Path
    ) -> None:
        quiz = Quiz(failing={("decompose", 0): Fault(status=500, message="out of order")})
        with OpenAIServer(quiz) as server:
            again = partial(run_quiz, tmp_path / "run", server, free(2))
            run = await again(methods=("rag", "revised-rag"))
            assert run.results[0].conflict is None
            assert text_of(run, "revised-rag") == told(0, WRONG)
            quiz.failing.clear()
            tried = await again(methods=("rag", "revised-rag"), retry_failed=True)
        assert tried.results[0].conflict is True
        assert text_of(tried, "revised-rag") == told(0, RIGHT)


class TestDebate:
    @pytest.mark.parametrize(
        ("again", "rounds", "sums", "looks"),
        [
            (None, 2, 1, 3),
            ("**Keep**\nIt stands.", 2, 1, 3),
            (told(0, RIGHT), 3, 2, 3 + 1),  # two readers gave it, and are asked again
        ],
    )
    async def test_readers_of_a_document_each_are_summed_up_until_none_changes_its_mind(
        self, tmp_path: Path, again: str | None, rounds: int, sums: int, looks: int
    ) -> None:
        quiz = Quiz(failing={("read again", 0): again} if again else {})
        run = await run_quiz(tmp_path / "run", quiz, free(1), methods=("rag", "madam-rag"))
        assert text_of(run, "madam-rag") == told(0, RIGHT)
        assert value_of(tmp_path / "run", "madam-rag")["rounds"] == rounds
        assert (quiz.by_lamp["alone", 0], quiz.by_lamp["sum up", 0]) == (3, sums)
        assert quiz.by_lamp["read again", 0] == looks
        [summed, *_] = [p for p in quiz.prompts["generate"] if "Sum up the discussion" in p]
        assert summed.count("<document ") == 3
        assert "The keeper of lamp 0" not in summed, "only what the readers said is summed up"


class TestUnfinished:
    async def test_an_answer_that_does_not_say_how_it_ended_gets_a_note(
        self, tmp_path: Path
    ) -> None:
        said = {
            "generate": told(0, WRONG),
            "unaided": "I do not know when it was lit.",
            "regenerate": told(0, RIGHT),
            "cite": f"{told(0, WRONG)} [1]",
            "typed cite": f"{told(0, RIGHT)} [2]",
            "sum up": told(0, RIGHT),
        }
        failing: dict[tuple[str, int], Fault | Reply | str] = {
            (step, 0): Reply(text, finish_reason="") for step, text in said.items()
        }
        names = ("rag", "control-rag", "resample", "placebo", "oracle", "madam-rag")
        run = await run_quiz(tmp_path / "run", Quiz(failing=failing), free(1), methods=names)
        assert all(text_of(run, name) for name in names)
        for name in ("loop", *names[1:]):
            notes = value_of(tmp_path / "run", name)["notes"]
            incomplete = [note for note in notes if "may be incomplete" in note]
            assert incomplete, name
            assert all(note.endswith("without a finish reason") for note in incomplete)


class TestRefused:
    @pytest.mark.parametrize(
        ("method", "lacking", "why"),
        [
            (
                "oracle",
                lambda _: {"conflict_type": None},
                "oracle needs an annotated conflict type",
            ),
            ("second-document", lambda found: {"documents": found[:1]}, "needs a second document"),
        ],
    )
    async def test_a_method_that_lacks_what_it_needs_fails_alone(
        self, tmp_path: Path, method: str, lacking: Callable[[Any], dict[str, Any]], why: str
    ) -> None:
        benchmark = free(1)
        [question] = benchmark.questions
        bare = replace(
            benchmark, questions=(question.model_copy(update=lacking(question.documents)),)
        )
        methods = ("rag", "no-documents", "first-document", method)
        run = await run_quiz(tmp_path / "run", Quiz(), bare, methods=methods)
        failed = {name: r.error for name, r in run.results[0].methods.items() if r.error}
        assert list(failed) == [method]
        assert why in str(failed[method])
        assert run.stopped is None

    async def test_a_method_that_a_benchmark_does_not_offer_is_refused(
        self, tmp_path: Path
    ) -> None:
        quiz, without = Quiz(), replace(free(1), offered=COMMON_METHODS)
        with pytest.raises(InputError, match="lamps does not offer oracle; choose from rag,"):
            await run_quiz(tmp_path / "run", quiz, without, methods=("rag", "oracle"))
        assert quiz.asked.total() == 0
        assert not (tmp_path / "run").exists()


class TestControls:
    """Controls: asking twice without the evidence of a conflict."""

    METHODS = ("rag", "control-rag", "regenerated-rag", "resample", "placebo")

    async def test_they_act_where_regenerated_rag_does_and_are_paired_with_it(
        self, tmp_path: Path
    ) -> None:
        quiz = Quiz(second={1: WRONG})
        run = await run_quiz(tmp_path / "run", quiz, lamps(3), methods=self.METHODS)
        pairs = {(pair.method, pair.against): pair for pair in run.figures.compared}
        assert set(pairs) == {
            ("regenerated-rag", other) for other in ("control-rag", "resample", "placebo")
        }
        # the quiz's model replies alike to equal prompts, so only the prompt makes it look again
        assert pairs["regenerated-rag", "resample"].corrected == 2
        assert pairs["regenerated-rag", "placebo"].corrected == 0
        assert quiz.by_lamp["generate", 0] == 3, "first, control and once more"

    @pytest.mark.parametrize("control", ["resample", "placebo"])
    async def test_they_need_no_other_second_look_in_the_run(
        self, control: str, tmp_path: Path
    ) -> None:
        quiz = Quiz()
        run = await run_quiz(tmp_path / "run", quiz, lamps(2), methods=("rag", control))
        assert [result.conflict for result in run.results] == [True, True]
        answers = [
            quiz.by_lamp[step, lamp] for step in ("generate", "regenerate") for lamp in (0, 1)
        ]
        assert sum(answers) == 4, "a first and a second answer to each question"

    def test_the_second_samples_of_repeated_runs_have_cache_keys_of_their_own(self) -> None:
        # a model without a seed differs between the runs of a study only by the sample's number
        repeated = [
            named(parameters={"sample": number} if number else {}) for number in (None, 3, 5)
        ]
        keys = [json.dumps(_resampled(model).identity) for model in repeated]
        assert len({*keys, *(json.dumps(model.identity) for model in repeated)}) == 6
        assert '"sample": "again"' in keys[0]

    async def test_without_a_disputed_claim_nothing_is_asked_again(self, tmp_path: Path) -> None:
        quiz = Quiz()
        agreeing = lamps(2, disagreeing=False)
        run = await run_quiz(tmp_path / "run", quiz, agreeing, methods=self.METHODS)
        assert quiz.asked["generate"] == 4, "a first answer and a control for each"
        for result in run.results:
            assert result.flipped("resample") is False
            assert result.flipped("placebo") is False

    async def test_the_placebo_shows_no_evidence_and_all_else_of_the_second_look(
        self, tmp_path: Path
    ) -> None:
        await run_quiz(tmp_path / "run", Quiz(), lamps(1), methods=self.METHODS)
        prompts = {
            call["step"]: call["messages"][0]["content"]
            for path in session_files(tmp_path / "run")
            for call in read_transcript(path)
            if "A check of that" in call["messages"][0]["content"]
        }
        real, placebo = prompts["loop"].splitlines(), prompts["placebo"].splitlines()
        left_out = [line for line in real if line not in placebo]
        assert left_out
        assert all("keeper of lamp 0 says" in line for line in left_out)
