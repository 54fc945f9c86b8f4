"""What reviewers said of a service's runs, in a file beside the runs that only grows."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from conflictscore.benchmarks.harness.report.label_studio import read_annotations, review_row
from conflictscore.benchmarks.harness.report.page.report_run import (
    AnswerVerdict,
    FlipAnnotation,
    Review,
    reviews_beside,
)
from conflictscore.errors import ConfigurationError
from conflictscore.storage.record_file import append_line, json_line

__all__ = ["KeptReviews"]


class KeptReviews:
    """Reviews by run; of several by one reviewer on one run, the last one counts.

    Args:
        runs: The service's file of runs; None keeps the reviews in memory, as the runs are.

    Raises:
        InputError: The file of reviews cannot be read; names the line and the field.
    """

    def __init__(self, runs: Path | None) -> None:
        self.name = runs.name if runs else "live runs"
        self.path = reviews_beside(runs) if runs else None
        known = read_annotations(self.path) if self.path and self.path.is_file() else {}
        self._said: dict[str, tuple[str, dict[str, Review]]] = {}
        for flips in known.values():
            for (run_id, method), annotation in flips.items():
                self._said[run_id] = method, dict(annotation.reviews)

    def of(self, run_id: str) -> Mapping[str, Review]:
        """The reviews of a run, by reviewer; empty where there are none."""
        return self._said[run_id][1] if run_id in self._said else {}

    def add(self, run_id: str, method: str, reviewer: str, said: Review, key: str) -> None:
        """Keep a review.

        Args:
            run_id: The run.
            method: How its answer was looked at again, as a benchmark names it.
            reviewer: The name that they go by.
            said: What they said.
            key: The name of the key that it came with.

        Raises:
            ConfigurationError: The file cannot be written; the review is not kept.
        """
        row = {**review_row(self.name, (run_id, method), reviewer, said), "key": key}
        if self.path is not None:
            try:
                append_line(self.path, json_line(row))
            except OSError as error:
                raise ConfigurationError(
                    f"{self.path}: cannot be written ({error.strerror}); the review is not kept"
                ) from error
        self._said.setdefault(run_id, (method, {}))[1][reviewer] = said

    def reviewed(self, reviewer: str = "") -> list[str]:
        """The ids of the runs that this reviewer, or anybody, reviewed."""
        return [run for run, (_, said) in self._said.items() if not reviewer or reviewer in said]

    def reviewers(self) -> list[str]:
        """Everybody who reviewed a run, by name."""
        return sorted({who for _, said in self._said.values() for who in said})

    def of_answers(self, *, changed: bool) -> Iterator[Mapping[str, Review]]:
        """The reviews of each run that has any, by whether its answer was changed."""
        for _, said in self._said.values():
            if (
                any(isinstance(review.verdict, AnswerVerdict) for review in said.values())
                != changed
            ):
                yield said

    def annotations(self) -> dict[tuple[str, str], FlipAnnotation]:
        """All of them, as a report takes them."""
        return {
            (run_id, method): FlipAnnotation(reviews=said)
            for run_id, (method, said) in self._said.items()
        }
