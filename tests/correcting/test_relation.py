"""The relation of a document's answer to a claim: the same, a rival, another thing, or none."""

from typing import Any

import pytest

from conflictscore.correcting.look import look_again_at
from conflictscore.correcting.looking import Looking
from conflictscore.correcting.relation import is_the_claim_reworded, read_relations
from conflictscore.correcting.telling import hedged, told_evidence
from conflictscore.correcting.things import has_longer_name, names_in, things_in, told_apart
from conflictscore.loop.state import Reader
from conflictscore.models.usage import UsageMeter
from conflictscore.records import (
    Claim,
    Document,
    EvidenceLabel,
    Label,
    LookOutcome,
    Relation,
    SecondLook,
)
from tests.correcting.helpers import ByNumbers, Replies, documents_with
from tests.nodes.steps import PROMPTS, claim_with


class ByNames:
    """A judge for whom a document supports a claim where the claim begins with its first word."""

    name, identity = "by names", None

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        backs = claim.text.startswith(document.text.split()[0])
        label = Label.SUPPORTS if backs else Label.CONTRADICTS
        return EvidenceLabel(claim=claim.number, document=document.number, label=label)


QUESTION = "When was Osk Hall built?"
CLAIM = "Osk Hall was built in 1854."
TEXTS = ("Osk Hall, a mill in Wales, was built in 1854.", "Osk Hall, a school in Kent: 1931.")


async def looked(
    relation: str, *, answer: str = CLAIM, claim: str = CLAIM, **more: Any
) -> SecondLook:
    """A look at a claim; the judge gives this relation for the second document's answer."""

    def reply(prompt: str) -> str:
        if "seems to be disputed" in prompt:
            return relation
        if "Two statements" in prompt:
            return str(more.get("ruling", "SIDE: NEITHER\nGROUND: NUMBER\nREASON: So."))
        if "Write the question" in prompt:
            return "When was it closed?"
        by_document = more.get("readings", {})
        reading = next((by_document[text] for text in by_document if text in prompt), None)
        return str(reading or more.get("reading", "Osk Hall was built in 1931."))

    model: Any = Replies(reply)
    reads = Reader(model, PROMPTS, UsageMeter())
    looking = Looking(
        question=str(more.get("question", QUESTION)),
        documents=documents_with(*more.get("texts", TEXTS)),
        duplicates={},
        weights={},
        unsettled="hedge",
        reader=reads,
        judge=reads,
        labeler=more.get("labeler", ByNumbers()),
        only_claim=True,
        answer=answer,
    )
    return await look_again_at(claim_with(more.get("sides", "+-"), claim), answer, looking)


@pytest.mark.parametrize(
    ("relation", "outcome", "related"),
    [
        ("1: RIVAL", LookOutcome.TOLD, []),
        ("1: SAME", LookOutcome.TOLD_ALREADY, [Relation.SAME]),
        ("1: OTHER", LookOutcome.ANOTHER_THING, [Relation.ANOTHER_THING]),
        ("1: NOTHING", LookOutcome.NO_RIVAL, [Relation.NOTHING]),
    ],
)
async def test_only_a_rival_disputes_a_claim(
    relation: str, outcome: LookOutcome, related: list[Relation]
) -> None:
    look = await looked(relation)

    assert look.outcome is outcome
    assert [one.relation for one in look.related] == related
    assert (look.rival is not None) == (relation == "1: RIVAL")


async def test_another_thing_of_the_name_is_told_apart_in_words_of_its_document() -> None:
    look = await looked("1: OTHER | school in Kent | mill in Wales")

    assert (look.decision, look.outcome) == ("explain", LookOutcome.EXPLAINED)
    assert (look.thing, look.related[0].thing) == ("mill in Wales", "school in Kent")
    assert [side.claim.text for side in look.sides] == [CLAIM, "Osk Hall was built in 1931."]


THREE_HALLS = (*TEXTS, "Osk Hall, the mill, dates from 1870.")
READINGS = {
    "a mill in Wales": CLAIM,
    "a school in Kent": "Osk Hall was built in 1931.",
    "dates from 1870": "Osk Hall was built in 1870.",
}


