"""WikiContradict as the harness runs it: by its five prompts, rated by the three-way judge."""

from pathlib import Path

from conflictscore.benchmarks.harness.benchmark import COMMON_METHODS, Benchmark, Form
from conflictscore.benchmarks.harness.manifest import sha256_of_file
from conflictscore.benchmarks.harness.records import BenchmarkMethod, Question, Verdict
from conflictscore.benchmarks.wikicontradict.data import ContradictingQuestion, read_questions
from conflictscore.benchmarks.wikicontradict.judge import (
    TEMPLATE,
    Rating,
    judge_answer,
    rating_prompt,
)
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet

__all__ = ["MEASURES", "judge_both_views", "wikicontradict"]

MEASURES = ("correct", "at least partially correct")
"""What an answer is judged by, from one rating; the first is the benchmark's own."""


def wikicontradict(data: Path, form: Form, seed: int) -> Benchmark:
    """Questions over two passages that contradict each other, by type of contradiction.

    Its prompt templates 1 to 5 are the methods ``no-documents``, ``first-document``,
    ``second-document``, ``rag`` and ``control-rag``.

    Args:
        data: The published flat file.
        form: ``free-form``.
        seed: Decides nothing here.

    Raises:
        InputError: The file cannot be used; see :func:`.data.read_questions`.
    """
    return Benchmark(
        name="wikicontradict",
        form=form,
        questions=tuple(map(_question, read_questions(data))),
        measures=MEASURES,
        judge=judge_both_views,
        templates=(TEMPLATE,),
        judge_prompts=_planned,
        wording={
            "free_form_rag": "wikicontradict_passages",
            "free_form_control_rag": "wikicontradict_both_views",
        },
        offered=(
            *COMMON_METHODS,
            BenchmarkMethod.NO_DOCUMENTS,
            BenchmarkMethod.FIRST_DOCUMENT,
            BenchmarkMethod.SECOND_DOCUMENT,
        ),
        hashes={"data": sha256_of_file(data)},
        notes=(
            "every answer is judged by the answers of both passages, other than in the paper: what"
            " first-document and second-document are shown can make a partially correct one",
        ),
    )


async def judge_both_views(
    question: Question, answer: str, *, model: LanguageModel, prompts: PromptSet, meter: UsageMeter
) -> dict[str, Verdict]:
    """Rate an answer by the answers of both passages, whichever of them it was given from.

    Args:
        question: With the answer of each passage in ``correct``.
        answer: Untrusted.
        model: The judge.
        prompts: The template ``wikicontradict_judge``.
        meter: Counts the calls.

    Returns:
        A verdict by each of :data:`MEASURES`; where there is no rating, both say why.

    Raises:
        ConfigurationError: A setting is wrong, so that nothing can be judged.
        BudgetError: The budget of the model is used up.
    """
    judgement = await judge_answer(
        question.question, question.correct, answer, model=model, prompts=prompts, meter=meter
    )
    rating = judgement.rating
    if rating is None:
        return {name: Verdict(value=None, error=judgement.error) for name in MEASURES}
    said = f"{rating}: {judgement.comment}" if judgement.comment else str(rating)
    values = rating is Rating.CORRECT, rating is not Rating.INCORRECT
    return {
        name: Verdict(value=value, explanation=said)
        for name, value in zip(MEASURES, values, strict=True)
    }


def _planned(question: Question, answer: str, prompts: PromptSet) -> list[str]:
    return [rating_prompt(question.question, question.correct, answer, prompts)]


def _question(asked: ContradictingQuestion) -> Question:
    return Question(
        id=asked.id,
        question=asked.question,
        correct=asked.answers,
        category=asked.contradiction_type.value,
        documents=tuple({"text": context} for context in asked.contexts),
    )
