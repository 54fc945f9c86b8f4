"""An embedded reader may put one fact's value into another, so its document must state the fact."""

import pytest

from conflictscore.answering.question_terms import predicate_terms
from conflictscore.correcting.look import look_again_at
from conflictscore.correcting.own_fact import (
    holds_only_in_part,
    is_out_of_scale,
    is_told_beside,
    is_within_bounds,
    question_for_value,
    tells_own_fact,
)
from conflictscore.records import LookOutcome, SecondLook
from tests.correcting.helpers import ByNumbers, documents_with, looking_embedded
from tests.nodes.steps import claim_with

QUESTION = "When was the Osk mill opened?"
OPENED, CLOSED = "The Osk mill was opened in 1854.", "The Osk mill was closed in 1979."


async def looked_locally(
    claim: str, answer: str, reading: str, *texts: str, sides: str
) -> SecondLook:
    """A look by an embedded reader that gives the same answer for each document."""
    looking, _ = looking_embedded(
        QUESTION,
        *texts,
        labeler=ByNumbers(),
        reply=lambda prompt: QUESTION if "Write the question" in prompt else reading,
        only_claim=answer == claim,
        answer=answer,
    )
    return await look_again_at(claim_with(sides, claim), answer, looking)


async def test_another_fact_that_the_answer_tells_is_no_rival() -> None:
    texts = ("Osk mill, opened 1854.", "In 1854 the Osk mill was opened.", "Closed in 1979.")
    reading = "The Osk mill was closed in 1854."
    look = await looked_locally(CLOSED, f"{OPENED} {CLOSED}", reading, *texts, sides="--+")

    assert (look.decision, look.outcome) == ("keep", LookOutcome.ANOTHER_THING)


@pytest.mark.parametrize(
    ("texts", "outcome"),
    [
        (("It was opened in 1854.", "In 1931 it burned.", "In 1931, fire."), "no rival"),
        (("It was opened in 1854.", "Opened in 1931.", "In 1931 they opened it."), "vote"),
    ],
)
async def test_a_document_without_the_words_of_the_fact_gives_no_rival(
    texts: tuple[str, ...], outcome: str
) -> None:
    reading = "The Osk mill was opened in 1931."
    look = await looked_locally(OPENED, OPENED, reading, *texts, sides="+--")

    assert look.outcome == outcome


async def test_a_claim_whose_own_question_cannot_be_had_is_asked_of_no_document() -> None:
    claim = "Ada Holm and Ida Berg ran the Osk mill."
    texts = ("Ada Holm ran it with Ida Berg.", "In 1854 the Osk mill was opened.")
    look = await looked_locally(claim, f"{OPENED} {claim}", OPENED, *texts, sides="+-")

    assert (look.decision, look.outcome) == ("keep", LookOutcome.NO_QUESTION)
    assert not look.candidates[0].given_by


@pytest.mark.parametrize(
    ("claim", "asked"),
    [
        (CLOSED, "The Osk mill was closed in which year?"),
        ("The Osk bridge has 9 arches.", "The Osk bridge has how many arches?"),
        ("The Osk bridge is 412 metres long.", "The Osk bridge is how many metres long?"),
        ("The Osk mill was closed in the 1970s.", "The Osk mill was closed in the which decade?"),
        ("Osk was closed in 1979 after 3 fires.", None),
        ("Ada Holm ran the Osk mill.", None),
        ("Die Mühle wurde 1979 von der Stadt geschlossen.", None),
    ],
)
def test_a_claim_with_one_value_is_a_question_for_it(claim: str, asked: str | None) -> None:
    assert question_for_value(claim, QUESTION) == asked


@pytest.mark.parametrize(
    ("question", "claim", "predicate"),
    [
        (QUESTION, OPENED, {"open"}),
        ("When does the Osk museum open on Sundays?", "The Osk museum opens at 11.", {"open"}),
        ("How many rooms does the Osk inn have?", "The Osk inn has 24 rooms.", {"room"}),
        ("Where is Osk?", "Osk is in Wales.", set()),
    ],
)
def test_a_question_asks_for_something_of_its_subject(
    question: str, claim: str, predicate: set[str]
) -> None:
    assert predicate_terms(question, claim) == predicate


def test_a_fact_in_another_year_is_another_one() -> None:
    own, other = documents_with("In 1950 Osk had 5,400 people.", "In 1990 Osk had 7,100 people.")
    question, claim = "How many people had Osk in 1950?", "Osk had 5,400 people in 1950."

    assert tells_own_fact(own, question, question, claim, [own])
    assert not tells_own_fact(other, question, question, claim, [own])


def test_a_new_value_is_not_told_beside_a_claim() -> None:
    answer = f"{OPENED} {CLOSED}"

    assert is_told_beside("The Osk mill was closed in 1854.", CLOSED, QUESTION, answer)
    assert not is_told_beside("The Osk mill was closed in 1981.", CLOSED, QUESTION, answer)


@pytest.mark.parametrize(
    ("rival", "fits"),
    [
        ("The tower is 98 m tall.", True),
        ("The tower is 80 m tall.", False),
        ("The tower was built in 1998.", False),
    ],
)
def test_a_quantity_that_fits_a_rounded_one_is_no_rival(rival: str, fits: bool) -> None:
    assert is_within_bounds(rival, "The tower is about 100 m tall.") == fits
    assert not is_within_bounds(rival, "The tower is exactly 100 m tall.")


