"""Documents whose only value settles their answer need not be read."""

from typing import Any

import pytest

from conflictscore.correcting.look import look_again_at
from conflictscore.correcting.repeating import ToRead, to_read
from conflictscore.prompts import PromptSet
from tests.correcting.helpers import ByNumbers, EmbeddedByNumbers, Replies, looking_embedded
from tests.nodes.steps import claim_with

LAMP = "In which year did the lighthouse first light its lamp?"
CLAIM = "The lighthouse first lit its lamp in 1871."
FOR = "The mayor: in 1871 the lamp was lit, with 148 steps and ten flags."
AGAINST = "Log: 14 October 1874, lamp lit this evening for the first time."
BOTH = "Report: the lamp was first lit in 1874; the stone of 1871 was cut too early."


def asked(signs: str, *texts: str, claim: str = CLAIM, labeler: Any = None) -> ToRead:
    looking, _ = looking_embedded(
        LAMP, *texts, labeler=labeler or EmbeddedByNumbers(), reply=lambda _: "nobody is asked"
    )
    return to_read(claim_with(signs, claim), LAMP, looking.documents, looking)


def numbers(to_ask: ToRead) -> list[int]:
    return [document.number for document in to_ask.documents]


def test_a_supporting_document_with_no_other_year_repeats_the_claim() -> None:
    to_ask = asked("+-+-", FOR, AGAINST, BOTH, BOTH)

    assert numbers(to_ask) == [2, 3, 4]
    assert [(each.statement, each.given_by) for each in to_ask.repeated] == [(CLAIM, [1])]
    assert to_ask.only_values == {2: "14 October 1874"}


@pytest.mark.parametrize(
    ("sign", "text"),
    [
        ("0", FOR),  # the label may be wrong
        ("-", FOR),
        ("+", "The lamp was lit by Josiah Trask."),  # no year
        ("+", f"{FOR} It burned down in 1902."),
    ],
)
def test_any_other_document_is_read(sign: str, text: str) -> None:
    to_ask = asked(f"+{sign}", FOR, text)

    assert numbers(to_ask) == [2]
    assert not to_ask.only_values


@pytest.mark.parametrize(
    "claim", ["Josiah Trask lit the lamp.", "The lamp was lit in 1871 and electrified in 1936."]
)
def test_a_claim_without_a_value_or_with_two_leaves_all_documents_to_be_read(claim: str) -> None:
    assert numbers(asked("+-", FOR, AGAINST, claim=claim)) == [1, 2]


def test_lengths_are_compared_with_lengths() -> None:
    texts = ("The tower is 31 m high, on 12 acres.", "The tower is 31 m high, 9 m wide.")

    assert numbers(asked("++", *texts, claim="The tower is 31 metres high.")) == [2]


def test_with_another_labeler_all_documents_are_read() -> None:
    assert numbers(asked("+-", FOR, AGAINST, labeler=ByNumbers())) == [1, 2]


@pytest.mark.parametrize(
    ("reading", "documents"),
    [("in 1874", 1), ("on 14 October 1874", 1), ("in 1880", 2), ("before the war", 2)],
)
async def test_the_answer_of_one_document_counts_for_those_that_state_only_its_value(
    reading: str, documents: int
) -> None:
    def read(prompt: str) -> str:
        value = reading if "the stone" in prompt else "in 1874"
        return f"The lighthouse first lit its lamp {value}."

    texts = (AGAINST, BOTH, FOR, FOR.replace("mayor", "guide"))
    looking, model = looking_embedded(
        LAMP, *texts, labeler=EmbeddedByNumbers(), reply=Replies(read)
    )
    look = await look_again_at(claim_with("--++", CLAIM), CLAIM, looking)

    assert len(model.asked) == documents
    assert "the stone" in model.asked[0], "documents with several years are asked first"
    if documents == 1:
        assert look.candidates[1].given_by == (1, 2)


def test_a_document_read_alone_is_shown_as_at_the_beginning_of_the_first_answers_prompt() -> None:
    prompts = PromptSet.load()
    first, alone = (
        prompts.render(name, question="?", **{field: "<<documents>>"}).partition("<<documents>>")[0]
        for name, field in (("free_form_rag", "documents"), ("ask_document", "document"))
    )
    assert first == alone, "so that the local server need not read the first document twice"
