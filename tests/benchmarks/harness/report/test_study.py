"""Several runs as one study, by question, with differences between runs and judgements."""

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from conflictscore.benchmarks.harness.records import QuestionResult
from conflictscore.benchmarks.harness.report.page.render import render_report
from conflictscore.benchmarks.harness.report.page.report_run import ReportRun
from conflictscore.benchmarks.harness.report.study import PooledPair, Study, study_groups, study_of
from conflictscore.benchmarks.harness.report.study_cards import all_study_cards
from conflictscore.benchmarks.harness.report.tables import other_choices
from conflictscore.benchmarks.harness.statistics import mcnemar
from conflictscore.cli.report import write_study
from conflictscore.reporting.plain_table import print_card
from tests.benchmarks.harness.report.lamps import HOSTILE, choice, free, graded, run
from tests.nodes.steps import claim_with, scored

AGAIN = "regenerated-rag"
WRONG, RIGHT = 1, 0


def outcomes(name: str, *changes: int) -> ReportRun:
    """A run: 1 for a question that was corrected, -1 for one that was harmed, 0 for neither."""
    first = {1: WRONG, -1: RIGHT, 0: RIGHT}
    after = {1: RIGHT, -1: WRONG, 0: RIGHT}
    return run(
        name, [choice(f"q-{n}", first[moved], after[moved]) for n, moved in enumerate(changes)]
    )


def made_of(*runs: ReportRun) -> Study:
    (group,) = study_groups(runs)
    return study_of(group)


def test_several_studies_are_kept_in_one_file(tmp_path: Path) -> None:
    choices = [outcomes(name, 1, -1) for name in ("a", "b")]
    texts = [judged(name, True) for name in ("c", "d")]
    write_study(choices, tmp_path)
    alone = json.loads((tmp_path / "figures.json").read_text())
    write_study([*choices, *texts], tmp_path)
    both = json.loads((tmp_path / "figures.json").read_text())

    assert alone["runs"] == ["a", "b"]
    assert [study["runs"] for study in both] == [["a", "b"], ["c", "d"]]


def pair_of(study: Study, against: str = "rag") -> PooledPair:
    return next(p for p in study.pairs if (p.method, p.against) == (AGAIN, against))


@given(
    st.lists(st.lists(st.sampled_from([-1, 0, 1]), min_size=5, max_size=5), min_size=2, max_size=4)
)
@settings(max_examples=4, deadline=None)
def test_pooling_is_by_question_and_between_runs_is_a_two_way_table(table: list[list[int]]) -> None:
    study = made_of(*(outcomes(f"run-{n}", *row) for n, row in enumerate(table)))
    values = np.array(table, dtype=float)
    pair = pair_of(study)
    assert pair.difference.value == pytest.approx(values.mean())
    assert pair.difference.n == 5
    assert [one.difference.value for one in pair.runs.values()] == pytest.approx(
        values.mean(axis=1)
    )
    assert pair.between == pytest.approx(values.mean(axis=1).std(ddof=1))
    residuals = (
        values
        - values.mean(axis=1, keepdims=True)
        - values.mean(axis=0, keepdims=True)
        + values.mean()
    )
    square = (residuals**2).sum() / ((len(table) - 1) * 4)
    assert pair.by_chance == pytest.approx((square / 5) ** 0.5)


def test_the_same_run_twice_tells_no_more_than_once() -> None:
    moved = (1, 1, 1, 1, 1, 1, -1, 0, 0)
    pair = pair_of(made_of(outcomes("one", *moved), outcomes("two", *moved)))
    assert pair.p_value == pytest.approx(mcnemar(6, 1))
    assert [one.p_value for one in pair.runs.values()] == [pair.p_value, pair.p_value]
    assert (pair.between, pair.by_chance) == (0, 0)
    assert pair.p_holm is not None
    assert pair.p_holm >= mcnemar(6, 1)


def test_what_is_not_shown_is_said_with_what_it_would_take() -> None:
    clear = pair_of(made_of(outcomes("a", *[1] * 12, 0), outcomes("b", *[1] * 12, 0)))
    assert clear.needed is None
    small = made_of(outcomes("a", 1, *[0] * 11), outcomes("b", 1, *[0] * 11))
    assert (pair_of(small).needed or 0) > 12
    told = " ".join(
        row[-1]
        for card in all_study_cards([outcomes("a", 1, 0, 0), outcomes("b", 0, 0, 0)])
        for row in card.rows
    )
    assert "power 80 %" in told


