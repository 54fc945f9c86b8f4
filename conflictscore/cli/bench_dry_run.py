"""What ``conflictscore bench … --dry-run`` says."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from langchain_core.retrievers import BaseRetriever

    from conflictscore.benchmarks.harness.benchmark import Benchmark
    from conflictscore.benchmarks.harness.plan import PlannedLabeler
    from conflictscore.benchmarks.harness.records import Question
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
        scored=benchmark.scored,
        assumptions=benchmark.assumptions,
        labeler=_labeler_kind(setup),
        prompts=context.prompts,
        prices=prices,
        max_rounds=setup.settings.max_rounds,
        max_claims=context.max_claims,
        done=_done(folder, benchmark, setup, retry_failed=settings["retry_failed"]),
    )
    if note := _labels_note(setup):
        click.echo(note, err=True)
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


def _labeler_kind(setup: "Setup") -> "PlannedLabeler | None":
    """How pairs are judged; of a cascade, how its judge does."""
    from conflictscore.labelers.batch_judge import BatchJudge
    from conflictscore.labelers.batches import MODES
    from conflictscore.labelers.cascade import Cascade
    from conflictscore.labelers.choice_judge import ChoiceJudge
    from conflictscore.labelers.json_judge import JsonJudge

    match setup.context.labeler:
        case ChoiceJudge():
            return "choice"
        case JsonJudge():
            return "whole-answer" if setup.context.whole_answer else "json"
        case BatchJudge() as judge:
            return next(mode for mode in MODES if judge.name.startswith(f"{mode}("))
        case Cascade():  # by option its judge is the default one
            return "choice" if setup.context.decomposer.is_local else "json"
    return None


def _labels_note(setup: "Setup") -> str | None:
    """How far the labels are in the estimate, where that is not all of it."""
    from conflictscore.labelers.cascade import Cascade
    from conflictscore.labelers.nli.labeler import NliLabeler

    match setup.context.labeler:
        case Cascade():
            return (
                "Note: labels are an upper bound: every pair is counted, and the cascade"
                " asks its judge about the hard ones only"
            )
        case NliLabeler():
            return "Note: labels are made on this machine, by no call"
    return None


def _done(
    folder: Path, benchmark: "Benchmark", setup: "Setup", *, retry_failed: bool
) -> "Collection[tuple[str, str]]":
    """What is not asked any more, by question: what is recorded, and what cannot follow it."""
    from conflictscore.benchmarks.harness.failing import failures
    from conflictscore.benchmarks.harness.methods.registry import (
        DOCUMENTS,
        GRADE,
        LOOP,
        STEPS,
        begins_with_first,
    )
    from conflictscore.benchmarks.harness.results import results
    from conflictscore.benchmarks.harness.store import RunStore

    if not (folder / "manifest.json").exists():
        return ()
    store = RunStore.read(folder)
    records, methods = store.done.values(), setup.settings.methods
    # a grade is of one answer: a question's are done where none of its answers waits for one
    done: set[tuple[str, str]] = {(r.question, r.step) for r in records if r.step != GRADE}
    for result in results(
        store.questions, store.records(), methods=methods, measures=benchmark.measures
    ):
        ended = [result.methods.get(method) for method in methods]
        if all(of and (of.answer is None or of.verdicts) for of in ended):
            done.add((result.question.id, GRADE))
    following = {DOCUMENTS: STEPS, LOOP: tuple(filter(begins_with_first, STEPS))}
    if not retry_failed:
        lost = [r for r in records if r.error is not None]
        return done | {(r.question, step) for r in lost for step in following.get(r.step, ())}
    again = {place[:2] for place in failures(records)}
    return done - again - {(q, step) for q, s in again for step in following.get(s, ())}
