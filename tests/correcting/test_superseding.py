"""How the embedded models read a document's words about itself: "restated", "from 1 June"."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from conflictscore.correcting.look import look_again_at
from conflictscore.correcting.superseding import says_it_replaces
from conflictscore.models.usage import UsageMeter
from conflictscore.records import (
    Claim,
    Document,
    EvidenceLabel,
    Ground,
    Label,
    LookOutcome,
    SecondLook,
)
from tests.correcting.helpers import EmbeddedByNumbers, documents_with, looking_embedded
from tests.nodes.steps import claim_with

QUESTION = "How much is the Osk rate?"
CLAIM, RIVAL = "The Osk rate is 320 euros.", "The Osk rate is 380 euros."
OLD, NEW = "Osk rate: 320 euros.", "From 1 June the Osk rate is 380 euros instead of 320."


class Embedded(EmbeddedByNumbers):
    """Labels by numbers, without a call; a document supports a replacement that it contains."""

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        if "replaced by" not in claim.text:
            own = document.text.replace("instead of 320", "")
            return await super().label(claim, document.model_copy(update={"text": own}), meter)
        is_so = "380 euros” was" not in claim.text and "instead of 320" in document.text
        label = Label.SUPPORTS if is_so else Label.IRRELEVANT
        return EvidenceLabel(claim=claim.number, document=document.number, label=label)


async def looked(
    claim: str, rival: str, *texts: str, sides: str, dates: Sequence[str] = ()
) -> SecondLook:
    looking, _ = looking_embedded(
        QUESTION,
        *texts,
        labeler=Embedded(),
        reply=lambda prompt: rival,
        only_claim=True,
        answer=claim,
    )
    if dates:
        documents = documents_with(*texts, metadata=[{"date": each} for each in dates])
        looking = replace(looking, documents=documents)
    return await look_again_at(claim_with(sides, claim), claim, looking)


@pytest.mark.parametrize(
    ("claim", "rival", "texts", "sides", "decision"),
    [
        (CLAIM, RIVAL, (OLD, NEW), "+-", "replace"),
        (CLAIM, RIVAL, (OLD, "The Osk rate: 380 euros."), "+-", "hedge"),
        (
            CLAIM,
            RIVAL,
            (OLD, "The Osk rate is 380 euros until the work ends. The rate instead of 320."),
            "+-",
            "replace",
        ),
        (CLAIM, RIVAL, (OLD, "The Osk rate is 380 euros until the work ends."), "+-", "keep"),
        (RIVAL, CLAIM, (NEW, OLD, "The Osk rate is 320 euros."), "+--", "keep"),
        (CLAIM, RIVAL, (OLD, "Osk rate of 320 euros.", NEW), "++-", "hedge"),
        (CLAIM, RIVAL, (OLD, "Osk rate of 320 euros.", "The Osk rate: 380 euros."), "++-", "keep"),
        (CLAIM, RIVAL, (OLD, "The Osk rate is 320 euros instead of 300.", NEW), "++-", "keep"),
    ],
)
async def test_what_replaced_the_other_side_wins_or_is_told_against_more_witnesses(
    claim: str, rival: str, texts: tuple[str, ...], sides: str, decision: str
) -> None:
    look = await looked(claim, rival, *texts, sides=sides)

    assert look.decision == decision
    if look.outcome is LookOutcome.WEIGHED:
        assert look.weighing is not None
        assert look.weighing.ground is Ground.SUPERSEDES


@pytest.mark.parametrize(
    ("notices", "year", "decision"),
    [
        ([NEW, "The Osk rate: 380 euros."], "2025", "replace"),
        ([NEW, "The Osk rate: 380 euros."], "2022", "hedge"),
        (["The Osk rate is 380 euros.", "The Osk rate: 380 euros."], "2025", "hedge"),
        ([NEW], "2025", "hedge"),
    ],
)
async def test_a_newer_notice_with_a_second_witness_outweighs_copies_of_the_old_rule(
    notices: list[str], year: str, decision: str
) -> None:
    old = [OLD, "Osk rate of 320 euros.", "The Osk rate is 320 euros."]
    dates = ["2021", "2023", "2022", *([year] * len(notices))]
    sides = "+" * len(old) + "-" * len(notices)

    look = await looked(CLAIM, RIVAL, *old, *notices, sides=sides, dates=dates)

    assert look.decision == decision


@pytest.mark.parametrize(
    ("text", "says_so"),
    [
        ("As of 1 March 2026 the rate is 380 euros.", True),
        ("Correction: the rate is 380 euros, not 320.", True),
        ("The rate of 320 euros no longer applies; it is 380.", True),
        ("Der Satz beträgt 380 Euro statt bisher 320.", True),
        ("From 1 March onward the rate is 380 euros.", True),
        ("From March the rate is 380 euros.", True),
        ("From next season the rate is 380 euros.", True),
        ("Ab nächster Woche beträgt der Satz 380 Euro.", True),
        ("À partir du 3 mars, le taux est de 380 euros.", True),
        ("The rate is 380 euros.", False),
        ("The rate is 380 euros. The pages from August onward tell of rain.", False),
        ("The rate is 380 euros, from May to September.", False),
        (f"Correction of a misprint. {'Nothing else. ' * 90}The rate is 380 euros.", False),
    ],
)
def test_a_document_says_near_its_value_that_it_replaces_another(text: str, says_so: bool) -> None:
    [document] = documents_with(text)

    assert says_it_replaces(document, "The rate is 380 euros.") is says_so
