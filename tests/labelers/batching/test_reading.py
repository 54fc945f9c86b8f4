from typing import Any

import pytest

from conflictscore.errors import FailureKind
from conflictscore.labelers.batch_judge import BRIEF_SCHEMA, SCHEMA, Batch, read_reply
from conflictscore.records import Claim, Document, Label

CLAIMS = tuple(Claim(number=n, text=f"Claim {n} is so.") for n in (1, 2))
BATCH = Batch(CLAIMS, Document(number=4, text="Words of document 4."), cut=True)
ONE, TWO = BATCH.ids().values()


def verdict(claim: str, answer: str = "SUPPORTS", **more: Any) -> dict[str, Any]:
    return {"claim": int(claim), "snippet": "", "reason": "", "answer": answer, **more}


def test_a_verdict_is_taken_with_its_quotation_and_its_reason() -> None:
    first = verdict(ONE, snippet=" words of Document 4 ", reason=" It says so. ")
    invented = verdict(TWO, "CONTRADICTS", snippet="Nobody said this.")

    (said, unfounded), left = read_reply({"verdicts": [first, invented]}, BATCH)

    assert (said.claim, said.document, said.label) == (1, 4, Label.SUPPORTS)
    assert (said.snippet, said.snippet_found) == ("words of Document 4", True)
    assert (said.reasoning, said.document_cut) == ("It says so.", True)
    assert (unfounded.snippet_found, unfounded.label) == (False, Label.CONTRADICTS)
    assert (unfounded.reasoning, left) == (None, [])
    [blank], _ = read_reply({"verdicts": verdict(ONE, snippet=" ")}, BATCH)
    assert (blank.snippet, blank.snippet_found) == (None, None)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ([verdict(TWO), verdict(TWO)], "has 2 verdicts"),
        ([verdict(TWO), verdict(TWO, "IRRELEVANT")], "has 2 verdicts"),
        ([verdict(TWO) | {"answer": 7}], "has a verdict that cannot be read"),
        ([verdict(ONE) | {"claim": "all"}], "has no verdict under its id"),
        ([verdict(TWO, "MAYBE")], "has a verdict that cannot be read: its label was none of"),
        ([verdict(TWO, "SUPPORTS, or not")], "has a verdict that cannot be read"),
        (["nothing of the kind", None, 3], "has no verdict under its id"),
        ([verdict("2")], "has no verdict under its id"),
        ([[TWO, "words", "SUPPORTS", "why", "CONTRADICTS"]], "has no verdict under its id"),
    ],
)
def test_a_verdict_that_cannot_be_taken_leaves_its_claim_open_with_the_reason(
    wrong: list[Any], why: str
) -> None:
    verdicts, [(claim, reason, failure)] = read_reply({"verdicts": [*wrong, verdict(ONE)]}, BATCH)
    assert [one.claim for one in verdicts] == [1]
    assert claim == CLAIMS[1]
    assert reason.startswith(why)
    assert failure is FailureKind.UNREADABLE


@pytest.mark.parametrize("given", [{}, {"verdicts": None}, {"verdicts": "claim"}])
def test_a_reply_without_a_list_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r'^"verdicts" is not a list$'):
        read_reply(given, BATCH)


def test_a_reply_without_a_usable_verdict_is_refused_because_of_its_first_claim() -> None:
    with pytest.raises(
        ValueError, match=r"^the first claim has 2 verdicts, and no other verdict is"
    ):
        read_reply({"verdicts": [verdict(ONE), verdict(ONE)]}, BATCH)


def test_claims_whose_texts_come_to_the_same_id_get_ids_of_their_own() -> None:
    claims = tuple(Claim(number=n, text=f"Sheet {n}.") for n in range(5, 21))  # two pairs clash
    assert len(set(Batch(claims, BATCH.document).ids().values())) == 16


