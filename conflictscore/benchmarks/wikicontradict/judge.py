"""The judges that rate an answer: a language model (appendix C), or inference."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pydantic import model_validator

from conflictscore.benchmarks.harness.records import Question, Verdict
from conflictscore.benchmarks.judging import read_choice
from conflictscore.errors import ProviderError
from conflictscore.labelers.protocol import Labeler
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet, material, material_line
from conflictscore.records import Claim, Document, Label, Record

TEMPLATE = "wikicontradict_judge"
CONFLICT_TEMPLATE = "wikicontradict_judge_conflict"
"""Rates what somebody says who was asked whether passages conflict, of two that do."""
AGREEMENT_TEMPLATE = "wikicontradict_judge_agreement"
"""The same of two that do not."""

MEASURES = ("correct", "at least partially correct")
"""The measures, both from one rating; the first is the benchmark's own."""

_REPLY_TOKENS = 320
_YES_OR_NO = re.compile(r"[\s*_`#>\"'(]*(yes|no)\b", re.IGNORECASE)
_DECORATION = " \t*_`.[]\"'"


class Rating(StrEnum):
    """How good an answer is, from worst to best."""

    INCORRECT = "incorrect"
    """It gives none of the right answers, or puts them together into what cannot be."""
    PARTIALLY_CORRECT = "partially correct"
    """It gives some of them, or all while it takes a side."""
    CORRECT = "correct"
    """It gives all of them, each as a possible one."""


class JudgedRating(Record):
    """The judge's rating of an answer."""

    rating: Rating | None
    """None where the judge could not be read or failed: unjudged, and in no figure."""
    comment: str | None = None
    error: str | None = None
    """Why there is no rating; set exactly where ``rating`` is None."""

    @model_validator(mode="after")
    def _error_goes_with_none(self) -> "JudgedRating":
        if (self.rating is None) != (self.error is not None):
            raise ValueError("an error goes with no rating, and with nothing else")
        return self


async def judge_answer(
    question: str,
    right: Sequence[str],
    answer: str,
    *,
    model: LanguageModel,
    prompts: PromptSet,
    meter: UsageMeter,
    template: str = TEMPLATE,
) -> JudgedRating:
    """Rate one answer.

    Args:
        question: What was asked.
        right: The answers that count as right, at least one: those of the passages.
        answer: Untrusted; it stands between marks that it cannot close.
        model: The judge.
        prompts: Has the template.
        meter: Counts the calls.
        template: What makes an answer correct.

    Returns:
        A judgement; it has no rating but an error where the call failed, or twice gave a reply
        that cannot be read.
    """
    prompt = rating_prompt(question, right, answer, prompts, template)
    try:
        return await model.ask(
            prompt, read_rating, prompts=prompts, meter=meter, max_tokens=_REPLY_TOKENS
        )
    except ProviderError as error:
        return JudgedRating(rating=None, error=str(error))


def verdicts_of(judgement: JudgedRating) -> dict[str, Verdict]:
    """A verdict by each of :data:`MEASURES`; where there is no rating, both say why."""
    rating = judgement.rating
    if rating is None:
        return {name: Verdict(value=None, error=judgement.error) for name in MEASURES}
    said = f"{rating}: {judgement.comment}" if judgement.comment else str(rating)
    values = rating is Rating.CORRECT, rating is not Rating.INCORRECT
    return {
        name: Verdict(value=value, explanation=said)
        for name, value in zip(MEASURES, values, strict=True)
    }


def rating_prompt(
    question: str, right: Sequence[str], answer: str, prompts: PromptSet, template: str = TEMPLATE
) -> str:
    """The judge's prompt; the arguments are those of :func:`judge_answer`."""
    return prompts.render(
        template,
        question=material_line(question),
        correct_answers="\n".join(f"- {material_line(one)}" for one in right),
        answer=material(answer.strip()),
    )


def read_rating(reply: str) -> JudgedRating:
    """The judgement of a reply: a line ``RATING:`` with one of the three, and the comment.

    Upper and lower case, brackets and Markdown around the words make no difference. A reply
    without a comment has a rating all the same.
    """
    rating, comment = read_choice(
        reply,
        "RATING",
        reversed(Rating),
        note="COMMENT",
        fold=lambda said: " ".join(said.strip(_DECORATION).lower().split()),
    )
    return JudgedRating(rating=rating, comment=comment or None)


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

    @property
    def about(self) -> Mapping[str, Any]:
        """Identity of the ratings, as plain JSON."""
        identity = self.labeler.identity
        return {"judge": self.labeler.name, "identity": None if identity is None else {**identity}}

    async def rate(
        self, question: str, right: Sequence[str], answer: str, meter: UsageMeter
    ) -> JudgedRating:
        """Rate one answer.

        Args:
            question: What was asked.
            right: The answers that count as right, at least one.
            answer: Untrusted text.
            meter: Counts the calls of the labeler, where it makes any.

        Returns:
            Correct where all the right answers are supported, partially correct where some are,
            incorrect where none is; an error where the labeler failed.
        """
        said = Document(number=1, text=f"{question} {answer}")
        labels = [
            await self.labeler.label(Claim(number=number, text=f"{question} {one}"), said, meter)
            for number, one in enumerate(right, start=1)
        ]
        for label in labels:
            if label.label is Label.UNLABELLED:
                return JudgedRating(rating=None, error=label.error or "no label could be had")
        given = [
            one for one, label in zip(right, labels, strict=True) if label.label is Label.SUPPORTS
        ]
        rating = Rating.PARTIALLY_CORRECT if given else Rating.INCORRECT
        if len(given) == len(right):
            rating = Rating.CORRECT
        return JudgedRating(rating=rating, comment=f"gives: {'; '.join(given) or 'none of them'}")

    async def __call__(
        self,
        question: Question,
        answer: str,
        *,
        model: LanguageModel,
        prompts: PromptSet,
        meter: UsageMeter,
    ) -> dict[str, Verdict]:
        """The verdicts by measure; no model is asked."""
        right = question.correct[: self.passages]
        return verdicts_of(await self.rate(question.question, right, answer, meter))


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
            error = "it begins with neither yes nor no"
            return verdicts_of(JudgedRating(rating=None, error=error))
        right = (said[1].lower() == "yes") == self.conflict
        rating = Rating.CORRECT if right else Rating.INCORRECT
        return verdicts_of(JudgedRating(rating=rating, comment=f"it says {said[1].lower()}"))
