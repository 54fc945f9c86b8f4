"""A step whose calls all fail for one reason stops asking, and every pair gets that reason."""

import pytest

from conflictscore.labelers.json_judge import JsonJudge
from conflictscore.labelers.table import label_table
from conflictscore.models.limits import ConcurrencyLimit
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, ClaimEvidence, Document, Label
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer, Reply, then
from tests.labelers.judging import PROMPTS, verdict
from tests.models.calling import calling

CLAIMS = [Claim(number=n, text=f"Claim {n} is so.") for n in range(1, 6)]
DOCUMENTS = [Document(number=n, text=f"Words of document {n}.") for n in range(1, 5)]
PAIRS = len(CLAIMS) * len(DOCUMENTS)
AT_ONCE = 4


async def labelled(server: OpenAIServer) -> list[ClaimEvidence]:
    judge = JsonJudge(calling(server, limit=ConcurrencyLimit(AT_ONCE)), PROMPTS)
    return [*await label_table(judge, CLAIMS, DOCUMENTS, meter=UsageMeter())]


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        (Reply("I am not able to say."), "not a single JSON object"),
        (Reply(verdict("MAYBE")), "its label was none of"),
        (Reply(verdict(), finish_reason="content_filter"), "“content_filter”"),
        (Fault(402, message="no credit left"), "no credit left"),
    ],
)
async def test_few_calls_are_made_if_all_fail_alike(outcome: Reply | Fault, reason: str) -> None:
    with OpenAIServer(then(outcome)) as server:
        rows = await labelled(server)
        asked = len(server.requests)
    assert all(reason in str(pair.error) for row in rows for pair in row.labels)
    assert asked <= 2 * AT_ONCE + 1, "of 20 pairs, each of which would be asked about twice"


async def test_one_verdict_is_enough_to_ask_about_all_others() -> None:
    def moody(request: ChatRequest) -> str:
        good = "Claim 1 is" in request.messages[0]["content"]
        return verdict() if good else "I am not able to say."

    with OpenAIServer(moody) as server:
        rows = await labelled(server)
        asked = len(server.requests)
    assert [pair.label for pair in rows[0].labels] == [Label.SUPPORTS] * len(DOCUMENTS)
    assert asked == len(DOCUMENTS) + 2 * (PAIRS - len(DOCUMENTS))
