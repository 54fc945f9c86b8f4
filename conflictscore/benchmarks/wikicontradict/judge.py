"""The judge that rates an answer (appendix C)."""

from dataclasses import dataclass
from enum import StrEnum

from conflictscore.benchmarks.harness.records import Question, Verdict
from conflictscore.benchmarks.judging import Judge, read_choice
from conflictscore.errors import ProviderError
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet, material, material_line

TEMPLATE = "wikicontradict_judge"
CONFLICT_TEMPLATE = "wikicontradict_judge_conflict"
"""Rates what somebody says who was asked whether passages conflict, of two that do."""
AGREEMENT_TEMPLATE = "wikicontradict_judge_agreement"
"""The same of two that do not."""

MEASURES = ("correct", "at least partially correct")
"""The measures, both from one rating; the first is the benchmark's own."""

_REPLY_TOKENS = 320


class Rating(StrEnum):
    """How good an answer is, from worst to best."""

    INCORRECT = "incorrect"
    """It gives none of the right answers, or puts them together into what cannot be."""
    PARTIALLY_CORRECT = "partially correct"
    """It gives some of them, or all while it takes a side."""
    CORRECT = "correct"
    """It gives all of them, each as a possible one."""


def read_rating(reply: str) -> tuple[Rating, str]:
    """The line ``RATING:`` of a reply with one of the three, and its comment, maybe empty.

    Upper and lower case, brackets and Markdown around the words make no difference.
    """
    return read_choice(reply, "RATING", reversed(Rating), note="COMMENT")


@dataclass(frozen=True)
class ModelRating:
    """Asks a language model to rate an answer, whichever passage it was given from."""

    template: str = TEMPLATE
    """Says what makes an answer correct."""
    passages: int = 2
    """How many of a question's answers count as right, from the first."""

    async def __call__(
        self,
        question: Question,
        answer: str,
        *,
        model: LanguageModel,
        prompts: PromptSet,
        meter: UsageMeter,
    ) -> dict[str, Verdict]:
        """The verdicts by measure; without a readable rating all say why."""
        right = question.correct[: self.passages]
        prompt = prompts.render(
            self.template,
            question=material_line(question.question),
            correct_answers="\n".join(f"- {material_line(one)}" for one in right),
            answer=material(answer.strip()),
        )
        try:
            rating, said = await Judge(model, prompts, meter).ask(
                prompt, read_rating, _REPLY_TOKENS
            )
        except ProviderError as error:
            return {name: Verdict(value=None, error=str(error)) for name in MEASURES}
        values = rating is Rating.CORRECT, rating is not Rating.INCORRECT
        said = f"{rating}: {said}" if said else str(rating)
        return {
            name: Verdict(value=value, explanation=said)
            for name, value in zip(MEASURES, values, strict=True)
        }
