"""Replies with ids missing, doubled or invented, cut off or malformed; claims that are too long."""

import json
import random
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from conflictscore.labelers.batch import BatchName
from conflictscore.labelers.protocol import Pair
from conflictscore.records import EvidenceLabel
from tests.batches import AskedBatch, batch_of, batch_reply
from tests.fakes.openai_server import ChatRequest, OpenAIServer, Reply, then
from tests.labelers.batching.talk import MODES, Err, asked, judged, pairs_of, right, truthful, world
from tests.labelers.judging import claim
from tests.world import compared

Verdicts = list[dict[str, Any]]
Told = dict[tuple[int, int], EvidenceLabel]


def assert_all_right(told: Told, pairs: Sequence[Pair]) -> None:
    assert {place: verdict.label for place, verdict in told.items()} == {
        (of.number, text.number): right((of, text)) for of, text in pairs
    }


async def first_reply_errs(mode: BatchName, err: Err) -> tuple[Told, list[Pair], list[ChatRequest]]:
    """Judge four claims against one document, of which the first reply errs."""
    pairs = pairs_of(*world(4, 1))
    with OpenAIServer(then(truthful(err), truthful())) as server:
        told = await judged(server, mode, pairs)
    return told, pairs, server.requests


def drop_two(verdicts: Verdicts, batch: AskedBatch) -> Verdicts:
    return verdicts[:1] + verdicts[3:]


def double_two(verdicts: Verdicts, batch: AskedBatch) -> Verdicts:
    return [*verdicts, verdicts[1], {**verdicts[2], "answer": "IRRELEVANT"}]


def malform_two(verdicts: Verdicts, batch: AskedBatch) -> Verdicts:
    return [
        verdicts[0],
        {**verdicts[1], "answer": "MAYBE"},
        {**verdicts[2], "answer": 7},
        verdicts[3],
    ]


def invent_two(verdicts: Verdicts, batch: AskedBatch) -> Verdicts:
    wrong = [{**v, **{key: 7 for key in ("claim", "document") if key in v}} for v in verdicts]
    return [verdicts[0], *wrong[1:3], verdicts[3], {**wrong[0], "claim": "all"}]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("err", [drop_two, double_two, malform_two, invent_two])
async def test_what_a_reply_leaves_open_is_asked_again_and_nothing_else(
    mode: BatchName, err: Err
) -> None:
    told, pairs, requests = await first_reply_errs(mode, err)
    first, second = map(asked, requests)
    assert second.pairs == first.pairs[1:3]
    assert_all_right(told, pairs)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("start", [0, 1])
async def test_a_reply_that_counts_through_instead_of_naming_ids_moves_no_verdict(
    mode: BatchName, start: int
) -> None:
    def count_through(verdicts: Verdicts, batch: AskedBatch) -> Verdicts:
        return [
            {**verdict, **{key: number for key in ("claim", "document") if key in verdict}}
            for number, verdict in enumerate(verdicts, start)
        ]

    told, pairs, requests = await first_reply_errs(mode, count_through)
    assert_all_right(told, pairs)
    assert len(requests) == 2
    assert "has no verdict under its ids" in requests[1].prompt


async def test_claims_and_documents_that_are_taken_for_each_other_move_no_verdict() -> None:
    pairs = pairs_of(*world(3, 3))

    def swap(verdicts: Verdicts, batch: AskedBatch) -> Verdicts:
        return [{**v, "claim": v["document"], "document": v["claim"]} for v in verdicts]

    with OpenAIServer(then(truthful(swap), truthful())) as server:
        told = await judged(server, "matrix", pairs)
    assert_all_right(told, pairs)


async def test_a_verdict_by_the_words_of_another_document_is_asked_for_again() -> None:
    pairs = pairs_of(*world(1, 4))

    def misplace(verdicts: Verdicts, batch: AskedBatch) -> Verdicts:
        places = [verdict["document"] for verdict in verdicts]
        return [
            {**verdict, "document": place}
            for verdict, place in zip(verdicts, [*places[:2], places[3], places[2]], strict=True)
        ]

    with OpenAIServer(then(truthful(misplace), truthful())) as server:
        told = await judged(server, "matrix", pairs)
    assert [len(asked(request).pairs) for request in server.requests] == [4, 2]
    assert_all_right(told, pairs)


async def test_what_stays_open_is_unlabelled_with_the_reason_and_the_rest_stands() -> None:
    claims, documents = world(4, 1)

    def silent_on_three(verdicts: Verdicts, batch: AskedBatch) -> Verdicts:
        return [v for v in verdicts if batch.claims[str(v["claim"])] != claims[2].text]

    with OpenAIServer(truthful(silent_on_three)) as server:
        told = await judged(server, "per-document", pairs_of(claims, documents))
    assert [place for place, verdict in told.items() if verdict.error] == [(3, 1)]
    assert "unreadable reply from test-model" in str(told[3, 1].error)
    assert len(server.requests) == 3, "once in the batch, then alone, and once more with the reason"


