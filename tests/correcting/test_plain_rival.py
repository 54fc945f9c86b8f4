"""Documents that repeat a claim word for word with a different quantity correct it."""

from collections.abc import Sequence
from typing import Any

import pytest

from conflictscore.correcting.look import look_again_at
from conflictscore.correcting.looking import Looking
from conflictscore.correcting.plain_rival import plain_rival_of
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, Document, EvidenceLabel, Label, LookOutcome
from tests.correcting.helpers import Replies, looking_embedded
from tests.nodes.steps import claim_with

DOSE = "Adults take 50 g of Zarafen a day."
HOW_MUCH = "How much Zarafen do adults take?"
LEAFLETS = (
    "Dosage. Adults take 50 mg of Zarafen a day. Children take half of it.",
    "Zarafen is sold as tablets.\n\nAdults take 50 mg of Zarafen a day.",
)


class Verbatim:
    """An embedded labeler: a document supports its own sentences, and contradicts all others."""

    name, identity, embedded = "verbatim", None, True

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        label = Label.SUPPORTS if claim.text in document.text else Label.CONTRADICTS
        return EvidenceLabel(claim=claim.number, document=document.number, label=label)


def looking_at(
    question: str, *texts: str, reply: str = "The document does not say.", **more: Any
) -> tuple[Looking, Replies]:
    return looking_embedded(question, *texts, labeler=Verbatim(), reply=lambda _: reply, **more)


async def rival_of(
    claim: str, question: str, texts: Sequence[str], sides: str = "", **more: Any
) -> str | None:
    """The plain rival of a claim that all documents contradict, unless ``sides`` says otherwise."""
    evidence = claim_with(sides or "-" * len(texts), claim)
    looking, _ = looking_at(question, *texts, **more)
    rival = await plain_rival_of(evidence, claim, looking)
    return rival and rival.statement


def both(sentence: str) -> tuple[str, str]:
    return f"{sentence} More is not known.", f"A second text. {sentence}"


@pytest.mark.parametrize(
    ("claim", "sentence", "question"),
    [
        (DOSE, "Adults take 50 mg of Zarafen a day.", HOW_MUCH),
        (
            "The Orlen fund manages 75 billion euros.",
            "The Orlen fund manages 75 million euros.",
            "How much does the Orlen fund manage?",
        ),
        (
            "The Harrow choir has fifteen members.",
            "The Harrow choir has fifty members.",
            "How many members does the choir have?",
        ),
        (
            "The Tarn beacon has a power of 40 watts.",
            "The Tarn beacon has a power of 40 kilowatts.",
            "",
        ),
        ("The Orfell runway is 1,900 km long.", "The Orfell runway is 1,900 m long.", ""),
        ("A stay at Pell Lodge costs 90 euros.", "A stay at Pell Lodge costs 90 dollars.", ""),
        (
            "Die Sellbrücke ist 412 km lang.",
            "Die Sellbrücke ist 412 m lang.",
            "Wie lang ist sie?",
        ),
        ("Le colis de Maren pèse 3 g.", "Le colis de Maren pèse 3 kg.", ""),
        (
            "The Ness kiln is heated to 900 degrees Fahrenheit.",
            "The Ness kiln is heated to 900 °C.",
            "",
        ),
        ("La torre de Brin mide 35 cm de altura.", "La torre de Brin mide 35 m de altura.", ""),
        (
            "In 2019, the Vale dam leaked 4 litres an hour.",
            "In 2019, the Vale dam leaked 40 litres an hour.",
            "",
        ),
    ],
)
async def test_a_sentence_with_another_quantity_is_the_rival(
    claim: str, sentence: str, question: str
) -> None:
    assert await rival_of(claim, question, both(sentence)) == sentence


