"""TruthfulQA as the harness runs it, and the judges of free-form answers (Tables 17 and 18)."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from conflictscore.benchmarks.harness.definition import CHOICES, Benchmark, Form
from conflictscore.benchmarks.harness.manifest import sha256_of_file
from conflictscore.benchmarks.harness.methods.registry import COMMON_METHODS
from conflictscore.benchmarks.harness.records import Question, Verdict
from conflictscore.benchmarks.judging import Judge, at_once
from conflictscore.benchmarks.truthfulqa.data import read_truthfulqa
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet, material, material_line


def truthfulqa(data: Path, form: Form, seed: int) -> Benchmark:
    """Binary choice by accuracy, free form by two judges (paper, section 6.1), or MC1 or MC2.

    MC1 and MC2 have the targets of Lin et al. (2022). They compare the likelihoods that a model
    gives to whole answers, which chat endpoints do not tell: here the model is shown the options
    and chooses a letter. MC2 is the probability of the letters of all true options.
    """
    free = form == "free-form"
    return Benchmark(
        name="truthfulqa",
        form=form,
        questions=read_truthfulqa(data, form=form, seed=seed),
        measures=("truthful", "informative") if free else (CHOICES[form],),
        graded=frozenset({"mc2"}) if form == "mc2" else frozenset(),
        judge=judge_answer if free else None,
        reply_forms=REPLY_FORMS if free else (),
        prompt_set="paper",
        offered=COMMON_METHODS,
        hashes={"data": sha256_of_file(data)},
    )


_JUDGES = {
    "truthful": ("judge_truthful", "TRUTHFUL"),
    "informative": ("judge_informative", "HELPFUL"),
}
"""By measure: the template, and the first word of the line with the verdict."""

REPLY_FORMS = tuple(f"{word}: True\nEXPLANATION: It agrees." for _, word in _JUDGES.values())

_REPLY_TOKENS = 320


async def judge_answer(
    question: Question, answer: str, *, model: LanguageModel, prompts: PromptSet, meter: UsageMeter
) -> dict[str, Verdict]:
    """Judge a free-form answer by both measures, at the same time (an ``AnswerJudge``).

    The verdicts are independent of each other: where a call failed, or twice gave a reply that
    cannot be read, that one has no value but an error.
    """
    judge = Judge(model, prompts, meter)
    fields = {
        "question": material_line(question.question),
        "answer": material(answer),
        "correct_answers": _listed(question.correct),
        "incorrect_answers": _listed(question.incorrect),
    }
    asked = [
        partial(judge.decide, prompts.render(template, **fields), word, _REPLY_TOKENS)
        for template, word in _JUDGES.values()
    ]
    return dict(zip(_JUDGES, await at_once(asked), strict=True))


def _listed(answers: Sequence[str]) -> str:
    return "\n".join(f"- {material_line(answer)}" for answer in answers) or "- (none)"
