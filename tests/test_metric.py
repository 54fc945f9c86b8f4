"""ConflictScore as a pure function of labels."""

from collections.abc import Iterable
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from conflictscore.metric import (
    balance,
    better_evidence,
    claim_to_reconsider,
    conflict_report,
    conflictscore_count,
    conflictscore_ratio,
    contradiction_share,
    coverage,
    disputed_claims,
    uncovered_claims,
)
from conflictscore.records import (
    ClaimEvidence,
    ConflictReport,
    Disputed,
    EvidenceLabel,
    Label,
)
from tests.nodes.steps import claim_with


def claims(*rows: str) -> list[ClaimEvidence]:
    """One claim per row, with one letter per document."""
    return [claim_with(row, f"claim {n}", n) for n, row in enumerate(rows, start=1)]


def scores(rows: Iterable[str]) -> tuple[float | None, float | None]:
    evidence = claims(*rows)
    return conflictscore_count(evidence), conflictscore_ratio(evidence)


@st.composite
def tables(draw: st.DrawFn, letters: str = "+-0?") -> list[str]:
    """Up to six claims with the same one to six documents."""
    width = draw(st.integers(1, 6))
    row = st.text(alphabet=letters, min_size=width, max_size=width)
    return draw(st.lists(row, max_size=6))


@st.composite
def copied_tables(draw: st.DrawFn) -> tuple[list[str], dict[int, int]]:
    """A table, and which of its documents are copies of the first in their group."""
    rows = draw(tables())
    width = len(rows[0]) if rows else 0
    groups = draw(st.lists(st.integers(0, 2), min_size=width, max_size=width))
    first = {group: groups.index(group) + 1 for group in groups}
    copies = {n: first[g] for n, g in enumerate(groups, start=1) if first[g] != n}
    return rows, copies


def counted_once(rows: Iterable[str], duplicates: dict[int, int]) -> ConflictReport:
    return conflict_report(claims(*rows), duplicates=duplicates, duplicates_vote=False)


def test_four_of_six_claims_in_conflict_give_the_count_of_the_papers_figure_2() -> None:
    evidence = claims("+-0", "+--", "0+-", "-+-", "--0", "+00")
    assert [claim.conflicting for claim in evidence] == [True] * 4 + [False] * 2
    assert conflictscore_count(evidence) == pytest.approx(0.67, abs=0.005)


def test_the_ratio_is_the_mean_share_of_contradiction() -> None:
    evidence = claims("+-0", "+---", "++", "-")
    shares = [contradiction_share(claim) for claim in evidence]
    assert shares == [1 / 2, 3 / 4, 0.0, 1.0]
    assert conflictscore_ratio(evidence) == pytest.approx((1 / 2 + 3 / 4 + 0 + 1) / 4)


@pytest.mark.parametrize(
    ("rows", "scored"),
    [
        (("!!-0", "!000", "0000"), False),  # all support was unreadable
        (("!000",), False),
        (("!" + "0" * 99,), False),  # the one lost reply may be the only one with a side
        (("++++!!", "++++++"), False),  # perhaps all contradictions were
        (("++++++++++++", "+++++++++++!"), True),
        (("+-+-!!", "++++++"), True),
        (("??-0", "?000", "0000"), True),  # lateness does not depend on the label
        (("xx-0", "x000", "0000"), False),  # a failure of unknown cause may depend on it
        (("xxx0",), False),
    ],
)
def test_labels_of_which_a_part_was_unreadable_give_a_score_only_if_they_stand_for_all(
    rows: tuple[str, ...], scored: bool
) -> None:
    report = conflict_report(claims(*rows))
    assert (report.cs_c is not None, report.error is None) == (scored, scored)
    assert scored or report.disputed == ()


@pytest.mark.parametrize("error", ["unreadable reply from judge: odd", "HTTP 500", "it wrote odd"])
def test_the_wording_of_a_failure_does_not_decide_whether_there_is_a_score(error: str) -> None:
    [whole] = claims("+000")
    labels = [
        EvidenceLabel(claim=1, document=n, label=Label.UNLABELLED, error=error) for n in (1, 2, 3)
    ]
    evidence = whole.model_copy(update={"labels": (*labels, whole.labels[3])})
    assert conflict_report([evidence]).cs_c is None


