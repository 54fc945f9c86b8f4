"""The documents' vote: how each document votes, and when the vote alone changes an answer."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conflictscore.correcting.vote import (
    VoteOutcome,
    outcome,
    tallied,
    votes_of,
    without_agreeing_votes,
)
from conflictscore.records import Claim, ClaimEvidence, EvidenceLabel, Label
from tests.correcting.helpers import likely
from tests.nodes.steps import claim_with

NOBODY: list[tuple[int, ...]] = [(), ()]


def read_as(text: str, supports: float, contradicts: float) -> ClaimEvidence:
    """A statement that one document supports and contradicts with these probabilities."""
    known = {
        Label.SUPPORTS: supports,
        Label.CONTRADICTS: contradicts,
        Label.IRRELEVANT: 1 - supports - contradicts,
    }
    label = max(known, key=known.__getitem__)
    pair = EvidenceLabel(claim=1, document=1, label=label, probabilities=known)
    return ClaimEvidence(claim=Claim(number=1, text=text), labels=(pair,))


def decided(claim: str, rival: str, gave: tuple[int, ...], **more: Any) -> VoteOutcome:
    """The vote on two statements whose labels are written as ``+``, ``-`` and ``0``."""
    return outcome(tallied([claim_with(claim), claim_with(rival)], [(), gave], **more))


def test_a_document_votes_for_what_it_supports_clearly_more_than_anything_else() -> None:
    claim = likely("In 1871.", 0.80, 0.39, 0.55, 0.20)
    rival = likely("In 1874.", 0.10, 0.10, 0.50, 0.90)

    assert votes_of([claim, rival], NOBODY) == [(1,), (4,)], "2 is unsure, and 3 torn"


def test_a_torn_document_votes_for_what_it_said_when_asked_alone() -> None:
    claim, rival = likely("In 1871.", 0.70), likely("In 1874.", 0.70)

    assert votes_of([claim, rival], [(), (1,)]) == [(), (1,)]
    assert votes_of([claim, rival], [(1,), (1,)]) == [(), ()]


@pytest.mark.parametrize(
    ("claim", "rival", "gave", "votes"),
    [
        ((0.11, 0.59), (0.34, 0.31), (1,), (1,)),
        ((0.11, 0.59), (0.34, 0.31), (), ()),  # the document did not give it
        ((0.11, 0.30), (0.34, 0.31), (1,), ()),  # it does not contradict the claim
        ((0.30, 0.59), (0.34, 0.31), (1,), ()),  # the claim is nearly as likely
        ((0.11, 0.59), (0.34, 0.50), (1,), ()),  # it contradicts the rival too
    ],
)
def test_a_document_against_the_claim_votes_for_the_rival_that_it_gave(
    claim: tuple[float, float],
    rival: tuple[float, float],
    gave: tuple[int, ...],
    votes: tuple[int, ...],
) -> None:
    statements = [read_as("In 1871.", *claim), read_as("In 1874.", *rival)]

    assert votes_of(statements, [(), gave]) == [(), votes]


def test_without_probabilities_the_labels_vote() -> None:
    assert votes_of([claim_with("++-0"), claim_with("-++0")], NOBODY) == [(1,), (3,)]


@pytest.mark.parametrize(
    ("claim", "rival", "gave", "kind"),
    [
        ("-++-", "+--+", (1, 4), "open"),  # two against two
        ("+---", "-+++", (2,), "replace"),  # three against one
        ("---0", "++-0", (1,), "replace"),  # one of three gives a third answer
        ("---0", "+0-0", (1,), "open"),  # a single witness
        ("+++-", "---+", (4,), "keep"),  # a single dissenter
        ("+++--", "---++", (4,), "open"),  # a minority of two is never passed over
        ("++---", "--+++", (3,), "open"),  # nor is one on the answer's own side
        ("+---", "-+++", (1,), "keep"),  # no document that gave it supports it
        ("+---", "-000", (2,), "keep"),  # an invention: nobody supports it
        ("----", "++--", (1,), "replace"),  # as many against it as for it
        ("-----", "++---", (1,), "open"),  # more against it than for it
    ],
)
def test_what_the_vote_decides_and_what_it_leaves_open(
    claim: str, rival: str, gave: tuple[int, ...], kind: str
) -> None:
    assert decided(claim, rival, gave).kind == kind


def test_near_copies_are_one_witness() -> None:
    assert decided("+---", "-+++", (2, 3, 4)).kind == "replace"
    copied = decided("+---", "-+++", (2, 3, 4), duplicates={3: 2, 4: 2})
    assert copied.kind == "open", "one against one"
    assert decided("++---", "--+++", (3,), duplicates={4: 3, 5: 3}).kind == "keep"


def test_trust_weighs_votes_and_silences_what_has_none() -> None:
    assert decided("-++-", "+--+", (1, 4), weights={2: 0.1, 3: 0.1}).kind == "open"
    assert decided("+---", "-+++", (2,), weights={3: 0.0, 4: 0.0}).kind == "open"
    assert decided("+---", "-+++", (2,), weights={1: 9.0}).kind == "open"


def test_the_strongest_of_several_rivals_takes_the_place() -> None:
    statements = [claim_with("+-----"), claim_with("-++---"), claim_with("---+++")]

    assert outcome(tallied(statements, [(), (2,), (4,)])) == VoteOutcome("replace", 2)


@given(st.lists(st.sampled_from(["+-", "-+", "00", "--", "++"]), min_size=1, max_size=9), st.data())
def test_nothing_is_replaced_without_two_witnesses_and_a_lead(
    pairs: list[str], data: st.DataObject
) -> None:
    gave = data.draw(st.lists(st.integers(1, len(pairs)), unique=True))
    claim, rival = ("".join(side) for side in zip(*pairs, strict=True))

    candidates = tallied([claim_with(claim), claim_with(rival)], [(), tuple(gave)])

    if outcome(candidates).kind == "replace":
        own, other = candidates
        assert other.witnesses >= 2 > own.witnesses
        assert other.against <= other.worth
        assert set(other.votes) & set(gave)


@pytest.mark.parametrize(
    ("rival", "sides", "votes"),
    [
        ("Ice on the rails made it stop.", "+0", ()),
        ("Ice on the rails made it stop.", "++", (2,)),
        ("A wire in the switch was broken.", "0+", (2,)),
        ("It stopped 40 minutes late.", "+0", (1,)),
    ],
    ids=["the claim in other words", "a second voter", "another cause", "a value of its own"],
)
def test_a_document_for_the_claim_does_not_vote_for_the_claim_in_other_words(
    rival: str, sides: str, votes: tuple[int, ...]
) -> None:
    statements = [claim_with("+-", "It stopped because of ice."), claim_with(sides, rival)]
    candidates = tallied(statements, [(), (1, 2)])

    own, other = without_agreeing_votes(candidates, "Why did it stop?")

    assert own == candidates[0]
    assert other.votes == votes
    assert (other.witnesses, other.worth) == (len(votes), float(len(votes)))
