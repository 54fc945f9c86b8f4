"""The metrics of the service, for Prometheus."""

from functools import partial

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)

from conflictscore.records import Run

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.1, 0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256)
"""The upper bounds of the buckets for a request's duration, in seconds.

Each bound is at most 2.5 times the bound before it, so a quantile estimated from the buckets is
wrong by at most this factor.
"""


class Metrics:
    """The metrics of one service, in their own registry.

    Label values never come from requests, so their number is bounded.
    """

    def __init__(self) -> None:
        """Declare the metrics; their names begin with ``conflictscore_``."""
        registry = self._registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        counter = partial(Counter, registry=registry)
        gauge = partial(Gauge, registry=registry)
        self._requests = counter(
            "conflictscore_requests", "Requests, by route and HTTP status.", ("route", "status")
        )
        self._seconds = Histogram(
            "conflictscore_request_seconds",
            "Seconds from a request to the end of its response.",
            ("route",),
            buckets=_SECONDS,
            registry=registry,
        )
        self.in_flight = gauge("conflictscore_requests_in_flight", "Requests being served.")
        self._runs = counter("conflictscore_runs", "Runs, by their status.", ("status",))
        self._flips = counter("conflictscore_flips", "Runs whose answers were changed.")
        self._failures = counter(
            "conflictscore_failures",
            "Failures, by kind: search, answer, judge, regeneration, refused, upstream, timeout,"
            " client_gone, runs_file, internal.",
            ("kind",),
        )
        self._tokens = counter(
            "conflictscore_tokens", "Tokens of runs, as reported by the models.", ("direction",)
        )

    def request(self, route: str, status: int, seconds: float) -> None:
        """Count a request whose response has ended."""
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def failure(self, kind: str) -> None:
        """Count a failure."""
        self._failures.labels(kind).inc()

    def run(self, run: Run) -> None:
        """Count a finished run."""
        self._runs.labels(run.status.value).inc()
        self._tokens.labels("input").inc(run.usage.input_tokens)
        self._tokens.labels("output").inc(run.usage.output_tokens)
        self._flips.inc(run.flipped)

    def exposition(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        return generate_latest(self._registry)
