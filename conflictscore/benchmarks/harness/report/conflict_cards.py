"""Builds the tables of the paper's section 6.4.

The tables show what each method did with the first answers that have a conflict.
"""

from collections.abc import Callable, Iterator

from conflictscore.benchmarks.harness.definition import CHOICES
from conflictscore.benchmarks.harness.figures import Figures, Proportion, Transitions
from conflictscore.benchmarks.harness.methods.method_opening import method_of
from conflictscore.benchmarks.harness.report.figure_cells import estimate_cells
from conflictscore.benchmarks.paper_figures import PaperFigures, PaperTransitions
from conflictscore.reporting.figure_text import counted, percent
from conflictscore.reporting.plain_table import Card, card_of

_OUTCOMES: tuple[tuple[str, Callable[[PaperTransitions], tuple[int, int]]], ...] = (
    ("retained", lambda paper: (paper.retained, paper.conflict)),
    ("revised", lambda paper: (paper.revised, paper.conflict)),
    ("corrections", lambda paper: (paper.corrections, paper.revised)),
    ("harms", lambda paper: (paper.harms, paper.revised)),
    ("neutral", lambda paper: (paper.revised - paper.corrections - paper.harms, paper.revised)),
    ("harms_of_conflict", lambda paper: (paper.harms, paper.conflict)),
    ("recovered_of_wrong", lambda paper: (0, 0)),
)
"""The rows of the table: fields of ``Transitions``, each with the paper's count and total.

The paper does not report the last row, so its total is 0.
"""

_BY_CLAIMS = (
    "revised: one answer has a claim that the other does not support, according to the run's"
    " labeler, which makes mistakes; by wording: any word differs"
)
_BY_WORDS = "revised: any word differs"


def conflict_cards(
    figures: Figures, paper: PaperFigures | None, *, verbose: bool
) -> Iterator[Card]:
    """Yield a heading, and one table per method.

    Unless ``verbose`` is set, a method is shown only if it reconsiders the first answer, or if
    another method is compared with it.
    """
    compared_with = {pair.against for pair in figures.compared}
    tables = [
        transitions
        for transitions in figures.transitions
        if verbose
        or method_of(transitions.method).looks_again
        or transitions.method in compared_with
    ]
    if tables:
        yield Card("Answers with a conflict")
    for transitions in tables:
        # in section 6.4, the paper counts only the answers of this method
        reports_them = paper is not None and transitions.method == "regenerated-rag"
        yield _card(transitions, figures, paper.transitions if paper and reports_them else None)


def _card(transitions: Transitions, figures: Figures, paper: PaperTransitions | None) -> Card:
    """Build the table of one method; the row for neutral outcomes is omitted if there are none."""
    rows = []
    for name, paper_counts in _OUTCOMES:
        share: Proportion | None = getattr(transitions, name)
        if share is None or (name == "neutral" and share.count == 0):
            continue
        by_wording: Proportion | None = getattr(transitions.by_wording, name, None)
        count, of = paper_counts(paper) if paper else (0, 0)
        rows.append(
            (
                _outcome(name, transitions, figures),
                share.count,
                share.n,
                *estimate_cells(share),
                None if by_wording is None else f"{by_wording.count:,} of {by_wording.n:,}",
                f"{count} of {of}, {percent(count / of)} %" if of else None,
            )
        )
    return card_of(
        f"{transitions.method}: {', '.join(_counts(transitions))}",
        ("", "count", "of", "%", "95 % interval", "by wording", "paper"),
        rows,
        _note(transitions),
        bold=False,
    )


def _counts(transitions: Transitions) -> Iterator[str]:
    """Count the first answers with a conflict, and the cases that limit the figures.

    The limiting cases are answers that failed, are unjudged, or were compared only by wording.
    """
    yield counted(transitions.conflict, "first answer") + " with a conflict"
    for number, what in (
        (transitions.failed, "failed"),
        (transitions.unjudged, "revised but unjudged"),
        (transitions.unread, "compared only by wording"),
    ):
        if number:
            yield f"{number:,} {what}"


def _note(transitions: Transitions) -> str:
    """Explain the word "revised".

    The note is empty for multiple-choice questions, where "revised" simply means that a different
    option was chosen.
    """
    if transitions.by_wording:
        return _BY_CLAIMS
    return "" if transitions.measure in CHOICES.values() else _BY_WORDS


def _outcome(name: str, transitions: Transitions, figures: Figures) -> str:
    """Return the name of a row.

    If the measure is graded, answers become better or worse instead of right or wrong.
    """
    names = {}
    if figures.is_graded(transitions.measure):
        better, worse = figures.change_words(transitions.measure)
        names = {"corrections": better, "harms": worse, "harms_of_conflict": f"{worse} of all"}
    return names.get(name, name.replace("_", " "))
