"""The command ``score-file``.

Limits without a stated reason were chosen by hand.
"""

import json
from collections.abc import Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from conflictscore.cli.common import chosen_spec, judging, open_context, run_async
from conflictscore.cli.options import (
    with_call_budget,
    with_evidence_options,
    with_model_choice,
    with_trust_option,
)
from conflictscore.errors import ConflictScoreError, InputError
from conflictscore.settings import Settings

if TYPE_CHECKING:
    from conflictscore.loop.state import RunContext
    from conflictscore.scoring_files.columns import Columns
    from conflictscore.scoring_files.file_run import Summary
    from conflictscore.scoring_files.input_rows import Source
    from conflictscore.scoring_files.row_scoring import RowEngine

_NAMED_ROWS = 10
"""Maximum number of failing rows that the error message lists."""
_SHOWN_ROWS = 50
"""Maximum number of failing rows that are shown with their claims."""
_MIN_COVERAGE: float = Settings.default("min_coverage")
"""Minimum share of labelled pairs that a row needs to pass ``--fail-over``."""
_SAME = 1e-9
"""Tolerance for rounding errors, so that a mean equal to the limit passes."""

_EXAMPLES = """\b
Examples:
  conflictscore score-file answers.jsonl --out scored.jsonl --judge openai:gpt-4.1-mini
  conflictscore score-file ragas.csv --out scored.jsonl --columns answer=reply,documents=found
  conflictscore score-file runs.json --out scored.jsonl --columns answer=outputs.text
  conflictscore score-file answers.parquet --out scored.jsonl --concurrency 32
  conflictscore score-file answers.jsonl --out scored.jsonl --retry-failed
  conflictscore score-file answers.jsonl --out scored.jsonl --fail-over 0.2
  conflictscore score-file answers.parquet --out scored.parquet --engine ray --workers 8
"""


@click.command(
    "score-file",
    epilog=_EXAMPLES,
    short_help="Score a file of answers.",
)
@click.argument(
    "source",
    metavar="IN.jsonl|IN.json|IN.csv|IN.parquet",
    type=click.Path(path_type=Path, dir_okay=False),
)
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The output file: .jsonl, or .parquet if the input is .parquet. The file is written "
    "when all rows are done; until then, finished rows are kept in FILE.run.",
)
@click.option(
    "--columns",
    metavar="answer=NAME,documents=NAME",
    help="Names of the fields that hold the answer and the documents, or paths such as "
    "outputs.answer. Default: the names that RAGAS, DeepEval, TruLens, LangChain, "
    "LangSmith and Phoenix use.",
)
@click.option(
    "--concurrency",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many rows to score at the same time. Default: 16, or 1 with a local model. With "
    "--engine ray, the number applies to each worker, and the default is 4, or 1 with a local "
    "model.",
)
@click.option(
    "--engine",
    type=click.Choice(["local", "ray"]),
    default="local",
    show_default=True,
    help="Where rows are scored. local: in this process. ray: on the Ray cluster at RAY_ADDRESS "
    "or, if this variable is not set, on a cluster that is started on this machine (extra [ray]).",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Number of Ray workers. Default: one for each processor of the cluster.",
)
@click.option(
    "--retry-failed",
    is_flag=True,
    help="Score again the rows that failed, and the rows with a pair that has no label.",
)
@click.option(
    "--fail-over",
    type=click.FloatRange(min=0, max=1),
    metavar="X",
    help="Exit with code 1 if the CS-R of any row is above X (from 0 to 1), or if a row could "
    "not be checked. The claims that caused this are printed with their documents.",
)
@with_evidence_options
@with_trust_option
@with_call_budget
@with_model_choice
@click.option("--json", "as_json", is_flag=True, help="Print the summary as one JSON object.")
@click.option("--quiet", "-q", is_flag=True, help="Show no progress.")
def score_file(
    source: Path, out: Path, columns: str | None, fail_over: float | None, **settings: Any
) -> None:
    """Score each answer in a file against the documents in the same row.

    A row has the fields `answer` and `documents`. `documents` is a list of strings, or of objects
    with `text` and, if known, `title` and `url`. In CSV, the cell contains such a list as JSON, or
    the text of a single document. Rows of RAGAS, DeepEval, TruLens, LangChain, LangSmith and
    Phoenix are read as they are.

    The output keeps all rows and fields in order and adds the field `conflictscore`, with `row`,
    `error`, `report` and `notes`.

    You can stop the command at any time. Run the command again to resume; nothing is judged twice.

    With --fail-over, the exit code is 0 if every row passed. The exit code is 1 if any row is above
    the limit, has no score, or has too few labels.
    """
    from conflictscore.scoring_files.input_rows import Source

    rows = Source(source, _columns(columns))
    if fail_over is not None and not rows.total:
        raise InputError(f"{source}: no rows, so --fail-over has nothing to check")
    summary, as_json = _run(rows, out, settings), settings["as_json"]
    failing: dict[int, str] = {}
    if not as_json:
        _print(out, summary)
    if fail_over is not None:
        failing = _failing(out, fail_over, quiet=as_json)
    if as_json:
        counts = {**vars(summary), "usage": summary.usage.to_json(), "failing": failing}
        click.echo(json.dumps(counts))
    if failing:
        reasons = [f"row {row} ({why})" for row, why in islice(failing.items(), _NAMED_ROWS)]
        more = len(failing) - len(reasons)
        raise ConflictScoreError(
            f"{out}: {len(failing):,} of {summary.rows:,} rows fail (--fail-over {fail_over:g}):"
            f" {', '.join(reasons)}" + (f" and {more:,} more" if more else "")
        )
    if summary.failed:
        raise ConflictScoreError(
            f"{out}: {summary.failed:,} of {summary.rows:,} rows failed; the reason is in"
            " conflictscore.error, and --retry-failed scores them again"
        )


