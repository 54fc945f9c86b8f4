"""What the service counts, for Prometheus.

Where ``PROMETHEUS_MULTIPROC_DIR`` names a folder, as it does for the workers of ``serve
--workers``, all processes that count there are added up.
"""

import os
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Metric,
    ProcessCollector,
    Summary,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from conflictscore.errors import ConfigurationError
from conflictscore.records import Run

__all__ = ["CONTENT_TYPE", "Metrics"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.1, 0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    """The counters of one service, in a registry of their own.

    No label comes from what a caller sends, so their number is bounded.

    Raises:
        ConfigurationError: ``PROMETHEUS_MULTIPROC_DIR`` names no folder.
    """

    def __init__(self) -> None:
        registry = self._registry = CollectorRegistry()
        folder = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
        if folder:
            if not Path(folder).is_dir():
                raise ConfigurationError(f"PROMETHEUS_MULTIPROC_DIR: {folder} is no folder")
            self._registry = CollectorRegistry()
            MultiProcessCollector(self._registry, folder)  # type: ignore[no-untyped-call]
            self._registry.register(_Processes(Path(folder)))
        else:
            ProcessCollector(registry=registry)
        counter = partial(Counter, registry=registry)
        gauge = partial(Gauge, registry=registry, multiprocess_mode="livesum")
        self._requests = counter(
            "conflictscore_requests",
            "Requests, by route, HTTP status and mode.",
            ("route", "status", "mode"),
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
        self._nodes = Summary(
            "conflictscore_node_seconds",
            "Seconds that a run spends in a node of the graph.",
            ("node",),
            registry=registry,
        )
        self._labels = counter("conflictscore_labels", "Labels of first answers.", ("label",))
        self._conflicts = counter(
            "conflictscore_conflicts",
            "Runs whose first answer has a claim with evidence on both sides.",
        )
        self._flips = counter("conflictscore_flips", "Runs whose answer was changed.")
        self._failures = counter(
            "conflictscore_failures",
            "What failed: search, answer, judge, regeneration, upstream, timeout, client_gone,"
            " runs_file, audit_log, internal.",
            ("kind",),
        )
        self._tokens = counter(
            "conflictscore_tokens", "Tokens of the runs, as the models report them.", ("direction",)
        )
        self.observed_waiting = gauge(
            "conflictscore_observed_waiting", "Observed answers that wait to be scored."
        )
        self.dropped = counter(
            "conflictscore_observed_dropped",
            "Observed answers that were not scored, since too many were waiting.",
        )

    def request(self, route: str, status: int, mode: str, seconds: float) -> None:
        """Count a request whose response has ended."""
        self._requests.labels(route, str(status), mode).inc()
        self._seconds.labels(route).observe(seconds)

    def failure(self, kind: str) -> None:
        """Count a failure."""
        self._failures.labels(kind).inc()

    def run(self, run: Run) -> None:
        """Count a finished run."""
        self._runs.labels(run.status.value).inc()
        for node, seconds in run.timings.items():
            self._nodes.labels(node).observe(seconds)
        self._tokens.labels("input").inc(run.usage.input_tokens)
        self._tokens.labels("output").inc(run.usage.output_tokens)
        claims = run.report.claims if run.report else ()
        for claim in claims:
            for label in claim.labels:
                self._labels.labels(label.label.value).inc()
        self._conflicts.inc(any(claim.conflicting for claim in claims))
        self._flips.inc(run.flipped)

    def exposition(self) -> bytes:
        """Everything, in Prometheus' text format."""
        return generate_latest(self._registry)


class _Processes(Collector):
    """Memory, processor time and files of each process that counts in a folder, by its number.

    They are not added up: a total would fall with the process that ends.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def collect(self) -> Iterable[Metric]:
        """What is known of those that are alive."""
        found: dict[str, Metric] = {}
        for file in sorted(self._folder.glob("gauge_livesum_*.db")):
            pid = file.stem.rpartition("_")[2]
            for metric in ProcessCollector(registry=None, pid=partial(str, pid)).collect():
                labelled = [s._replace(labels={"pid": pid}) for s in metric.samples]
                empty = Metric(metric.name, metric.documentation, metric.type)
                found.setdefault(metric.name, empty).samples += labelled
        return found.values()
