from pathlib import Path

import pytest

from conflictscore.benchmarks.harness.definition import Benchmark
from conflictscore.benchmarks.harness.figures import Interval
from conflictscore.benchmarks.harness.records import Verdict
from conflictscore.benchmarks.natconfqa.benchmark import natconfqa
from conflictscore.benchmarks.natconfqa.data import Subset
from conflictscore.benchmarks.natconfqa.judges import Decomposition, Judgement
from conflictscore.benchmarks.natconfqa.metrics import MEASURES, verdicts_of
from conflictscore.errors import InputError
from tests.benchmarks.harness.dry import judge_prompts
from tests.benchmarks.harness.quiz import run_quiz
from tests.benchmarks.natconfqa.lamps import SUPPORT, WH, Lamp, row
from tests.benchmarks.truthfulqa.files import write_jsonl

ONE, BOTH = "It was lit in 1871.", "It was lit in 1871, or, which is at odds with it, in 1874."
RAG, CONTROL = "rag", "control-rag"
NEUTRAL = row(question_id="c", answer_type="Neutral", answers=[], conflicting_answer_pairs=[])


@pytest.fixture
def lamps(tmp_path: Path) -> Benchmark:
    file = write_jsonl(tmp_path / "q.jsonl", [row(), SUPPORT, NEUTRAL])
    return natconfqa(file, "free-form", 0)


def test_the_questions_are_those_with_conflicting_answers(lamps: Benchmark) -> None:
    [question] = lamps.questions
    assert question.category == Subset.WH_MIX
    assert question.documents[0]["text"].startswith("The log says")
    assert lamps.notes == (
        "questions left out: 1, because none of their answers are in conflict",
        "questions left out: 1, because their passages contain no answer",
    )


def test_a_file_without_conflicts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the file has no question with conflicting answers"):
        natconfqa(write_jsonl(tmp_path / "q.jsonl", [SUPPORT]), "free-form", 0)


async def test_the_judge_reads_the_passages_as_they_were_shown(lamps: Benchmark) -> None:
    [whole] = lamps.questions
    cut = whole.model_copy(update={"documents": ({"text": "The log says 1871."},)})
    said = {
        shown: "\n".join(await judge_prompts(lamps, question, ONE))
        for shown, question in (("whole", whole), ("cut", cut))
    }
    assert "The log says 1871." in said["cut"]
    assert "first lit in 1874" in said["whole"]
    assert "first lit in 1874" not in said["cut"]


def test_an_explanation_has_the_counts_and_what_was_not_found() -> None:
    yes, no = Verdict(value=True), Verdict(value=False)
    verdicts = verdicts_of(
        WH,
        Judgement(
            decomposition=Decomposition(answers=("1871", "1880"), conflicts=((0, 1),)),
            references=(yes, no, no),
            answers=(yes, no),
            reference_conflicts=(yes, no),
            conflicts=(no,),
        ),
    )
    assert verdicts["answers recall"].explanation == "1 of 3; not: 1874, 1875"
    assert verdicts["answers precision"].explanation == "1 of 2; not: 1880"
    assert verdicts["conflicts recall"].explanation == "1 of 2; not: 1871 / 1875"
    assert verdicts["conflicts precision"].explanation == "0 of 1; not: 1871 / 1880"
    assert verdicts["conflicts f1"].value == 0


async def test_a_run_asks_in_the_benchmark_s_words_and_judges_by_its_measures(
    lamps: Benchmark, tmp_path: Path
) -> None:
    world = Lamp(answer=ONE, regenerated=BOTH, careful=BOTH)
    run = await run_quiz(
        tmp_path / "run", world, lamps, methods=("rag", "control-rag", "regenerated-rag")
    )
    assert "Name every different one" in world.prompts["generate"][0]
    assert "Name every different one" in world.prompts["regenerate"][0]
    [result] = run.results
    rag, control = result.methods[RAG], result.methods[CONTROL]
    assert {name: rag.value(name) for name in MEASURES} == {
        "conflicts recall": 0,
        "conflicts precision": None,
        "conflicts f1": None,
        "conflicts f1 with zeros": None,
        "answers recall": pytest.approx(1 / 3),
        "answers precision": 1,
        "answers f1": pytest.approx(1 / 2),
        "answers f1 with zeros": pytest.approx(1 / 2),
        "conflicts precision as listed": None,
    }
    assert (control.value("conflicts recall"), control.value("conflicts precision")) == (0.5, 1)
    assert result.methods["regenerated-rag"].value("conflicts recall") == 0.5
    plain = next(m for m in run.figures.methods if m.method == RAG)
    assert isinstance(plain.measures["answers recall"], Interval)
    assert set(plain.unjudged.values()) == {0}, "what is not defined is not unjudged"
    pair = next(p for p in run.figures.paired if p.method == CONTROL)
    assert (pair.measure, pair.corrected, pair.difference.value) == ("conflicts recall", 1, 0.5)
