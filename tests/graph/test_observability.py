"""What OpenTelemetry and LangSmith see of a run, through their own clients."""

import threading
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.tracers.langchain import LangChainTracer
from langsmith import Client
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from conflictscore import OpenTelemetryCallback, ProviderError, create_self_correcting_rag
from conflictscore.nodes.feedback import _send, send_feedback
from tests.fakes.openai_server import Fault, OpenAIServer
from tests.fakes.search_server import SearchServer, json_reply
from tests.middleware.service.serving import until
from tests.world import DISAGREEING, PAPER, World, applied, scripted_model


def answer(
    callbacks: list[BaseCallbackHandler], world: World | None = None, trust: Any = None
) -> dict[str, Any]:
    with OpenAIServer(world or World()) as server:
        graph = create_self_correcting_rag(
            scripted_model(server), cache=False, trust=trust, **PAPER
        )
        state: dict[str, Any] = graph.invoke(
            {"question": "When was it lit?", "documents": DISAGREEING[:2]},
            {"callbacks": callbacks},
        )
        return state


# OpenTelemetry


@pytest.fixture
def exported() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def provider(exported: InMemorySpanExporter) -> TracerProvider:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exported))
    return provider


def by_name(spans: InMemorySpanExporter) -> dict[str, list[ReadableSpan]]:
    found: dict[str, list[ReadableSpan]] = {}
    for span in spans.get_finished_spans():
        found.setdefault(span.name, []).append(span)
    return found


def test_a_run_is_a_tree_of_spans_with_its_scores(
    exported: InMemorySpanExporter, provider: TracerProvider
) -> None:
    state = answer([OpenTelemetryCallback(provider)])

    spans = by_name(exported)
    [root], [label] = spans["self_correcting_rag"], spans["label"][:1]
    assert root.parent is None
    assert label.parent is not None
    assert label.parent.span_id == root.context.span_id
    assert dict(root.attributes or {}) == {
        "conflictscore.run_id": state["run_id"],
        "conflictscore.checked": "fully",
        "conflictscore.changes": len(applied(state)),
    }
    scores = {
        (event.attributes or {})["gen_ai.evaluation.name"]: (event.attributes or {})[
            "gen_ai.evaluation.score.value"
        ]
        for event in root.events
        if event.name == "gen_ai.evaluation.result"
    }
    final = state["final_report"]
    assert scores == {"CS-C": final["cs_c"], "CS-R": final["cs_r"], "coverage": 1.0}


def test_a_model_call_says_what_it_was_for_and_what_it_took(
    exported: InMemorySpanExporter, provider: TracerProvider
) -> None:
    answer([OpenTelemetryCallback(provider)])

    calls = [dict(span.attributes or {}) for span in by_name(exported)["chat scripted"]]
    label = next(call for call in calls if call.get("conflictscore.step") == "label")
    assert label["gen_ai.operation.name"] == "chat"
    assert label["gen_ai.request.model"] == "scripted"
    assert label["conflictscore.claim"] == 1
    assert isinstance(label["gen_ai.usage.input_tokens"], int)


def test_no_span_holds_a_text_of_the_run(
    exported: InMemorySpanExporter, provider: TracerProvider
) -> None:
    answer([OpenTelemetryCallback(provider)])

    told = " ".join(span.to_json() for span in exported.get_finished_spans())
    assert not any(text in told for text in ("When was it lit", "1871", "Gazette"))


def test_a_failed_step_is_marked_by_the_kind_of_its_error_alone(
    exported: InMemorySpanExporter, provider: TracerProvider
) -> None:
    broken = World(broken={"generate": Fault(400)})

    with pytest.raises(ProviderError):
        answer([OpenTelemetryCallback(provider)], broken)

    [failed] = by_name(exported)["generate"]
    assert not failed.status.is_ok
    assert (failed.attributes or {})["error.type"] == "ProviderError"


def test_the_environment_turns_it_on_at_every_entry_point(
    exported: InMemorySpanExporter, provider: TracerProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONFLICTSCORE_OTEL", "true")
    monkeypatch.setattr(
        trace, "get_tracer", lambda name, tracer_provider=None: provider.get_tracer(name)
    )

    answer([])

    assert "self_correcting_rag" in by_name(exported)


# LangSmith


@pytest.fixture
def langsmith() -> Iterator[SearchServer]:
    """Takes what LangSmith's client sends."""
    some = str(UUID(int=0))
    project = {"id": some, "tenant_id": some, "reference_dataset_id": None}
    with SearchServer(
        lambda request: json_reply([project] if request.path.endswith("/sessions") else {})
    ) as server:
        yield server


def test_the_scores_arrive_as_feedback_on_the_run_that_langsmith_traced(
    langsmith: SearchServer,
) -> None:
    client = Client(api_url=langsmith.endpoint, api_key="key-of-the-user", info={})
    tracer = LangChainTracer(client=client, project_name="p")

    state = answer([tracer])

    def feedback() -> list[dict[str, Any]]:
        return [sent.json for sent in langsmith.requests if sent.path.endswith("/feedback")]

    until(lambda: len(feedback()) == 4)
    told = {entry["key"]: entry["score"] for entry in feedback()}
    assert told == {
        "conflictscore.cs_c": state["final_report"]["cs_c"],
        "conflictscore.cs_r": state["final_report"]["cs_r"],
        "conflictscore.coverage": 1.0,
        "conflictscore.flipped": 1.0,
    }
    assert tracer.latest_run is not None
    assert {entry["run_id"] for entry in feedback()} == {str(tracer.latest_run.id)}
    for entry in feedback():
        assert entry["trace_id"] == str(tracer.latest_run.trace_id)
        assert entry["session_id"] == str(UUID(int=0)), "the project that LangSmith keeps it in"
        assert entry["feedback_source"]["type"] == "model"


def test_scores_that_nobody_takes_are_one_warning_and_no_failure(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Away:
        def flush(self) -> None:
            raise ConnectionError("a secret is in here")

    scores = {"conflictscore.cs_c": 0.5}
    with caplog.at_level("WARNING"):
        _send(Away(), "p", UUID(int=1), UUID(int=1), scores)  # type: ignore[arg-type]

    [record] = caplog.records
    assert record.getMessage() == "the scores were not sent to LangSmith (ConnectionError)"


def test_where_nothing_is_traced_nothing_is_sent() -> None:
    before = threading.active_count()
    send_feedback({"conflictscore.cs_c": 0.5})
    assert threading.active_count() == before
