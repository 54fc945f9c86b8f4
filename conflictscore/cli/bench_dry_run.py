"""What ``conflictscore bench … --dry-run`` says."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

if TYPE_CHECKING:
    from langchain_core.retrievers import BaseRetriever

    from conflictscore.benchmarks.harness.benchmark import Benchmark
    from conflictscore.benchmarks.harness.records import Question, Step
    from conflictscore.benchmarks.harness.setup import Setup
    from conflictscore.models.prices import PriceTable
    from conflictscore.records import Document

__all__ = ["dry_run"]

_FREE = ("corpus", "recorded")
"""Searches that cost nothing."""


def dry_run(
    benchmark: "Benchmark",
    folder: Path,
    setup: "Setup",
    prices: "PriceTable",
    settings: Mapping[str, Any],
) -> None:
    """Print what the run is expected to take, or what is left of one that was begun."""
    from rich.console import Console

    from conflictscore.benchmarks.harness.dry_run import estimate
    from conflictscore.reporting.bench_estimate import print_estimate

    context = setup.worded(benchmark).context
    expected = estimate(
        benchmark.questions,
        methods=setup.settings.methods,
        documents=_documents(context.retriever, settings),
        generator=context.generator,
        judge=context.decomposer,
        answer_judge=setup.answer_judge if benchmark.judge else None,
        judge_prompts=benchmark.judge_prompts,
        labeler=_labeler_kind(setup),
        prompts=context.prompts,
        prices=prices,
        max_rounds=setup.settings.max_rounds,
        max_claims=context.max_claims,
        done=_done(folder),
    )
    if settings["as_json"]:
        click.echo(json.dumps(expected.to_json(), indent=2))
    else:
        print_estimate(expected, Console(highlight=False, markup=False, emoji=False))


def _documents(
    retriever: "BaseRetriever | None", settings: Mapping[str, Any]
) -> "Callable[[Question], Sequence[Document] | None]":
    from conflictscore.nodes.retrieve import given_documents
    from conflictscore.retrieval.documents import to_documents

    free = retriever is not None and _costs_nothing(settings)

    def find(question: "Question") -> "Sequence[Document] | None":
        if question.documents:
            return given_documents({"documents": list(question.documents)})
        if not free or retriever is None:
            return None
        return to_documents(retriever.invoke(question.question))

    return find


def _costs_nothing(settings: Mapping[str, Any]) -> bool:
    searches = [part.strip().partition(":")[0] for part in (settings["search"] or "").split(",")]
    return not settings["read_pages"] and all(
        search in _FREE or (not search and settings["docs"]) for search in searches
    )


def _labeler_kind(setup: "Setup") -> Literal["json", "choice"] | None:
    from conflictscore.labelers.choice_judge import ChoiceJudge
    from conflictscore.labelers.json_judge import JsonJudge

    match setup.context.labeler:
        case ChoiceJudge():
            return "choice"
        case JsonJudge() if not setup.context.whole_answer:
            return "json"
    return None


def _done(folder: Path) -> "Collection[tuple[str, Step]]":
    from conflictscore.benchmarks.harness.records import Step
    from conflictscore.benchmarks.harness.store import RunStore

    if not (folder / "manifest.json").exists():
        return ()
    done = RunStore.read(folder).done.values()
    # a grade is of one answer, and others of the question may be still to come
    return {(r.question, r.step) for r in done if r.step is not Step.GRADE}
