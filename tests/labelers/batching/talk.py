"""Judging over a loopback server, by a model that compares years and can be made to err."""

from collections.abc import Callable, Sequence
from typing import Any

from conflictscore.labelers.batch_judge import BatchJudge
from conflictscore.labelers.protocol import Pair
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from conflictscore.records import Claim, Document, EvidenceLabel
from tests.batches import AskedBatch, batch_of, batch_reply
from tests.fakes.openai_server import ChatRequest, OpenAIServer
from tests.labelers.judging import PROMPTS, claim, document
from tests.models.calling import calling
from tests.world import compared

Verdicts = list[dict[str, Any]]
Err = Callable[[Verdicts, AskedBatch], Sequence[Any]]


def world(claims: int, documents: int) -> list[Pair]:
    """Pairs, document by document, of claims and documents that state one year each."""
    said = [claim(f"It was lit in {1870 + n % 3}, says page {n}.", n + 1) for n in range(claims)]
    texts = [f"Sheet {n}.\nThe lamp {n} was lit in {1870 + n % 4}." for n in range(documents)]
    return pairs_of(said, [document(text, n) for n, text in enumerate(texts, start=1)])


def pairs_of(claims: Sequence[Claim], documents: Sequence[Document]) -> list[Pair]:
    return [(of, text) for text in documents for of in claims]


def asked(request: ChatRequest) -> AskedBatch:
    return batch_of(str(request.messages[0]["content"]))


def truthful(err: Err = lambda verdicts, batch: verdicts) -> Callable[[ChatRequest], str]:
    """A model that gives the right verdicts, changed in this way."""

    def answer(request: ChatRequest) -> str:
        batch = asked(request)
        return batch_reply(err([batch.verdict(one, compared) for one in batch.claims], batch))

    return answer


def right(pair: Pair) -> str:
    return compared(pair[0].text, pair[1].text)


async def judged(
    server: OpenAIServer, pairs: Sequence[Pair], *, prompts: PromptSet = PROMPTS, **fields: Any
) -> dict[tuple[int, int], EvidenceLabel]:
    """The judge's verdicts by claim and document; a second verdict on a pair is an error."""
    judge = BatchJudge(calling(server, **fields), prompts)
    told: dict[tuple[int, int], EvidenceLabel] = {}

    def tell(verdict: EvidenceLabel) -> None:
        place = (verdict.claim, verdict.document)
        assert place not in told, f"{place} was told twice"
        told[place] = verdict

    await judge.label_all(pairs, UsageMeter(), tell)
    assert told.keys() == {(of.number, text.number) for of, text in pairs}
    return told
