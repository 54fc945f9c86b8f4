"""conflictscore score-file."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from conflictscore.cli.common import judging, open_context, run_async
from conflictscore.cli.options import (
    with_budget_options,
    with_evidence_options,
    with_model_choice,
    with_trust_option,
)
from conflictscore.errors import ConflictScoreError, InputError

if TYPE_CHECKING:
    from conflictscore.nodes.state import RunContext
    from conflictscore.records import Document
    from conflictscore.reporting.failing_claims import FailingAnswer
    from conflictscore.scoring_files.file_run import Summary
    from conflictscore.scoring_files.rows import Columns, Source

__all__ = ["score_file"]

_NAMED_ROWS = 10
"""How many failing rows the error line names."""
_SHOWN_ROWS = 50
"""How many are shown with their evidence."""

_EXAMPLES = """\b
Examples:
  conflictscore score-file answers.jsonl --out scored.jsonl --dry-run
  conflictscore score-file answers.jsonl --out scored.jsonl --judge openai:gpt-4.1-mini
  conflictscore score-file ragas.csv --out scored.jsonl --columns answer=reply,documents=found
  conflictscore score-file answers.parquet --out scored.parquet --concurrency 32
  conflictscore score-file answers.jsonl --out scored.jsonl --retry-failed
  conflictscore score-file answers.jsonl --out scored.jsonl --fail-over 0.2 --summary failing.md
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
    help="The output: .jsonl, or .parquet for a Parquet input. Written once all rows are done;"
    " until then they are in FILE.run beside it.",
)
@click.option(
    "--columns",
    metavar="answer=NAME,documents=NAME",
    help="Names of a row's fields. Default: answer or response; documents,"
    " retrieved_contexts or contexts.",
)
@click.option(
    "--concurrency",
    type=click.IntRange(min=1),
    metavar="N",
    help="Rows at a time. Default: 16; with a local model 1.",
)
@click.option(
    "--retry-failed",
    is_flag=True,
    help="Score again the rows that failed, or have a pair without a verdict.",
)
@click.option(
    "--fail-over",
    type=click.FloatRange(min=0, max=1),
    metavar="X",
    help="Fail, with exit code 1, if the CS-R of a row is above X, 0 to 1, or a row could not be"
    " checked. Each failing claim is printed with its evidence.",
)
@click.option(
    "--min-coverage",
    type=click.FloatRange(min=0, max=1),
    metavar="SHARE",
    help="With --fail-over: minimum share of labelled pairs, 0 to 1, for a row to count as checked."
    " Default: 0.5.",
)
@click.option(
    "--summary",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.md",
    help="With --fail-over: append what failed, with its evidence, to this file as Markdown.",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Only read the input: count rows, documents and faults; no model is called.",
)
@with_evidence_options
@with_trust_option
@with_budget_options
@with_model_choice
@click.option("--json", "as_json", is_flag=True, help="Print the summary as one JSON object.")
@click.option("--quiet", "-q", is_flag=True, help="Show no progress.")
def score_file(
    source: Path,
    out: Path,
    columns: str | None,
    concurrency: int | None,
    retry_failed: bool,
    fail_over: float | None,
    min_coverage: float | None,
    summary: Path | None,
    dry_run: bool,
    as_json: bool,
    quiet: bool,
    **settings: Any,
) -> None:
    """Score a file of answers with their documents, row by row.

    A row has `answer` and `documents`, a list of texts or of objects with `text` and, if known,
    `title` and `url`; the names of RAGAS are known too. In CSV the cell with the documents holds
    such a list as JSON, or one text. The output has the same rows in the same order, with all their
    fields and one more, `conflictscore`: `row`, `error`, `report` and `notes`. You can stop it at
    any time: the same command resumes, and nothing is judged twice.

    With --fail-over the exit code says whether every row passed: 0, or 1 if one exceeds it, has
    no score, or has too few labels.
    """
    from conflictscore.scoring_files.file_run import open_source

    opened = open_source(source, _columns(columns))
    gate = _gate(opened, fail_over, min_coverage, summary)
    if dry_run:
        _dry_run(opened)
        return
    context = open_context(judging(settings), min_coverage=None)
    result = _run(opened, out, context, concurrency, retry_failed=retry_failed, quiet=quiet)
    verdict = gate.judge(opened, out) if gate else None
    _deliver(result, verdict, out, as_json=as_json)


def _columns(given: str | None) -> "Columns":
    from conflictscore.scoring_files.rows import Columns

    pairs = [part.partition("=") for part in given.split(",")] if given else []
    named = {field.strip(): name.strip() for field, _, name in pairs}
    if not all(named.values()) or not named.keys() <= {"answer", "documents"}:
        raise InputError(f"--columns {given}: write answer=NAME, documents=NAME, or both")
    return Columns(**named)


def _run(
    source: "Source",
    out: Path,
    context: "RunContext",
    concurrency: int | None,
    *,
    retry_failed: bool,
    quiet: bool,
) -> "Summary":
    from rich.console import Console

    from conflictscore.reporting.displays import ItemProgress
    from conflictscore.scoring_files.engine import default_concurrency, score_rows
    from conflictscore.scoring_files.file_run import ascore_file

    scorer = partial(score_rows, context, concurrency or default_concurrency(context))
    console = Console(stderr=True, highlight=False)
    with ItemProgress(console, "scoring", "rows", enabled=not quiet) as progress:
        return run_async(
            ascore_file(source, out, context, scorer, retry_failed=retry_failed, listener=progress)
        )


