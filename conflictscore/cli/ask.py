"""conflictscore ask."""

from typing import Any

import click

from conflictscore.cli.common import open_context, open_retriever, run_graph
from conflictscore.cli.options import (
    with_call_budget,
    with_model_options,
    with_output_options,
    with_run_settings,
    with_search_options,
)
from conflictscore.cli.short_help import ManyDocs

__all__ = ["ask"]

_ASK_EXAMPLES = """\b
Examples:
  conflictscore ask "When was the lamp first lit?" --docs notes/ report.md
  conflictscore ask "Is it safe?" --search serper,searxng --read-pages
  conflictscore ask "Which is it?" --option "It was 1871." --option "It was 1874." --docs notes/
"""


@click.command(
    cls=ManyDocs,
    epilog=_ASK_EXAMPLES,
    short_help="Answer a question; look again where the documents disagree.",
)
@click.argument("question")
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="TEXT",
    help="One of the options to choose between; give each.",
)
@with_search_options
@with_run_settings
@with_call_budget
@with_model_options
@with_output_options
def ask(question: str, options: tuple[str, ...], **settings: Any) -> None:
    """Answer QUESTION from documents; look again where they disagree."""
    from conflictscore.graph.self_correction import build_self_correction_graph
    from conflictscore.nodes.retrieve import check_question
    from conflictscore.reporting.run_log import check_log
    from conflictscore.retrieval.cleaning import clean_text

    question, options = clean_text(question), tuple(map(clean_text, options))
    check_question(question, options)
    if settings["log"]:
        check_log(settings["log"])
    context = open_context(settings, retriever=open_retriever(settings))
    graph = build_self_correction_graph(context)
    run_graph(graph, {"question": question, "options": list(options)}, context, settings)