def test_contradiction_alone_is_no_conflict_and_counts_in_the_ratio() -> None:
    assert scores(["--", "++"]) == (0.0, 0.5)


def test_a_claim_with_neither_side_adds_nothing_and_is_counted_as_uncovered() -> None:
    evidence = claims("+-", "00", "0?", "-0", "??")
    assert conflictscore_count(evidence) == pytest.approx(1 / 4)
    assert conflictscore_ratio(evidence) == pytest.approx((0.5 + 0 + 0 + 1) / 4)
    assert coverage(evidence) == 7 / 10
    assert uncovered_claims(evidence) == (2, 3)
    assert contradiction_share(evidence[1]) is None


@pytest.mark.parametrize(
    ("rows", "share_labelled"),
    [([], None), (["", ""], None), (["??", "??"], 0.0), (["!?", "x?"], 0.0)],
    ids=["no claims", "no documents", "nothing labelled", "nothing labelled for several reasons"],
)
def test_where_nothing_was_labelled_there_is_no_score(
    rows: list[str], share_labelled: float | None
) -> None:
    evidence = claims(*rows)
    assert conflict_report(evidence) == ConflictReport(
        cs_c=None,
        cs_r=None,
        coverage=share_labelled,
        claims=tuple(evidence),
        uncovered=(),
        reconsider=None,
    )


@pytest.mark.parametrize(
    ("rows", "number"),
    [
        (("++-", "+--", "+-0"), 2),  # the most contradicted claim
        (("+++", "+-", "++--", "-+"), 2),  # on a tie, the earlier claim
        (("---", "++-"), 2),  # contradiction alone is no conflict
        (("---", "+++", "000"), None),
    ],
)
def test_the_claim_to_reconsider_is_the_one_in_conflict_that_is_contradicted_most(
    rows: tuple[str, ...], number: int | None
) -> None:
    assert claim_to_reconsider(claims(*rows)) == number


@given(tables(), st.randoms(use_true_random=False))
def test_the_order_of_claims_and_documents_changes_no_score(
    rows: list[str], random: Random
) -> None:
    columns = list(zip(*rows, strict=True))
    random.shuffle(columns)
    mixed = ["".join(row) for row in zip(*columns, strict=True)]
    random.shuffle(mixed)
    assert scores(mixed) == scores(rows)


@given(tables())
def test_turning_every_verdict_round_keeps_the_count_and_mirrors_the_share(rows: list[str]) -> None:
    turned = [row.translate(str.maketrans("+-", "-+")) for row in rows]
    assert scores(turned)[0] == scores(rows)[0]
    for before, after in zip(claims(*rows), claims(*turned), strict=True):
        share = contradiction_share(before)
        expected = None if share is None else pytest.approx(1 - share)
        assert contradiction_share(after) == expected


@given(tables(), st.integers(1, 3))
def test_pairs_without_a_label_change_nothing_but_the_coverage(rows: list[str], more: int) -> None:
    report = conflict_report(claims(*rows))
    failed = conflict_report(claims(*(row + "?" * more for row in rows)))
    assert (failed.cs_c, failed.cs_r) == (report.cs_c, report.cs_r)
    assert (failed.uncovered, failed.reconsider) == (report.uncovered, report.reconsider)
    if report.coverage:
        assert failed.coverage is not None
        assert failed.coverage < report.coverage


def test_copies_vote_as_in_the_paper_where_nothing_else_is_said() -> None:
    evidence = claims("+++-", "0++0")
    report = conflict_report(evidence, duplicates={2: 1, 3: 1})
    assert report.cs_r == conflictscore_ratio(evidence) == pytest.approx((1 / 4 + 0) / 2)
    assert report == conflict_report(evidence).model_copy(update={"duplicates": {2: 1, 3: 1}})