@pytest.mark.parametrize("listed", [int(TWO), TWO, {"claim": int(TWO)}])
def test_irrelevant_claims_may_be_listed_by_their_ids(listed: object) -> None:
    labels, left = read_reply({"verdicts": [verdict(ONE)], "irrelevant": [listed, 7]}, BATCH)
    assert [(one.claim, one.label) for one in labels] == [
        (1, Label.SUPPORTS),
        (2, Label.IRRELEVANT),
    ]
    assert (labels[1].snippet, labels[1].reasoning, left) == (None, None, [])


def test_a_claim_with_a_verdict_and_among_the_irrelevant_ones_stays_open() -> None:
    reply = {"verdicts": [verdict(ONE)], "irrelevant": [int(ONE), int(TWO)]}
    [label], [(claim, reason, _)] = read_reply(reply, BATCH)
    assert (label.claim, claim, reason) == (2, CLAIMS[0], "has 2 verdicts")


@pytest.mark.parametrize("answer", ["IRRELEVANT", "irrelevant"])
def test_an_irrelevant_claim_may_be_in_both_lists(answer: str) -> None:
    reply = {"verdicts": [verdict(ONE), verdict(TWO, answer)], "irrelevant": [int(TWO)]}
    labels, left = read_reply(reply, BATCH)
    assert [one.label for one in labels] == [Label.SUPPORTS, Label.IRRELEVANT]
    assert not left


@pytest.mark.parametrize("irrelevant", [[], None, "all others", "others", 3, ["all", None, []]])
def test_a_claim_that_no_list_names_is_not_irrelevant(irrelevant: object) -> None:
    labels, [(claim, reason, _)] = read_reply(
        {"verdicts": [verdict(ONE)], "irrelevant": irrelevant}, BATCH
    )
    assert ([one.claim for one in labels], claim) == ([1], CLAIMS[1])
    assert reason == "has no verdict under its id"


def test_the_brief_form_demands_lists_of_texts() -> None:
    texts = {"type": "array", "items": {"type": "string"}}
    lists = {"verdicts": {"type": "array", "items": texts}, "irrelevant": texts}
    assert BRIEF_SCHEMA["properties"] == lists
    assert BRIEF_SCHEMA["required"] == [*lists]
    assert not BRIEF_SCHEMA["additionalProperties"]


def test_a_verdict_may_be_a_list_with_or_without_a_reason() -> None:
    rows = [
        [ONE, "words of document 4", "SUPPORTS"],
        [TWO, "Words", "CONTRADICTS", "It denies it."],
    ]
    (first, second), left = read_reply({"verdicts": rows, "irrelevant": []}, BATCH)
    assert (first.claim, first.label, first.snippet_found) == (1, Label.SUPPORTS, True)
    assert (first.reasoning, left) == (None, [])
    assert (second.claim, second.label, second.snippet) == (2, Label.CONTRADICTS, "Words")
    assert second.reasoning == "It denies it."


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ([TWO], "has a verdict that cannot be read: it had no label"),
        ([TWO, "Words"], "has a verdict that cannot be read: it had no label"),
        ([TWO, "SUPPORTS", "Words"], "has a verdict that cannot be read: its label was none of"),
        ([], "has no verdict under its id"),
        ([["SUPPORTS"], TWO], "has no verdict under its id"),
        (["7", "Words", "SUPPORTS"], "has no verdict under its id"),
    ],
)
def test_a_list_that_is_no_verdict_leaves_its_claim_open(row: list[Any], why: str) -> None:
    labels, [(claim, reason, _)] = read_reply({"verdicts": [row, verdict(ONE)]}, BATCH)
    assert ([one.claim for one in labels], claim) == ([1], CLAIMS[1])
    assert reason.startswith(why)


def test_the_form_of_a_reply_demands_every_field_and_no_other() -> None:
    form = SCHEMA["properties"]["verdicts"]["items"]
    assert form["required"] == [*form["properties"]] == ["claim", "snippet", "reason", "answer"]
    assert form["properties"]["answer"]["enum"] == ["SUPPORTS", "CONTRADICTS", "IRRELEVANT"]
    assert not form["additionalProperties"]
    assert SCHEMA["required"] == ["verdicts"]