async def test_another_thing_is_told_behind_a_dispute_about_the_claims_own() -> None:
    look = await looked(
        "1: OTHER | school in Kent | mill in Wales\n2: RIVAL",
        texts=THREE_HALLS,
        sides="+--",
        readings=READINGS,
    )
    documents = documents_with(*THREE_HALLS)

    assert (look.decision, look.outcome) == ("hedge", LookOutcome.TOLD)
    assert [side.claim.text[-5:] for side in look.sides] == ["1854.", "1870.", "1931."]
    assert hedged(CLAIM, look, documents) == (
        "Sources disagree on the year: Osk Hall was built in 1854 (document 1) or 1870 (document"
        " 3). Another one may be meant: Osk Hall was built in 1931 (school in Kent)."
    )
    assert told_evidence(look).supports == (1, 2, 3)


async def test_what_the_answer_gives_as_its_value_does_not_say_which_thing_is_meant() -> None:
    texts = ("Ada Lowe's map of Osk, 1854.", "Ida Reeve's map of Osk, 1931.")
    relation = "1: OTHER | Ida Reeve's map | Ada Lowe's map"
    look = await looked(
        relation,
        claim="Ada Lowe drew the map of Osk.",
        answer="Ada Lowe drew the map of Osk.",
        question="Who drew the map of Osk?",
        reading="Ida Reeve drew the map of Osk.",
        labeler=ByNames(),
        texts=texts,
    )

    assert (look.decision, look.thing) == ("explain", "Ada Lowe's map")


@pytest.mark.parametrize(
    ("relation", "answer"),
    [
        ("1: OTHER | prison in Devon | mill in Wales", CLAIM),  # no document has these words
        ("1: OTHER | school in Kent | castle in Wales", CLAIM),
        ("1: OTHER | school in Kent | mill in Wales", f"The mill in Wales: {CLAIM}"),
    ],
)
async def test_words_that_stand_nowhere_or_in_the_answer_explain_nothing(
    relation: str, answer: str
) -> None:
    look = await looked(relation, answer=answer)

    assert (look.decision, look.outcome) == ("keep", LookOutcome.ANOTHER_THING)


async def test_a_lone_document_that_corrects_the_others_is_weighed() -> None:
    texts = ("Built in 1854.", "In 1854 it was built.", "Erratum: built in 1931, not in 1854.")
    known: dict[str, Any] = {"texts": texts, "sides": "++-"}
    dissenter = await looked("1: RIVAL", **known)
    unsettled = await looked("1: CORRECTS", **known)

    assert dissenter.outcome is LookOutcome.DISSENTER
    assert unsettled.weighing is not None
    assert unsettled.outcome is LookOutcome.DISSENTER, "nothing settled it"


async def test_a_claim_that_documents_refute_without_saying_what_is_so_says_that() -> None:
    look = await looked("", sides="--", reading="The document does not say.")

    assert look.outcome is LookOutcome.REFUTED


async def test_a_refusal_is_never_looked_at() -> None:
    look = await looked("", claim="I cannot help with opening Osk Hall.", sides="--")

    assert (look.decision, look.outcome) == ("keep", LookOutcome.ASSERTS_NOTHING)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "1: MAYBE\n2: RIVAL",
        "1: RIVAL",
        "1: RIVAL\n1: SAME\n2: SAME",
        "1: RIVAL\n1: CORRECTS\n2: SAME",
        "1: CORRECTS\n1: CORRECTED\n2: SAME",
        "they are rivals",
    ],
)
def test_a_reply_that_leaves_a_statement_out_is_refused(reply: str) -> None:
    with pytest.raises(ValueError, match=r"statement 1|no line"):
        read_relations(reply, 2)


def test_a_reply_may_come_with_the_marks_that_models_add() -> None:
    verdicts = read_relations('**1:** rival\n- 2. Other | a "school in Kent" | the mill', 2)

    assert [verdict.relation for verdict in verdicts] == [Relation.RIVAL, Relation.ANOTHER_THING]


def test_documents_tell_their_thing_beside_its_name() -> None:
    names = "When was Osk Hall built?"
    own, others = documents_with(*TEXTS)
    apart = told_apart([own], [others], names)

    assert apart is not None
    assert ("mill" in apart[0].words, "school" in apart[1].words) == (True, True)
    assert told_apart([own], [own], names) is None
    assert told_apart([own], documents_with("Osk Hall opened late."), names) is None