@pytest.mark.parametrize(
    ("claim", "sentence"),
    [
        # the same quantity, or one that may be the same
        ("The Odda path is 1.2 km long.", "The Odda path is 1,200 m long."),
        ("The Odda path is 60 miles long.", "The Odda path is 100 km long."),
        ("The Brant tower is about 100 m tall.", "The Brant tower is 90 m tall."),
        ("The Brant tower is 100 m tall.", "The Brant tower is almost 90 m tall."),
        ("The Lode ferry takes 40 to 60 minutes.", "The Lode ferry takes 40 to 90 minutes."),
        # a number that tells which thing is meant
        ("The 5 km race in Dorle starts at noon.", "The 10 km race in Dorle starts at noon."),
        ("Runners of 5 km races eat at Dorle.", "Runners of 10 km races eat at Dorle."),
        ("Route 7 passes the Osk mill.", "Route 9 passes the Osk mill."),
        ("Version 2.1 of Tarn reads 4 files.", "Version 2.3 of Tarn reads 4 files."),
        # another event
        ("The Brill fair was held on 4 June 1998.", "The Brill fair was held on 8 June 1997."),
        ("The Brill bank is closed on 4 June.", "The Brill bank is closed on 8 June."),
        ("In 2019, the Vale dam leaked 4 litres.", "In 2018, the Vale dam leaked 4 litres."),
        # a part of a sentence, a question, or hearsay
        ("The limit in Dorle is 50 km/h.", "When it rains, the limit in Dorle is 30 km/h."),
        ("The limit in Dorle is 50 km/h.", "The limit in Dorle is 30 km/h for lorries."),
        ("The bell of Ost weighs 4 tonnes.", "The bell of Ost weighs 40 tonnes?"),
        # of a thing without a name
        ("The dose is 50 g a day.", "The dose is 50 mg a day."),
        ("It takes 50 g of Zarafen.", "It takes 50 mg of Zarafen."),
    ],
)
async def test_in_doubt_there_is_no_plain_rival(claim: str, sentence: str) -> None:
    assert await rival_of(claim, "What is known?", both(sentence)) is None


@pytest.mark.parametrize(
    ("texts", "sides"),
    [
        ((*LEAFLETS, DOSE), "--+"),  # one supports it
        ((*LEAFLETS, DOSE), "--0"),  # one repeats it, though the labeler missed that
        ((*LEAFLETS, "Something else."), "--?"),  # one is without a label
        ((*LEAFLETS, "Adults take 5 mg of Zarafen."), "---"),  # one is not word for word
        ((LEAFLETS[0], LEAFLETS[1].replace("50", "80")), "--"),  # the documents disagree
        ((LEAFLETS[0], f"{LEAFLETS[1]} Until 2020 it was 50 g."), "--"),  # both quantities
    ],
)
async def test_all_that_contradict_must_say_the_same_and_none_may_support(
    texts: tuple[str, ...], sides: str
) -> None:
    assert await rival_of(DOSE, HOW_MUCH, texts, sides) is None


async def test_a_document_about_another_subject_than_the_question_names_is_no_rival() -> None:
    question, claim = "How much Lemoril do adults take?", "Adults take 50 g a day in Dorle."

    assert await rival_of(claim, question, both("Adults take 50 mg a day in Dorle.")) is None


async def test_a_document_without_weight_has_no_say() -> None:
    texts, weights = (*LEAFLETS, LEAFLETS[0].replace("50", "80")), {1: 1.0, 2: 1.0, 3: 0.0}

    assert await rival_of(DOSE, HOW_MUCH, texts, "--", weights=weights) == DOSE.replace(
        "g", "mg", 1
    )


async def test_embedded_models_replace_the_claim_without_a_call_and_say_how() -> None:
    looking, model = looking_at(
        "Is everything in this text right?", *LEAFLETS, is_question_clear=False
    )
    look = await look_again_at(claim_with("--", DOSE), DOSE, looking)

    assert (look.decision, look.decided_by, look.rival) == ("replace", "wording", 1)
    assert look.counterpart.statement == "Adults take 50 mg of Zarafen a day."
    assert any("documents 1, 2 in the claim's words" in line for line in look.told())
    assert not model.asked


async def test_one_document_and_its_copy_replace_nothing_and_the_reason_says_refuted() -> None:
    looking, _ = looking_at(HOW_MUCH, *LEAFLETS, duplicates={2: 1}, answer=DOSE)
    look = await look_again_at(claim_with("--", DOSE), DOSE, looking)

    assert look.decision == "keep"
    assert "contradict the claim" in look.why


async def test_a_refuted_claim_without_a_question_is_said_to_be_refuted() -> None:
    claim, question = "Adults swallow Zarafen whole.", "How is glass made?"
    looking, _ = looking_at(
        "Is everything right?", *LEAFLETS, reply=question, is_question_clear=False
    )
    look = await look_again_at(claim_with("--", claim), claim, looking)

    assert look.outcome is LookOutcome.NO_QUESTION
    assert look.why.startswith("Documents contradict the claim, and none supports it.")
