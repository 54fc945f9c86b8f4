"""The guard of a change, by the vote or the weighing; nothing bypasses it."""

from typing import Any

import pytest

from conflictscore.correcting.change_refusals import refusal
from conflictscore.correcting.telling import told_evidence
from conflictscore.correcting.vote import tallied
from conflictscore.correcting.wording import passed_over
from conflictscore.records import Label, SecondLook
from tests.nodes.steps import claim_with, revision, scored

CLAIM, RIVAL = "The lamp was lit in 1871.", "The lamp was lit in 1874."
OWN, OTHER = claim_with("++--0", CLAIM), claim_with("--++0", RIVAL)


def look(decision: str = "replace", own: Any = OWN, other: Any = OTHER) -> SecondLook:
    candidates = tallied([own, other], [(), (3,)])
    known: dict[str, Any] = {"question": "When was it lit?", "rival": 1, "decision": decision}
    return SecondLook(candidates=candidates, **known)


def refused(after: str, *new: Any, by: SecondLook | None = None) -> str | None:
    change = revision(CLAIM, after, looks=(by or look(),))
    return refusal(change, [OWN], new, scored(*new))


def test_a_change_that_says_what_won_stands_though_more_documents_deny_it() -> None:
    outvoted = claim_with("---+0", RIVAL)

    assert refused(RIVAL, outvoted) is None
    reworded = claim_with("---00", "It was in 1874 that the lamp was lit.")
    assert refused("It was in 1874 that the lamp was lit.", reworded) is None


def test_a_change_may_use_another_form_of_the_winners_verb() -> None:
    own, other = "Meadows may be mown from 15 June on.", "Meadows may be mown from 1 July on."
    candidates = tallied([claim_with("++--0", own), claim_with("--++0", other)], [(), (3,)])
    question = "From which date may I mow a meadow?"
    won = SecondLook(candidates=candidates, question=question, rival=1, decision="replace")
    after = "You may mow a meadow from 1 July on."
    old, new = claim_with("++--0", own), claim_with("--++0", after)

    assert refusal(revision(own, after, looks=(won,)), [old], [new], scored(new)) is None
    grazed = "You may graze a meadow from 1 August on."
    other_claim = claim_with("--++0", grazed)
    change = revision(own, grazed, looks=(won,))
    assert "does not say what" in str(refusal(change, [old], [other_claim], scored(other_claim)))


@pytest.mark.parametrize(
    ("after", "new", "why"),
    [
        (RIVAL, [], "it makes no claim"),
        ("The lamp is red.", [claim_with("+++++", "The lamp is red.")], "does not say what"),
        (f"{CLAIM} {RIVAL}", [OTHER, OWN], "the change still says"),
        (
            f"{RIVAL} It is tall.",
            [OTHER, claim_with("+--00", "It is tall.")],
            "more documents contradict",
        ),
        (RIVAL, [claim_with("??++?", RIVAL)], "fewer of its pairs"),
    ],
)
def test_whatever_else_it_does_is_refused(after: str, new: list[Any], why: str) -> None:
    assert why in str(refused(after, *new))


def test_nothing_stands_that_neither_vote_nor_weighing_decided() -> None:
    assert refused(RIVAL, OTHER, by=look("keep")) == "neither the vote nor the weighing decided it"
    assert refusal(revision(CLAIM, RIVAL), [OWN], [OTHER], scored(OTHER))


HEDGE = "Sources disagree: The lamp was lit in 1871 (“A”); The lamp was lit in 1874 (“C”)."


def test_a_hedge_names_both_sides_each_with_a_document() -> None:
    told = told_evidence(look("hedge"))

    assert refused(HEDGE, told, by=look("hedge")) is None
    poison = "The safe dose is 5000 mg a day."
    added = "Sources disagree, and the safe dose is 5000 mg a day."
    for after in (poison, added):
        new = claim_with("00000", poison)
        assert "does not name both sides" in str(refused(after, new, by=look("hedge")))
    more = f"{HEDGE} {poison}"
    new = claim_with("00000", poison)
    assert "no document supports" in str(refused(more, told, new, by=look("hedge")))
    alone = look("hedge", own=claim_with("-----", CLAIM))
    assert "no document supports" in str(refused(HEDGE, told, by=alone))