@pytest.mark.parametrize(
    ("text", "own", "longer"),
    [
        ("The Kite Pro reaches 25 km/h.", "Kite e-scooter: 20 km/h", True),
        ("The Kite 2 reaches 25 km/h.", "Kite e-scooter: 20 km/h", True),
        ("The Kite reaches 25 km/h.", "Kite e-scooter: 20 km/h", False),
        ("Kite E-Scooter: 25 km/h.", "Kite e-scooter: 20 km/h", False),
        ("The Kite Pro is newer. The Kite reaches 25 km/h.", "Kite: 20 km/h", False),
        ("The Kite Pro reaches 25 km/h.", "The Kite Pro reaches 20 km/h.", False),
        ("It reaches 25 km/h.", "Kite: 20 km/h", False),
    ],
)
def test_a_document_whose_thing_has_a_longer_name_is_about_another_thing(
    text: str, own: str, longer: bool
) -> None:
    [document, other] = documents_with(text, own)

    question = "How fast is the Kite e-scooter?"
    for others in ([other], [other, other]):
        assert has_longer_name(document, question, others) is longer


@pytest.mark.parametrize(
    ("question", "text", "longer"),
    [
        ("What is the Kite's top speed?", "The Kite Pro reaches 25 km/h.", True),
        ("What is the Kite\u2019s top speed?", "The Kite reaches 25 km/h.", False),
        ("Osk County Hall was built when?", "Osk County Hall Annex was built in 1931.", True),
        ("Kite's top speed is what?", "The Kite Pro reaches 25 km/h.", True),
        ("When was it built?", "When Finished: 1931.", False),
        ("Describe the Kite.", "The Kite Pro reaches 25 km/h.", True),
        ("How fast is the Kite?", "KITE PRO: it reaches 25 km/h.", True),
        ("How fast is the Kite?", "KITE: it reaches 25 km/h.", False),
        ("How fast is the Kite?", "Kite Ötzi reaches 25 km/h.", True),
    ],
)
def test_the_name_in_a_question_may_be_first_or_a_possessive(
    question: str, text: str, longer: bool
) -> None:
    [document] = documents_with(text)

    assert has_longer_name(document, question, ()) is longer


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("the Kite's top speed", ("Kite",)),
        ("a church in Saint Étienne", ("Saint Étienne",)),
        ("Does Osk County Hall open?", ("Osk County Hall",)),
        ("When was the mill in Bonn opened?", ("Bonn",)),
        ("Where did they meet Will?", ("Will",)),
        ("a book by Łukasz Nowak", ("Łukasz Nowak",)),
        ("Где стоит Новый Мост?", ("Новый Мост",)),
        ("it stands in Dallas. The Kite flew.", ("The Kite", "Dallas")),
        ("the port of St. Malo", ("St. Malo",)),
        ("the port of La Paz", ("La Paz",)),
        ("the iPhone 15", ("iPhone 15",)),
        ("5 \u00d7 8", ()),
        ("from Rome to Oslo or Bonn", ("Rome", "Oslo", "Bonn")),
    ],
)
def test_names_are_read_whole_and_end_with_their_sentence(
    text: str, names: tuple[str, ...]
) -> None:
    assert names_in(text) == names


@pytest.mark.parametrize(
    ("text", "described"),
    [
        ("Kite (album) sold well.", ["album"]),
        ("Redkite (album) sold well.", []),
        ("World Fund (WF) was started in 1950.", []),
        ("Kite (disambiguation)", []),
    ],
)
def test_initials_and_parts_of_other_words_describe_nothing(
    text: str, described: list[str]
) -> None:
    assert [thing.words for thing in things_in(text, "the Kite's sales and the World Fund")] == (
        described
    )


@pytest.mark.parametrize(
    ("reply", "same"),
    [
        ("On the first Sunday of the month nobody pays.", True),
        ("On the first Thursday of the month nobody pays.", False),
        ("It is free on the first Thursday, and not on the first Sunday of the month.", False),
        ("The first Sunday of the month, from 4 pm.", False),
    ],
)
def test_a_reply_with_the_claims_own_answer_is_no_rival_in_other_words(
    reply: str, same: bool
) -> None:
    question = "On which day is admission to the Tarn Museum free?"
    claim = "The Tarn Museum is free on the first Sunday of each month."

    assert is_the_claim_reworded(claim, reply, question) is same
    assert not is_the_claim_reworded("Yes, it is free.", reply, "Is it free on Sundays?")
