"""Documents asked alone: one call each, with nothing else in view, and the use of the replies."""

from collections.abc import Mapping
from typing import Any

import pytest

from conflictscore.correcting.readers import Answered, ask_documents, own_question
from conflictscore.errors import ProviderError
from conflictscore.loop.state import Reader
from conflictscore.models.usage import UsageMeter
from tests.correcting.helpers import Replies, documents_with
from tests.nodes.steps import PROMPTS

LAMP = "In which year did the lighthouse first light its lamp?"


async def asked(said: Mapping[str, str | Exception], *texts: str) -> tuple[Answered, list[str]]:
    """The answers of documents about the lamp, chosen by a mark in the prompt, and the prompts."""
    model: Any = Replies(lambda prompt: next(said[mark] for mark in said if mark in prompt))
    reader = Reader(model, PROMPTS, UsageMeter())
    return await ask_documents(LAMP, documents_with(*texts), reader), model.asked


async def test_each_document_is_asked_alone_and_equal_answers_are_one() -> None:
    texts = (
        "Lit on 14 October 1874, says the log.",
        "It shone in 1871.",
        "The Board met in 1874; the lamp was lit then.",
        "The lens was cleaned.",
    )
    said = {
        "says the log": "The lighthouse first lit its lamp on 14 October 1874. It was windy.",
        "It shone": "The lighthouse first lit its lamp in 1871.",
        "The Board": '"The lighthouse first lit its lamp in 1874."',
        "The lens": "The document does not say when it first lit its lamp.",
    }
    (rivals, dropped), prompts = await asked(said, *texts)

    assert [(r.statement, r.given_by) for r in rivals] == [
        ("The lighthouse first lit its lamp on 14 October 1874.", [1, 3]),
        ("The lighthouse first lit its lamp in 1871.", [2]),
    ]
    assert [(d.document, d.why) for d in dropped] == [(4, "the document says nothing about it")]
    for prompt, mark in zip(prompts, said, strict=True):
        assert mark in prompt
        assert not any(other in prompt for other in said if other != mark)


CLAIM = "The lighthouse first lit its lamp in 1871."


async def answers_given_quotations(
    said: Mapping[str, str | Exception], texts: Mapping[str, str]
) -> tuple[Answered, list[str]]:
    """The answers of documents, by the words that a judge quoted from them, and the prompts."""
    model: Any = Replies(lambda prompt: next(said[mark] for mark in said if mark in prompt))
    reader = Reader(model, PROMPTS, UsageMeter())
    quotations = dict(enumerate(texts.values(), start=1))
    documents = documents_with(*texts)
    answers = ask_documents(LAMP, documents, reader, quotations=quotations, claim=CLAIM)
    return await answers, model.asked


async def test_documents_quoted_with_the_same_new_value_are_asked_until_one_states_it() -> None:
    texts = {
        "The log: lit in 1874, at dusk.": "lit in 1874",
        "The Board: 1874, not 1871, is right.": "1874, not 1871",
        "The guide: lit in 1869.": "lit in 1869",
        "The almanac: in 1874.": "in 1874",
    }
    said = {"log": "It was lit in 1874.", "Board": "", "guide": "It was lit in 1869."}
    (rivals, dropped), prompts = await answers_given_quotations(said, texts)

    assert [(rival.statement, rival.given_by) for rival in rivals] == [
        ("It was lit in 1874.", [1, 2, 4]),
        ("It was lit in 1869.", [3]),
    ]
    assert not dropped
    assert len(prompts) == 2


@pytest.mark.parametrize(
    "first", ["The document does not say.", "It was lit in 1880.", ProviderError("x", provider="y")]
)
async def test_a_useless_answer_is_not_shared(first: str | Exception) -> None:
    texts = {"The log: lit in 1874.": "lit in 1874", "The Board: in 1874.": "in 1874"}
    said = {"log": first, "Board": "It was lit in 1874."}
    (rivals, dropped), prompts = await answers_given_quotations(said, texts)

    assert [(rival.statement, rival.given_by) for rival in rivals] == [("It was lit in 1874.", [2])]
    assert [reply.document for reply in dropped] == [1]
    assert len(prompts) == 2


async def test_an_answer_with_a_number_that_a_document_lacks_is_not_shared_with_it() -> None:
    texts = {"The log: by 312 men in 1874.": "in 1874", "The Board: in 1874.": "in 1874"}
    said = {"log": "It was lit by 312 men in 1874.", "Board": "It was lit in 1874."}
    (rivals, _), prompts = await answers_given_quotations(said, texts)

    assert [rival.given_by for rival in rivals] == [[1, 2]]
    assert len(prompts) == 2


async def test_quotations_without_a_new_value_share_nothing() -> None:
    texts = {"The log: lit by Ann.": "lit by Ann", "The Board: lit by Bo.": "lit by Bo"}
    said = {"log": "It was lit by Ann.", "Board": "It was lit by Bo."}
    _, prompts = await answers_given_quotations(said, texts)

    assert len(prompts) == 2


async def test_an_answer_that_follows_a_repeated_question_counts() -> None:
    texts = ("The log of 1874.", "The door says 1871.", "The lens.")
    said = {
        "log": f"{LAMP} The lighthouse first lit its lamp in 1874.",
        "door": f"{LAMP}\nIn 1871.",
        "lens": LAMP,
    }
    (rivals, dropped), _ = await asked(said, *texts)

    assert [(r.statement, r.given_by) for r in rivals] == [
        ("The lighthouse first lit its lamp in 1874.", [1]),
        ("In 1871.", [2]),
    ]
    assert [(d.document, d.why) for d in dropped] == [(3, "it repeats the question")]


async def test_an_invention_a_repetition_and_a_failure_become_no_rival() -> None:
    texts = ("The lens has 364 prisms.", "A tower.", "A third.", "A fourth.")
    said: dict[str, str | Exception] = {
        "364": "The lighthouse first lit its lamp in 1816.",
        "tower": "The lighthouse first light its lamp.",
        "third": ProviderError("it is down", provider="reader"),
        "fourth": "Word upon word " * 40,
    }
    (rivals, dropped), _ = await asked(said, *texts)

    assert rivals == ()
    assert [one.why for one in dropped] == [
        "the document has no 1816",
        "it repeats the question",
        "it is down",
        "it is too long for one answer",
    ]


async def test_a_claim_of_a_long_answer_gets_a_question_that_does_not_give_it_away() -> None:
    model: Any = Replies(lambda _: '"How high is the tower?"')
    reader = Reader(model, PROMPTS, UsageMeter())
    claim, question = "The tower is 31 metres high.", "Tell me about Vennick."

    found = await own_question(claim, question, reader, secret=("31",))

    assert found == "How high is the tower?"


async def test_a_question_with_a_number_of_the_claim_is_refused_in_any_notation() -> None:
    replies = iter(["Why were 2,140 trees felled?", "How many of the 12 rangers felled trees?"])
    model: Any = Replies(lambda _: next(replies))
    reader = Reader(model, PROMPTS, UsageMeter())
    claim, question = "2140 trees were felled in 2 days.", "Tell me about Vennick."

    with pytest.raises(ValueError, match="it reveals “2140”"):
        await own_question(claim, question, reader, secret=("2140", "2"))
    other = await own_question(claim, question, reader, secret=("2140", "2"))

    assert other == "How many of the 12 rangers felled trees?"
