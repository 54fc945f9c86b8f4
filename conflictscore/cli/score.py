"""conflictscore score."""

from pathlib import Path
from typing import Any

import click

from conflictscore.cli.common import judging, open_context, run_graph
from conflictscore.cli.options import (
    with_call_budget,
    with_model_options,
    with_output_options,
    with_scoring_settings,
)
from conflictscore.cli.short_help import ManyDocs
from conflictscore.errors import ConflictScoreError, InputError

__all__ = ["read_answer", "score", "with_answer_options"]

_SCORE_EXAMPLES = """\b
Examples:
  conflictscore score --answer "The lamp was first lit in 1871." --docs examples/lighthouse
  conflictscore score --answer @answer.txt --docs sources/ --json
"""


def with_answer_options(command: Any) -> Any:
    """Add the options of an answer and the documents to hold it against."""
    command = click.option(
        "--docs",
        type=click.Path(),
        multiple=True,
        required=True,
        metavar="PATH ...",
        help="The documents to hold the answer against, all of them, in file order.",
    )(command)
    return click.option(
        "--answer", required=True, metavar="TEXT|@FILE", help="The answer, or @ and a file."
    )(command)


@click.command(
    cls=ManyDocs,
    epilog=_SCORE_EXAMPLES,
    short_help="Score an answer that exists already.",
)
@with_answer_options
@with_scoring_settings
@with_call_budget
@with_model_options
@with_output_options
def score(answer: str, docs: tuple[str, ...], **settings: Any) -> None:
    """Score an answer that exists already: ConflictScore (CS-C and CS-R) against documents.

    The exit code is 1 if there is no score because the model failed.
    """
    from conflictscore.graph.self_correction import build_scoring_graph
    from conflictscore.records import RunStatus
    from conflictscore.reporting.run_log import check_log
    from conflictscore.retrieval.document_files import read_documents

    if settings["log"]:
        check_log(settings["log"])
    text = read_answer(answer)
    read = read_documents(docs)
    context = open_context(judging(settings))
    start = {"answer": text, "documents": [document.to_json() for document in read.documents]}
    run = run_graph(build_scoring_graph(context), start, context, settings, read.notes)
    if run.status is RunStatus.FAILED:
        raise click.exceptions.Exit(ConflictScoreError.exit_code)


def read_answer(answer: str) -> str:
    """The answer in an option, or in the file that it names.

    Raises:
        InputError: It is empty, or the file cannot be read.
    """
    from conflictscore.retrieval.cleaning import clean_text

    text = answer
    if answer.startswith("@"):
        try:
            text = Path(answer[1:]).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(
                f"--answer {answer}: cannot be read as UTF-8 text ({error})"
            ) from error
    if not (text := clean_text(text)):
        raise InputError("--answer is empty")
    return text
