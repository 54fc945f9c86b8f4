import asyncio
import hashlib
import json

import pytest

from conflictscore.errors import ProviderError
from conflictscore.labelers.batch_judge import BatchJudge
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from conflictscore.records import EvidenceLabel, Label
from tests.batches import AskedBatch
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer, Reply, script, then
from tests.labelers.batching.talk import (
    Verdicts,
    asked,
    judged,
    pairs_of,
    right,
    truthful,
    world,
)
from tests.labelers.judging import PROMPTS, claim, document
from tests.models.calling import calling


@pytest.mark.parametrize(
    ("prompt_set", "claims", "sizes"),
    [
        ("default", 25, [25, 25]),
        ("default", 26, [26, 26]),
        ("default", 27, [2, 2, 25, 25]),
        ("paper", 16, [8, 8, 8, 8]),
        ("paper", 18, [2, 2, 8, 8, 8, 8]),
    ],
)
async def test_the_claims_of_an_answer_share_a_call_per_document_up_to_a_limit(
    prompt_set: str, claims: int, sizes: list[int]
) -> None:
    pairs = world(claims, 2)
    with OpenAIServer(truthful()) as server:
        told = await judged(server, pairs, prompts=PromptSet.load(prompt_set))
    assert sorted(len(asked(request).claims) for request in server.requests) == sizes
    assert {p: v.label for p, v in told.items()} == {
        (of.number, text.number): right((of, text)) for of, text in pairs
    }


async def test_of_a_document_that_does_not_fit_the_parts_near_the_claims_are_shown() -> None:
    texts = [document("Fog. " * 9000 + "It was lit in 1871.", 1), document("It was 1872.", 2)]
    pairs = pairs_of([claim(number=1), claim("It was 1872.", 2)], texts)
    with OpenAIServer(truthful()) as server:
        told = await judged(server, pairs, context_window=4000)
    shown = [request.prompt for request in server.requests if "nearest to what" in request.prompt]
    assert len(shown) == 1
    assert "It was lit in 1871." in shown[0]
    assert told[1, 1].label is Label.SUPPORTS
    # nothing in the first document leads to the second claim
    assert [told[2, number].document_cut for number in (1, 2)] == [True, False]


async def test_a_window_without_room_for_a_document_is_said_to_be_too_small() -> None:
    with OpenAIServer(truthful()) as server:
        told = await judged(server, world(2, 2), context_window=1500)
    assert all("is too small" in str(verdict.error) for verdict in told.values())
    assert not server.requests


async def test_one_pair_alone_that_cannot_be_judged_is_an_error() -> None:
    with OpenAIServer(script("no", "no")) as server:
        judge = BatchJudge(calling(server), PROMPTS)
        with pytest.raises(ProviderError, match="unreadable reply"):
            await judge.label(claim(), document(), UsageMeter())


async def test_where_a_call_fails_its_pairs_alone_are_unlabelled() -> None:
    good = truthful()

    with OpenAIServer(
        lambda request: (
            Fault(400, message="too much of it") if "lamp 1" in request.prompt else good(request)
        )
    ) as server:
        told = await judged(server, world(2, 3))
    assert {place for place, v in told.items() if v.error} == {(1, 2), (2, 2)}
    assert len(server.requests) == 3
    assert "too much of it" in str(told[1, 2].error)


async def test_labels_reported_before_it_is_cancelled_are_kept() -> None:
    good = truthful()
    told: list[int] = []
    half_done = asyncio.Event()

    def tell(verdict: EvidenceLabel) -> None:
        told.append(verdict.document)
        if len(told) == 2:
            half_done.set()

    with OpenAIServer(
        lambda request: Fault.hang(30) if "lamp 1" in request.prompt else good(request)
    ) as server:
        judge = BatchJudge(calling(server), PROMPTS)
        judging = asyncio.create_task(judge.label_all(world(2, 2), UsageMeter(), tell))
        await half_done.wait()
        judging.cancel()
        with pytest.raises(asyncio.CancelledError):
            await judging
    assert told == [1, 1]


