"""conflictscore bench reports."""

import json
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from conflictscore.cli.options import with_model_choice
from conflictscore.errors import BudgetError, InputError, ProviderError

if TYPE_CHECKING:
    from conflictscore.benchmarks.reports.run import ReportRow
    from conflictscore.benchmarks.reports.topics import Topic
    from conflictscore.benchmarks.reports.writing import Style
    from conflictscore.models.ledger import Ledger
    from conflictscore.models.prices import PriceTable
    from conflictscore.nodes.state import RunContext

__all__ = ["reports"]

_LOCAL_REPORTS, _REMOTE_REPORTS = 1, 4
_STYLES = ["rag", "balanced", "super-balanced"]

_EXAMPLES = """\b
Examples:
  conflictscore bench reports --topics conflicts.jsonl --sample 3
  conflictscore bench reports --topics conflictingqa:train.csv --sample 100 \\
      --model openai:gpt-4.1 --judge openai:gpt-4.1-mini
"""


@click.command("reports", epilog=_EXAMPLES)
@click.option(
    "--topics",
    "sources",
    multiple=True,
    required=True,
    metavar="FILE",
    help="Claims or questions with their documents: *_groups.jsonl, CONFLICTS' conflicts.jsonl, or"
    " conflictingqa:FILE as it is published. May be given several times.",
)
@click.option(
    "--any-topic",
    is_flag=True,
    help="Also topics whose documents do not disagree. Default: only those with conflict.",
)
@click.option("--sample", type=click.IntRange(min=1), metavar="N", help="Draw N topics.")
@click.option("--seed", type=int, default=0, show_default=True, metavar="S", help="Of the sample.")
@click.option(
    "--prompt",
    "styles",
    multiple=True,
    type=click.Choice(_STYLES),
    default=_STYLES,
    show_default=True,
    help="How reports are asked for. May be given several times.",
)
@click.option(
    "--max-claims",
    type=click.IntRange(min=1),
    metavar="N",
    help="Label at most N claims a report, those that the documents say most of.",
)
@click.option(
    "--concurrency",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"Reports at a time. Default: {_REMOTE_REPORTS}, or {_LOCAL_REPORTS} with the local"
    " model.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("runs/reports.jsonl"),
    show_default=True,
    metavar="FILE",
    help="Reports with all their labels, as JSON lines; the same command goes on with it.",
)
@click.option(
    "--max-tokens",
    type=click.IntRange(min=1),
    metavar="N",
    help="Stop once N tokens were used, in and out, by all sessions with --out together.",
)
@click.option(
    "--max-cost",
    type=click.FloatRange(min=0, min_open=True),
    metavar="USD",
    help="Stop once so much was spent; needs a price for every model.",
)
@click.option(
    "--prices",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Prices of your own (TOML), over those that are known.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the figures as one JSON object.")
@with_model_choice
def reports(
    sources: tuple[str, ...],
    any_topic: bool,
    sample: int | None,
    seed: int,
    styles: tuple[str, ...],
    max_claims: int | None,
    concurrency: int | None,
    out: Path,
    max_tokens: int | None,
    max_cost: float | None,
    prices: Path | None,
    as_json: bool,
    **settings: Any,
) -> None:
    """Write reports of three paragraphs from conflicting documents, and score them (Table 3).

    Each topic is written on by each prompt, and each report is scored against all its documents:
    the share of its claims with documents on both sides (CS-C), and how much of the evidence
    contradicts them (CS-R); lower is better. It can be stopped at any time; the same command goes
    on, and a report that was written is not written again.

    Sets that fit: ConflictingQA, Perspectrum, CONFLICTS, HealthVer, Climate-FEVER, NatConfQA.
    """
    from conflictscore.benchmarks.harness.statistics import require_statistics
    from conflictscore.benchmarks.reports.run import latest
    from conflictscore.benchmarks.reports.writing import Style
    from conflictscore.models.prices import PriceTable

    require_statistics()
    budget = _Budget(max_tokens, max_cost, PriceTable.load(prices))
    topics = _topics(sources, any_topic=any_topic, sample=sample, seed=seed)
    models = _models(settings)
    local = models.generator.endpoint == "local"
    with _ledger(budget, out) as ledger:
        context = _context(models, ledger, settings, max_claims)
        rows, stopped = _run(
            topics,
            [style for style in Style if style.value in styles],
            context,
            out,
            concurrency or (_LOCAL_REPORTS if local else _REMOTE_REPORTS),
        )
    _deliver(rows, len(topics), context, ledger, as_json=as_json)
    if stopped is not None:
        raise stopped
    errors = [row.error for row in latest(rows).values()]
    if all(errors):
        raise ProviderError(
            f"no report could be scored: {errors[0]}", provider=context.generator.name
        )


class _Budget(NamedTuple):
    """What may be spent by all sessions together."""

    max_tokens: int | None
    max_cost: float | None
    prices: "PriceTable"


def _models(settings: Mapping[str, Any]) -> "RunContext":
    """The models alone, not yet counted."""
    from conflictscore.cli.running import chosen_spec
    from conflictscore.graph.create import run_context

    return run_context(
        chosen_spec(settings),
        None,
        judge=settings["judge"],
        labeler="json",
        base_url=settings["base_url"],
        context_window=settings["context_window"],
        prompts=settings["prompts"],
        cache=not settings["no_cache"],
    )


@contextmanager
def _ledger(budget: _Budget, out: Path) -> "Iterator[Ledger]":
    """Counts what this session's calls cost, and what those before it did, beside ``out``."""
    from conflictscore.benchmarks.harness.spending import Spending
    from conflictscore.models.ledger import Ledger

    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out {out}: cannot be written ({error.strerror})") from None
    with closing(Spending(out.with_name(f"{out.name}.spent.sqlite"))) as spending:
        yield Ledger(
            prices=budget.prices,
            max_tokens=budget.max_tokens,
            max_cost=budget.max_cost,
            spent=spending.total(),
            on_call=spending.add,
        )


def _context(
    models: "RunContext", ledger: "Ledger", settings: Mapping[str, Any], max_claims: int | None
) -> "RunContext":
    """The collaborators, with every call counted."""
    from conflictscore.cli.running import chosen_labeler
    from conflictscore.graph.create import run_context
    from conflictscore.models.ledger import attach

    writer = attach(models.generator, ledger)
    same = models.decomposer is models.generator
    return run_context(
        writer,
        None,
        judge=writer if same else attach(models.decomposer, ledger),
        labeler=chosen_labeler(settings),
        prompts=models.prompts,
        cache=False if models.cache is None else models.cache,
        max_claims=max_claims,
    )


def _topics(
    sources: tuple[str, ...], *, any_topic: bool, sample: int | None, seed: int
) -> "tuple[Topic, ...]":
    from conflictscore.benchmarks.reports.topics import draw, read_topics

    topics: list[Topic] = []
    of_set: dict[str, str] = {}
    for source in sources:
        read = read_topics(source, seed=seed)
        if (earlier := of_set.setdefault(read[0].set, source)) != source:
            raise InputError(f"--topics {source}: it has the name of {earlier}; rename one of them")
        topics += [topic for topic in read if any_topic or topic.conflict]
    if not topics:
        raise InputError("no topic has documents in conflict; take all with --any-topic")
    return tuple(topics) if sample is None else draw(topics, sample, seed)


def _run(
    topics: "tuple[Topic, ...]",
    styles: "list[Style]",
    context: "RunContext",
    out: Path,
    concurrency: int,
) -> "tuple[list[ReportRow], BudgetError | None]":
    """The rows of these topics after the run, and why it stopped before its end."""
    import asyncio

    from conflictscore.benchmarks.progress import Tenths
    from conflictscore.benchmarks.reports.run import latest, open_rows, write_and_score

    wanted = {(topic.set, topic.id, style) for topic in topics for style in styles}
    stopped = None
    with open_rows(out, context) as rows:
        if rows.cut:
            click.echo(f"Note: {out}: half a line at its end was cut off", err=True)
        done = sum(row.done for key, row in latest(rows.rows).items() if key in wanted)
        progress = Tenths("reports scored", total=len(wanted), done=done)
        try:
            asyncio.run(
                write_and_score(
                    topics,
                    styles,
                    context,
                    rows,
                    concurrency=concurrency,
                    on_report=lambda row: progress.advance(failed=row.error is not None),
                )
            )
        except BudgetError as error:
            stopped = error
        return [row for row in rows.rows if row.key in wanted], stopped


def _deliver(
    rows: "list[ReportRow]", topics: int, context: "RunContext", ledger: "Ledger", *, as_json: bool
) -> None:
    from rich.console import Console

    from conflictscore.benchmarks.reports.figures import report_figures
    from conflictscore.records import Usage
    from conflictscore.reporting.figure_text import counted, money
    from conflictscore.reporting.written_reports import print_reports

    figures, usage = report_figures(rows), sum((row.usage for row in rows), Usage())
    if as_json:
        shown = {
            "topics": topics,
            "writer": context.generator.name,
            "labeler": context.labeler.name,
            "prompts": [one.to_json() for one in figures],
            "usage": usage.to_json(),
            "money": ledger.money,
        }
        click.echo(json.dumps(shown, ensure_ascii=False, indent=2))
    else:
        click.echo(f"{counted(topics, 'topic')}, written on by {context.generator.name}")
        click.echo(f"labelled by {context.labeler.name}")
        print_reports(figures, Console(highlight=False, markup=False, emoji=False))
        click.echo(
            f"\n{usage.calls} calls and {usage.cached_calls} replies from the cache;"
            f" {usage.input_tokens} input and {usage.output_tokens} output tokens;"
            f" cost {money(ledger.money)}"
        )
