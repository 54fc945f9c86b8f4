"""Labels of rivals that follow from the judge's quotations in its verdicts on the claim."""

from typing import Any, cast

import pytest

from conflictscore.correcting.looking import Looking
from conflictscore.correcting.rival_labels import rivals_labelled
from conflictscore.loop.state import Reader
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, ClaimEvidence, Document, EvidenceLabel, Label
from tests.correcting.helpers import ByNumbers, Replies, documents_with
from tests.nodes.steps import PROMPTS

CLAIM, RIVAL = "The lamp was first lit in 1871.", "The lamp was first lit in 1874."
FOR, AGAINST = "Its lamp was first lit in 1871.", "The log says that the lamp was lit in 1874."
FOUR = (FOR, AGAINST, f"Inside, {FOR}", f"On 9 May, {AGAINST}")
SIGNS = {"+": Label.SUPPORTS, "-": Label.CONTRADICTS, "0": Label.IRRELEVANT}


class Counting(ByNumbers):
    """The judge, which counts its verdicts, and finds no value in the documents ``blind``."""

    def __init__(self, *blind: int) -> None:
        self.blind, self.judged = blind, list[tuple[str, int]]()

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        self.judged.append((claim.text, document.number))
        verdict = await super().label(claim, document, meter)
        if document.number in self.blind:
            return verdict.model_copy(update={"label": Label.IRRELEVANT})
        return verdict


def quoted(signs: str, *quotations: str, **more: Any) -> ClaimEvidence:
    """The claim with these labels, each with a quotation of its document."""
    labels = [
        EvidenceLabel(
            claim=1,
            document=number,
            label=SIGNS[sign],
            snippet=quotation,
            snippet_found=True,
            **more,
        )
        for number, (sign, quotation) in enumerate(zip(signs, quotations, strict=True), start=1)
    ]
    return ClaimEvidence(claim=Claim(number=1, text=CLAIM), labels=tuple(labels))


async def rival_of(
    claim: ClaimEvidence, texts: tuple[str, ...], labeler: Any, *rivals: str
) -> tuple[ClaimEvidence, ...]:
    model = cast("Any", Replies(lambda _: "no model is asked"))
    reads = Reader(model, PROMPTS, UsageMeter())
    looking = Looking(
        question="When was the lamp first lit?",
        documents=documents_with(*texts),
        duplicates={},
        weights={},
        unsettled="hedge",
        reader=reads,
        judge=reads,
        labeler=labeler,
    )
    statements = [Claim(number=n, text=text) for n, text in enumerate(rivals or (RIVAL,), start=1)]
    return await rivals_labelled(statements, claim, (), looking)


async def test_documents_quoted_with_the_same_value_are_represented_by_the_first() -> None:
    judge, texts = Counting(), (FOR, AGAINST, f"Inside, {FOR}", f"On 9 May, {AGAINST}", "No year.")

    [rival] = await rival_of(quoted("+-+-0", *texts), texts, judge)

    assert judge.judged == [(RIVAL, 1), (RIVAL, 2), (RIVAL, 5)]
    assert (rival.supports, rival.contradicts, rival.irrelevant) == ((2, 4), (1, 3), (5,))
    assert [label.claim for label in rival.labels] == [1] * 5
    assert rival.labels[2].snippet == texts[2]
    assert "another value" in str(rival.labels[2].reasoning)


async def test_all_are_judged_if_the_first_does_not_agree_with_its_quotation() -> None:
    judge, texts = Counting(2), FOUR

    [rival] = await rival_of(quoted("+-+-", *texts), texts, judge)

    assert sorted(number for _, number in judge.judged) == [1, 2, 4]
    assert (rival.supports, rival.contradicts, rival.irrelevant) == ((4,), (1, 3), (2,))


@pytest.mark.parametrize(
    ("document", "quotation", "more"),
    [
        (f"{AGAINST} Some say 1871.", AGAINST, {}),  # the document states both values
        ("In 1874, a storm broke the pier.", "In 1874, a storm broke the pier.", {}),
        (AGAINST, "the lamp was lit in 74 days", {}),  # the quotation has another value
        (AGAINST, AGAINST, {"document_cut": True}),
        (AGAINST, AGAINST, {"snippet_found": False}),
    ],
)
async def test_a_document_whose_quotation_does_not_decide_is_judged(
    document: str, quotation: str, more: dict[str, Any]
) -> None:
    judge, texts = Counting(), (FOR, AGAINST, f"Inside, {AGAINST}", f"{document} So it is.")
    claim = quoted("+---", FOR, AGAINST, AGAINST, quotation)
    last = claim.labels[3].model_copy(update=more)
    claim = claim.model_copy(update={"labels": (*claim.labels[:3], last)})

    await rival_of(claim, texts, judge)

    assert [number for _, number in judge.judged] == [1, 2, 4]


async def test_a_rival_in_other_words_is_judged_by_every_document() -> None:
    judge, texts = Counting(), FOUR

    await rival_of(quoted("+-+-", *texts), texts, judge, "Trask kindled a flame in 1874.")

    assert len(judge.judged) == 4


async def test_a_document_is_judged_on_all_rivals_unless_its_quotation_decides_all() -> None:
    judge, texts = Counting(), FOUR

    first, second = await rival_of(
        quoted("+-+-", *texts), texts, judge, RIVAL, "The lamp was first lit in 1880."
    )

    assert {number for _, number in judge.judged} == {1, 2, 4}, "3 contradicts both, like 1"
    assert first.supports == (2, 4)
    assert second.contradicts == (1, 2, 3, 4)
