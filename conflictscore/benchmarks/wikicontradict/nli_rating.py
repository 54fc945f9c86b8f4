"""Ratings by inference: an answer is worth as much as the right answers that follow from it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conflictscore.benchmarks.harness.records import Question, Verdict
from conflictscore.benchmarks.wikicontradict.judge import Judgement, Rating, verdicts_of
from conflictscore.labelers.protocol import Labeler
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from conflictscore.records import Claim, Document, Label

__all__ = ["NliRating"]


@dataclass(frozen=True)
class NliRating:
    """Rates by which right answers a labeler finds supported by an answer; ours.

    Each right answer, with its question before it, is held against the answer with the same
    question before it. It cannot see that an answer gives all and takes a side.
    """

    labeler: Labeler
    """Such as ``NliLabeler``, which asks no language model."""

    @property
    def about(self) -> Mapping[str, Any]:
        """What the ratings depend on, as plain JSON."""
        identity = self.labeler.identity
        return {"judge": self.labeler.name, "identity": None if identity is None else {**identity}}

    async def rate(
        self, question: str, right: Sequence[str], answer: str, meter: UsageMeter
    ) -> Judgement:
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
                return Judgement(rating=None, error=label.error or "no label could be had")
        given = [
            one for one, label in zip(right, labels, strict=True) if label.label is Label.SUPPORTS
        ]
        rating = Rating.PARTIALLY_CORRECT if given else Rating.INCORRECT
        if len(given) == len(right):
            rating = Rating.CORRECT
        return Judgement(rating=rating, comment=f"gives: {'; '.join(given) or 'none of them'}")

    async def __call__(
        self,
        question: Question,
        answer: str,
        *,
        model: LanguageModel,
        prompts: PromptSet,
        meter: UsageMeter,
    ) -> dict[str, Verdict]:
        """The verdicts by measure, by the answers of both passages; no model is asked."""
        judgement = await self.rate(question.question, question.correct, answer, meter)
        return verdicts_of(judgement)
