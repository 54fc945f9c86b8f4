"""Tests for claims that have the words of a passage in other connections."""

import pytest

from conflictscore.answering.claim_coverage import gaps_of
from conflictscore.answering.claim_order import is_jumbled
from conflictscore.answering.claim_roles import exchanged_roles
from conflictscore.markdown import place_of
from conflictscore.records import Gap


@pytest.mark.parametrize(
    ("passage", "claim"),
    [
        ("Oriole outran Halcyon.", "Halcyon outran Oriole."),
        ("In the final of 2019, Ajala outscored Brandt.", "Brandt outscored Ajala in 2019."),
        ("Ajala outscored Brandt.", "Ajala was outscored by Brandt."),
        ("The tenant sued the landlord over the lift.", "The landlord sued the tenant."),
        ("Mount Kesh is higher than Mount Orr.", "Mount Orr is higher than Mount Kesh."),
        ("Tam has 14 goats, and Ode has 9.", "Tam has 9 goats."),
        ("Der Kläger hat den Zeugen bedroht.", "Der Zeugen hat den Kläger bedroht."),
        ("The baths are open until 9.", "The baths are open from 9."),
        ("Keller besiegte Amsel.", "Amsel besiegte Keller."),
        ("Le maire accuse le préfet.", "Le préfet accuse le maire."),
        ("Rosario derrotó a Tucumán.", "Tucumán derrotó a Rosario."),
        ("Es heißt, dass Ben Anna schlug.", "Anna schlug Ben."),
        ("Es heißt, dass Ben Anna schlug.", "Es heißt, dass Anna Ben schlug."),
        ("Man weiß, dass Ben im Finale Anna schlug.", "Anna schlug Ben im Finale."),
        ("Weil die Katze den Hund biss, floh er.", "Der Hund biss die Katze."),
        ("Hij zei dat Jan Piet sloeg.", "Piet sloeg Jan."),
        ("Fest steht, dass Ben von Anna besiegt wurde.", "Ben besiegt Anna."),
    ],
)
def test_exchanged_roles_are_found(passage: str, claim: str) -> None:
    assert exchanged_roles(claim, passage)
    assert not exchanged_roles(passage, passage)


@pytest.mark.parametrize(
    ("passage", "claim"),
    [
        ("Oriole outran Halcyon.", "Halcyon was outrun by Oriole."),
        ("Ajala outscored Brandt.", "Brandt was outscored by Ajala."),
        ("Lund is the seat of the bishop.", "The seat of the bishop is Lund."),
        ("In 1987 the council sold the mill.", "The council sold the mill in 1987."),
        ("Kesh lies near Orr.", "Orr lies near Kesh."),
        ("The baths are open from 9 until 17.", "The baths are open until 17."),
        ("Lund, a town in Skåne, hosted the fair.", "The fair was hosted in Lund."),
        ("Tam and Ode married in May.", "Ode and Tam married in May."),
        ("Tam has 14 goats, and Ode has 9.", "Ode has 9 goats."),
        ("Tam and Ode have 14 and 9 goats, respectively.", "Ode has 9 goats."),
        ("Im Mai verkaufte die Stadt die Mühle.", "Die Stadt verkaufte die Mühle im Mai."),
        ("Es heißt, dass Ben Anna schlug.", "Ben schlug Anna."),
        ("Weil den Hund die Katze biss, floh er.", "Die Katze biss den Hund."),
        ("Fest steht, dass Ben von Anna besiegt wurde.", "Anna besiegt Ben."),
        ("Es heißt, dass Ben Anna heiratete.", "Anna heiratete Ben."),
        ("Man weiß, dass Anna über Ben schreibt.", "Ben schreibt Anna."),
        ("Es heißt, dass Anna für Ben arbeitet.", "Für Ben arbeitet Anna."),
        ("Man sagt, dass die Mühle im Mai verkauft wurde.", "Die Mühle im Mai wurde verkauft."),
        ("The toxin that heating does not destroy kills mice.", "Heating does not destroy it."),
    ],
)
def test_another_order_of_the_same_roles_is_no_exchange(passage: str, claim: str) -> None:
    assert not exchanged_roles(claim, passage)


FERRY = (
    "The Anna sails to Brandal on Mondays. It was built in Horten in 1962. "
    "The cabin seats 40 people. Coffee is sold in the saloon."
)
OF_FERRY = [
    "The Anna sails to Brandal on Mondays.",
    "The Anna was built in Horten in 1962.",
    "The cabin of the Anna seats 40 people.",
    "Coffee is sold in the saloon of the Anna.",
]


