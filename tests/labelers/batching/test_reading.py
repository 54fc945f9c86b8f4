"""What is made of a reply to a call for many pairs, and what its form is."""

from typing import Any

import pytest

from conflictscore.labelers.batch import MODES, Batch, prompt_of, read_reply
from conflictscore.prompts import PromptSet
from conflictscore.records import Claim, Document, Label

CLAIMS = tuple(Claim(number=n, text=f"Claim {n} is so.") for n in (1, 2))
DOCUMENTS = tuple(Document(number=n, text=f"Words of document {n}.") for n in (4, 7))
PAIRS = tuple((claim, document) for claim in CLAIMS for document in DOCUMENTS)
SHOWN = {document.number: document.text for document in DOCUMENTS}
BATCH = Batch(CLAIMS, DOCUMENTS, SHOWN, frozenset({7}), PAIRS)
MATRIX = MODES["matrix"]
ONE, TWO = BATCH.claim_ids().values()
FOUR, SEVEN = BATCH.document_ids().values()


def verdict(claim: str, document: str, answer: str = "SUPPORTS", **more: Any) -> dict[str, Any]:
    its = {"claim": int(claim), "document": int(document)}
    return {**its, "snippet": "", "reason": "", "answer": answer, **more}


def test_a_verdict_is_taken_with_its_quotation_and_its_reason() -> None:
    first = verdict(ONE, FOUR, snippet=" words of Document 4 ", reason=" It says so. ")
    invented = verdict(ONE, SEVEN, "CONTRADICTS", snippet="Nobody said this.")

    (said, unfounded), left = read_reply({"verdicts": [first, invented]}, BATCH, MATRIX)

    assert (said.claim, said.document, said.label) == (1, 4, Label.SUPPORTS)
    assert (said.snippet, said.snippet_found) == ("words of Document 4", True)
    assert (said.reasoning, said.document_cut) == ("It says so.", False)
    assert (unfounded.snippet_found, unfounded.document_cut) == (False, True)
    assert (unfounded.label, unfounded.reasoning) == (Label.CONTRADICTS, None)
    assert left == [(pair, "has no verdict under its ids") for pair in PAIRS[2:]]


def test_a_verdict_without_a_quotation_has_none_that_could_be_missing() -> None:
    [said], _ = read_reply({"verdicts": [verdict(ONE, FOUR, snippet=" ")]}, BATCH, MATRIX)

    assert (said.snippet, said.snippet_found) == (None, None)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ([verdict(TWO, FOUR), verdict(TWO, FOUR)], "has 2 verdicts"),
        ([verdict(TWO, FOUR, "MAYBE")], "has a verdict that cannot be read: its label was none of"),
        ([verdict(TWO, FOUR, "SUPPORTS, or not")], "has a verdict that cannot be read"),
        ([verdict(TWO, FOUR, snippet=DOCUMENTS[1].text)], "has a verdict that quotes another"),
        (["nothing of the kind", None, 3], "has no verdict under its ids"),
        ([verdict(FOUR, TWO)], "has no verdict under its ids"),
    ],
)
def test_a_verdict_that_cannot_be_taken_leaves_its_pair_open_with_the_reason(
    wrong: list[Any], why: str
) -> None:
    rest = [verdict(ONE, FOUR), verdict(ONE, SEVEN), verdict(TWO, SEVEN)]

    verdicts, left = read_reply({"verdicts": [*wrong, *rest]}, BATCH, MATRIX)

    assert [(one.claim, one.document) for one in verdicts] == [(1, 4), (1, 7), (2, 7)]
    [(pair, reason)] = left
    assert pair == PAIRS[2]
    assert reason.startswith(why)


def test_a_passage_that_two_documents_have_is_anothers_in_neither() -> None:
    same = "The harbour is old."
    documents = tuple(Document(number=n, text=same) for n in (4, 7))
    batch = Batch(CLAIMS, documents, {4: same, 7: same}, frozenset(), PAIRS)
    claim, (first, second) = next(iter(batch.claim_ids().values())), batch.document_ids().values()
    pairs = [((CLAIMS[0]), documents[0]), ((CLAIMS[0]), documents[1])]
    asked = Batch(CLAIMS, documents, batch.shown, frozenset(), tuple(pairs))
    said = [verdict(claim, its, snippet=same) for its in (first, second)]

    verdicts, left = read_reply({"verdicts": said}, asked, MATRIX)

    assert ([one.snippet_found for one in verdicts], left) == ([True, True], [])


@pytest.mark.parametrize("given", [{}, {"verdicts": None}, {"verdicts": "claim"}])
def test_a_reply_without_a_list_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r'^"verdicts" is not a list$'):
        read_reply(given, BATCH, MATRIX)


def test_a_reply_of_which_nothing_can_be_taken_is_refused_by_its_first_pair() -> None:
    twice = [verdict(ONE, FOUR), verdict(ONE, FOUR)]

    with pytest.raises(ValueError, match=r"^the first pair has 2 verdicts, and no other can be"):
        read_reply({"verdicts": twice}, BATCH, MATRIX)


def test_the_form_of_a_reply_names_what_a_call_has_several_of() -> None:
    fields = {
        "snippet": {"type": "string"},
        "reason": {"type": "string"},
        "answer": {"type": "string", "enum": ["SUPPORTS", "CONTRADICTS", "IRRELEVANT"]},
    }
    number = {"type": "integer"}

    def form(properties: dict[str, Any]) -> dict[str, Any]:
        common = {"type": "object", "required": [*properties], "additionalProperties": False}
        return {**common, "properties": properties}

    for name, wanted in {
        "per-document": {"claim": number, **fields},
        "matrix": {"claim": number, "document": number, **fields},
    }.items():
        whole = form({"verdicts": {"type": "array", "items": form(wanted)}})
        assert MODES[name].schema() == {"title": "evidence_labels", **whole}  # type: ignore[index]


def test_a_reply_has_room_for_each_of_its_verdicts() -> None:
    assert MATRIX.reply_tokens(3) == 400 + 3 * 80


def test_a_claim_that_is_held_against_some_of_the_documents_names_them() -> None:
    some = Batch(CLAIMS, DOCUMENTS, SHOWN, frozenset(), (*PAIRS[:2], PAIRS[3]))

    prompt = prompt_of(some, MATRIX, PromptSet.load())

    claims = prompt[prompt.index("Claim 1 is so.") :]
    assert SEVEN in claims
    assert FOUR not in claims, "the first claim is held against all, and names none"
    assert f"{DOCUMENTS[0].text}" in prompt
    assert prompt.index(DOCUMENTS[0].text) < prompt.index(DOCUMENTS[1].text)
