"""Trust from agreement: TruthFinder and ACCU on tables of labels."""

from math import log
from random import Random
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conflictscore.metric import contradiction_share
from conflictscore.records import Document
from conflictscore.trust.truth_discovery import (
    PRIOR_CLAIMS,
    AgreementMethod,
    AgreementTrust,
    TrustedSources,
    trusted_sources,
)
from tests.test_metric import claims, tables

METHODS = st.sampled_from(get_args(AgreementMethod))
START = {"truthfinder": 0.9, "accu": 0.8}


def found(method: AgreementMethod, *rows: str) -> TrustedSources:
    return trusted_sources(claims(*rows), method)


@pytest.mark.parametrize("method", get_args(AgreementMethod))
def test_one_against_one_is_no_reason_to_trust_either_more(method: AgreementMethod) -> None:
    trust = found(method, "+-").trust
    assert trust[1] == trust[2] < START[method], "one of the two is wrong"


@pytest.mark.parametrize("method", get_args(AgreementMethod))
def test_of_three_the_two_that_agree_are_trusted_more(method: AgreementMethod) -> None:
    weights = found(method, "++-").weights
    assert weights[1] == weights[2] > weights[3] > 0


@pytest.mark.parametrize("method", get_args(AgreementMethod))
def test_a_tie_goes_to_the_side_that_the_others_bear_out_elsewhere(
    method: AgreementMethod,
) -> None:
    weights = found(method, "+-000", "+-++0", "+-0++").weights
    assert weights[1] > weights[2], "alike on the first claim, and apart by the two others"


def test_accu_settles_where_bayes_rule_and_its_mean_agree() -> None:
    trust = found("accu", "++-").trust
    odds = (trust[1] / (1 - trust[1])) ** 2  # for the claim; who errs as often as not adds nothing
    odds /= max(1.0, trust[3] / (1 - trust[3]))
    holds = odds / (1 + odds)
    assert trust[1] == pytest.approx((holds + PRIOR_CLAIMS * 0.8) / (1 + PRIOR_CLAIMS), abs=1e-4)
    assert trust[3] == pytest.approx(
        (1 - holds + PRIOR_CLAIMS * 0.8) / (1 + PRIOR_CLAIMS), abs=1e-4
    )


def test_truthfinder_votes_by_how_unlikely_it_is_that_all_are_wrong() -> None:
    known = found("truthfinder", "+0")
    assert known.weights[1] == pytest.approx(-log(1 - known.trust[1]))
    assert known.unheard == pytest.approx(-log(1 - 0.9))


def test_accu_leaves_out_who_errs_more_often_than_not() -> None:
    rows = ["+++-"] * 4
    assert found("accu", *rows).weights[4] == 0
    assert found("truthfinder", *rows).weights[4] > 0, "it knows no word that is worth nothing"


@given(tables(), METHODS)
def test_it_settles_within_bounds(rows: list[str], method: AgreementMethod) -> None:
    known = found(method, *rows)
    assert known.settled
    assert all(0 < trust < 1 for trust in known.trust.values())
    most = len(rows) + PRIOR_CLAIMS
    for weight in known.weights.values():
        assert 0 <= weight <= log(most * most / (1 - START[method]) / PRIOR_CLAIMS)


@given(tables(), METHODS, st.randoms(use_true_random=False))
def test_neither_the_order_of_documents_nor_that_of_claims_matters(
    rows: list[str], method: AgreementMethod, chance: Random
) -> None:
    order = list(range(len(rows[0]) if rows else 0))
    chance.shuffle(order)
    moved = ["".join(row[place] for place in order) for row in rows]
    chance.shuffle(moved)
    one, other = found(method, *rows).trust, found(method, *moved).trust
    back = {order[number - 1] + 1: trust for number, trust in other.items()}
    assert back == pytest.approx(one, abs=1e-3)


@given(tables(), METHODS)
def test_that_a_claim_is_turned_around_matters_not(
    rows: list[str], method: AgreementMethod
) -> None:
    turned = [row.translate(str.maketrans("+-", "-+")) for row in rows]
    assert found(method, *turned).trust == pytest.approx(found(method, *rows).trust, abs=1e-6)


@given(tables(), METHODS)
def test_what_nobody_takes_a_side_on_adds_nothing(rows: list[str], method: AgreementMethod) -> None:
    width = len(rows[0]) if rows else 1
    assert found(method, *rows, "0" * width, "?" * width).trust == found(method, *rows).trust


@given(tables("+-"), METHODS)
def test_copies_bear_nothing_out(rows: list[str], method: AgreementMethod) -> None:
    twice = [row + row[0] for row in rows]
    width = len(rows[0]) if rows else 0
    folded = trusted_sources(claims(*twice), method, {width + 1: 1})
    assert folded.trust == found(method, *rows).trust


def document(number: int) -> Document:
    return Document(number=number, text=f"text {number}")


@given(tables(), METHODS)
def test_every_document_has_a_weight_and_the_most_trusted_one_has_1(
    rows: list[str], method: AgreementMethod
) -> None:
    width = len(rows[0]) if rows else 3
    documents = [document(number) for number in range(1, width + 1)]
    weights = AgreementTrust(method).weights(documents, claims(*rows))
    assert set(weights) == set(range(1, width + 1))
    assert max(weights.values()) == 1
    assert min(weights.values()) >= 0.01, "agreement leaves nobody out"


def test_with_one_claim_agreement_makes_the_majority_look_larger() -> None:
    documents, evidence = [document(number) for number in range(1, 4)], claims("++-")
    shares = [
        contradiction_share(evidence[0], {}, AgreementTrust(method).weights(documents, evidence))
        for method in get_args(AgreementMethod)
    ]
    assert shares == [pytest.approx(0.28, abs=0.005), pytest.approx(0.05, abs=0.005)]
    assert contradiction_share(evidence[0]) == pytest.approx(1 / 3)


def test_a_copy_has_the_weight_of_what_it_copies() -> None:
    documents = [document(number) for number in range(1, 5)]
    weights = AgreementTrust("accu").weights(documents, claims("++-+"), {4: 3})
    assert weights[4] == weights[3] < weights[1]
    silent = AgreementTrust("accu").weights([*documents, document(5)], claims("++-+0"))
    assert 0 < silent[5] < 1, "it says nothing of the claim, and is trusted as beforehand"


def test_another_method_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown method 'vote'"):
        AgreementTrust("vote")  # type: ignore[arg-type]
