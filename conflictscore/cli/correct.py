"""conflictscore correct."""

from typing import Any

import click

from conflictscore.cli.common import open_context, run_graph
from conflictscore.cli.options import (
    with_call_budget,
    with_model_options,
    with_output_options,
    with_run_settings,
)
from conflictscore.cli.score import read_answer, with_answer_options
from conflictscore.cli.short_help import ManyDocs

__all__ = ["correct"]

_CORRECT_EXAMPLES = """\b
Examples:
  conflictscore correct --answer "The lamp was first lit in 1871." --docs examples/lighthouse
  conflictscore correct --answer @answer.txt --docs sources/ --question "When was it lit?" --json
"""


@click.command(
    cls=ManyDocs,
    epilog=_CORRECT_EXAMPLES,
    short_help="Correct an answer where documents disagree with it.",
)
@with_answer_options
@click.option("--question", metavar="TEXT", help="The question that it answers, if known.")
@with_run_settings
@with_call_budget
@with_model_options
@with_output_options
def correct(answer: str, docs: tuple[str, ...], question: str | None, **settings: Any) -> None:
    """Check an answer against documents, and correct it where they disagree with it.

    The answer may come from any chatbot. What no document disputes stays byte for byte.
    """
    from conflictscore.graph.self_correction import build_self_correction_graph
    from conflictscore.middleware.corrector import correction_input
    from conflictscore.reporting.run_log import check_log
    from conflictscore.retrieval.document_files import read_documents

    if settings["log"]:
        check_log(settings["log"])
    text = read_answer(answer)
    read = read_documents(docs)
    start = correction_input(text, read.documents, question)
    context = open_context(settings)
    run_graph(build_self_correction_graph(context), start, context, settings, read.notes)
