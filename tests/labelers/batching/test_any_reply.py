"""Whatever a model replies, every pair ends with its own verdict or with none."""

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conflictscore.records import Label
from tests.batches import AskedBatch
from tests.fakes.openai_server import ChatRequest, OpenAIServer, Reply
from tests.labelers.batching.talk import Verdicts, asked, judged, right, truthful, world

Fault = Callable[[Verdicts, int, AskedBatch], Verdicts]


def changing(change: Callable[[dict[str, Any], AskedBatch], dict[str, Any]]) -> Fault:
    """A fault of one verdict."""

    def make(verdicts: Verdicts, place: int, batch: AskedBatch) -> Verdicts:
        changed = {**verdicts[place], **change(verdicts[place], batch)}
        return [*verdicts[:place], changed, *verdicts[place + 1 :]]

    return make


def counting(start: int) -> Fault:
    """The ids are numbered consecutively."""
    return lambda verdicts, place, batch: [
        {**verdict, "claim": number} for number, verdict in enumerate(verdicts, start)
    ]


def other_label(verdict: dict[str, Any], batch: AskedBatch) -> dict[str, Any]:
    return {"answer": "SUPPORTS" if verdict["answer"] == "IRRELEVANT" else "IRRELEVANT"}


FAULTS: dict[str, Fault] = {
    "leave out": lambda verdicts, place, batch: verdicts[:place] + verdicts[place + 1 :],
    "say twice": lambda verdicts, place, batch: [*verdicts, verdicts[place]],
    "say twice, differently": lambda verdicts, place, batch: [
        *verdicts,
        {**verdicts[place], **other_label(verdicts[place], batch)},
    ],
    "invent an id": changing(lambda verdict, batch: {"claim": 7}),
    "count from 0": counting(0),
    "count from 1": counting(1),
    "no such label": changing(lambda verdict, batch: {"answer": "MAYBE"}),
    "no label": changing(lambda verdict, batch: {"answer": None}),
    "one field more": changing(lambda verdict, batch: {"confidence": 0.9}),
    "turn around": lambda verdicts, place, batch: verdicts[::-1],
}
BROKEN: dict[str, Callable[[str], Reply | str]] = {
    "cut off": lambda text: Reply(text[: len(text) // 2], finish_reason="length"),
    "half an object": lambda text: text[: len(text) // 2],
    "prose": lambda text: "They agree.",
}
_NAMES = [*FAULTS, *BROKEN]


class Fickle:
    """Gives the right verdicts with randomly drawn faults, one set of them per reply."""

    def __init__(self) -> None:
        self.faults: Iterator[list[tuple[str, int]]] = iter(())
        self.raw: Iterator[str] | None = None

    def __call__(self, request: ChatRequest) -> Reply | str:
        if self.raw is not None:
            return next(self.raw, "{}")
        faults = next(self.faults, [])

        def err(verdicts: Verdicts, batch: AskedBatch) -> Verdicts:
            for fault, place in faults:
                if verdicts and fault in FAULTS:
                    verdicts = FAULTS[fault](verdicts, place % len(verdicts), batch)
            return verdicts

        text = truthful(err)(request)
        return next((BROKEN[fault](text) for fault, _ in faults if fault in BROKEN), text)


@pytest.fixture(scope="module")
def fickle() -> Iterator[tuple[Fickle, OpenAIServer]]:
    model = Fickle()
    with OpenAIServer(model) as server:
        yield model, server


_LIE = "say twice, differently"
"""Combined with a second fault, such as omitting the true half, it could not be detected."""
_PLACES = st.integers(0, 11)
_REPLIES = st.lists(
    st.lists(st.tuples(st.sampled_from([n for n in _NAMES if n != _LIE]), _PLACES), max_size=3)
    | st.lists(st.tuples(st.just(_LIE), _PLACES), min_size=1, max_size=1),
    max_size=20,
)
_SHAPES = st.tuples(st.integers(1, 4), st.integers(1, 3))


@settings(max_examples=40)
@given(shape=_SHAPES, replies=_REPLIES)
def test_with_any_faults_every_pair_has_its_own_verdict_or_none(
    fickle: tuple[Fickle, OpenAIServer],
    shape: tuple[int, int],
    replies: list[list[tuple[str, int]]],
) -> None:
    model, server = fickle
    pairs = world(*shape)
    model.faults, model.raw = iter(replies), None
    told = asyncio.run(judged(server, pairs))
    for of, text in pairs:
        verdict = told[of.number, text.number]
        assert verdict.label in (right((of, text)), Label.UNLABELLED)
        assert (verdict.error is None) == (verdict.label is not Label.UNLABELLED)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["verdicts", "claim", "snippet", "reason", "answer"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=25)
@given(shape=_SHAPES, replies=st.lists(_JSON.map(json.dumps) | st.text(max_size=40), max_size=8))
def test_every_pair_is_reported_once_whatever_the_reply(
    fickle: tuple[Fickle, OpenAIServer], shape: tuple[int, int], replies: list[str]
) -> None:
    model, server = fickle
    model.raw = iter(replies)
    told = asyncio.run(judged(server, world(*shape)))
    assert {verdict.label for verdict in told.values()} == {Label.UNLABELLED}


async def test_the_faults_are_made_as_they_are_named(fickle: tuple[Fickle, OpenAIServer]) -> None:
    """Each fault must leave a pair open, or the drawn faults above prove nothing."""
    model, server = fickle
    harmless = {"turn around", "one field more"}
    for fault in _NAMES:
        model.faults, model.raw = iter([[(fault, 0)]]), None
        before = len(server.requests)
        await judged(server, world(2, 1))
        again = server.requests[before + 1 :]
        assert bool(again) == (fault not in harmless), fault
        assert asked(server.requests[before]).claims
