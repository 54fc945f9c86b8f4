"""Counts the interpreter's work for a call to a judge, without a clock."""

import asyncio
import cProfile
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from conflictscore.graph.create import create_conflict_scorer, run_context
from conflictscore.graph.self_correction import ScoringGraph
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.spec import open_model
from conflictscore.scoring_files.file_run import Summary, ascore_file
from conflictscore.scoring_files.input_rows import Source
from conflictscore.storage.cache import ContentCache
from measurements.score_file_speed import write_input
from measurements.simulated_upstream import reply_to
from tests.fakes.openai_server import OpenAIServer

_CLAIMS, _DOCUMENTS = 6, 10  # claims of an ordinary answer; default number of documents
_ROWS = 16  # all are scored at the same time, as by default


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


def file_call_steps() -> float:
    """Return the number of function calls per call to a judge while a file is scored.

    The mean is over 16 rows of two claims and three documents, with the labeler ``json``. Other
    rows are scored first, for the same reason as in :func:`call_steps`.
    """
    with (
        OpenAIServer(lambda request: reply_to(request.body, 2)) as server,
        tempfile.TemporaryDirectory() as folder,
        asyncio.Runner() as runner,
    ):
        model = open_model("test-model", base_url=server.base_url)
        runner.run(_score_rows(model, Path(folder), "warm", _ROWS))
        with cProfile.Profile() as profile:
            summary = runner.run(_score_rows(model, Path(folder), "counted", 0))
    return sum(entry.callcount for entry in profile.getstats()) / summary.usage.calls


async def _score_rows(model: LanguageModel, folder: Path, name: str, first: int) -> Summary:
    cache = ContentCache(folder / f"{name}.sqlite")
    context = run_context(replace(model, cache=cache), labeler="json", cache=cache)
    write_input(folder / f"{name}.jsonl", _ROWS, first)
    source = Source(folder / f"{name}.jsonl")
    return await ascore_file(source, folder / f"{name}.out.jsonl", context, _ROWS)


async def _score(graph: ScoringGraph) -> dict[str, Any]:
    sentences = ["The lamp was first lit in 1871."]
    sentences += [f"The tower has a step {number}." for number in range(1, _CLAIMS)]
    ledgers = [f"Ledger number {n}. What the keepers wrote." for n in range(1, _DOCUMENTS + 1)]
    return dict(await graph.ainvoke({"answer": "\n".join(sentences), "documents": ledgers}))
