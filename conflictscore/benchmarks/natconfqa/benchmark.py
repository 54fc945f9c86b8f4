"""Defines NatConfQA for the harness, with its own prompts and the measures of formulas 1 to 4."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from conflictscore.benchmarks.harness.definition import Benchmark, Form
from conflictscore.benchmarks.harness.manifest import sha256_of_file
from conflictscore.benchmarks.harness.records import Question, Verdict
from conflictscore.benchmarks.judging import Judge
from conflictscore.benchmarks.natconfqa import ENTRY, NO_CONFLICT
from conflictscore.benchmarks.natconfqa.data import (
    CONFLICTING,
    NatConfQuestion,
    Subset,
    benchmark_question,
    read_natconfqa,
)
from conflictscore.benchmarks.natconfqa.error_types import TOLD, ErrorType, told_in_full
from conflictscore.benchmarks.natconfqa.judges import REPLY_FORMS, judge_natconfqa
from conflictscore.benchmarks.natconfqa.metrics import MEASURES, verdicts_of
from conflictscore.errors import InputError
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet

# the ends of sentences that begin with "questions left out: 3, because"
_LEFT_OUT = {
    Subset.NO_CONFLICT: "none of their answers are in conflict",
    Subset.NO_ANSWER: "their passages contain no answer",
}


@dataclass(frozen=True, eq=False)
class NatConfJudge:
    """Judges an answer by the reference answers, conflicts and passages of its question."""

    questions: Mapping[str, NatConfQuestion]
    """The questions, by id."""
    error_types: bool = False
    """Whether the judge also determines in what way an answer is wrong."""

    async def __call__(
        self,
        question: Question,
        answer: str,
        *,
        model: LanguageModel,
        prompts: PromptSet,
        meter: UsageMeter,
    ) -> dict[str, Verdict]:
        """Return the verdicts by measure; the calls are made by :func:`.judges.judge_natconfqa`."""
        shown_question = self._asked(question)
        judge = Judge(model, prompts, meter)
        judgement = await judge_natconfqa(shown_question, answer, judge)
        verdicts = verdicts_of(shown_question, judgement)
        if self.error_types:
            verdicts[TOLD] = await told_in_full(shown_question, answer, judgement, judge)
        return verdicts

    def _asked(self, question: Question) -> NatConfQuestion:
        """Return the annotated question with its passages as shown, which may be shortened."""
        passages = tuple(document["text"] for document in question.documents)
        return self.questions[question.id].model_copy(update={"passages": passages})


def natconfqa(data: Path, form: Form, seed: int, *, error_types: bool = False) -> Benchmark:
    """Define the benchmark on the questions with conflicting answers (Tables 1 and 2).

    ``rag`` uses the paper's default prompt, and ``control-rag`` uses the conflict-aware prompt. The
    prompt that revises an answer asks for all answers, as the prompt of ``rag`` does. The
    categories are the paper's subsets. If ``error_types`` is true, wrong answers are also
    classified by their type of error (section 5.3).
    """
    benchmark = _of_subsets(data, form, CONFLICTING, "conflicting answers", error_types=error_types)
    if not error_types:
        return benchmark
    return replace(
        benchmark,
        measures=(*benchmark.measures, TOLD),  # TOLD is yes or no, so it is not in ``graded``.
        # A dry run gets these replies instead of a judge's. The second one says that the answer
        # reports no conflict; otherwise the dry run would have no error to classify.
        reply_forms=(
            REPLY_FORMS[0],
            "FOUND: True\nCONFLICT: False",
            f"ERROR: {ErrorType.RESOLVES}",
        ),
    )


def natconfqa_without_conflict(data: Path, form: Form, seed: int) -> Benchmark:
    """Define the benchmark on the questions without conflicting answers (section 5.2, Table 6).

    The questions are asked in the same way as questions with a conflict. Only the measures of
    answers are applied, not those of conflicts.
    """
    subsets = frozenset({Subset.NO_CONFLICT})
    benchmark = _of_subsets(data, form, subsets, "answers that do not conflict")
    answers = tuple(name for name in MEASURES if name.startswith("answers"))
    # the judge still gives its graded verdicts on conflicts that an answer names
    return replace(benchmark, name=NO_CONFLICT.name, measures=answers)


def _of_subsets(
    data: Path, form: Form, subsets: frozenset[Subset], what: str, *, error_types: bool = False
) -> Benchmark:
    """Define the benchmark on some subsets.

    The benchmark's notes state how many other questions were left out, and why. ``what`` describes
    the subsets in the error message.

    Raises:
        InputError: The file has no question in these subsets.
    """
    rows = read_natconfqa(data)
    questions = [question for question in rows.items if question.subset in subsets]
    if not questions:
        raise InputError(f"{data}: the file has no question with {what}")
    others = Counter(q.subset for q in rows.items if q.subset not in subsets)
    left_out = [(others[subset], why) for subset, why in _LEFT_OUT.items()]
    left_out.append((sum(others[s] for s in CONFLICTING), "their answers are in conflict"))
    left_out += [(count, why) for why, count in rows.left_out.items()]
    judge = NatConfJudge({question.id: question for question in questions}, error_types)
    return Benchmark(
        name=ENTRY.name,
        form=form,
        questions=tuple(map(benchmark_question, questions)),
        measures=MEASURES,
        judge=judge,
        graded=frozenset(MEASURES),
        offered=ENTRY.methods,
        reply_forms=REPLY_FORMS,
        wording={
            "free_form_rag": "natconfqa_default",
            "free_form_control_rag": "natconfqa_conflict_aware",
            "free_form_regenerate": "natconfqa_regenerate",
        },
        hashes={"data": sha256_of_file(data)},
        notes=tuple(
            f"questions left out: {count}, because {why}" for count, why in left_out if count
        ),
    )
