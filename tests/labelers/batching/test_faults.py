"""Replies with ids missing, doubled or invented, cut off or malformed; claims that are too long."""

from collections.abc import Sequence
from typing import Any

import pytest

from conflictscore.labelers.batch import BatchName
from conflictscore.labelers.protocol import Pair
from conflictscore.records import EvidenceLabel
from tests.batches import AskedBatch
from tests.fakes.openai_server import ChatRequest, OpenAIServer, Reply, then
from tests.labelers.batching.talk import MODES, Err, asked, judged, pairs_of, right, truthful, world

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


async def test_a_window_without_room_for_a_document_is_said_to_be_too_small() -> None:
    with OpenAIServer(truthful()) as server:
        told = await judged(server, "matrix", pairs_of(*world(2, 2)), context_window=1500)
    assert all("is too small" in str(verdict.error) for verdict in told.values())
    assert not server.requests
