"""The findings state what the figures can and cannot show."""

import pytest

from conflictscore.benchmarks.harness.figures import Figures, Paired
from conflictscore.benchmarks.harness.report.findings import NEEDED_PAIRS, findings
from conflictscore.benchmarks.harness.statistics import mcnemar
from conflictscore.benchmarks.paper_figures import paper_figures
from tests.benchmarks.harness.report.bench_world import (
    figures,
    graded_figures,
    graded_pair,
    method,
    paired,
)

PAPER = paper_figures("truthfulqa", "multiple-choice")
CLEAR = paired(10, 0, p=0.002, bounds=(0.05, 0.16))
ADJUSTED = paired(8, 1, p=0.039, bounds=(0.01, 0.16)).model_copy(update={"p_holm": 0.078})


def said(given: Figures, *, beside_paper: bool = False) -> str:
    return " ".join(findings(given, PAPER if beside_paper else None))


def test_the_fewest_pairs_that_can_tell_are_what_the_test_itself_says() -> None:
    assert mcnemar(NEEDED_PAIRS, 0) < 0.05 <= mcnemar(NEEDED_PAIRS - 1, 0)


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        (
            paired(5, 0, p=0.0625, bounds=(0.01, 0.1)),
            "Only 5 questions changed. If fewer than 6 questions change, p says little",
        ),
        (CLEAR, "+10.0 points on 100 questions (95 % interval +5.0 to +16.0), p = 0.002. Such"),
        (CLEAR, "Such a difference would seldom arise by chance."),
        (paired(20, 0, p=2e-6, bounds=(0.1, 0.3)), ", p < 0.001."),
        (paired(6, 4, p=0.754, bounds=(-0.04, 0.08)), "-4.0 to +8.0, which contains 0)"),
        (paired(6, 4, p=0.754, bounds=(-0.04, 0.08)), "a gain of +2.0 points in 2,043 questions."),
        (paired(0, 0, p=1.0), "no difference was seen"),
        (paired(0, 0, p=None, n=0), "No question was judged"),
        (
            paired(1, 0, p=1.0, n=1),
            "on 1 question (no interval, because the difference is the same on every question)",
        ),
        (ADJUSTED, "p = 0.039 (0.078 after Holm's adjustment). With this many tests"),
        (graded_pair(9, 3, p=0.021), "Such a difference would seldom arise by chance."),
        (graded_pair(0, 0, p=1.0), "has the same conflicts f1 as rag on every question"),
        (graded_pair(9, 7, p=0.4), "80 % of runs show a gain of +5.0 points in "),
    ],
)
def test_a_comparison_is_worth_what_its_test_says(pair: Paired, words: str) -> None:
    graded = pair.both_right is None
    assert words in said(graded_figures(paired=(pair,)) if graded else figures(paired=(pair,)))


def test_a_papers_gain_is_placed_against_the_interval_and_called_its_own() -> None:
    around = paired(9, 1, p=0.021, bounds=(0.005, 0.14))
    for pair, place in ((CLEAR, "outside"), (around, "inside")):
        text = said(figures(paired=(pair,)), beside_paper=True)
        assert f"The paper's +1.0 points are {place} the interval." in text
    other = graded_figures(paired=(graded_pair(20, 3, p=0.01, name="control-rag"),))
    text = " ".join(findings(other, paper_figures("natconfqa", "free-form")))
    assert "The published +12.5 points are outside the interval." in text


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (figures(methods=(method("rag", 5, 10), method("oracle", 9, 10))), "an upper bound"),
        (figures(measures=("truthful",), paired=()), "verdicts of a model"),
        (figures(measures=("conflicts recall",), paired=()), "verdicts of a model"),
        (figures(measures=("expected behaviour",), paired=()), "verdicts of a model"),
    ],
)
def test_what_a_reader_could_take_wrong_is_said_where_it_is_so(given: Figures, words: str) -> None:
    assert words in said(given)
    assert words not in said(figures())


def test_the_papers_own_counts_are_held_against_the_same_test() -> None:
    assert PAPER is not None
    assert PAPER.transitions is not None
    told = PAPER.transitions
    assert round(mcnemar(told.corrections, told.harms), 4) == told.p_value
