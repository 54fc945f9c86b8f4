"""What figures can and cannot show is said from the figures themselves."""

import pytest

from conflictscore.benchmarks.harness.figures import Figures, Interval
from conflictscore.benchmarks.harness.report.findings import NEEDED_PAIRS, findings
from conflictscore.benchmarks.harness.statistics import mcnemar
from conflictscore.benchmarks.paper_figures import paper_figures
from tests.benchmarks.harness.report.bench_world import (
    figures,
    graded_figures,
    graded_pair,
    method,
    paired,
    transitions,
)

PAPER = paper_figures("truthfulqa", "multiple-choice")


def said(given: Figures, *, beside_paper: bool = False) -> str:
    return " ".join(findings(given, PAPER if beside_paper else None))


def test_the_fewest_pairs_that_can_tell_are_what_the_test_itself_says() -> None:
    assert mcnemar(NEEDED_PAIRS, 0) < 0.05 <= mcnemar(NEEDED_PAIRS - 1, 0)


def test_too_few_discordant_pairs_are_said_to_be_too_few() -> None:
    text = said(figures(paired=(paired(5, 0, p=0.0625, bounds=(0.01, 0.1)),)))
    assert "Only 5 questions changed: p says little with fewer than 6." in text
    assert "holds 0" not in text


def test_a_clear_difference_is_not_called_chance() -> None:
    text = said(figures(paired=(paired(10, 0, p=0.002, bounds=(0.05, 0.16)),)))
    assert "+10.0 points on 100 questions (95 % interval +5.0 to +16.0), p = 0.002." in text
    assert "Chance alone would seldom do that." in text
    assert "p says little" not in text


def test_an_interval_that_holds_0_says_so() -> None:
    text = said(figures(paired=(paired(6, 4, p=0.754, bounds=(-0.04, 0.08)),)))
    assert "(95 % interval -4.0 to +8.0, which holds 0)" in text
    assert "Chance alone could do that." in text
    assert "80 % of runs would show a gain of +2.0 points in 2,043 questions." in text


def test_the_papers_gain_is_placed_against_the_interval() -> None:
    above = figures(paired=(paired(10, 0, p=0.002, bounds=(0.05, 0.16)),))
    around = figures(paired=(paired(9, 1, p=0.021, bounds=(0.005, 0.14)),))
    assert "The paper's +1.0 points are outside the interval." in said(above, beside_paper=True)
    assert "The paper's +1.0 points are inside the interval." in said(around, beside_paper=True)


def test_equal_answers_and_no_answers_are_told_apart() -> None:
    assert "no difference was seen" in said(figures(paired=(paired(0, 0, p=1.0),)))
    assert "No question was judged" in said(figures(paired=(paired(0, 0, p=None, n=0),)))


def test_questions_that_all_differ_alike_have_no_interval() -> None:
    text = said(figures(paired=(paired(1, 0, p=1.0, n=1),)))
    assert "+100.0 points on 1 question (no interval: all questions differ alike)" in text


def test_several_comparisons_go_by_the_adjusted_p() -> None:
    one = paired(8, 1, p=0.039, bounds=(0.01, 0.16)).model_copy(update={"p_holm": 0.078})
    text = said(figures(paired=(one,)))
    assert "p = 0.039 (0.078 adjusted by Holm)." in text
    assert "Among so many tests, chance alone could do that." in text
    assert "Chance alone would seldom" not in text


def test_controls_are_a_floor_and_no_find() -> None:
    noise = paired(7, 0, p=0.016, bounds=(0.02, 0.12), name="resample")
    text = said(figures(methods=(method("rag", 5, 10), method("resample", 6, 10)), paired=(noise,)))
    assert "a method that does no better shows nothing of its own" in text
    assert "Chance alone" not in text


def test_what_is_missing_is_said() -> None:
    text = said(
        figures(
            ended=60,
            failed=1,
            methods=(method("rag", 5, 9, unjudged=2),),
            coverage=Interval(value=0.875, n=60),
        )
    )
    assert "The run has ended on 60 of 100 questions: these figures are not final." in text
    assert "1 question failed for at least one method" in text
    assert "2 verdicts could not be had" in text
    assert "87.5 % of the pairs of claim and document were labelled" in text


def test_a_whole_run_has_nothing_missing() -> None:
    text = said(figures())
    for words in ("not final", "failed", "could not be had", "were labelled"):
        assert words not in text


@pytest.mark.parametrize("measure", ["truthful", "conflicts recall", "expected behaviour"])
def test_what_a_model_judged_is_called_its_verdicts(measure: str) -> None:
    assert "a model's verdicts" in said(figures(measures=(measure,), paired=()))


def test_what_no_model_judged_is_not_called_a_models_verdict() -> None:
    assert "verdicts" not in said(figures(measures=("exact match",), paired=()))


def test_a_graded_measure_speaks_of_values_and_not_of_right_and_wrong() -> None:
    clear = said(graded_figures())
    assert "Chance alone would seldom do that." in clear
    equal = graded_pair(0, 0, p=1.0)
    assert "has the conflicts f1 of rag on every question" in said(graded_figures(paired=(equal,)))
    few = said(graded_figures(paired=(graded_pair(3, 0, p=0.03),)))
    assert "Only 3 questions changed: p says little" in few
    unsure = said(graded_figures(paired=(graded_pair(9, 7, p=0.4),)))
    assert "80 % of runs would show a gain of +5.0 points in " in unsure


def test_published_differences_of_another_paper_are_not_called_those_of_the_paper() -> None:
    given = graded_figures(paired=(graded_pair(20, 3, p=0.01, name="control-rag"),))
    text = " ".join(findings(given, paper_figures("natconfqa", "free-form")))
    assert "The published +12.5 points are outside the interval." in text


def test_an_oracle_is_an_upper_bound() -> None:
    methods = (method("rag", 5, 10), method("oracle", 9, 10))
    assert "an upper bound" in said(figures(methods=methods))
    assert "upper bound" not in said(figures())


def test_shares_over_different_questions_are_said_to_be() -> None:
    rag, again = "rag", "regenerated-rag"
    text = said(figures(methods=(method(rag, 51, 100), method(again, 52, 96, failed=4))))
    assert "shares of accuracy are not over the same questions for every method (96 to 100)" in text
    assert "not over the same" not in said(figures())


def test_first_answers_without_a_score_are_counted() -> None:
    text = said(figures(coverage=Interval(value=1.0, n=97)))
    assert "3 first answers could not be scored" in text
    assert "could not be scored" not in said(figures())


def test_a_single_pair_without_a_label_is_not_rounded_away() -> None:
    text = said(figures(coverage=Interval(value=0.99987, n=100)))
    assert "99.9 % of the pairs of claim and document were labelled" in text


def test_what_revised_means_in_free_form_is_said() -> None:
    changed = (transitions(2, 1, 10),)
    words = "counts as revised where its words differ"
    assert words in said(figures(measures=("truthful", "informative"), transitions=changed))
    assert words not in said(figures(transitions=changed))


def test_the_papers_own_counts_are_held_against_the_same_test() -> None:
    assert PAPER is not None
    assert PAPER.transitions is not None
    told = PAPER.transitions
    assert round(mcnemar(told.corrections, told.harms), 4) == told.p_value