async def test_what_a_reply_leaves_open_is_asked_again_and_nothing_else() -> None:
    pairs = world(4, 1)
    two_left_out = truthful(lambda verdicts, batch: verdicts[:1] + verdicts[3:])
    with OpenAIServer(then(two_left_out, truthful())) as server:
        told = await judged(server, pairs)
    first, second = map(asked, server.requests)
    assert [*second.claims] == [*first.claims][1:3]
    assert [told[of.number, 1].label for of, _ in pairs] == [right(pair) for pair in pairs]


async def test_open_pairs_are_unlabelled_with_the_reason_and_the_others_are_kept() -> None:
    pairs = world(4, 1)

    def silent_on_three(verdicts: Verdicts, batch: AskedBatch) -> Verdicts:
        return [v for v in verdicts if batch.claims[str(v["claim"])] != pairs[2][0].text]

    with OpenAIServer(truthful(silent_on_three)) as server:
        told = await judged(server, pairs)
    assert [place for place, verdict in told.items() if verdict.error] == [(3, 1)]
    assert "unreadable reply from test-model" in str(told[3, 1].error)
    assert len(server.requests) == 3, "once in the batch, then alone, and once more with the reason"


async def test_a_model_that_never_gives_a_verdict_is_not_asked_without_end() -> None:
    with OpenAIServer(then('{"verdicts": []}')) as server:
        told = await judged(server, world(8, 4), context_window=32_000)
    assert all("unreadable reply" in str(verdict.error) for verdict in told.values())
    assert len(server.requests) == 4 * (1 + 2 + 4) * 2


async def test_a_reply_that_is_cut_off_is_asked_for_in_halves() -> None:
    good = truthful()

    def long_winded(request: ChatRequest) -> Reply:
        cut_off = len(asked(request).claims) > 4
        text = good(request)
        return Reply(text[:200], finish_reason="length") if cut_off else Reply(text)

    with OpenAIServer(long_winded) as server:
        told = await judged(server, world(8, 1))
    assert [len(asked(request).claims) for request in server.requests] == [8, 8, 4, 4]
    assert not any(verdict.error for verdict in told.values())


# The prefix that a server can cache: the same start for all claims on the same documents.

DOCUMENTS = [
    document("The lamp was lit in 1871.\nIt shone far.", 1, title="Gazette"),
    document("The log says the lamp was lit in 1874.", 2),
    document("The tower is white.", 3, title="Walks"),
]
ONE = ["The lamp was lit in 1871."]
MORE = ["The tower is white.", "The lamp may have been lit in 1871 or in 1874.", "It shone far."]


def prefix(request: ChatRequest) -> str:
    """Everything sent before the first claim, and the form of the reply."""
    [message] = request.messages
    before, mark, _ = message["content"].rpartition("\n{")
    assert mark
    form = json.dumps(request.body["response_format"])
    return f"{request.model}\n{form}\n{message['role']}\n{before}"


async def prefixes(claims: list[str], *, fog: int = 0, backwards: bool = False) -> set[str]:
    numbered = [claim(text, number) for number, text in enumerate(claims, start=1)]
    foggy = [document(f"Fog lay on sea {n}. " * fog, n) for n in range(1, 3)]
    pairs = pairs_of(numbered, foggy if fog else DOCUMENTS)
    with OpenAIServer(truthful()) as server:
        await judged(server, pairs[::-1] if backwards else pairs, context_window=6000)
    return {prefix(request) for request in server.requests}


async def test_the_prefix_of_a_recorded_conversation_does_not_move() -> None:
    """A deliberate change invalidates every provider's cache of these prompts."""
    digest = hashlib.sha256("\n\n".join(sorted(await prefixes(ONE))).encode()).hexdigest()
    assert digest[:16] == "9a38d735f886ca65"


async def test_a_second_round_begins_as_the_first_whichever_pairs_matter_most() -> None:
    first, second = await prefixes(ONE), await prefixes(MORE)
    assert first == second == await prefixes(MORE, backwards=True)
    assert len(first) == 3
    for before in first:
        rules = before.index("irrelevant: neither")
        [shown] = [text.text for text in DOCUMENTS if text.text in before]
        assert before.index(shown) > rules


async def test_a_document_is_cut_at_the_same_place_for_all_claims() -> None:
    first = await prefixes(ONE, fog=900)
    cut = ["left out here" in before for before in first]
    assert sorted(cut) == [False, False, True, True], "of each document its beginning and the rest"
    assert await prefixes([text * 4 for text in MORE], fog=900) == first