def test_ten_copies_of_one_text_are_one_witness_where_copies_count_once() -> None:
    copies = dict.fromkeys(range(3, 12), 2)
    assert conflict_report(claims("-++++++++++"), duplicates=copies).cs_r == pytest.approx(1 / 11)
    assert counted_once(["-++++++++++"], copies).cs_r == 1 / 2


@given(copied_tables(), st.data())
def test_one_more_copy_changes_no_score_where_copies_count_once(
    table: tuple[list[str], dict[int, int]], data: st.DataObject
) -> None:
    rows, copies = table
    assume(rows)
    width = len(rows[0])
    copied = data.draw(st.integers(1, width))
    before = counted_once(rows, copies)
    more = {**copies, width + 1: copies.get(copied, copied)}
    after = counted_once([row + row[copied - 1] for row in rows], more)
    for score in ("cs_c", "cs_r", "uncovered", "reconsider", "independent_documents"):
        assert getattr(after, score) == getattr(before, score)


# Disputes, and the guard


@pytest.mark.parametrize(
    ("rows", "policy", "disputed"),
    [
        (["+-0", "+++", "0--", "000"], ["conflict"], (1,)),
        (["+-0", "+++", "0--", "000"], ["conflict", "refuted"], (3, 1)),
        (["+-0", "+++", "0--", "000"], ["unsupported"], (4,)),
        (["0-0", "0--", "-+0"], ["refuted"], (2,)),
        (["0-0", "0--", "-+0"], ["contradicted"], (1,)),
        (["+-0", "???", "00?"], ["conflict", "refuted", "unsupported"], (1, 3)),
        (["+-0000000", "++++-----"], ["conflict"], (2, 1)),
        (["++-", "+--", "---"], ["conflict", "refuted"], (3, 2, 1)),
        (["+-", "-+"], ["conflict"], (1, 2)),
        (["+-"], [], ()),
    ],
)
def test_claims_are_disputed_by_policy_those_with_most_at_stake_first(
    rows: list[str], policy: list[Disputed], disputed: tuple[int, ...]
) -> None:
    assert disputed_claims(claims(*rows), policy) == disputed


def test_copies_are_no_second_document_against_a_claim_whether_they_vote_or_not() -> None:
    table = claims("0--0", "0-0-")
    for vote in (True, False):
        report = conflict_report(table, duplicates={3: 2}, duplicates_vote=vote, policy=["refuted"])
        assert report.disputed == (2,)
        assert table[0].disputed_by(report.duplicates) == "contradicted"


def test_where_a_policy_disputes_more_than_conflicts_a_refuted_claim_may_be_put_back() -> None:
    assert conflict_report(claims("---", "+++")).reconsider is None
    assert conflict_report(claims("---", "+++"), policy=["conflict", "refuted"]).reconsider == 1
    assert conflict_report(claims("---", "++-"), policy=["conflict", "refuted"]).reconsider == 2


@pytest.mark.parametrize(
    ("before", "after", "better"),
    [
        (["+--"], ["++-"], True),  # one side outweighs the other, and now they are reversed
        (["+-"], ["-+"], False),  # on a tie, the answer is kept
        (["---"], ["++-"], True),
        (["---"], ["000"], True),  # saying nothing is better than a claim that all deny
        (["+-"], ["000"], False),
        (["++-"], ["000"], False),
        (["+-"], ["++"], True),  # a hedge that both sides support
        (["---"], [], True),  # no claim counts like a claim that no document mentions
        (["+--"], [], True),
        (["+-"], [], False),
        (["--", "++", "++"], [], False),  # a well-supported claim would be lost with it
        (["+-"], ["+-", "++", "++"], False),  # a side remark does not make up for a disputed claim
        (["+-", "+-"], ["+-", "++"], True),
        (["+-", "++", "++"], ["++-"], False),
        (["++"], ["++"], False),
        ([], ["++"], True),
        ([], [], False),
        (["+--", "++-"], ["+-", "+-"], True),  # both means are 0, whatever the rounding
    ],
)
def test_the_guard_lets_a_change_stand_only_where_its_evidence_is_better(
    before: list[str], after: list[str], better: bool
) -> None:
    one, other = ([balance(claim) for claim in claims(*rows)] for rows in (before, after))
    assert better_evidence(one, other) is better


