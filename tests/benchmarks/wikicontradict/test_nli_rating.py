"""Ratings by inference: which of the right answers an answer gives."""

from collections.abc import Mapping
from typing import Any

import pytest

from conflictscore.benchmarks.wikicontradict.judge import JudgedRating, NliRating, Rating
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, Document, EvidenceLabel, Label

QUESTION, RIGHT = "When was the lamp lit?", ("In 1871.", "In 1874.")


class SameYear:
    """A labeler for which a document supports a claim that has its years."""

    name = "same-year"
    identity: Mapping[str, Any] | None = {"labeler": "same-year"}

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        year = claim.text.split()[-1]
        said = Label.SUPPORTS if year in document.text else Label.IRRELEVANT
        error = "out of order" if "broken" in document.text else None
        return EvidenceLabel(
            claim=claim.number,
            document=document.number,
            label=Label.UNLABELLED if error else said,
            error=error,
        )


async def rated(answer: str) -> JudgedRating:
    return await NliRating(SameYear()).rate(QUESTION, RIGHT, answer, UsageMeter())


@pytest.mark.parametrize(
    ("answer", "rating", "comment"),
    [
        ("In 1871. Others say in 1874.", Rating.CORRECT, "gives: In 1871.; In 1874."),
        ("It was in 1874.", Rating.PARTIALLY_CORRECT, "gives: In 1874."),
        ("Nobody knows.", Rating.INCORRECT, "gives: none of them"),
    ],
)
async def test_an_answer_is_worth_the_right_answers_that_follow_from_it(
    answer: str, rating: Rating, comment: str
) -> None:
    assert await rated(answer) == JudgedRating(rating=rating, comment=comment)


async def test_what_cannot_be_labelled_is_unjudged() -> None:
    assert await rated("broken") == JudgedRating(rating=None, error="out of order")
