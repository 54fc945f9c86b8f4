"""The graph for LangGraph servers (``langgraph.json``), configured from the environment."""

import os
from functools import lru_cache

from conflictscore.graph.create import create_self_correcting_rag
from conflictscore.graph.self_correction import SelfCorrectionGraph
from conflictscore.retrieval.opening import open_retrieval
from conflictscore.threads import in_thread


async def make_graph() -> SelfCorrectionGraph:
    """Make the graph in a thread, and only once, although LangGraph calls this for each run.

    ``CONFLICTSCORE_MODEL`` and ``CONFLICTSCORE_BASE_URL`` choose the model. ``CONFLICTSCORE_DOCS``
    (paths, separated as in ``PATH``) names the documents. Without it, the graph uses the first web
    search whose environment variables are set. If there is no such search, each question must come
    with documents.
    """
    return await in_thread(_graph)


@lru_cache(maxsize=1)  # a server asks for the graph with every run
def _graph() -> SelfCorrectionGraph:
    docs = [path for path in os.environ.get("CONFLICTSCORE_DOCS", "").split(os.pathsep) if path]
    return create_self_correcting_rag(
        os.environ.get("CONFLICTSCORE_MODEL") or None,
        open_retrieval(docs=docs) if docs else None,
        base_url=os.environ.get("CONFLICTSCORE_BASE_URL"),
    )
