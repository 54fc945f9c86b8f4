"""Scores of a run as feedback in LangSmith, where its graph is traced."""

import logging
import threading
from collections.abc import Mapping
from uuid import UUID

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.runnables.config import ensure_config
from langchain_core.tracers.langchain import LangChainTracer
from langsmith import Client
from langsmith.utils import LangSmithError

_log = logging.getLogger(__name__)


def send_feedback(scores: Mapping[str, float | bool | None]) -> None:
    """Send scores to LangSmith for the graph whose node calls this; untraced graphs send none.

    A thread sends them, so that the run does not wait. A failure is logged as a warning.
    """
    manager = ensure_config().get("callbacks")
    if not isinstance(manager, BaseCallbackManager):
        return
    known = {name: float(score) for name, score in scores.items() if score is not None}
    for tracer in manager.handlers:
        if not isinstance(tracer, LangChainTracer):
            continue
        node = tracer.run_map.get(str(manager.parent_run_id))
        while node and any(tag.startswith("seq:step") for tag in node.tags or ()):
            node = tracer.run_map.get(str(node.parent_run_id))
        if node and node.parent_run_id and tracer.project_name:
            about = (tracer.client, tracer.project_name, node.parent_run_id, node.trace_id)
            threading.Thread(target=_send, args=(*about, known), name="langsmith-feedback").start()


def _send(
    client: Client, project_name: str, run: UUID, trace: UUID, scores: Mapping[str, float]
) -> None:
    try:
        client.flush()  # the project exists once its first run has arrived
        project = client.read_project(project_name=project_name)
        for name, score in scores.items():
            client.create_feedback(
                run_id=run,
                trace_id=trace,
                session_id=project.id,
                key=name,
                score=score,
                feedback_source_type="model",
            )
    except (LangSmithError, OSError, ValueError) as error:
        _log.warning("the scores were not sent to LangSmith (%s)", type(error).__name__)
