from typing import Any

import pytest

from conflictscore.errors import FailureKind
from conflictscore.labelers.batch_judge import SCHEMA, Batch, read_reply
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


def test_the_form_of_a_reply_demands_every_field_and_no_other() -> None:
    form = SCHEMA["properties"]["verdicts"]["items"]
    assert form["required"] == [*form["properties"]] == ["claim", "snippet", "reason", "answer"]
    assert form["properties"]["answer"]["enum"] == ["SUPPORTS", "CONTRADICTS", "IRRELEVANT"]
    assert not form["additionalProperties"]
    assert SCHEMA["required"] == ["verdicts"]
