"""What reviewers said about the flips of a run."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from conflictscore.records import Record

__all__ = ["Annotation", "ChangeVerdict", "Review"]


class ChangeVerdict(StrEnum):
    """Whether a change of answer was right, by a reviewer."""

    BETTER = "better"
    WORSE = "worse"
    NO_DIFFERENCE = "no difference"
    CANNOT_TELL = "cannot tell"


class Review(Record):
    """One reviewer's verdict on one flip."""

    verdict: ChangeVerdict
    decided_by: tuple[Annotated[int, Field(ge=1)], ...] = ()
    """Numbers of the documents that decided it for the reviewer, ascending."""
    comment: str = ""


class Annotation(Record):
    """All that reviewers said about one flip."""

    reviews: dict[str, Review]
    """By the reviewer's name, or number where there is no name."""
