"""Counts the interpreter's work for a call to a judge, without a clock."""

import asyncio
import cProfile
from typing import Any

from conflictscore.graph.create import create_conflict_scorer
from conflictscore.graph.self_correction import ScoringGraph
from conflictscore.models.spec import open_model
from measurements.simulated_upstream import reply_to
from tests.fakes.openai_server import OpenAIServer

_CLAIMS, _DOCUMENTS = 6, 10  # claims of an ordinary answer; default number of documents


def call_steps() -> float:
    """Return the number of function calls in the event loop's thread per call to a judge.

    Calls of C functions are included. The number is the mean over the 61 model calls that score an
    answer of six claims against ten documents with the labeler ``json``. All work around these
    calls is included. The first answer is not counted, because it opens connections and detects the
    capabilities of the endpoint.
    """
    with OpenAIServer(lambda request: reply_to(request.body, _CLAIMS)) as server:
        model = open_model("test-model", base_url=server.base_url)
        graph = create_conflict_scorer(model, labeler="json", cache=False)
        with asyncio.Runner() as runner:
            runner.run(_score(graph))
            with cProfile.Profile() as profile:
                state = runner.run(_score(graph))
    calls: int = state["usage"]["calls"]
    return sum(entry.callcount for entry in profile.getstats()) / calls


async def _score(graph: ScoringGraph) -> dict[str, Any]:
    sentences = ["The lamp was first lit in 1871."]
    sentences += [f"The tower has a step {number}." for number in range(1, _CLAIMS)]
    ledgers = [f"Ledger number {n}. What the keepers wrote." for n in range(1, _DOCUMENTS + 1)]
    return dict(await graph.ainvoke({"answer": "\n".join(sentences), "documents": ledgers}))
