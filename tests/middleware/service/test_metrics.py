"""GET /metrics."""

from tests.fakes.openai_server import Fault
from tests.middleware.service.serving import QUESTION, ChatWorld, Served


def test_a_run_is_counted_with_its_results(world: ChatWorld, served: Served) -> None:
    usage = served.ask().json()["usage"]
    served.http.get("/v1/runs/unknown")
    served.http.get("/elsewhere")
    counted = {
        line: served.metric(line)
        for line in (
            'conflictscore_runs_total{status="corrected"}',
            "conflictscore_flips_total",
            'conflictscore_request_seconds_count{route="/v1/chat/completions"}',
            "conflictscore_requests_in_flight",
        )
    }
    read = served.metric('conflictscore_tokens_total{direction="input"}')
    routes = 'conflictscore_requests_total{{route="{}",status="{}"}}'
    chat = served.metric(routes.format("/v1/chat/completions", 200))
    lost = served.metric(routes.format("/v1/runs/{run_id}", 404))
    other = served.metric(routes.format("other", 404))

    assert set(counted.values()) == {1.0}
    assert read == usage["prompt_tokens"]
    assert (chat, lost, other) == (1, 1, 1)


def test_no_label_comes_from_a_caller(world: ChatWorld, served: Served) -> None:
    world.broken["generate"] = Fault(500, message="caller-text", should_retry=False)

    served.ask("caller-text", model="caller-text", user="caller-text")
    served.http.get("/caller-text")
    served.http.request("CALLER-TEXT", "/v1/models")
    said = served.http.get("/metrics").text

    assert "caller-text" not in said.casefold()
    assert QUESTION not in said
