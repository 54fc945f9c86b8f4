"""The figures: their counts, their independence of order, and their tables."""

import random
import re
from io import StringIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from conflictscore.benchmarks.conflict_detection.display import print_detection
from conflictscore.benchmarks.conflict_detection.measures import (
    DetectionFigures,
    detection_figures,
    verdict_of,
)
from conflictscore.benchmarks.conflict_detection.reliability import (
    reliability,
    reliability_picture,
)
from conflictscore.benchmarks.harness.statistics import proportion
from conflictscore.records import Label, Usage
from tests.benchmarks.conflict_detection.claims import C, N, S, U, claim_group, judged, verdict

_LABELS = st.sampled_from([S, C, N])
_PAIR = st.tuples(st.one_of(st.none(), _LABELS), st.sampled_from([S, C, N, U]))
_GROUPS = st.lists(
    st.tuples(st.lists(_PAIR, min_size=1, max_size=5), st.booleans(), st.sampled_from("ab")),
    min_size=1,
    max_size=12,
)


@settings(max_examples=25)
@given(_GROUPS, st.randoms(use_true_random=False))
def test_figures_add_up_and_do_not_depend_on_the_order(
    drawn: list[tuple[list[tuple[Label | None, Label]], bool, str]], rng: random.Random
) -> None:
    groups = []
    for index, (pairs, stated, set_name) in enumerate(drawn):
        gold, labels = zip(*pairs, strict=True)
        conflict = None if None not in gold else stated or {S, C} <= set(gold)
        group = claim_group(str(index), gold, set_name=set_name, conflict=conflict)
        groups.append(judged(group, labels))
    figures = detection_figures("judge", groups, Usage(), 0.0)

    for one in (*figures.sets, figures.overall):
        found = one.detection
        assert found.accuracy.n == one.groups - one.undecidable
        assert found.accuracy.count == found.recall.count + found.accuracy_no_conflict.count
        assert found.recall.n + found.accuracy_no_conflict.n == found.accuracy.n
        for interval in (found.f1, one.label_accuracy):
            if interval.low is not None and interval.high is not None:
                assert 0 <= interval.low < interval.high <= 1
    assert sum(one.groups for one in figures.sets) == figures.overall.groups == len(groups)

    rng.shuffle(groups)
    assert detection_figures("judge", groups, Usage(), 0.0) == figures


def test_a_claim_with_one_document_is_no_conflict_for_the_answer_that_counts_documents() -> None:
    groups = [judged(claim_group("1", (S, C)), (S, C)), judged(claim_group("2", (S,)), (S,))]
    overall = detection_figures("judge", groups, Usage(), 0.0).overall
    assert overall.constants["two documents"].accuracy.value == 1
    assert overall.constants["always"].accuracy.value == 0.5
    assert overall.beaten_by == ()


def test_labels_are_counted_by_their_probability_beside_how_often_they_are_right() -> None:
    group = claim_group("1", (S, C, S, S, None))
    verdicts = [
        verdict(number, label).model_copy(update={"score": score})
        for number, (label, score) in enumerate(
            [(S, 1.0), (C, 0.92), (C, 0.4), (U, None), (S, 0.9)], start=1
        )
    ]
    judged_pairs = [(group, verdicts), (claim_group("2", (C,)), [verdict(1, C)])]
    figures = reliability(judged_pairs)

    assert figures is not None
    assert [(one.low, one.right.count, one.right.n) for one in figures.bins] == [
        (0.4, 0, 1),
        (0.9, 2, 2),
    ]
    assert figures.bins[1].probability == pytest.approx(0.96)
    assert figures.calibration_error == pytest.approx((1 * 0.4 + 2 * 0.04) / 3)
    assert figures.without == 1
    assert reliability([(claim_group("2", (C,)), [verdict(1, C)])]) is None
    picture = reliability_picture(figures, "nli")
    assert "probability 96.0 %: 100.0 % of 2 right" in picture.description


@settings(max_examples=20)
@given(st.integers(0, 20), st.integers(0, 20))
def test_the_constant_answers_follow_from_how_common_conflict_is(yes: int, no: int) -> None:
    groups = [
        judged(claim_group(str(n), (S, C) if n < yes else (S, S)), (N, N)) for n in range(yes + no)
    ]
    overall = detection_figures("judge", groups, Usage(), 0.0).overall

    always, never = overall.constants["always"], overall.constants["never"]
    assert overall.constants["two documents"] == always, "every claim has two documents"
    assert overall.beaten_by == (("always", "two documents") if yes else ())
    assert always.precision == always.accuracy == proportion(yes, yes + no)
    assert (always.recall, always.accuracy_no_conflict) == (proportion(yes, yes), proportion(0, no))
    expected = 2 * yes / (2 * yes + no) if yes + no else None
    assert always.f1.value == (pytest.approx(expected) if expected is not None else None)
    assert never.precision.value is None
    assert never.accuracy == proportion(no, yes + no)
    assert never.f1.value == (0 if yes else None)