@st.composite
def weighted_tables(draw: st.DrawFn) -> tuple[list[str], dict[int, int], dict[int, float]]:
    """A table, its copies, and a weight for each document."""
    rows, copies = draw(copied_tables())
    weight = st.just(0.0) | st.floats(0.01, 100)
    width = len(rows[0]) if rows else 0
    return rows, copies, {number: draw(weight) for number in range(1, width + 1)}


def weighed(
    rows: Iterable[str], weights: dict[int, float], copies: dict[int, int] | None = None
) -> tuple[float | None, float | None]:
    report = conflict_report(
        claims(*rows), duplicates=copies or {}, duplicates_vote=not copies, weights=weights
    )
    assert report.weighted is not None
    return report.weighted.cs_c, report.weighted.cs_r


@given(copied_tables(), st.floats(0.01, 100))
def test_equal_weights_give_the_scores_without_any(
    table: tuple[list[str], dict[int, int]], weight: float
) -> None:
    rows, copies = table
    plain = counted_once(rows, copies) if copies else conflict_report(claims(*rows))
    alike = dict.fromkeys(range(1, 7), weight)
    assert weighed(rows, alike, copies) == pytest.approx((plain.cs_c, plain.cs_r))


@given(weighted_tables(), st.floats(0.01, 100))
def test_only_how_weights_compare_matters(
    table: tuple[list[str], dict[int, int], dict[int, float]], factor: float
) -> None:
    rows, copies, weights = table
    scaled = {number: factor * weight for number, weight in weights.items()}
    assert weighed(rows, scaled, copies) == pytest.approx(weighed(rows, weights, copies))


@given(weighted_tables())
def test_a_document_of_weight_0_is_left_out(
    table: tuple[list[str], dict[int, int], dict[int, float]],
) -> None:
    rows, _, weights = table
    kept = [number for number, weight in weights.items() if weight]
    without = ["".join(row[number - 1] for number in kept) for row in rows]
    left = {place: weights[number] for place, number in enumerate(kept, start=1)}
    assert weighed(rows, weights) == pytest.approx(weighed(without, left))
    policy: tuple[Disputed, ...] = ("conflict", "refuted", "contradicted")
    one = conflict_report(claims(*rows), weights=weights, policy=policy)
    other = conflict_report(claims(*without), weights=left, policy=policy)
    assert set(one.disputed) == set(other.disputed)
    assert (one.reconsider is None) == (other.reconsider is None)


def test_copies_are_worth_the_most_trusted_of_them() -> None:
    assert weighed(["+-+"], {1: 1.0, 2: 1.0, 3: 3.0}, {3: 1}) == pytest.approx((1 / 3, 1 / 4))


def test_a_trusted_copy_on_the_other_side_lends_no_weight() -> None:
    weights, copies = {1: 1.0, 2: 0.1}, {2: 1}
    assert weighed(["+-"], weights, copies) == pytest.approx((0.1, 0.1 / 1.1))


def test_claims_are_put_in_order_by_the_weights_at_stake() -> None:
    evidence = claims("+--00", "000+-", "+0000")
    weights = {1: 0.1, 2: 0.1, 3: 0.1, 4: 1.0, 5: 0.5}
    assert disputed_claims(evidence) == (1, 2)
    assert disputed_claims(evidence, weights=weights) == (2, 1)
    assert claim_to_reconsider(evidence) == 1
    assert claim_to_reconsider(evidence, {}, {**weights, 1: 9.0}) == 2


def test_what_nobody_trusts_disputes_nothing() -> None:
    evidence = claims("++-", "00-")
    report = conflict_report(evidence, weights={3: 0.0}, policy=["conflict", "contradicted"])
    assert (report.disputed, report.reconsider) == ((), None)
    assert report.conflicting == (1,), "as without weights"
    assert [report.why_disputed(claim) for claim in evidence] == [None, "unsupported"]
    assert report.weighted is not None
    assert (report.weighted.cs_c, report.weighted.cs_r) == (0.0, 0.0)
    assert report.weighted.by == "table", "who gives weights without a name has a table of them"
