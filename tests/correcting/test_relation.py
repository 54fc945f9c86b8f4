"""The relation of a document's answer to a claim: the same, a rival, another thing, or none."""

from typing import Any

import pytest

from conflictscore.correcting.look import look_again_at
from conflictscore.correcting.looking import Looking
from conflictscore.correcting.relation import read_relations
from conflictscore.correcting.things import told_apart
from conflictscore.loop.state import Reader
from conflictscore.models.usage import UsageMeter
from conflictscore.records import LookOutcome, Relation, SecondLook
from tests.correcting.helpers import ByNumbers, Replies, documents_with
from tests.nodes.steps import PROMPTS, claim_with

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
        return str(more.get("reading", "Osk Hall was built in 1931."))

    model: Any = Replies(reply)
    reads = Reader(model, PROMPTS, UsageMeter())
    looking = Looking(
        question=QUESTION,
        documents=documents_with(*more.get("texts", TEXTS)),
        duplicates={},
        weights={},
        unsettled="hedge",
        reader=reads,
        judge=reads,
        labeler=ByNumbers(),
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
    ["", "1: MAYBE\n2: RIVAL", "1: RIVAL", "1: RIVAL\n1: SAME\n2: SAME", "they are rivals"],
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