@pytest.mark.parametrize(
    ("labels", "answer"),
    [
        ([S, C], True),
        ([S, C, U], True),
        ([S, N], False),
        ([N, N], False),
        ([N, U], False),
        ([S, U], None),
        ([C, U, N], None),
        ([U, U], None),
        ([U], False),
        ([N, U, U], None),
        ([], False),
    ],
)
def test_an_answer_is_open_where_missing_labels_could_turn_it(
    labels: list[Label], answer: bool | None
) -> None:
    assert verdict_of(labels) is answer


def test_an_undecidable_claim_is_counted_and_is_in_no_figure_of_detection() -> None:
    groups = [
        judged(claim_group("1"), (S, C)),
        judged(claim_group("2"), (S, U)),
        judged(claim_group("3", (S, S)), (S, S)),
    ]
    overall = detection_figures("judge", groups, Usage(), 0.0).overall

    assert (overall.groups, overall.conflicts, overall.undecidable) == (3, 2, 1)
    assert overall.detection.recall == proportion(1, 1)
    assert overall.detection.accuracy == overall.constants["never"].accuracy.model_copy(
        update=proportion(2, 2).model_dump()
    )
    assert overall.constants["always"].recall.n == 1
    assert overall.unlabelled == 1
    assert overall.label_accuracy.value == 1


def test_the_interval_of_f1_narrows_with_more_claims_and_is_none_where_all_is_right() -> None:
    def f1(times: int, said: tuple[Label, Label]) -> tuple[float, float] | None:
        groups = [
            judged(claim_group(str(n)), said if n % 4 == 0 else (S, C)) for n in range(8 * times)
        ]
        interval = detection_figures("judge", groups, Usage(), 0.0).overall.detection.f1
        return None if interval.low is None else (interval.low, interval.high or 0.0)

    few, many = f1(1, (S, S)), f1(20, (S, S))
    assert few is not None
    assert many is not None
    assert few[0] < many[0] < 6 / 7 < many[1] < few[1]
    assert f1(5, (S, C)) is None


def test_pairs_of_a_claim_hang_together_in_the_intervals_of_labels() -> None:
    alone = [judged(claim_group(str(n), (S,)), (S if n % 2 else C,)) for n in range(60)]
    together = [judged(claim_group(str(n), (S,) * 6), (S if n % 2 else C,) * 6) for n in range(10)]
    narrow, wide = (
        detection_figures("judge", groups, Usage(), 0.0).overall.label_accuracy
        for groups in (alone, together)
    )
    assert narrow.value == wide.value == 0.5
    assert wide.low is not None
    assert narrow.low is not None
    assert wide.low < narrow.low - 0.1


def figures(set_name: str = "lamps") -> DetectionFigures:
    return detection_figures(
        "judge [bold]",
        [
            judged(claim_group("1", set_name=set_name), (S, C)),
            judged(claim_group("2", set_name=set_name), (S, N)),
            judged(claim_group("3", (S, N), set_name=set_name), (S, N)),
            judged(claim_group("4", (S, N), set_name="piers"), (S, C)),
            judged(claim_group("5", (S, None), set_name="piers", conflict=False), (U, C)),
        ],
        Usage(calls=9),
        2.0,
    )


def tables(given: DetectionFigures) -> str:
    out = StringIO()
    print_detection(given, Console(file=out, width=90, highlight=False, markup=False))
    return out.getvalue()


def cells(text: str, after: str, start: str) -> list[str]:
    lines = text[text.index(after) :].splitlines()
    return re.split(r"\s{2,}", next(x.strip() for x in lines if x.strip().startswith(start)))


def test_every_set_and_all_together_have_their_rows() -> None:
    text = tables(figures())

    found = cells(text, "Is there a conflict?", "overall")
    assert found == ["overall", "50.0", "50.0", "50.0", "50.0", "50.0"]
    assert cells(text, "single labels", "lamps")[:5] == ["lamps", "3", "2", "1", "0"]
    assert cells(text, "single labels", "piers")[:8] == ["piers", *"20214", "1", "50.0"]
    assert "9 calls, 0 from the cache" in text
    assert all(len(line) <= 90 for line in text.splitlines())


def test_one_set_is_not_shown_twice() -> None:
    alone = detection_figures("judge", [judged(claim_group("1"), (S, C))], Usage(), 0)
    assert "overall" not in tables(alone)


def test_names_are_text_and_steer_nothing() -> None:
    text = tables(figures("[red]\x1b[31mlamps"))
    assert "judge [bold]" in text
    assert "[red]" in text
    assert "\x1b" not in text
