"""conflictscore ask."""

from pathlib import Path
from typing import Any

import click

from conflictscore.cli.common import deliver, open_context, open_retriever, run_graph
from conflictscore.cli.options import (
    with_budget_options,
    with_correction_options,
    with_model_options,
    with_passage_options,
    with_scoring_options,
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
    everyday=(
        "options",
        "docs",
        "search",
        "top_k",
        "read_pages",
        "effort",
        "model",
        "base_url",
        "judge",
        "labeler",
        "as_json",
        "log",
        "verbose",
        "quiet",
    ),
    short_help="Answer a question; look again where the documents disagree.",
)
@click.argument("question")
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="TEXT",
    help="Give it twice, for a choice between two options.",
)
@with_search_options
@with_passage_options
@click.option(
    "--method",
    type=click.Choice(["rag", "control-rag", "regenerated-rag"]),
    default="regenerated-rag",
    show_default=True,
)
@click.option(
    "--max-rounds",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    metavar="N",
    help="The most times that an answer is regenerated.",
)
@with_correction_options
@with_scoring_options
@with_budget_options
@with_model_options
def ask(
    question: str,
    options: tuple[str, ...],
    method: str,
    max_rounds: int,
    as_json: bool,
    log: Path | None,
    verbose: bool,
    quiet: bool,
    **settings: Any,
) -> None:
    """Answer QUESTION from documents; look again where they disagree."""
    from conflictscore.graph.self_correction import build_self_correction_graph
    from conflictscore.nodes.retrieve import check_question
    from conflictscore.reporting.run_log import check_log
    from conflictscore.retrieval.cleaning import clean_text

    question, options = clean_text(question), tuple(map(clean_text, options))
    check_question(question, options)
    if log:
        check_log(log)
    retriever = open_retriever(settings)
    context = open_context(
        settings,
        retriever=retriever,
        method=method,
        max_rounds=max_rounds,
    )
    graph = build_self_correction_graph(context)
    state, seconds = run_graph(
        graph, {"question": question, "options": list(options)}, verbose=verbose, quiet=quiet
    )
    deliver(state, context, seconds, as_json=as_json, log=log)