def test_flips_of_several_seeds_agree_or_do_not() -> None:
    one, other = outcomes("one", 1, 1, 0, 0), outcomes("two", 1, 0, 0, -1)
    [flips] = [f for f in made_of(one, other).flips if f.method == AGAIN]
    assert (flips.questions, flips.ever, flips.always) == (4, 3, 1)
    # half of the paired ratings differ, and so do 32 of the 56 ordered pairs of any two ratings
    assert flips.alpha == pytest.approx(1 - (2 / 4) / (32 / 56))


@pytest.mark.usefixtures("no_charts")
def test_one_run_tells_how_many_second_looks_another_choice_would_change() -> None:
    several = scored(
        claim_with("++--0", number=1), claim_with("+--00", number=2), claim_with("+++--", number=3)
    )
    one = choice("a", WRONG, RIGHT, reconsidered=several.evidence(2))
    first = one.methods["rag"].model_copy(update={"report": several})
    asked = one.model_copy(update={"methods": {**one.methods, "rag": first}})
    [card] = other_choices([asked, choice("b", WRONG, RIGHT)])
    counts = {row[0]: row[1:3] for row in card.rows}
    assert counts == {"worst": ("0", "1"), "first": ("1", "1"), "most-evidence": ("1", "1")}
    assert card.title in render_report([run("demo", [asked])])
    assert other_choices([choice("b", WRONG, RIGHT)]) == []


def judged(name: str, *after: bool, copied: bool = False) -> ReportRun:
    def again(n: int, truthful: bool) -> QuestionResult:
        one = free(f"q-{n}", ("It was 1871.", False), ("It was 1874.", truthful))
        methods = {
            method: ended.model_copy(update={"judged_by_copy": copied})
            for method, ended in one.methods.items()
        }
        return one.model_copy(update={"methods": methods})

    return run(name, [again(n, truthful) for n, truthful in enumerate(after)])


def test_a_judge_that_changes_its_mind_is_seen_in_answers_and_in_flips() -> None:
    study = made_of(judged("one", True, True, True), judged("two", True, True, False))
    truthful = study.noise[0]
    # of two answers to each of three questions, one is judged differently, and so is its flip
    assert (truthful.answers.n, truthful.flips.n) == (6, 3)
    assert truthful.answers.value == pytest.approx(1 / 6)
    assert truthful.flips.value == pytest.approx(1 / 3)


def test_a_verdict_from_a_cache_is_no_second_judgement() -> None:
    study = made_of(judged("one", True), judged("two", False, copied=True))
    assert study.noise[0].answers.n == 0


def test_graded_measures_are_pooled_by_wilcoxons_test() -> None:
    rows = [graded(f"q-{n}", 0.2, 0.2 + 0.05 * n) for n in range(1, 9)]
    pair = pair_of(made_of(run("a", rows), run("b", rows)))
    assert pair.difference.value == pytest.approx(0.225)
    assert pair.p_value == pytest.approx(2 / 2**8)


def test_a_pair_that_one_run_compares_is_counted_in_all_runs() -> None:
    named, other = outcomes("named", 1, 1, 0), outcomes("other", 1, -1, 0)
    without = other.figures.model_copy(update={"compared": ()})
    pair = pair_of(made_of(named, replace(other, figures=without)), "control-rag")
    both = pair_of(made_of(named, other), "control-rag")
    assert pair.difference == both.difference
    assert {name: (of.n, of.corrected, of.harmed) for name, of in pair.runs.items()} == {
        name: (of.n, of.corrected, of.harmed) for name, of in both.runs.items()
    }
    assert set(pair.runs) == {"named", "other"}


def test_a_run_without_first_answers_adds_no_flip_and_no_transition() -> None:
    bare = [
        result.model_copy(
            update={"methods": {name: of for name, of in result.methods.items() if name != "rag"}}
        )
        for result in outcomes("x", 1, 0).results
    ]
    whole = [outcomes("one", 1, 0), outcomes("two", 0, 0)]
    study, more = made_of(*whole), made_of(*whole, run("bare", bare))
    assert more.flips == study.flips
    assert more.transitions == study.transitions


def test_the_temperature_of_a_run_that_set_none_is_not_hidden() -> None:
    warm, unset = outcomes("warm", 1), outcomes("unset", 1)
    configuration = {**warm.manifest["configuration"], "temperature": 0.7}
    warm = replace(warm, manifest={**warm.manifest, "configuration": configuration})
    heading = next(all_study_cards([warm, unset]))
    assert "temperature of the answers: 0.7, not set in some runs" in heading.note


def test_only_runs_that_can_be_pooled_are_a_study() -> None:
    mc = outcomes("a", 1)
    assert study_groups([mc]) == study_groups([mc, judged("b", True)]) == []
    other = outcomes("c", 1, 0)
    study = made_of(mc, other, judged("b", True))
    assert (study.runs, study.questions, study.in_all) == (("a", "c"), 2, 1)