def gaps(answer: str, claims: list[str], question: str = "When does the Anna sail?") -> list[Gap]:
    places = [place_of(claim, "", answer) for claim in claims]
    spans = [(place.start, place.end) if place else None for place in places]
    return [*gaps_of(answer, list(zip(claims, spans, strict=True)), question)]


def test_an_answer_with_its_own_claims_has_no_gap() -> None:
    assert not gaps(FERRY, OF_FERRY)
    assert not gaps(f"{FERRY} So the cabin seats 40 people.", OF_FERRY)


@pytest.mark.parametrize(
    "rider",
    [
        "The cabin was built in Brandal.",
        "Coffee from Horten is sold to 40 people.",
    ],
)
def test_a_sentence_made_of_words_from_other_claims_is_in_no_claim(rider: str) -> None:
    [gap] = gaps(f"{FERRY} {rider}", OF_FERRY)
    assert rider in gap.note


def test_a_rider_in_a_sentence_made_of_words_from_other_claims_is_in_no_claim() -> None:
    answer = FERRY.replace("in the saloon", "in the saloon of Horten")
    [gap] = gaps(answer, OF_FERRY)
    assert "“Horten”" in gap.note


def test_exchanged_roles_leave_a_passage_uncovered() -> None:
    answer = "Oriole outran Halcyon in 1987. It rained all day."
    claims = ["Halcyon outran Oriole in 1987.", "It rained all day."]
    [gap] = gaps(answer, claims)
    assert gap.note.startswith("no claim covers “Oriole”, “Halcyon” in “Oriole outran Halcyon")
    assert gap.note.endswith(" in 1987.”, but claims use this wording in another context")
    assert len(gaps(answer, ["Oriole outran Halcyon in 1987.", *claims])) == 1


@pytest.mark.parametrize(
    ("jumble", "first", "end"),
    [
        ("Anna sails Mondays on to the of Brandal.", 0, 1),
        ("Horten 1962 built the Anna in was of.", 1, 2),
        ("Saloon seats cabin coffee 40 sold people.", 2, 4),
    ],
)
def test_a_jumble_of_an_answers_words_is_no_claim_of_it(jumble: str, first: int, end: int) -> None:
    claims = [*OF_FERRY]
    claims[first:end] = [jumble]
    assert gaps(FERRY, claims)


def test_a_preposition_with_an_accent_may_be_misplaced_too() -> None:
    answer = "Die Brücke wurde 1931 von Dal für die Stadt gebaut."

    assert is_jumbled("Die Brücke Dal 1931 Stadt gebaut für", answer)


@pytest.mark.parametrize(
    ("answer", "claim"),
    [
        ("In 1962 a yard in Horten built the Anna.", "The Anna was built by a yard in Horten."),
        ("Parts: two years; labour: one.", "Parts are covered for two years and labour for one."),
        ("Das Schiff wurde 1962 in Horten gebaut.", "In Horten wurde 1962 das Schiff gebaut."),
    ],
)
def test_a_reworded_claim_is_no_jumble(answer: str, claim: str) -> None:
    assert not is_jumbled(claim, answer)


@pytest.mark.parametrize(
    "heading",
    [
        "Harmful to swimmers",
        "Banned in Norway",
        "The Anna: a floating wreck",
        "Gefährlich für Schwimmer",
        "Interdit aux enfants en Norvège",
        "Peligroso para nadadores",
        "Die Fähre ist ein Wrack",
    ],
)
def test_a_heading_that_states_something_without_a_verb_needs_a_claim(heading: str) -> None:
    [gap] = gaps(f"## {heading}\n\n{FERRY}", OF_FERRY)
    assert heading in gap.note


@pytest.mark.parametrize(
    "heading",
    ["Overview", "Getting on board", "Benefits for families", "Step 2: Boarding", "Häufige Fragen"],
)
def test_a_heading_that_names_a_topic_needs_no_claim(heading: str) -> None:
    assert not gaps(f"## {heading}\n\n{FERRY}", OF_FERRY)


@pytest.mark.parametrize(
    "remark",
    [
        "Bear in mind that {}",
        "Kurz gesagt: {}",
        "According to my internal knowledge, {}",
        "The text refers to the former. {}",
        "It's worth noting that {}",
    ],
)
def test_a_phrase_that_states_nothing_needs_no_claim(remark: str) -> None:
    assert not gaps(remark.format(FERRY), OF_FERRY)