def _columns(mapping: str | None) -> "Columns":
    """Read the argument of ``--columns``."""
    from conflictscore.scoring_files.columns import Columns

    pairs = [part.partition("=") for part in mapping.split(",")] if mapping else []
    column_names = {field.strip(): name.strip() for field, _, name in pairs}
    is_repeated = len(column_names) < len(pairs)
    is_known = column_names.keys() <= {"answer", "documents"}
    if is_repeated or not is_known or not all(column_names.values()):
        raise InputError(f"--columns {mapping}: write answer=NAME, documents=NAME, or both")
    return Columns(**column_names)


def _run(source: "Source", out: Path, settings: Mapping[str, Any]) -> "Summary":
    """Open the judge and the engine, score the rows, and show progress."""
    from rich.console import Console

    from conflictscore.reporting.displays import ItemProgress
    from conflictscore.scoring_files.engine import default_concurrency
    from conflictscore.scoring_files.file_run import ascore_file
    from conflictscore.scoring_files.output import check_output

    # before the judge is opened, which may take minutes if it must be downloaded
    check_output(out, source)
    if settings["workers"] and settings["engine"] != "ray":
        raise InputError(
            "--workers needs --engine ray; use --concurrency to score more rows at the same time"
        )
    options = judging(settings)
    options["model"] = chosen_spec(options)  # every worker must open the same model
    # a row keeps its scores even if few pairs have labels; only --fail-over requires a minimum
    context = open_context(options, min_coverage=None)
    engine = _ray_engine(options, context) if settings["engine"] == "ray" else None
    at_once, again = settings["concurrency"], settings["retry_failed"]
    console = Console(stderr=True, highlight=False)
    with ItemProgress(console, "scoring", "rows", visible=not settings["quiet"]) as progress:
        return run_async(
            ascore_file(
                source,
                out,
                context,
                at_once or default_concurrency(context),
                retry_failed=again,
                listener=progress,
                engine=engine,
            )
        )


def _ray_engine(options: Mapping[str, Any], context: "RunContext") -> "RowEngine":
    """Return the Ray engine, whose workers open the same judge as this process."""
    from conflictscore.scoring_files.ray_engine import ROWS_AT_ONCE, RayEngine
    from conflictscore.scoring_files.row_scoring import scoring_settings

    if options.get("max_calls"):
        raise InputError(
            "--max-calls does not work with --engine ray, since workers cannot share a limit"
        )
    at_once = 1 if context.decomposer.is_local else ROWS_AT_ONCE
    return RayEngine(
        partial(open_context, options, min_coverage=None),
        scoring_settings(context),
        concurrency=options["concurrency"] or at_once,
        workers=options["workers"],
    )


def _print(out: Path, summary: "Summary") -> None:
    from conflictscore.reporting.figure_text import counted
    from conflictscore.reporting.terminal import tokens_in

    usage = summary.usage
    click.echo(
        f"{out}: {counted(summary.rows, 'row')}, {summary.scored_now:,} of them scored now;"
        f" {summary.failed:,} failed, {summary.incomplete:,} lack a verdict for some pair;"
        f" {counted(usage.calls, 'call')}, {usage.cached_calls:,} from the cache,"
        f" {tokens_in(usage)}, {usage.output_tokens:,} out"
    )


def _failing(out: Path, limit: float, *, quiet: bool) -> dict[int, str]:
    """Return the reason for each failing row, and print the failing claims of the first rows."""
    from conflictscore.scoring_files.output import read_outcomes

    failing: dict[int, str] = {}
    for number, outcome in enumerate(read_outcomes(out), start=1):
        why, claims = _why_failing(outcome, limit)
        if why:
            failing[number] = why
            if not quiet and len(failing) <= _SHOWN_ROWS:
                click.echo("\n  ".join([f"row {number}: {why}", *claims]))
    return failing


def _why_failing(outcome: Mapping[str, Any], limit: float) -> tuple[str, list[str]]:
    """Return why a row fails, and a line for each failing claim; both are empty if it passes.

    A claim fails if its own share of contradiction, |D-| / (|D+| + |D-|), is above the limit. CS-R
    is the mean of these shares, so a row above the limit has a failing claim.
    """
    from conflictscore.reporting.figure_text import one_line

    report = outcome["report"]
    if report is None or report["cs_r"] is None:
        # 80 characters of the reason fit on a terminal's line
        return f"no score: {one_line(outcome['error'] or 'the answer makes no claim', 80)}", []
    if report["cs_r"] > limit + _SAME:
        failing = {}
        for number, claim in enumerate(report["claims"], start=1):
            sides = [claim[name] for name in ("contradicts", "supports")]
            if report["duplicates_vote"]:  # with ``--duplicates vote``, every copy counts
                against, for_it = map(len, sides)
            else:
                against, for_it = claim["independent_contradicts"], claim["independent_supports"]
            if against and against / (against + for_it) > limit + _SAME:
                sides_in_words = [
                    f"document{'s' * (len(n) > 1)} {', '.join(map(str, n))}" for n in sides
                ]
                also = f"; supported by {sides_in_words[1]}" if sides[1] else ""
                line = (
                    f"claim {number} “{one_line(claim['text'])}” contradicted by"
                    f" {sides_in_words[0]}{also}"
                )
                failing[str(number)] = line
        which = f"claim{'s' * (len(failing) > 1)} {', '.join(failing)}"
        return f"CS-R {report['cs_r']:.2f}, {which}", list(failing.values())
    too_few = report["coverage"] < _MIN_COVERAGE
    return f"coverage {report['coverage']:.0%}" if too_few else "", []