@pytest.mark.parametrize(
    ("claim", "fits"),
    [
        ("The mill was opened about 1870.", True),
        ("The mill was opened in around 1870.", True),
        ("The mill was opened between 1870 and 1880.", True),
        ("The mill was opened about 1850.", False),
        ("The mill was opened in 1870.", False),
        ("A book about the mill was printed in 1870.", False),
    ],
)
def test_a_year_fits_only_a_rounded_year_near_it(claim: str, fits: bool) -> None:
    assert is_within_bounds("The mill was opened in 1873.", claim) == fits


def test_a_quantity_within_a_range_is_no_rival() -> None:
    claim = "The ferry takes 40 to 60 minutes."

    assert is_within_bounds("The ferry takes 45 minutes.", claim)
    assert not is_within_bounds("The ferry takes 90 minutes.", claim)
    assert not is_within_bounds("The ferry takes 45 hours.", claim)
    assert is_within_bounds("It takes 150 minutes.", "It takes 2 to 3 hours.")
    assert not is_within_bounds("It takes 240 minutes.", "It takes 2 to 3 hours.")


@pytest.mark.parametrize(
    ("text", "in_part"),
    [
        ("When it rains, the limit in Dorle is 30 km/h.", True),
        ("Until 1990, the limit in Dorle was 30 km/h.", True),
        ("In 1985, the limit in Dorle was 30 km/h.", True),
        ("From May on, the limit in Dorle will be 30 km/h.", True),
        ("Until 1990, it was 50 km/h, now it is 30 km/h.", False),
        ("The limit is no longer 70 km/h but 30 km/h.", False),
        ("In winter, the limit in Dorle is 30 km/h.", True),
        ("From November to March, the limit in Dorle is 30 km/h.", True),
        ("In 1985, it was 30 km/h. The limit in Dorle is 30 km/h.", False),
        ("Drive carefully. The limit in Dorle is 30 km/h.", False),
        ("The limit in Dorle was 30 km/h.", False),
        ("If it rains, stay at home.", False),
    ],
)
def test_a_quantity_for_other_cases_or_another_time_is_no_rival(text: str, in_part: bool) -> None:
    claim, rival = "The limit in Dorle is 50 km/h.", "The limit in Dorle is 30 km/h."
    [document] = documents_with(text)

    assert holds_only_in_part(document, rival, claim, "What is the limit?") == in_part
    assert not holds_only_in_part(document, rival, claim, "What is the limit when it rains?")


def test_a_claim_gets_no_english_question_if_its_documents_are_in_another_language() -> None:
    claim, question = "Erwachsene nehmen 50 g Zarafen.", "Wie viel nehmen Erwachsene?"

    assert question_for_value(claim, question, "Erwachsene nehmen 50 mg von der Arznei.") is None
    assert question_for_value("Osk has 9 arches.", "Osk?", "The bridge of Osk.") == (
        "Osk has how many arches?"
    )


@pytest.mark.parametrize(
    ("claim", "rival", "is_out"),
    [
        ("The Osk lamp burns for 30 hours.", "The Osk lamp burns for around three years.", True),
        ("The Osk bridge is 412 metres long.", "The Osk bridge is 2.5 metres long.", True),
        ("Osk has 52,000 inhabitants.", "Osk has 14 inhabitants.", True),
        ("The Osk bridge is 412 metres long.", "The Osk bridge is 0.43 km long.", False),
        ("Adults take 50 mg.", "Adults take 50 g.", False),
        ("The drops last 24 months.", "The drops last 28 days.", False),
        ("38,000 homes lost power.", "3,800 homes lost power.", False),
        ("The revenue was 412 million euros.", "The revenue was 391.", False),
        ("It is 2 °C in Osk.", "It is 35 °C in Osk.", False),
        ("The debt is 0 euros.", "The debt is 300 euros.", False),
        ("The Osk mill closed in 1981.", "The Osk mill closed 3 May.", False),
        ("Ada built the mill.", "12 people built the mill.", False),
    ],
)
def test_a_quantity_of_another_scale_is_of_another_fact(
    claim: str, rival: str, is_out: bool
) -> None:
    assert is_out_of_scale(rival, claim, "What is known about Osk?") == is_out


@pytest.mark.parametrize(
    ("question", "claim", "record", "other"),
    [
        (
            "Where was the boxer Tom Reyes born?",
            "Tom Reyes was born in Tucson.",
            "Reyes, Tom. Place of birth: Yuma.",
            "Reyes, Tom. Place of death: Yuma.",
        ),
        (
            "How high is the Corrie Dam?",
            "The Corrie Dam is 64 metres high.",
            "Corrie Dam. Height: 71 m.",
            "Corrie Dam. Width: 71 m.",
        ),
        (
            "When were the meadows of Brae mown?",
            "The meadows of Brae were mown in June.",
            "Brae. Nobody may mow before July.",
            "Brae. Nobody may graze before July.",
        ),
    ],
)
def test_a_record_may_name_a_fact_by_another_form_of_its_word(
    question: str, claim: str, record: str, other: str
) -> None:
    of_the_fact, of_another = documents_with(record, other)

    assert tells_own_fact(of_the_fact, question, question, claim, [])
    assert not tells_own_fact(of_another, question, question, claim, [])
