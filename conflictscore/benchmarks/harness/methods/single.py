"""Methods that answer once from all documents."""

from dataclasses import replace
from typing import Any

from conflictscore.benchmarks.harness.methods.asker import Asker
from conflictscore.benchmarks.harness.methods.method import Asked, BenchmarkMethod
from conflictscore.graph.chains import AnsweringGraph, build_answering_graph
from conflictscore.records import Method

__all__ = ["CONTROL_RAG", "RESAMPLE"]


async def _told_to_watch(asker: Asker, asked: Asked) -> dict[str, Any]:
    """One answer, told to watch for conflicts (Tables 12 and 15)."""
    return await asker.answer(_control, asked.question, asked.documents)


async def _second_sample(asker: Asker, asked: Asked) -> dict[str, Any]:
    """The first answer's prompt, asked once more."""
    return await asker.answer_first(asked.question, asked.documents, resampled=True)


def _control(asker: Asker) -> AnsweringGraph:
    return build_answering_graph(replace(asker.context, method=Method.CONTROL_RAG))


CONTROL_RAG = BenchmarkMethod(name="control-rag", ask=_told_to_watch)

RESAMPLE = BenchmarkMethod(
    name="resample",
    ask=_second_sample,
    before_loop=True,
    control="Sampled once more from the same prompt, at its own temperature",
)
