"""Stores the reviews of a service's runs by appending one JSON object per review."""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from conflictscore.errors import InputError
from conflictscore.records import Record, first_fault
from conflictscore.reporting.run_log import stored_lines


class ChangeVerdict(StrEnum):
    """A reviewer's verdict on whether a change of answer was right."""

    BETTER = "better"
    WORSE = "worse"
    NO_DIFFERENCE = "no difference"
    CANNOT_TELL = "cannot tell"


class AnswerVerdict(StrEnum):
    """A reviewer's verdict on whether an unchanged answer is right."""

    RIGHT = "right"
    WRONG = "wrong"
    UNDECIDED = "undecided"


_DOCUMENT = "Document "
"""The word before each number in stored reviews, as in ``Document 2``."""
_Numbered = Annotated[
    int, Field(ge=1), BeforeValidator(lambda number: str(number).removeprefix(_DOCUMENT))
]


class Review(Record):
    """A reviewer's verdict on a changed or unchanged answer."""

    verdict: ChangeVerdict | AnswerVerdict
    decided_by: tuple[_Numbered, ...] = ()
    """The numbers of the documents that decided the verdict, in ascending order."""
    comment: str = ""


Reviews = Mapping[str, Mapping[str, Review]]
"""The reviews, by id of the run and then by name of the reviewer."""


class _StoredReview(BaseModel):
    """The other fields of a stored review; rows of earlier versions have further fields."""

    question_id: Annotated[str, Field(min_length=1)]
    annotator: Annotated[str, Field(min_length=1)]
    updated_at: str


def review_row(run_id: str, reviewer: str, review: Review) -> dict[str, Any]:
    """Convert a review to its stored form."""
    return {
        "question_id": run_id,
        "annotation_id": uuid4().hex,  # the key of the review if PostgreSQL stores it
        "annotator": reviewer,
        "updated_at": datetime.now(UTC).isoformat(),
        "verdict": review.verdict.value,
        "decided_by": [f"{_DOCUMENT}{number}" for number in review.decided_by],
        "comment": review.comment,
    }


def reviews_in(rows: Iterable[tuple[str, str | bytes]]) -> dict[str, dict[str, Review]]:
    """Read reviews from JSON texts, each with its location for error messages.

    If a reviewer reviewed a run several times, the last review counts.

    Raises:
        InputError: A row cannot be read; the message names its location and the field.
    """
    stored_reviews: list[tuple[_StoredReview, Review]] = []
    for where, text in rows:
        try:
            fields = json.loads(text)
            row = _StoredReview.model_validate(fields)
            review = Review(
                **{name: fields[name] for name in Review.model_fields if name in fields}
            )
        except ValidationError as error:
            field, why = first_fault(error)
            raise InputError(f"{where}, field {field}: {why}") from None
        except (ValueError, RecursionError):
            raise InputError(f"{where}: not JSON") from None
        stored_reviews.append((row, review))
    reviews_by_question: dict[str, dict[str, Review]] = {}
    for row, review in sorted(stored_reviews, key=lambda pair: pair[0].updated_at):
        reviews_by_question.setdefault(row.question_id, {})[row.annotator] = review
    return reviews_by_question


def reviews_beside(runs: Path) -> Path:
    """Return the path of the reviews that belong to a file of runs."""
    return runs.with_name(f"{runs.name}.reviews.jsonl")


def read_reviews(runs: Path) -> Reviews:
    """Read the reviews stored next to a file of runs, without incomplete lines."""
    path = reviews_beside(runs)
    return reviews_in(stored_lines(path)) if path.is_file() else {}
