"""NatConfQA as the harness runs it: asked in its words, judged by formulas 1 to 4."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from conflictscore.benchmarks.harness.benchmark import Benchmark, Form
from conflictscore.benchmarks.harness.manifest import sha256_of_file
from conflictscore.benchmarks.harness.records import Question, Verdict
from conflictscore.benchmarks.harness.stand_ins import Scene
from conflictscore.benchmarks.natconfqa.data import (
    NatConfQuestion,
    Subset,
    benchmark_question,
    read_natconfqa,
)
from conflictscore.benchmarks.natconfqa.judging import JUDGE_TEMPLATES, STAND_INS, judge_natconfqa
from conflictscore.benchmarks.natconfqa.metrics import GROUPS
from conflictscore.benchmarks.natconfqa.verdicts import MEASURE_NAMES, verdicts_of
from conflictscore.errors import InputError
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet, material_line

__all__ = ["NatConfJudge", "natconfqa"]

_LEFT_OUT = {
    Subset.NO_CONFLICT: "none of their answers are in conflict",
    Subset.NO_ANSWER: "no answer stands in their passages",
}


@dataclass(frozen=True, eq=False)
class NatConfJudge:
    """Judges an answer by its question's references and conflicts, and by the passages it shows."""

    questions: Mapping[str, NatConfQuestion]
    """By id."""

    async def __call__(
        self,
        question: Question,
        answer: str,
        *,
        model: LanguageModel,
        prompts: PromptSet,
        meter: UsageMeter,
    ) -> dict[str, Verdict]:
        """The verdicts by measure; see :func:`.judging.judge_natconfqa` for what is asked.

        Raises:
            ConfigurationError: A setting is wrong, so that nothing can be judged.
            BudgetError: The budget of the model is used up.
        """
        asked = self._asked(question)
        judgement = await judge_natconfqa(asked, answer, model=model, prompts=prompts, meter=meter)
        return verdicts_of(asked, judgement)

    def taken_apart(self, scene: Scene) -> str:
        """What stands in for an answer taken apart, in a dry run.

        It gives as many short answers as there are references, and as many conflicts. In a yes/no
        question they are the references word for word, so that nothing is left to decide; elsewhere
        none is, so that everything is.
        """
        question = self._asked(scene.question)
        known = question.subset is Subset.YES_NO
        short = [one.text if known else scene.text(3) for one in question.answers]
        listed = "\n".join(f"{n}. {material_line(text)}" for n, text in enumerate(short, start=1))
        pairs = "\n".join(f"{one + 1} - {other + 1}" for one, other in question.conflicts)
        return f"ANSWERS:\n{listed}\nCONFLICTS:\n{pairs or 'none'}"

    def _asked(self, question: Question) -> NatConfQuestion:
        """What people say of the question, with the passages as they are shown: maybe cut."""
        shown = tuple(document["text"] for document in question.documents)
        return self.questions[question.id].model_copy(update={"passages": shown})


def natconfqa(data: Path, form: Form, seed: int) -> Benchmark:
    """The questions with conflicting answers (Tables 1 and 2), by subset.

    ``rag`` asks by the paper's default prompting, and ``control-rag`` by the conflict-aware one; a
    second look asks for all answers as ``rag`` does.

    Args:
        data: The published questions.
        form: ``free-form``.
        seed: Decides nothing here.

    Raises:
        InputError: The file cannot be used, or no question in it has a conflict.
    """
    read = read_natconfqa(data)
    chosen = [question for question in read.questions if question.subset in GROUPS["conflict"]]
    if not chosen:
        raise InputError(f"{data}: no question in it has conflicting answers")
    subsets = Counter(question.subset for question in read.questions)
    left_out = [(subsets[subset], why) for subset, why in _LEFT_OUT.items()]
    left_out.append((len(read.left_out), "said to have a conflict, and no two answers are named"))
    judge = NatConfJudge({question.id: question for question in chosen})
    return Benchmark(
        name="natconfqa",
        form=form,
        questions=tuple(map(benchmark_question, chosen)),
        measures=tuple(MEASURE_NAMES),
        judge=judge,
        graded=frozenset(MEASURE_NAMES),
        templates=JUDGE_TEMPLATES,
        stand_ins={**STAND_INS, "natconfqa_decompose": judge.taken_apart},
        wording={
            "free_form_rag": "natconfqa_default",
            "free_form_control_rag": "natconfqa_conflict_aware",
            "free_form_regenerate": "natconfqa_regenerate",
            "free_form_regenerate_typed": "natconfqa_regenerate_typed",
        },
        hashes={"data": sha256_of_file(data)},
        notes=tuple(f"questions left out: {count}, {why}" for count, why in left_out if count),
    )
