"""The paper's "main claim that had conflicts", by each reading."""

from typing import Any

import pytest

from conflictscore.errors import ProviderError
from conflictscore.models.usage import UsageMeter
from conflictscore.nodes.correct import write_anew
from conflictscore.nodes.state import GeneratedAnswer, Reconsider
from conflictscore.records import Answer
from tests.nodes.steps import Answers, attempt, claim_with, scored, setting

DISPUTED = scored(
    claim_with("++--0", number=1), claim_with("+--00", number=2), claim_with("+++--", number=3)
)
"""The second is contradicted most, and the third has most evidence."""


@pytest.mark.parametrize(
    ("rule", "reply", "claim"),
    [
        ("worst", None, 2),
        ("first", None, 1),
        ("most-evidence", None, 3),
        ("asked", "1", 1),
        ("asked", "The main claim is 3.", 3),
        ("asked", ProviderError("silent", provider="scripted"), 2),
    ],
)
async def test_a_claim_is_put_back_by_each_reading(
    rule: Reconsider, reply: str | Exception | None, claim: int
) -> None:
    again = GeneratedAnswer(Answer(text="In 1874."))
    answers = Answers(*([] if reply is None else [reply]), again)
    state: Any = {"question": "When was the lamp lit?", "options": [], "documents": []}
    context = setting(reconsider=rule, answerer=answers)
    written = await write_anew(attempt(DISPUTED), state, context, UsageMeter())
    assert [looked.claims[0].claim.number for looked in written.changes] == [claim]
    assert [request.claim.claim.number for request in answers.doubts] == [claim]
    assert bool(written.notes) is isinstance(reply, Exception)


async def test_the_only_claim_in_conflict_is_put_back_and_the_model_is_not_asked() -> None:
    answers = Answers(GeneratedAnswer(Answer(text="In 1874.")))
    state: Any = {"question": "When was the lamp lit?", "options": [], "documents": []}
    context = setting(reconsider="asked", answerer=answers)
    one = attempt(scored(claim_with("+-")))
    written = await write_anew(one, state, context, UsageMeter())
    assert (written.notes, answers.requests) == ((), [])
