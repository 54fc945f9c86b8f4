"""conflictscore score-file."""

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from conflictscore.cli.common import judging, open_context, run_async
from conflictscore.cli.options import (
    with_budget_options,
    with_evidence_options,
    with_model_choice,
)
from conflictscore.errors import ConflictScoreError, InputError

if TYPE_CHECKING:
    from conflictscore.nodes.state import RunContext
    from conflictscore.scoring_files.engine import Engine
    from conflictscore.scoring_files.rows import Columns, Source
    from conflictscore.scoring_files.scoring import Summary

__all__ = ["score_file"]

_EXAMPLES = """\b
Examples:
  conflictscore score-file answers.jsonl --out scored.jsonl --dry-run
  conflictscore score-file answers.jsonl --out scored.jsonl --judge openai:gpt-4.1-mini
  conflictscore score-file ragas.csv --out scored.jsonl --columns answer=reply,documents=found
  conflictscore score-file answers.parquet --out scored.parquet --engine ray --workers 8
  conflictscore score-file answers.jsonl --out scored.jsonl --retry-failed
"""


@click.command(
    "score-file",
    epilog=_EXAMPLES,
    short_help="Score a file of answers, row by row.",
)
@click.argument(
    "source",
    metavar="IN.jsonl|IN.csv|IN.parquet",
    type=click.Path(path_type=Path, dir_okay=False),
)
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The output, .jsonl or .parquet; FILE.run beside it holds what it takes to resume.",
)
@click.option(
    "--columns",
    metavar="answer=NAME,documents=NAME",
    help="What a row's fields are called. Default: answer or response; documents,"
    " retrieved_contexts or contexts.",
)
@click.option(
    "--concurrency",
    type=click.IntRange(min=1),
    metavar="N",
    help="Rows at a time, with Ray on each worker. Default: 4, or 1 with the local model.",
)
@click.option(
    "--engine",
    type=click.Choice(["local", "ray"]),
    default="local",
    show_default=True,
    help="ray: on the Ray cluster of RAY_ADDRESS, or on one that is started here for the run; needs"
    " the extra [ray].",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="With Ray, how many processes score. Default: one for each processor of the cluster.",
)
@click.option(
    "--retry-failed",
    is_flag=True,
    help="Score again the rows that failed, or have a pair without a verdict.",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Only read the input: count rows, documents and faults; no model is called.",
)
@with_evidence_options
@with_budget_options
@with_model_choice
@click.option("--json", "as_json", is_flag=True, help="Print the summary as one JSON object.")
@click.option("--quiet", "-q", is_flag=True, help="Show no progress.")
def score_file(
    source: Path,
    out: Path,
    columns: str | None,
    concurrency: int | None,
    engine: str,
    workers: int | None,
    retry_failed: bool,
    dry_run: bool,
    as_json: bool,
    quiet: bool,
    **settings: Any,
) -> None:
    """Score a file of answers with their documents, row by row.

    A row has `answer` and `documents`, a list of texts or of objects with `text` and, where known,
    `title` and `url`; the names of RAGAS are known too. In CSV the cell with the documents holds
    such a list as JSON, or one text. The output has the same rows in the same order, with all their
    fields and one more, `conflictscore`: `row`, `error`, `report` and `notes`. You can stop it at
    any time: the same command resumes, and nothing is judged twice.
    """
    from conflictscore.scoring_files.engine import rows_at_a_time
    from conflictscore.scoring_files.scoring import open_source

    if workers is not None and engine != "ray":
        raise InputError("--workers goes with --engine ray")
    if engine == "ray" and (settings["max_calls"] or settings["max_tokens"]):
        raise InputError("--max-calls and --max-tokens go with --engine local")
    opened = open_source(source, _columns(columns))
    if dry_run:
        _dry_run(opened)
        return
    settings["budget_seconds"] = None  # scores must not depend on how fast a machine is
    settings = judging(settings)
    context = open_context(settings)
    rows = concurrency or rows_at_a_time(context)
    chosen = _engine(engine, context, settings, concurrency=rows, workers=workers)
    summary = _run(opened, out, context, chosen, retry_failed=retry_failed, quiet=quiet)
    _deliver(summary, out, as_json=as_json)


def _columns(given: str | None) -> "Columns":
    from conflictscore.scoring_files.rows import Columns

    pairs = [part.partition("=") for part in given.split(",")] if given else []
    named = {field.strip(): name.strip() for field, _, name in pairs}
    if not all(named.values()) or not named.keys() <= {"answer", "documents"}:
        raise InputError(f"--columns {given}: write answer=NAME, documents=NAME, or both")
    return Columns(**named)


def _engine(
    name: str,
    context: "RunContext",
    settings: Mapping[str, Any],
    *,
    concurrency: int,
    workers: int | None,
) -> "Engine":
    if name == "ray":
        from conflictscore.scoring_files.ray_engine import RayEngine

        opener = partial(open_context, dict(settings))
        return RayEngine(opener, concurrency=concurrency, workers=workers)
    from conflictscore.scoring_files.engine import LocalEngine

    return LocalEngine(context, concurrency)


def _run(
    source: "Source",
    out: Path,
    context: "RunContext",
    engine: "Engine",
    *,
    retry_failed: bool,
    quiet: bool,
) -> "Summary":
    from rich.console import Console

    from conflictscore.reporting.displays import ScoreFileProgress
    from conflictscore.scoring_files.scoring import ascore_file

    console = Console(stderr=True, highlight=False)
    with ScoreFileProgress(console, enabled=not quiet) as progress:
        return run_async(
            ascore_file(source, out, context, engine, retry_failed=retry_failed, listener=progress)
        )


def _dry_run(source: "Source") -> None:
    """Read the whole input, and print what of it would be scored."""
    from conflictscore.reporting.figure_text import counted
    from conflictscore.scoring_files.rows import task_of

    documents, faults, first = 0, 0, ""
    for row in source.rows(lambda number: True):
        try:
            documents += len(task_of(row).documents)
        except InputError as fault:
            faults += 1
            first = first or f" (the first is row {row.number}: {fault})"
    click.echo(
        f"{source.path}: {counted(source.total, 'row')}, {counted(documents, 'document')};"
        f" {counted(faults, 'row')} cannot be scored{first}"
    )


def _deliver(summary: "Summary", out: Path, *, as_json: bool) -> None:
    """Print the result of the run, and raise where rows failed."""
    for note in summary.notes:
        click.echo(f"Note: {note}", err=True)
    counts = {
        "rows": summary.rows,
        "scored_now": summary.scored,
        "failed": summary.failed,
        "incomplete": summary.incomplete,
        "usage": summary.usage.to_json(),
    }
    if as_json:
        click.echo(json.dumps(counts))
    else:
        from conflictscore.reporting.figure_text import counted
        from conflictscore.reporting.terminal import tokens_in

        used = summary.usage
        click.echo(
            f"{out}: {counted(summary.rows, 'row')}, {summary.scored:,} of them scored now;"
            f" {summary.failed:,} failed, {summary.incomplete:,} have a pair without a verdict;"
            f" {used.calls:,} calls, {used.cached_calls:,} from the cache, {tokens_in(used)},"
            f" {used.output_tokens:,} out"
        )
    if summary.failed:
        raise ConflictScoreError(
            f"{out}: {summary.failed:,} of {summary.rows:,} rows failed; each says why in"
            " conflictscore.error, and --retry-failed scores them again"
        )
