"""Claims that say yes or no, read by a small model that reports how likely each word is."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import pytest

from conflictscore.correcting.look import look_again_at
from conflictscore.correcting.telling import hedged
from conflictscore.correcting.wording import replaced
from conflictscore.correcting.yes_or_no import read_yes_or_no
from conflictscore.errors import ProviderError
from conflictscore.loop.state import Reader
from conflictscore.models.usage import UsageMeter
from conflictscore.records import (
    Claim,
    ClaimEvidence,
    EvidenceLabel,
    Label,
    LookOutcome,
    SecondLook,
)
from tests.correcting.helpers import EmbeddedByNumbers, Replies, documents_with, looking_embedded
from tests.nodes.steps import PROMPTS

T = TypeVar("T")
QUESTION = "May dogs be taken on the ferry?"
PASSAGE = "Yes, dogs may be taken on the ferry, as long as there is room."


class Probable(Replies):
    """An embedded model that gives each document's log-odds of yes; other documents fail."""

    has_grammars = True

    def __init__(
        self, odds_by_text: Mapping[str, float], reply: Callable[[str], str] = str.lower
    ) -> None:
        super().__init__(reply)
        self.odds_by_text = odds_by_text

    async def ask_letter(
        self,
        prompt: str,
        letters: Sequence[str],
        read: Callable[[Mapping[str, float]], T],
        **_: Any,
    ) -> T:
        self.asked.append(prompt)
        for text, odds in self.odds_by_text.items():
            if text in prompt:
                return read({"Yes": odds, "No": 0.0})
        raise ProviderError("it is away", provider="local")


def labelled_pair(document: int, supports: float, contradicts: float) -> EvidenceLabel:
    shares = {
        Label.SUPPORTS: supports,
        Label.CONTRADICTS: contradicts,
        Label.IRRELEVANT: round(1 - supports - contradicts, 4),
    }
    label = max(shares, key=shares.__getitem__)
    return EvidenceLabel(
        claim=1, document=document, label=label, score=shares[label], probabilities=shares
    )


def claim_with(*shares: tuple[float, float], text: str = PASSAGE) -> ClaimEvidence:
    pairs = tuple(labelled_pair(number, *each) for number, each in enumerate(shares, start=1))
    return ClaimEvidence(claim=Claim(number=1, text=text), labels=pairs)


async def looked(
    claim: ClaimEvidence,
    odds: Sequence[float],
    passage: str = PASSAGE,
    *,
    question: str = QUESTION,
    reply: Callable[[str], str] = lambda _: "Yes, dogs may be taken on the ferry.",
) -> tuple[SecondLook, Probable]:
    texts = [f"Notice {number} about dogs on the ferry." for number in range(1, len(odds) + 1)]
    model = Probable(dict(zip(texts, odds, strict=True)), reply)
    looking, _ = looking_embedded(
        question,
        *texts,
        labeler=EmbeddedByNumbers(),
        reply=model,
        only_claim=True,
        answer=passage,
    )
    return await look_again_at(claim, passage, looking), model


async def test_both_sides_of_a_yes_with_a_reason_are_told() -> None:
    claim = claim_with((0.7, 0.1), (0.1, 0.6), (0.1, 0.6))
    look, model = await looked(claim, [1.0, -1.0, -1.0])

    assert (look.decision, look.outcome) == ("hedge", LookOutcome.TOLD)
    assert look.candidates[1].votes == (2, 3)
    assert sum("Yes or No" in prompt for prompt in model.asked) == 3
    told = hedged(PASSAGE, look, documents_with("a", "b", "c"))
    assert told is not None
    assert PASSAGE.rstrip(".") in told
    assert "No" in told.replace(PASSAGE.rstrip("."), "")


async def test_an_answer_of_a_document_is_preferred_to_a_bare_opposite() -> None:
    question, passage = "Is the ferry still running?", "Yes, the ferry still runs in summer."
    claim = claim_with((0.7, 0.1), (0.1, 0.6), (0.1, 0.6), text=passage)
    rival = "The ferry stopped running."
    look, model = await looked(
        claim, [1.0, -1.0, -1.0], passage, question=question, reply=lambda _: rival
    )

    assert look.candidates[1].statement == rival
    assert not any("Yes or No" in prompt for prompt in model.asked)


async def test_a_yes_that_no_document_gives_becomes_a_no() -> None:
    look, _ = await looked(claim_with((0.3, 0.5), (0.1, 0.6)), [-1.0, -1.0])

    assert look.decision == "replace"
    assert replaced(PASSAGE, look) == "No."
    # the passage also states another claim, which a single word would remove
    assert replaced(PASSAGE, look, ["The ferry has room."]) != "No."


@pytest.mark.parametrize(
    ("shares", "odds"),
    [
        ([(0.7, 0.1), (0.1, 0.6), (0.1, 0.6)], [1.0, -0.5, -0.5]),  # read as no, but not surely
        ([(0.7, 0.1), (0.1, 0.6), (0.1, 0.6)], [1.0, 0.5, 0.5]),  # read as yes
        ([(0.7, 0.1), (0.1, 0.1), (0.1, 0.4)], [1.0, -2.0, -1.0]),  # the sure no is off the topic
    ],
)
async def test_a_yes_stays_if_the_documents_against_it_are_not_clearly_read_as_no(
    shares: list[tuple[float, float]], odds: list[float]
) -> None:
    look, _ = await looked(claim_with(*shares), odds)

    assert look.decision == "keep"


@pytest.mark.parametrize(
    "passage", ["No dogs may be taken on the ferry.", "Dogs may be taken on the ferry."]
)
async def test_a_passage_without_a_yes_or_no_of_its_own_is_compared_with_answers(
    passage: str,
) -> None:
    claim = claim_with((0.7, 0.1), (0.1, 0.6), (0.1, 0.6), text=passage)
    _, model = await looked(claim, [1.0, -1.0, -1.0], passage)

    assert not any("Yes or No" in prompt for prompt in model.asked)


async def test_a_document_that_cannot_be_read_is_dropped_and_named() -> None:
    documents = documents_with("A notice about dogs.", "A notice about cats.")
    model: Any = Probable({"dogs.": 0.7})
    reader = Reader(model, PROMPTS, UsageMeter())
    readings = await read_yes_or_no(QUESTION, documents, reader, quotations={})

    assert readings.odds == {1: 0.7}
    assert [reply.document for reply in readings.dropped] == [2]
    with pytest.raises(ProviderError):
        await read_yes_or_no(QUESTION, documents[1:], reader, quotations={})
