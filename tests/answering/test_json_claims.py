"""The values of an answer in JSON become statements, each at the place of its value."""

import pytest

from conflictscore.answering.json_claims import claims_of_values
from conflictscore.loop.state import Reader
from conflictscore.models import UsageMeter
from conflictscore.prompts import PromptSet
from tests.fakes.openai_server import OpenAIServer
from tests.models.calling import calling

ANSWER = '{"closed": 1931, "owner": "the Norr company"}'
REPLY = """0. Here are the statements about 1931.
1. The mine closed in 1931.
2. The mine belonged to the Norr company.
3. The mine was in Norr."""


async def test_only_the_numbered_values_become_claims() -> None:
    with OpenAIServer(lambda _: REPLY) as server:
        judge = Reader(calling(server), PromptSet.load(), UsageMeter())
        claims = await claims_of_values(ANSWER, "When did the mine close?", judge)

    assert [(text, ANSWER[slice(*span)] if span else None) for text, span in claims.claims] == [
        ("The mine closed in 1931.", "1931"),
        ("The mine belonged to the Norr company.", '"the Norr company"'),
    ]
    assert claims.left_out == ()


@pytest.mark.parametrize(
    ("answer", "reply", "note"),
    [
        (
            '{"a": "It closed. It burned.", "b": "Norr"}',
            "1. It closed and it burned.\n2. It is in Norr.",
            "1 of its values has several sentences, and was checked as one claim",
        ),
        (
            '{"a": "It closed. It burned.", "b": "It is big. It is red."}',
            "1. It closed and it burned.\n2. It is big and red.",
            "2 of its values have several sentences, and each was checked as one claim",
        ),
    ],
)
async def test_a_value_of_several_sentences_has_a_note(answer: str, reply: str, note: str) -> None:
    with OpenAIServer(lambda _: reply) as server:
        judge = Reader(calling(server), PromptSet.load(), UsageMeter())
        claims = await claims_of_values(answer, "What is known about the mine?", judge)

    assert claims.left_out == (note,)