@pytest.mark.usefixtures("no_charts")
def test_the_page_shows_the_study_and_no_name_can_take_it_over() -> None:
    html = render_report([outcomes(HOSTILE, 1, 0), outcomes("b", 1, 0)])
    assert 'id="study"' in html
    assert "Flips in several runs" in html
    assert "<script>window.__pwned" not in html
    assert 'id="study"' not in render_report([outcomes("b", 1, 0)])


def test_levels_and_transitions_are_pooled_by_question() -> None:
    one, two = outcomes("one", 1, 1, 0, -1), outcomes("two", 1, 0, 0, -1)
    study = made_of(one, two)
    [level] = [pooled for pooled in study.levels if pooled.method == AGAIN]
    single = [run.figures.methods for run in (one, two)]
    values = [next(m for m in methods if m.method == AGAIN).measures for methods in single]
    levels = [measures["accuracy"].value for measures in values]
    assert list(level.runs.values()) == levels
    assert level.level.value == pytest.approx(np.mean([value or 0.0 for value in levels]))
    assert level.between == pytest.approx(np.std([value or 0.0 for value in levels], ddof=1))
    [moved] = [pooled for pooled in study.transitions if pooled.method == AGAIN]
    of_runs = [next(t for t in run.figures.transitions if t.method == AGAIN) for run in (one, two)]
    assert moved.answers == sum(moves.retained.n for moves in of_runs)
    for pooled, counts in (
        (moved.revised, [moves.revised for moves in of_runs]),
        (moved.corrected, [moves.corrections for moves in of_runs]),
        (moved.harmed, [moves.harms for moves in of_runs]),
    ):
        n = sum(count.n for count in counts)
        assert (pooled.n, pooled.value) == (n, sum(count.count for count in counts) / n)


def test_methods_are_in_the_usual_order_even_if_the_first_run_lacks_some() -> None:
    full = choice("q-0", WRONG, RIGHT)
    some = {name: full.methods[name] for name in ("rag", "guarded-rag")}
    study = made_of(run("one", [full.model_copy(update={"methods": some})]), run("two", [full]))
    methods = list(dict.fromkeys(level.method for level in study.levels))
    assert methods == ["rag", "control-rag", "regenerated-rag", "guarded-rag"]


def test_one_run_twice_has_the_levels_of_one_and_no_narrower_interval_by_question() -> None:
    run_once = outcomes("one", 1, 1, 0, -1, 0, 0, 1)
    study = made_of(run_once, outcomes("two", 1, 1, 0, -1, 0, 0, 1))
    for level in study.levels:
        assert level.between == 0
        figure = next(m for m in run_once.figures.methods if m.method == level.method)
        assert level.level.value == pytest.approx(figure.measures[level.measure].value)


def test_a_category_has_its_gain_and_harms_and_holm_over_all_of_them() -> None:
    rows = [choice(f"q-{n}", WRONG, RIGHT if n % 2 else WRONG) for n in range(8)]
    rows = [
        row.model_copy(
            update={"question": row.question.model_copy(update={"category": f"c{n % 2}"})}
        )
        for n, row in enumerate(rows)
    ]
    study = made_of(run("a", rows), run("b", rows))
    gains = {gain.category: gain for gain in study.categories if gain.method == AGAIN}
    assert (gains["c1"].corrected, gains["c1"].difference.value) == (8, 1)
    assert (gains["c0"].corrected, gains["c0"].difference.value) == (0, 0)
    assert gains["c1"].p_value == pytest.approx(2 / 2**4)
    assert all((gain.p_holm or 0) >= (gain.p_value or 0) for gain in study.categories)


def test_a_category_table_of_80_characters_breaks_no_word() -> None:
    categories = ("Misconceptions: Topical", "Indexical Error: Location", "Advertising")
    rows = [
        row.model_copy(
            update={"question": row.question.model_copy(update={"category": categories[n % 3]})}
        )
        for n, row in enumerate(
            choice(f"q-{n}", WRONG, RIGHT if n % 2 else WRONG) for n in range(24)
        )
    ]
    cards = [
        card
        for card in all_study_cards([run("a", rows), run("b", rows)])
        if "by category" in card.title
    ]
    assert AGAIN in {card.title.rpartition(" ")[2] for card in cards}
    for card in cards:
        console = Console(width=80, markup=False, highlight=False, record=True, file=StringIO())
        print_card(card, console)
        words = console.export_text().split()
        assert {*" ".join(categories).split(), "interval", "corrected"} <= {*words}
