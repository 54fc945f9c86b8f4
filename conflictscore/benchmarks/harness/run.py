"""Running a benchmark in a folder: start or resume it, and give its results and figures."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from conflictscore.benchmarks.harness.answerable import with_documents
from conflictscore.benchmarks.harness.benchmark import Benchmark
from conflictscore.benchmarks.harness.failing import failures
from conflictscore.benchmarks.harness.listening import Listener, Silent
from conflictscore.benchmarks.harness.manifest import Manifest, versions
from conflictscore.benchmarks.harness.outcome import BenchmarkRun, summarised, write_figures
from conflictscore.benchmarks.harness.session import Session, now
from conflictscore.benchmarks.harness.setup import Setup, refuse_methods
from conflictscore.benchmarks.harness.spending import Spending
from conflictscore.benchmarks.harness.statistics import require_statistics
from conflictscore.benchmarks.harness.store import RunStore
from conflictscore.errors import InputError
from conflictscore.models.ledger import Ledger
from conflictscore.models.prices import PriceTable
from conflictscore.storage.cache import ContentCache

__all__ = ["Limits", "arun_benchmark"]


@dataclass(frozen=True)
class Limits:
    """How fast a run goes and when it stops; none of it decides a figure."""

    concurrency: int = 4
    """Questions at a time, at least 1."""
    rate_limit: float | None = None
    """The most requests a minute at an endpoint; None for no limit."""
    max_tokens: int | None = None
    """The run stops once so many tokens, in and out, were used by all its sessions together."""
    max_cost: float | None = None
    """The run stops once so many US dollars were spent by all its sessions together."""

    def __post_init__(self) -> None:
        if self.concurrency < 1:
            raise InputError(f"concurrency is {self.concurrency}; give at least 1")
        for name in ("rate_limit", "max_tokens", "max_cost"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise InputError(f"{name} is {value}; give a number above 0")


async def arun_benchmark(
    benchmark: Benchmark,
    folder: Path,
    setup: Setup,
    *,
    limits: Limits,
    retrieval: Mapping[str, Any],
    hashes: Mapping[str, str],
    selection: Mapping[str, Any],
    missing: Literal["fail", "skip"] = "fail",
    retry_failed: bool = False,
    prices: PriceTable | None = None,
    listener: Listener | None = None,
) -> BenchmarkRun:
    """Run a benchmark, or resume it where its folder holds part of it already.

    Every step is recorded the moment it ends, and every reply inside a step is kept as it comes:
    a run that dies loses at most the calls in flight.

    Args:
        benchmark: The questions that were chosen, and their judge.
        folder: The run's folder; it is made where there is none.
        setup: Models, retriever and settings.
        limits: How fast, and how far.
        retrieval: How documents are found, as plain JSON for the manifest.
        hashes: SHA-256 of what documents are found in, by name.
        selection: How the questions were chosen, as plain JSON for the manifest.
        missing: What to do about questions that a recording does not have.
        retry_failed: Whether steps that failed in an earlier session are tried again.
        prices: What calls cost; by default what is published.
        listener: Is told what happens, for a progress display.

    Raises:
        InputError: The folder is foreign or holds another run; questions are missing; the benchmark
            cannot be run with one of the methods.
        ConfigurationError: A key, model name or other setting is wrong, or the extra ``[bench]``
            is missing.
    """
    require_statistics()  # before anything is paid for
    refuse_methods(benchmark, setup.settings.methods)
    setup = setup.worded(benchmark)
    recorded, left_out = with_documents(benchmark.questions, setup.context.retriever, missing)
    if not recorded:
        raise InputError(f"{benchmark.name}: no question is left to run")
    chosen = {**selection, "left_out_without_recording": len(left_out)}
    manifest = Manifest(
        benchmark=benchmark.name,
        created=now(),
        configuration={
            **setup.configuration(benchmark),
            "retrieval": dict(retrieval),
            "selection": chosen,
        },
        hashes={**benchmark.hashes, **hashes},
        versions=versions(),
    )
    with RunStore.open(folder, manifest, recorded) as store:
        prices = PriceTable.load() if prices is None else prices
        with (
            closing(Spending(store.folder / "spent.sqlite")) as spending,
            closing(ContentCache(store.folder / "calls.sqlite")) as own,
        ):
            ledger = Ledger(
                prices=prices,
                max_tokens=limits.max_tokens,
                max_cost=limits.max_cost,
                spent=spending.total(),
                on_call=spending.add,
            )
            session = Session(
                store=store,
                ready=setup.ready(ledger, own, limits.rate_limit),
                benchmark=benchmark,
                settings=setup.settings,
                ledger=ledger,
                listener=listener or Silent(),
                spending=spending,
                retried=failures(store.done.values()) if retry_failed else (),
            )
            stopped = await session.run(limits.concurrency)
        notes = [*benchmark.notes, *store.notes]
        if left_out:
            notes.append(f"{len(left_out)} questions were left out: they are not in the recording")
        run = summarised(store, prices, stopped=stopped, notes=notes)
        write_figures(run)
        return run
