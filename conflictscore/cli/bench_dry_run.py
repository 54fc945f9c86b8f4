"""What ``conflictscore bench … --dry-run`` says."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click
from rich.console import Console
from rich.text import Text

from conflictscore.benchmarks.conflict_detection.data import ask_for_claim
from conflictscore.benchmarks.conflict_detection.groups import ClaimGroup
from conflictscore.benchmarks.harness.definition import Benchmark
from conflictscore.benchmarks.harness.dry_run import MOST_PLAYED, Tally, estimate
from conflictscore.benchmarks.harness.estimate import (
    LEVELS,
    Amount,
    Assumptions,
    Estimate,
    Level,
    Range,
)
from conflictscore.benchmarks.harness.methods.registry import DOCUMENTS
from conflictscore.benchmarks.harness.play import (
    Call,
    CountingModel,
    NotedPrompts,
    Play,
    labels_of,
)
from conflictscore.benchmarks.harness.records import Question
from conflictscore.benchmarks.harness.setup import Setup
from conflictscore.benchmarks.harness.store import RunStore
from conflictscore.cli.common import OpenLabeler, chosen_labeler, run_async
from conflictscore.labelers.cascade import Cascade
from conflictscore.labelers.nli.labeler import NliLabeler
from conflictscore.labelers.protocol import Labeler
from conflictscore.labelers.registry import default_judge, make_labeler
from conflictscore.labelers.table import label_table
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.prices import PriceTable
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from conflictscore.records import Claim, Label
from conflictscore.reporting.figure_text import counted, money, one_line, percent
from conflictscore.reporting.plain_table import add_row, heading, plain_table

__all__ = ["Unjudged", "dry_run", "dry_run_detection", "print_estimate"]

_WHOLE_PAGE = Range(low=400, expected=1500, high=6000)
_T = TypeVar("_T")
_FREE = ("corpus", "recorded")
"""Searches that cost nothing."""


def dry_run(
    benchmark: Benchmark,
    folder: Path,
    setup: Setup,
    prices: PriceTable,
    settings: Mapping[str, Any],
) -> None:
    """Print what the run is expected to take, or what is left of one that was begun."""
    if setup.context.retriever is not None and (usual := _document_tokens(settings)):
        known = benchmark.assumptions or Assumptions()
        assumed = known.model_copy(update={"document_tokens": usual})
        benchmark = replace(benchmark, assumptions=assumed)
    recorded = RunStore.read(folder).records() if (folder / "manifest.json").exists() else ()
    expected = estimate(
        benchmark,
        setup,
        prices=prices,
        free_search=setup.context.retriever is not None and _costs_nothing(settings),
        recorded=recorded,
        retry_failed=settings["retry_failed"],
    )
    if len(benchmark.questions) > MOST_PLAYED:
        click.echo(
            f"Note: counted on {MOST_PLAYED} of {len(benchmark.questions)} questions, and scaled",
            err=True,
        )
    if note := _labels_note(setup.context.labeler):
        click.echo(note, err=True)
    _tell(expected, "question", as_json=settings["as_json"])


class Unjudged(NamedTuple):
    """What is left of a run of conflict detection."""

    pairs: Sequence[tuple[ClaimGroup, Sequence[int]]]
    """Claims with the numbers of the documents that they are still to be held against."""
    claims: Sequence[ClaimGroup]
    """Those of which a model is still to write the claim."""


def dry_run_detection(
    opened: OpenLabeler,
    writer: LanguageModel | None,
    left: Unjudged,
    prices: PriceTable,
    settings: Mapping[str, Any],
) -> None:
    """Print what is left of a run of conflict detection, counted on its claims and documents.

    A labeler of two stages is asked as people's labels would have it asked.
    """
    tally, prompts = Tally(Assumptions()), NotedPrompts(settings["prompts"])
    pairs, claims = _spread(left.pairs), _spread(left.claims)
    if len(pairs) < len(left.pairs):
        click.echo(
            f"Note: counted on {MOST_PLAYED} of {len(left.pairs)} claims, and scaled", err=True
        )
    for level in LEVELS:
        play = _PeoplesLabels.of(level, prompts, tally)
        if writer is not None:
            play.scale, play.step = len(left.claims) / max(1, len(claims)), _WRITE
            run_async(_count_writing(CountingModel.of(writer, play), claims, prompts))
        play.scale, play.step = len(left.pairs) / max(1, len(pairs)), _LABEL
        if opened.model is not None:
            counting = CountingModel.of(opened.model, play)
            if isinstance(opened.labeler, Cascade):
                asks = default_judge(counting, prompts)
            else:
                asks = make_labeler(chosen_labeler(settings), counting, prompts)
            run_async(_count_labels(labels_of(play, asks), play, pairs))
    if note := _labels_note(opened.labeler):
        click.echo(note, err=True)
    expected = tally.estimate(
        (_WRITE, _LABEL), prices, questions=len(left.pairs), assumed_documents=0
    )
    _tell(expected, "claim", as_json=settings["as_json"])


_WRITE, _LABEL = "write claims", "label"


def _spread(items: Sequence[_T]) -> list[_T]:
    """As many as are played, evenly from all of them."""
    few = min(len(items), MOST_PLAYED)
    return [items[place * len(items) // few] for place in range(few)]


class _PeoplesLabels(Play):
    """A play without questions, whose labels are those that people gave."""

    gold: Sequence[Label | None] = ()
    scale: float
    step: str

    @classmethod
    def of(cls, level: Level, prompts: NotedPrompts, tally: Tally) -> "_PeoplesLabels":
        def tell(call: Call, question: Question) -> None:
            tally.add(level, call._replace(step=play.step, times=call.times * play.scale))

        none = Question(id="none", question="none")
        play = cls(
            *(level, Assumptions(), prompts, tell),
            questions=[none],
            recorded=(),
            max_rounds=0,
            stand_ins={},
        )
        play.started(none.id, DOCUMENTS)
        return play

    def label(self, document: int) -> Label:
        return self.gold[document - 1] or Label.IRRELEVANT


async def _count_writing(
    model: LanguageModel, claims: Sequence[ClaimGroup], prompts: PromptSet
) -> None:
    for one in claims:
        await ask_for_claim(model, one, prompts, UsageMeter())


async def _count_labels(
    labeler: Labeler, play: _PeoplesLabels, pairs: Sequence[tuple[ClaimGroup, Sequence[int]]]
) -> None:
    for group, numbers in pairs:
        play.gold = group.labels
        claim = Claim(number=1, text=group.claim)
        shown = [group.shown[number - 1] for number in numbers]
        await label_table(labeler, [claim], shown, meter=UsageMeter())


def _tell(expected: Estimate, each: str, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(expected.to_json(), indent=2))
    else:
        console = Console(highlight=False, markup=False, emoji=False)
        print_estimate(expected, console, each=each)


def _costs_nothing(settings: Mapping[str, Any]) -> bool:
    searches = [part.strip().partition(":")[0] for part in (settings["search"] or "").split(",")]
    return not settings["read_pages"] and all(
        search in _FREE or (not search and settings["docs"]) for search in searches
    )


def _document_tokens(settings: Mapping[str, Any]) -> Range | None:
    """The length of what a search of the web finds: pages as they are cut, or some 150 characters.

    None where the documents are at hand.
    """
    if _costs_nothing(settings):
        return None
    if not settings["read_pages"]:
        return Range(low=25, expected=45, high=80)
    most = settings["passage_tokens"]
    return Range(low=200, expected=most * 0.9, high=most) if most else _WHOLE_PAGE


def _labels_note(labeler: Labeler) -> str | None:
    """How far the labels are in the estimate, where that is not all of it."""
    match labeler:
        case Cascade():
            return (
                "Note: labels are an upper bound: every pair is counted, and the cascade"
                " asks its judge about the hard ones only"
            )
        case NliLabeler():
            return "Note: labels are made on this machine, by no call"
    return None


def print_estimate(estimate: Estimate, console: Console, *, each: str = "question") -> None:
    """Print calls, tokens and cost by step and model: what to expect, and between which bounds.

    Args:
        estimate: The result of a dry run.
        console: Where to.
        each: What was counted: questions, or claims that are given with their documents.
    """
    if not estimate.questions:
        console.print(Text("Nothing is left to ask."))
        return
    heading(console, f"Expected for {counted(estimate.questions, each)} (low to high)")
    table = plain_table("step", "calls", "tokens in", "tokens out", "dollars", free_text=True)
    for part in estimate.parts:
        add_row(table, f"{part.step}\n{one_line(part.model)}", *_cells(part))
    if len(estimate.by_model) > 1:
        for name, amount in estimate.by_model.items():
            table.add_section()
            add_row(table, f"all steps\n{one_line(name)}", *_cells(amount))
    table.add_section()
    add_row(table, "total", *_cells(estimate.total), style="bold")
    console.print(table)
    for sentence in _assumed(estimate, answers=each == "question"):
        console.print(Text(sentence))


def _cells(amount: Amount) -> list[str]:
    dollars = "unknown" if amount.cost is None else _range(amount.cost, money)
    counts = (amount.calls, amount.input_tokens, amount.output_tokens)
    return [*(_range(count, _short) for count in counts), dollars]


def _range(amount: Range, written: Callable[[float], str]) -> str:
    """The expected figure above its bounds, which are left out where they say nothing more."""
    low, expected, high = map(written, (amount.low, amount.expected, amount.high))
    return expected if low == high else f"{expected}\n{low} to {high}"


def _short(number: float) -> str:
    """A count with three or four digits, such as ``8,812``, ``120.3k`` and ``1.21M``."""
    if number < 9_999.5:
        return f"{number:,.0f}"
    return f"{number / 1e3:.1f}k" if number < 999_950 else f"{number / 1e6:,.2f}M"


def _assumed(estimate: Estimate, *, answers: bool) -> Iterator[str]:
    if estimate.unknown_prices:
        yield f"dollars: {money(None, estimate.unknown_prices)}"
    if estimate.assumed_documents:
        told = estimate.assumptions
        tokens = told.document_tokens
        yield (
            f"The documents of {counted(estimate.assumed_documents, 'question')} are not known yet:"
            f" {told.documents.expected:.0f} a question are assumed, of {tokens.low:.0f} to"
            f" {tokens.high:.0f} tokens."
        )
    rate = estimate.assumptions.conflict_rate
    if answers:
        yield (
            f"Assumed: {percent(rate.expected)} % of first answers have evidence on both sides"
            f" ({percent(rate.low)} to {percent(rate.high)})."
        )
    yield "A reply that a cache holds is counted as a call."
