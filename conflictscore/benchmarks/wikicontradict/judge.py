"""The judges that rate an answer: a language model (appendix C), or inference."""

import re
from dataclasses import dataclass
from enum import StrEnum

from conflictscore.benchmarks.harness.records import Question, Verdict
from conflictscore.benchmarks.judging import Judge, read_choice
from conflictscore.errors import ProviderError
from conflictscore.labelers.protocol import Labeler
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet, material, material_line
from conflictscore.records import Claim, Document, Label

TEMPLATE = "wikicontradict_judge"
CONFLICT_TEMPLATE = "wikicontradict_judge_conflict"
"""Rates what somebody says who was asked whether passages conflict, of two that do."""
AGREEMENT_TEMPLATE = "wikicontradict_judge_agreement"
"""The same of two that do not."""

MEASURES = ("correct", "at least partially correct")
"""The measures, both from one rating; the first is the benchmark's own."""

_REPLY_TOKENS = 320
_YES_OR_NO = re.compile(r"[\s*_`#>\"'(]*(yes|no)\b", re.IGNORECASE)


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


def _rated(rating: Rating, comment: str) -> dict[str, Verdict]:
    """A verdict by each of :data:`MEASURES`."""
    values = rating is Rating.CORRECT, rating is not Rating.INCORRECT
    said = f"{rating}: {comment}" if comment else str(rating)
    return {
        name: Verdict(value=value, explanation=said)
        for name, value in zip(MEASURES, values, strict=True)
    }


def _unrated(why: str) -> dict[str, Verdict]:
    return {name: Verdict(value=None, error=why) for name in MEASURES}


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
            rating = await Judge(model, prompts, meter).ask(prompt, read_rating, _REPLY_TOKENS)
        except ProviderError as error:
            return _unrated(str(error))
        return _rated(*rating)


@dataclass(frozen=True)
class NliRating:
    """Rates by which right answers a labeler finds supported by an answer; ours.

    Each right answer, with its question before it, is held against the answer with the same
    question before it. It cannot see that an answer gives all and takes a side.
    """

    labeler: Labeler
    """Such as ``NliLabeler``, which asks no language model."""
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
        """The verdicts by measure; all say why where the labeler failed."""
        asked, right = question.question, question.correct[: self.passages]
        said = Document(number=1, text=f"{asked} {answer}")
        given = []
        for number, one in enumerate(right, start=1):
            claim = Claim(number=number, text=f"{asked} {one}")
            label = await self.labeler.label(claim, said, meter)
            if label.label is Label.UNLABELLED:
                return _unrated(label.error or "no label could be had")
            given += [one] if label.label is Label.SUPPORTS else []
        rating = Rating.PARTIALLY_CORRECT if given else Rating.INCORRECT
        if len(given) == len(right):
            rating = Rating.CORRECT
        return _rated(rating, f"gives: {'; '.join(given) or 'none of them'}")


@dataclass(frozen=True)
class FirstWordRating:
    """Rates by rule what somebody says who was asked whether passages conflict: yes or no.

    It cannot tell whether the reason is the right one, so nothing is partially correct.
    """

    conflict: bool
    """Whether they do."""

    async def __call__(
        self,
        question: Question,
        answer: str,
        *,
        model: LanguageModel,
        prompts: PromptSet,
        meter: UsageMeter,
    ) -> dict[str, Verdict]:
        """The verdicts by measure; without a value where it begins with neither word."""
        said = _YES_OR_NO.match(answer)
        if said is None:
            return _unrated("it begins with neither yes nor no")
        right = (said[1].lower() == "yes") == self.conflict
        rating = Rating.CORRECT if right else Rating.INCORRECT
        return _rated(rating, f"it says {said[1].lower()}")
