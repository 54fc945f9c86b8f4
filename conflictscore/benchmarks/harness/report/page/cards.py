"""Every change of answer, and every conflict that was kept, as the page shows it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from conflictscore.benchmarks.harness.methods.registry import BASELINE
from conflictscore.benchmarks.harness.records import MethodResult, QuestionResult
from conflictscore.benchmarks.harness.report.flips import flip_kind, justification, second_look
from conflictscore.benchmarks.harness.report.page.report_run import ReportRun
from conflictscore.benchmarks.harness.report.reviews import Review
from conflictscore.nodes.conflict_details import Witness, witnesses
from conflictscore.records import ClaimEvidence, Label

KEPT = "kept"
"""The kind of a card whose answer did not change."""


@dataclass(frozen=True)
class FlipCard:
    """A method's answer to a question, beside the first answer and those of other methods."""

    run: ReportRun
    result: QuestionResult
    method: str

    @cached_property
    def kind(self) -> str:
        """A ``FlipKind``, or ``kept``."""
        kind = flip_kind(self.result, self.method, self.run.first_measure, falls=self.run.falls)
        return KEPT if kind is None else kind.value

    @property
    def before(self) -> MethodResult | None:
        """The first answer with its verdicts; None where it failed."""
        return _answered(self.result.methods.get(BASELINE))

    @property
    def after(self) -> MethodResult | None:
        """The method's answer; None where it failed."""
        return _answered(self.result.methods[self.method])

    @property
    def others(self) -> list["FlipCard"]:
        """The answers of other methods."""
        names = (name for name in self.result.methods if name not in (BASELINE, self.method))
        return [FlipCard(self.run, self.result, name) for name in names]

    @property
    def judged(self) -> bool:
        """Whether anything but reviewers judges its answers."""
        return bool(self.run.first_measure)

    @property
    def graded(self) -> bool:
        """Whether what it is worth is a number rather than right or wrong."""
        return self.run.figures.is_graded(self.run.first_measure)

    @property
    def reason(self) -> str:
        """The model's reason for its answer."""
        return justification(self.result, self.method) or "It gave none."

    @property
    def guarded(self) -> str:
        """``accepted`` or ``refused`` by ``guarded-rag``; empty where nothing changed."""
        guard = self.result.guard
        return "" if guard is None else "accepted" if guard.accepted else "refused"

    @property
    def reviews(self) -> Mapping[str, Review]:
        """The reviewers' verdicts on it."""
        return self.run.reviews.get(self.result.question.id, {})

    @property
    def claims(self) -> tuple[ClaimEvidence, ...]:
        """The claims that the change is about."""
        return self.result.claims_about(self.method)

    def witnesses(self, claim: ClaimEvidence, label: str) -> list[Witness]:
        """The documents on one side of a claim."""
        return list(witnesses(claim, Label(label), self.result.documents))


def cards(run: ReportRun) -> tuple[list[FlipCard], list[FlipCard]]:
    """The flips of a run, and the conflicts whose answer was kept, each in the run's order."""
    flips, kept = [], []
    for result in run.results:
        if look := second_look(result):
            card = FlipCard(run, result, look)
            if card.before is None or card.after is None:
                continue
            if card.kind != KEPT:
                flips.append(card)
            elif result.conflict:
                kept.append(card)
    return flips, kept


def _answered(ended: MethodResult | None) -> MethodResult | None:
    return ended if ended is not None and ended.answer is not None else None
