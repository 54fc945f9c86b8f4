"""What goes into one call of each mode, and what is made of the reply."""

import asyncio

import pytest

from conflictscore.errors import ProviderError
from conflictscore.labelers.batch import BatchName
from conflictscore.labelers.batch_judge import BatchJudge
from conflictscore.models.usage import UsageMeter
from conflictscore.records import EvidenceLabel
from tests.fakes.openai_server import Fault, OpenAIServer, script
from tests.labelers.batching.talk import asked, judged, pairs_of, right, truthful, world
from tests.labelers.judging import PROMPTS, claim, document
from tests.models.calling import calling


@pytest.mark.parametrize(
    ("mode", "calls", "claims", "documents"), [("per-document", 10, 6, 1), ("matrix", 1, 6, 10)]
)
async def test_six_claims_and_ten_documents_take_so_many_calls(
    mode: BatchName, calls: int, claims: int, documents: int
) -> None:
    pairs = pairs_of(*world(6, 10))
    with OpenAIServer(truthful()) as server:
        told = await judged(server, mode, pairs, context_window=32_000)
    assert len(server.requests) == calls
    batches = [asked(request) for request in server.requests]
    assert {(len(b.claims), len(b.documents)) for b in batches} == {(claims, documents)}
    assert {p: v.label for p, v in told.items()} == {
        (of.number, text.number): right((of, text)) for of, text in pairs
    }


@pytest.mark.parametrize(
    ("mode", "size", "of", "sizes"),
    [("per-document", (17, 1), "claims", [1, 8, 8]), ("matrix", (2, 20), "documents", [4, 16])],
)
async def test_more_than_a_call_may_have_take_more_calls(
    mode: BatchName, size: tuple[int, int], of: str, sizes: list[int]
) -> None:
    with OpenAIServer(truthful()) as server:
        await judged(server, mode, pairs_of(*world(*size)), context_window=64_000)
    assert sorted(len(getattr(asked(request), of)) for request in server.requests) == sizes


async def test_documents_that_do_not_fit_together_are_divided_and_stay_whole() -> None:
    claims, _ = world(2, 1)
    texts = [document(f"Sheet {n}. " + "Fog lay on the sea. " * 120, n) for n in range(1, 9)]
    with OpenAIServer(truthful()) as server:
        told = await judged(server, "matrix", pairs_of(claims, texts), context_window=6000)
    calls = len(server.requests)
    assert calls > 1
    assert not any(verdict.document_cut for verdict in told.values())
    assert all("left out here" not in request.prompt for request in server.requests)


async def test_a_document_that_does_not_fit_alone_is_cut_where_the_model_can_see_it() -> None:
    claims, _ = world(2, 1)
    texts = [document("It was 1871. " * 4000, 1), document("It was 1872.", 2)]
    with OpenAIServer(truthful()) as server:
        told = await judged(server, "matrix", pairs_of(claims, texts), context_window=4000)
    assert [told[1, number].document_cut for number in (1, 2)] == [True, False]
    assert sum("left out here" in request.prompt for request in server.requests) == 1


async def test_only_the_pairs_that_are_wanted_are_asked_for() -> None:
    claims, documents = world(2, 3)
    wanted = [(claims[0], text) for text in documents] + [(claims[1], documents[2])]
    with OpenAIServer(truthful()) as server:
        told = await judged(server, "matrix", wanted)
    [request] = server.requests
    assert len(asked(request).pairs) == len(told) == 4
    assert request.prompt.count(" documents=") == 1


async def test_one_pair_alone_that_cannot_be_judged_is_an_error() -> None:
    with OpenAIServer(script("no", "no")) as server:
        judge = BatchJudge(calling(server), PROMPTS, "matrix")
        with pytest.raises(ProviderError, match="unreadable reply"):
            await judge.label(claim(), document(), UsageMeter())


async def test_where_a_call_fails_its_pairs_alone_are_unlabelled() -> None:
    pairs = pairs_of(*world(2, 3))
    good = truthful()

    with OpenAIServer(
        lambda request: (
            Fault(400, message="too much of it") if "lamp 2" in request.prompt else good(request)
        )
    ) as server:
        told = await judged(server, "per-document", pairs)
    assert {place for place, v in told.items() if v.error} == {(1, 2), (2, 2)}
    assert len(server.requests) == 3
    assert "too much of it" in str(told[1, 2].error)


async def test_what_is_told_by_the_time_that_it_is_cancelled_stands() -> None:
    pairs, good = pairs_of(*world(2, 2)), truthful()
    told: list[int] = []
    half_done = asyncio.Event()

    def tell(verdict: EvidenceLabel) -> None:
        told.append(verdict.document)
        if len(told) == 2:
            half_done.set()

    with OpenAIServer(
        lambda request: Fault.hang(30) if "lamp 2" in request.prompt else good(request)
    ) as server:
        judge = BatchJudge(calling(server), PROMPTS, "per-document")
        judging = asyncio.create_task(judge.label_all(pairs, UsageMeter(), tell))
        await half_done.wait()
        judging.cancel()
        with pytest.raises(asyncio.CancelledError):
            await judging
    assert told == [1, 1]
