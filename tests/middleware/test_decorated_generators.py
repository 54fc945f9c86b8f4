"""A function that yields its answer in pieces, and looks again where its documents disagree."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from conflictscore.errors import InputError
from conflictscore.middleware import self_correct
from tests.fakes.openai_server import OpenAIServer
from tests.world import DISAGREEING, PAPER, World, scripted_model

ASKED: Any = ("When was the lamp lit?", DISAGREEING)


@pytest.fixture
def decorate() -> Iterator[Any]:
    with OpenAIServer(World()) as server:
        yield self_correct(judge=scripted_model(server), cache=False, **PAPER)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_it_begins_when_it_is_iterated_and_yields_the_answer_that_stands(
    decorate: Any, asynchronous: bool
) -> None:
    answers, begun, closed = ["It was 1871.", "It was 1874."], list[str](), list[str]()

    def pieces(question: str, documents: Any) -> Iterator[str]:
        begun.append(question)
        try:
            yield from answers[len(begun) - 1]
        finally:
            closed.append(question)

    async def pieces_later(question: str, documents: Any) -> AsyncIterator[str]:
        for piece in pieces(question, documents):
            yield piece

    async def gathered(found: AsyncIterator[str]) -> list[str]:
        return [piece async for piece in found]

    stream = decorate(pieces_later if asynchronous else pieces)(*ASKED)
    assert begun == []
    came = asyncio.run(gathered(stream)) if asynchronous else list(stream)

    assert came == ["It was 1874."]
    assert (len(begun), len(closed)) == (2, 2)


def test_a_piece_that_is_no_text_is_named_and_so_is_a_function_that_returns_a_stream(
    decorate: Any,
) -> None:
    def count(question: str, documents: Any) -> Iterator[Any]:
        yield "It was lit in "
        yield 1871

    async def count_later(question: str, documents: Any) -> AsyncIterator[Any]:
        yield 1871

    with pytest.raises(InputError, match="count yielded int, not text"):
        decorate(count).run(*ASKED)
    with pytest.raises(InputError, match="count_later yielded int, not text"):
        asyncio.run(decorate(count_later).run(*ASKED))
    with pytest.raises(InputError, match="returned generator, not text; a function that passes"):
        decorate(lambda *both: count(*both)).run(*ASKED)