@pytest.mark.parametrize("cited", ["(Source 1)", "(Docs 1, 2)", "(Quellen 1 und 2)", "[1]"])
def test_a_hedge_need_not_repeat_the_citations_of_the_passage(cited: str) -> None:
    told = told_evidence(look("hedge"))
    change = revision(f"The lamp was lit in 1871 {cited}.", HEDGE, looks=(look("hedge"),))

    assert refusal(change, [OWN], [told], scored(told)) is None


def test_a_told_dispute_has_the_labels_of_a_hedged_claim() -> None:
    own, other = claim_with("+--0?-?", CLAIM), claim_with("-+-00?-", RIVAL)

    told = told_evidence(look("hedge", own, other))

    assert [pair.label for pair in told.labels] == [
        *(Label.SUPPORTS, Label.SUPPORTS, Label.CONTRADICTS, Label.IRRELEVANT, Label.IRRELEVANT),
        *(Label.UNLABELLED, Label.UNLABELLED),
    ]


@pytest.mark.parametrize(
    ("after", "claims", "missing"),
    [
        (RIVAL, (RIVAL,), None),
        ("Happily, the lamp was lit in 1874.", (RIVAL,), None),
        (f"{RIVAL[:-1]}, and everyone should sell their shares.", (RIVAL,), "shares"),
    ],
)
def test_what_the_claims_of_a_change_pass_over_is_named(
    after: str, claims: tuple[str, ...], missing: str | None
) -> None:
    left = passed_over(after, CLAIM, claims, "When was it lit?")

    assert (left is None) if missing is None else missing in str(left)


def voted(own: str, rival: str, question: str, decision: str, sides: str = "++--0") -> SecondLook:
    """A look at two statements, decided like this."""
    labels = sides.translate(str.maketrans("+-", "-+"))
    candidates = tallied([claim_with(sides, own), claim_with(labels, rival)], [(), (3,)])
    known: dict[str, Any] = {"question": question, "rival": 1, "decision": decision}
    return SecondLook(candidates=candidates, **known)


@pytest.mark.parametrize(
    "told",
    [
        "Sources disagree: The pass of Osk is 1.2 km long (A); 1.3 km (C).",
        "Sources disagree: The pass of Osk is 1,200 m long (A); 1.3 km (C).",
        "Sources disagree: The pass of Osk is 1.2 km long (A); 1,300 m (C).",
    ],
)
def test_each_side_of_a_hedge_may_have_another_notation(told: str) -> None:
    own, rival = "The pass of Osk is 1,200 m long.", "The pass of Osk is 1,300 m long."
    by = voted(own, rival, "How long is the pass of Osk?", "hedge")
    evidence = told_evidence(by)
    change = revision(own, told, looks=(by,))

    assert refusal(change, [claim_with("++--0", own)], [evidence], scored(evidence)) is None
    other = revision(own, told.replace("1.2 km", "1.4 km").replace("1,200", "1,400"), looks=(by,))
    assert "is missing" in str(
        refusal(other, [claim_with("++--0", own)], [evidence], scored(evidence))
    )


def test_a_name_alone_is_no_statement_in_another_language() -> None:
    own, rival = "The tower was built by Ida Lowe.", "The tower was never built by Anna Reeve."
    by = voted(own, rival, "Who built the tower?", "replace")
    new = claim_with("--++0", "Anna Reeve.")

    change = revision(own, "Anna Reeve.", looks=(by,))

    assert "the change does not say" in str(
        refusal(change, [claim_with("++--0", own)], [new], scored(new))
    )


def test_a_translation_of_the_winner_says_what_won() -> None:
    own, rival = "Der Turm wurde von Ida Lowe gebaut.", "The tower was built by Anna Reeve."
    by = voted(own, rival, "Wer hat den Turm gebaut?", "replace")
    text = "Der Turm wurde von Anna Reeve gebaut."
    new = claim_with("--++0", text)

    change = revision(own, text, looks=(by,))

    assert refusal(change, [claim_with("++--0", own)], [new], scored(new)) is None


@pytest.mark.parametrize(
    ("added", "sides", "is_refused"),
    [
        ("The lamp was dear.", "00++0", False),  # one new word
        ("The lamp was 40.", "00++0", True),  # a number
        ("The lamp was 40.", "00+++", False),  # another document says so too
    ],
)
def test_a_number_that_only_the_winners_documents_give_is_no_synonym(
    added: str, sides: str, is_refused: bool
) -> None:
    rider = claim_with(sides, added)

    why = refused(f"{RIVAL} {added}", OTHER, rider)

    assert ("only the winner's own documents" in str(why)) == is_refused
    assert is_refused or why is None