@pytest.mark.parametrize("mode", MODES)
async def test_a_model_that_never_gives_a_verdict_is_not_asked_without_end(mode: BatchName) -> None:
    with OpenAIServer(then('{"verdicts": []}')) as server:
        told = await judged(server, mode, pairs_of(*world(8, 4)), context_window=32_000)
    assert all("unreadable reply" in str(verdict.error) for verdict in told.values())
    calls = {"per-document": 4, "matrix": 1}[mode]
    assert len(server.requests) == calls * (1 + 2 + 4) * 2


async def test_a_reply_that_is_cut_off_is_asked_for_in_halves() -> None:
    pairs = pairs_of(*world(8, 1))
    good = truthful()

    def long_winded(request: ChatRequest) -> Reply:
        cut_off = len(asked(request).pairs) > 4
        text = good(request)
        return Reply(text[:200], finish_reason="length") if cut_off else Reply(text)

    with OpenAIServer(long_winded) as server:
        told = await judged(server, "per-document", pairs)
    assert [len(asked(request).pairs) for request in server.requests] == [8, 8, 4, 4]
    assert_all_right(told, pairs)


async def test_half_an_object_without_a_word_of_its_length_is_no_verdict_on_anything() -> None:
    pairs, good = pairs_of(*world(3, 1)), truthful()
    with OpenAIServer(then(lambda request: good(request)[:150], good)) as server:
        told = await judged(server, "per-document", pairs)
    assert len(server.requests) == 2
    assert_all_right(told, pairs)


@pytest.mark.parametrize("mode", MODES)
async def test_a_claim_longer_than_the_context_takes_no_other_with_it(mode: BatchName) -> None:
    claims, documents = world(3, 3)
    claims[1] = claim("It was lit in 1871, and " * 4000, 2)
    pairs = pairs_of(claims, documents)
    with OpenAIServer(truthful()) as server:
        told = await judged(server, mode, pairs)
    assert {place for place, verdict in told.items() if verdict.error} == {(2, 1), (2, 2), (2, 3)}
    assert "leaves no room for a document in the context window" in str(told[2, 1].error)
    assert_all_right(
        {place: verdict for place, verdict in told.items() if not verdict.error},
        [pair for pair in pairs if pair[0].number != 2],
    )


async def test_a_window_without_room_for_a_document_is_said_to_be_too_small() -> None:
    with OpenAIServer(truthful()) as server:
        told = await judged(server, "matrix", pairs_of(*world(2, 2)), context_window=1500)
    assert all("is too small" in str(verdict.error) for verdict in told.values())
    assert not server.requests


@pytest.mark.parametrize("mode", MODES)
async def test_with_a_fifth_of_the_replies_malformed_no_verdict_is_lost_or_wrong(
    mode: BatchName,
) -> None:
    pairs = [
        (of.model_copy(update={"text": f"{of.text} Question {question}."}), text)
        for question in range(12)
        for of, text in pairs_of(*world(6, 10))
    ]
    broken = _one_in_five(truthful())
    told: Counter[str] = Counter()
    needed = asked_for = 0
    with OpenAIServer(broken) as server:
        for start in range(0, len(pairs), 60):
            some = pairs[start : start + 60]
            verdicts = await judged(server, mode, some, context_window=32_000)
            assert_all_right(verdicts, some)
            told.update(verdict.label for verdict in verdicts.values())
        asked_for = len(server.requests)
    needed = 12 * {"per-document": 10, "matrix": 1}[mode]
    assert told.total() == 720
    assert needed < asked_for <= 1.5 * needed


def _one_in_five(good: Callable[[ChatRequest], str]) -> Callable[[ChatRequest], str]:
    """Of five requests one gets a reply that is malformed, each time in another way."""
    lock, drawn = threading.Lock(), random.Random(7)
    seen = 0

    def answer(request: ChatRequest) -> str:
        nonlocal seen
        with lock:
            seen += 1
            number, cut = seen, drawn.random()
        text = good(request)
        if number % 5 != 2:
            return text
        said = json.loads(text)["verdicts"]
        return (
            text[: int(len(text) * cut)],
            "I have read them all, and they agree.",
            batch_reply(said[:-1]),
            batch_reply([*said, said[0]]),
            json.dumps({"labels": said}),
        )[number // 5 % 5]

    return answer


async def test_every_mode_asks_for_the_pairs_that_the_tests_read() -> None:
    """The tests' own reading of a prompt, which the others stand on."""
    claims, documents = world(2, 2)
    with OpenAIServer(truthful()) as server:
        await judged(server, "matrix", pairs_of(claims, documents))
    batch = batch_of(server.requests[0].prompt)
    assert list(batch.claims.values()) == [of.text for of in claims]
    assert list(batch.documents.values()) == [text.text for text in documents]
    assert len(set(batch.pairs)) == 4
    assert compared(claims[0].text, documents[0].text) == right((claims[0], documents[0]))