def _dry_run(source: "Source") -> None:
    """Read the whole input, and print how much of it would be scored."""
    from conflictscore.reporting.figure_text import counted
    from conflictscore.scoring_files.rows import task_of

    documents, faults, first = 0, 0, ""
    for row in source.rows(lambda number: True):
        try:
            documents += len(task_of(row)["documents"])
        except InputError as fault:
            faults += 1
            first = first or f" (the first is row {row.number}: {fault})"
    click.echo(
        f"{source.path}: {counted(source.total, 'row')}, {counted(documents, 'document')};"
        f" {counted(faults, 'row')} cannot be scored{first}"
    )


class _Verdict(NamedTuple):
    """Verdict of a gate on a scored file."""

    title: str
    """The result, in a sentence."""
    failing: Mapping[int, str]
    """Why each row fails that does, in a few words, by its number."""
    lines: Sequence[str]
    """The failing rows and their claims with the evidence, as far as they are shown."""

    @property
    def line(self) -> str:
        """Which rows fail, and why, in one line."""
        named = [f"row {row} ({why})" for row, why in islice(self.failing.items(), _NAMED_ROWS)]
        more = len(self.failing) - len(named)
        return f"{self.title}: {', '.join(named)}" + (f" and {more:,} more" if more else "")


@dataclass(frozen=True)
class _Gate:
    """Limits for the rows of a scored file."""

    limit: float
    min_coverage: float
    page: Path | None

    def judge(self, source: "Source", out: Path) -> _Verdict:
        """Check a scored file, and append to the page."""
        from conflictscore.nodes.retrieve import given_documents
        from conflictscore.reporting.failing_claims import failing_markdown, failing_row
        from conflictscore.reporting.figure_text import counted, one_line
        from conflictscore.retrieval.duplicates import mark_duplicates
        from conflictscore.scoring_files.file_run import outcomes_of
        from conflictscore.scoring_files.rows import task_of

        check = partial(failing_row, threshold=self.limit, min_coverage=self.min_coverage)
        failing: dict[int, str] = {}
        shown: dict[int, Mapping[str, Any]] = {}
        for outcome in outcomes_of(out):
            if answer := check(outcome, ()):
                failing[outcome["row"]] = answer.brief
                if len(shown) < _SHOWN_ROWS:
                    shown[outcome["row"]] = outcome
        told: list[tuple[str, FailingAnswer]] = []
        for row in source.rows(shown.__contains__) if shown else ():
            kept, name = shown[row.number], f"row {row.number}"
            documents: Sequence[Document] = ()
            if kept["report"]:  # with its texts from the input
                task = task_of(row)
                name += f", “{one_line(task['answer'])}”"
                documents = mark_duplicates(given_documents(task))
            if answer := check(kept, documents):
                told.append((name, answer))
        how = "fails" if len(failing) == 1 else "fail"
        of = f"{len(failing):,} of {counted(source.total, 'row')}"
        title = f"{out}: {of} {how} (--fail-over {self.limit:g})"
        if self.page:
            with self.page.open("a", encoding="utf-8") as file:
                file.write(failing_markdown(title, told, len(failing) - len(told)))
        lines = []
        for name, answer in told:
            first, *claims = answer.lines()
            lines += [f"{name}: {first}", *(f"  {claim}" for claim in claims)]
        return _Verdict(title, failing, lines)


def _gate(
    source: "Source", limit: float | None, min_coverage: float | None, page: Path | None
) -> _Gate | None:
    """The gate that the options describe; None for none."""
    if limit is None:
        if min_coverage is not None or page is not None:
            raise InputError("--min-coverage and --summary go with --fail-over")
        return None
    if not source.total:
        raise InputError(f"{source.path}: has no rows, so --fail-over has nothing to check")
    try:
        if page:
            page.open("a").close()
    except OSError as error:
        raise InputError(f"--summary {page}: cannot be written ({error.strerror})") from None
    return _Gate(limit, 0.5 if min_coverage is None else min_coverage, page)


def _deliver(summary: "Summary", verdict: _Verdict | None, out: Path, *, as_json: bool) -> None:
    """Print the result of the run, and raise if rows failed."""
    counts: dict[str, Any] = {
        "rows": summary.rows,
        "scored_now": summary.scored,
        "failed": summary.failed,
        "incomplete": summary.incomplete,
        "usage": summary.usage.to_json(),
    }
    if verdict:
        counts["failing"] = verdict.failing
    if as_json:
        click.echo(json.dumps(counts))
    else:
        from conflictscore.reporting.figure_text import counted
        from conflictscore.reporting.terminal import tokens_in

        used = summary.usage
        click.echo(
            f"{out}: {counted(summary.rows, 'row')}, {summary.scored:,} of them scored now;"
            f" {summary.failed:,} failed, {summary.incomplete:,}"
            f" {'has' if summary.incomplete == 1 else 'have'} a pair without a verdict;"
            f" {counted(used.calls, 'call')}, {used.cached_calls:,} from the cache,"
            f" {tokens_in(used)}, {used.output_tokens:,} out"
        )
        if verdict:
            click.echo("\n".join([*verdict.lines, verdict.title]))
    if verdict and verdict.failing:
        raise ConflictScoreError(verdict.line)
    if summary.failed:
        raise ConflictScoreError(
            f"{out}: {summary.failed:,} of {summary.rows:,} rows failed; the reason is in"
            " conflictscore.error, and --retry-failed scores them again"
        )
