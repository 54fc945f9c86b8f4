"""OpenTelemetry spans of a run and its model calls, and its scores as evaluation events.

The names are those of OpenTelemetry's conventions for generative AI. No span holds a question, a
document or an answer.
"""

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.tracers.context import register_configure_hook
from opentelemetry import context, trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, TracerProvider

__all__ = ["OpenTelemetryCallback"]

_PART_OF_A_STEP = ("langsmith:hidden", "seq:step")
"""LangGraph's tags of runs within a node."""
_ABOUT = ("step", "claim", "document")


class OpenTelemetryCallback(BaseCallbackHandler):
    """A LangChain callback that turns a run into spans of the tracer provider that is set up.

    Each graph, node, search and model call has a span, within the current span of the run's
    start. The graph's span has ``conflictscore.checked``, ``conflictscore.changes``, and
    an event ``gen_ai.evaluation.result`` for each of CS-C, CS-R and coverage, in [0, 1], of the
    answer that stands.
    """

    run_inline = True  # a span has to begin before those within it do

    def __init__(self, provider: TracerProvider | None = None) -> None:
        """Set up the callback.

        Args:
            provider: The tracer provider; by default that of the process.
        """
        self._tracer = trace.get_tracer("conflictscore", tracer_provider=provider)
        self._spans: dict[UUID, Span] = {}
        self._within: dict[UUID, UUID | None] = {}
        """Parents of runs that have no span of their own."""

    def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: UUID, **told: Any) -> None:
        """Begin the span of a graph or a node."""
        if any(tag.startswith(_PART_OF_A_STEP) for tag in told.get("tags") or ()):
            self._within[run_id] = told.get("parent_run_id")
        else:
            self._begin(run_id, told, told.get("name") or "chain")

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **told: Any) -> None:
        """End the span; that of one of our graphs gets the scores."""
        span = self._spans.get(run_id)
        if span and isinstance(outputs, Mapping) and "checked" in outputs and "run_id" in outputs:
            _evaluate(span, outputs)
        self._end(run_id)

    def on_chat_model_start(
        self, serialized: Any, messages: Any, *, run_id: UUID, **told: Any
    ) -> None:
        """Begin the span of a model call, with its step, claim and document."""
        about = told.get("metadata") or {}
        model = about.get("ls_model_name")
        known = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": about.get("ls_provider"),
            "gen_ai.request.model": model,
            **{f"conflictscore.{name}": about.get(f"conflictscore_{name}") for name in _ABOUT},
        }
        self._begin(run_id, told, f"chat {model}" if model else "chat", known)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **told: Any) -> None:
        """End the span with its token counts."""
        if span := self._spans.get(run_id):
            for generations in response.generations:
                for generation in generations:
                    if isinstance(generation, ChatGeneration):
                        usage = getattr(generation.message, "usage_metadata", None) or {}
                        for kind in ("input_tokens", "output_tokens"):
                            if (count := usage.get(kind)) is not None:
                                span.set_attribute(f"gen_ai.usage.{kind}", count)
        self._end(run_id)

    def on_retriever_start(self, serialized: Any, query: str, *, run_id: UUID, **told: Any) -> None:
        """Begin the span of a search."""
        self._begin(run_id, told, told.get("name") or "search", kind=SpanKind.CLIENT)

    def on_retriever_end(self, documents: Any, *, run_id: UUID, **told: Any) -> None:
        """End it, with how many documents it found."""
        if span := self._spans.get(run_id):
            span.set_attribute("conflictscore.documents", len(documents))
        self._end(run_id)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **told: Any) -> None:
        """End a span that failed; what the error says may quote what nobody should read."""
        self._end(run_id, error)

    on_llm_error = on_chain_error
    on_retriever_error = on_chain_error

    def _begin(
        self,
        run_id: UUID,
        told: Mapping[str, Any],
        name: str,
        known: Mapping[str, Any] | None = None,
        kind: SpanKind | None = None,
    ) -> None:
        parent_run_id: UUID | None = told.get("parent_run_id")
        while parent_run_id in self._within:
            parent_run_id = self._within[parent_run_id]
        parent = self._spans.get(parent_run_id) if parent_run_id else None
        around = trace.set_span_in_context(parent) if parent else context.get_current()
        self._spans[run_id] = self._tracer.start_span(
            name,
            around,
            kind or (SpanKind.CLIENT if known else SpanKind.INTERNAL),
            {key: value for key, value in (known or {}).items() if value is not None},
        )

    def _end(self, run_id: UUID, error: BaseException | None = None) -> None:
        self._within.pop(run_id, None)
        if span := self._spans.pop(run_id, None):
            if error is not None:
                span.set_attribute("error.type", type(error).__qualname__)
                span.set_status(Status(StatusCode.ERROR))
            span.end()


def _evaluate(span: Span, run: Mapping[str, Any]) -> None:
    report = run.get("final_report") or run.get("report") or {}
    span.set_attribute("conflictscore.run_id", run["run_id"])
    span.set_attribute("conflictscore.checked", run["checked"])
    applied = [c for c in run.get("changes") or () if c["accepted"] and c["action"] != "keep"]
    span.set_attribute("conflictscore.changes", len(applied))
    known = [("CS-C", report, "cs_c"), ("CS-R", report, "cs_r"), ("coverage", report, "coverage")]
    if weighted := report.get("weighted"):
        known += [("weighted CS-C", weighted, "cs_c"), ("weighted CS-R", weighted, "cs_r")]
    for name, scores, key in known:
        if (score := scores.get(key)) is not None:
            span.add_event(
                "gen_ai.evaluation.result",
                {"gen_ai.evaluation.name": name, "gen_ai.evaluation.score.value": float(score)},
            )


_switched_on: ContextVar[BaseCallbackHandler | None] = ContextVar(
    "conflictscore_otel", default=None
)
register_configure_hook(_switched_on, True, OpenTelemetryCallback, "CONFLICTSCORE_OTEL")
