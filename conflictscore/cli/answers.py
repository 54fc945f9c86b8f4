"""The commands ``ask``, ``score`` and ``correct``, which check one answer against documents."""

from pathlib import Path
from typing import Any

import click

from conflictscore.cli.common import judging, load_early, open_context, open_retriever, run_graph
from conflictscore.cli.options import (
    ManyDocs,
    with_call_budget,
    with_model_options,
    with_output_options,
    with_question_search_options,
    with_run_settings,
    with_scoring_settings,
)
from conflictscore.errors import ConflictScoreError, InputError

_ASK_EXAMPLES = """\b
Examples:
  conflictscore ask "When was the lamp first lit?" --docs notes/ report.md
  conflictscore ask "Is it safe?" --search serper --read-pages
  conflictscore ask "Which is it?" --option "It was 1871." --option "It was 1874." --docs notes/
"""
_SCORE_EXAMPLES = """\b
Examples:
  conflictscore score --answer "The lamp was first lit in 1871." --docs examples/lighthouse
  conflictscore score --answer @answer.txt --docs sources/ --json
"""
_CORRECT_EXAMPLES = """\b
Examples:
  conflictscore correct --answer "The lamp was first lit in 1871." --docs examples/lighthouse
  conflictscore correct --answer @answer.txt --docs sources/ --question "When was it lit?" --json
"""


def _with_answer_options(command: Any) -> Any:
    command = click.option(
        "--docs",
        type=click.Path(),
        multiple=True,
        required=True,
        metavar="PATH ...",
        help="Files and folders with the documents to check the answer against. Every document "
        "is used. Every word up to the next option is a path.",
    )(command)
    return click.option(
        "--answer",
        required=True,
        metavar="TEXT|@FILE",
        help="The text of the answer, or @FILE to read it from a file.",
    )(command)


@click.command(
    cls=ManyDocs,
    epilog=_ASK_EXAMPLES,
    short_help="Answer a question, and correct the answer where documents disagree.",
)
@click.argument("question")
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="TEXT",
    help="One of the answers to choose from, for a multiple-choice question. Repeat the option "
    "for each answer.",
)
@with_question_search_options
@with_run_settings
@with_call_budget
@with_model_options
@with_output_options
def ask(question: str, options: tuple[str, ...], **settings: Any) -> None:
    """Answer QUESTION from documents, and correct claims that the documents disagree on.

    The answer is split into claims, and each claim is checked against each document. If documents
    disagree on a claim, only the passage with this claim is corrected. The output shows the answer,
    the changes with their reasons, and the scores CS-C and CS-R.
    """
    from conflictscore.loop.question_check import check_question
    from conflictscore.retrieval.cleaning import clean_text

    question, options = clean_text(question), tuple(map(clean_text, options))
    check_question(question, options)  # a bad question is refused before any model is loaded
    load_early(settings)
    from conflictscore.graph.self_correction import build_self_correction_graph

    _check_log(settings)
    context = open_context(settings, retriever=open_retriever(settings))
    graph = build_self_correction_graph(context)
    run_graph(graph, {"question": question, "options": list(options)}, context, settings)


@click.command(cls=ManyDocs, epilog=_SCORE_EXAMPLES, short_help="Score an existing answer.")
@_with_answer_options
@with_scoring_settings
@with_call_budget
@with_model_options
@with_output_options
def score(answer: str, docs: tuple[str, ...], **settings: Any) -> None:
    """Score an existing answer against documents (CS-C and CS-R).

    CS-C is the share of claims that have evidence on both sides. CS-R is the share of a claim's
    evidence that contradicts it, averaged over claims. Both scores go from 0 to 1, and lower is
    better. The answer is not changed. The exit code is 1 if the model failed and there is no score.
    """
    load_early(judging(settings))
    from conflictscore.graph.self_correction import build_scoring_graph
    from conflictscore.records import RunStatus
    from conflictscore.retrieval.document_files import read_documents

    _check_log(settings)
    text, documents = _read_answer(answer), read_documents(docs)
    context = open_context(judging(settings))
    start = {"answer": text, "documents": [document.to_json() for document in documents.documents]}
    run = run_graph(build_scoring_graph(context), start, context, settings, documents.notes)
    if run.status is RunStatus.FAILED:
        raise click.exceptions.Exit(ConflictScoreError.exit_code)


@click.command(
    cls=ManyDocs,
    epilog=_CORRECT_EXAMPLES,
    short_help="Correct an existing answer if documents dispute it.",
)
@_with_answer_options
@click.option("--question", metavar="TEXT", help="The question that the answer replies to.")
@with_run_settings
@with_call_budget
@with_model_options
@with_output_options
def correct(answer: str, docs: tuple[str, ...], question: str | None, **settings: Any) -> None:
    """Check an existing answer against documents, and correct its disputed passages.

    The answer may come from any chatbot. Undisputed text stays the same, byte for byte.
    """
    load_early(settings)
    from conflictscore.graph.self_correction import build_self_correction_graph
    from conflictscore.middleware.corrector import correction_input
    from conflictscore.retrieval.document_files import read_documents

    _check_log(settings)
    text, documents = _read_answer(answer), read_documents(docs)
    start = correction_input(text, documents.documents, question)
    context = open_context(settings)
    run_graph(build_self_correction_graph(context), start, context, settings, documents.notes)


def _check_log(settings: dict[str, Any]) -> None:
    """Refuse a log file that cannot be written, before any call costs money."""
    from conflictscore.reporting.run_log import check_log

    if settings["log"]:
        check_log(settings["log"])


def _read_answer(answer: str) -> str:
    from conflictscore.retrieval.cleaning import clean_text

    text = answer
    if answer.startswith("@"):
        try:
            # editors on Windows write a byte order mark
            text = Path(answer[1:]).read_text("utf-8-sig")
        except OSError as error:
            raise InputError(f"--answer {answer}: cannot be read ({error.strerror})") from error
        except ValueError as error:  # the text is not UTF-8, or the path has a null character
            raise InputError(f"--answer {answer}: cannot be read ({error})") from error
    if not (text := clean_text(text)):
        raise InputError("--answer is empty")
    return text
