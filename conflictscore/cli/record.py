"""The command ``record``."""

from typing import Any

import click

from conflictscore.cli.common import open_retriever, run_async
from conflictscore.cli.options import ManyDocs, with_search_options
from conflictscore.errors import ProviderError, QuotaError

_RECORD_EXAMPLES = """\b
Examples:
  conflictscore record --questions TruthfulQA.csv --search serper --out truthfulqa.jsonl
  conflictscore record --questions mine.txt --search serper --read-pages --out mine.jsonl
  conflictscore ask "Is it safe?" --search recorded:mine.jsonl
"""


@click.command(
    cls=ManyDocs,
    epilog=_RECORD_EXAMPLES,
    short_help="Record search results for a file of questions.",
)
@click.option(
    "--questions",
    required=True,
    metavar="FILE",
    help='File of questions: .txt (one per line), .csv (with a "question" column) or .jsonl '
    '(with a "question" or "query" field). A log written by `ask --log` works, too; the further '
    "searches of its runs are then recorded as well.",
)
@click.option("--out", required=True, metavar="FILE", help="The recording to write, or to resume.")
@with_search_options
@click.option(
    "--concurrency",
    type=click.IntRange(min=1),
    default=2,  # chosen by hand: few, since many search engines limit the rate of requests
    show_default=True,
    metavar="N",
    help="Maximum number of questions to search for at the same time.",
)
def record(questions: str, out: str, concurrency: int, **settings: Any) -> None:
    """Search for every question in a file, and record the results.

    Other commands can then use the recording in place of a live search, with --search
    recorded:FILE, so that every run gets the same documents.

    You can stop the command at any time, and it stops automatically when the search quota is used
    up. Run the command again to resume: recorded questions are not searched again. The exit code is
    1 if questions are left.
    """
    from rich.console import Console

    from conflictscore.reporting.displays import RecordingProgress
    from conflictscore.retrieval.providers import configured_search
    from conflictscore.retrieval.questions import read_questions
    from conflictscore.retrieval.recording import record_questions

    all_questions = read_questions(questions)
    retriever = open_retriever(settings)
    docs = list(settings["docs"])
    parameters = {"top_k": settings["top_k"], "read_pages": settings["read_pages"]}
    with RecordingProgress(Console(stderr=True, highlight=False)) as bar:
        report = run_async(
            record_questions(
                all_questions,
                retriever,
                out,
                # record which engine was used, since the default engine may change
                search=settings["search"] or ("corpus" if docs else str(configured_search())),
                parameters=parameters | ({"docs": docs} if docs else {}),
                concurrency=concurrency,
                on_progress=bar,
            )
        )
    click.echo(
        f"{out}: {report.wanted - report.left} of {report.wanted} questions recorded,"
        f" {report.recorded} of them now, {report.left} left"
    )
    if report.empty:
        click.echo(f"no results for {report.empty} of the questions recorded now")
    again = f"questions left: {report.left}; run the same command to resume"
    if reason := report.stopped:
        kind = type(reason)  # the same kind of error, so that the exit code stays the same
        when = " after the quota resets" if isinstance(reason, QuotaError) else ""
        raise kind(f"the search failed: {reason}; {again}{when}", provider=reason.provider)
    if report.failures:
        count = len(report.failures)
        raise ProviderError(f"questions that failed: {count}; {again}", provider="search")
