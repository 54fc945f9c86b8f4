"""What a report is made of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from conflictscore.benchmarks.harness.benchmark import ACCURACY
from conflictscore.benchmarks.harness.figures import Figures
from conflictscore.benchmarks.harness.records import QuestionResult
from conflictscore.benchmarks.published import PaperFigures, paper_figures
from conflictscore.records import Record

__all__ = ["Annotation", "ChangeVerdict", "ReportRun", "Review"]


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


@dataclass(frozen=True)
class ReportRun:
    """One run, as a report shows it.

    Attributes:
        name: What it is called on the page, such as the name of its folder.
        manifest: The content of ``manifest.json``: ``benchmark``, ``created``, ``configuration``,
            ``hashes``, ``versions``.
        figures: Its figures.
        results: Its questions.
        annotations: What reviewers said of its flips, by the question's id.
    """

    name: str
    manifest: Mapping[str, Any]
    figures: Figures
    results: Sequence[QuestionResult]
    annotations: Mapping[str, Annotation] = field(default_factory=dict)

    @property
    def benchmark(self) -> str:
        """The benchmark's name."""
        return str(self.manifest.get("benchmark", ""))

    @property
    def begun(self) -> str:
        """When it was begun, to the minute; empty where the manifest does not say."""
        return str(self.manifest.get("created", ""))[:16].replace("T", " ")

    @property
    def first_measure(self) -> str:
        """What changed answers are judged by."""
        return self.figures.measures[0]

    @property
    def falls(self) -> bool:
        """Whether less is better by it."""
        return self.figures.falls(self.first_measure)

    @property
    def categorised(self) -> bool:
        """Whether its questions are of several categories."""
        return len(self.figures.categories) > 1

    @property
    def form(self) -> str:
        """``multiple-choice`` or ``free-form``."""
        return "multiple-choice" if self.first_measure == ACCURACY else "free-form"

    @property
    def paper(self) -> PaperFigures | None:
        """What a paper reports for the same; None where it has nothing."""
        return paper_figures(self.benchmark, self.form)
