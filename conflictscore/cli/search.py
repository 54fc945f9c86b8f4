"""The command ``search``."""

import json
from typing import Any

import click

from conflictscore.cli.common import open_retriever, run_async
from conflictscore.cli.options import ManyDocs, with_question_search_options
from conflictscore.retrieval.providers import PROVIDERS

_SEARCHES = "\n".join(
    f"  {provider.usage(name):<14} {provider.summary}" + (provider.needs and f" ({provider.needs})")
    for name, provider in PROVIDERS.items()
)

_EPILOG = f"""\b
Examples:
  conflictscore search "When was the lamp first lit?" --docs notes/
  conflictscore search "Is it safe?" --search serper --top-k 5
  conflictscore search "Is it safe?" --search searxng:http://localhost:8080 --read-pages --json

\b
Values of --search, and the environment variables they need:
{_SEARCHES}
"""


@click.command(
    cls=ManyDocs,
    epilog=_EPILOG,
    short_help="Show the documents that would be used to answer a question.",
)
@click.argument("question")
@with_question_search_options
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object with the documents' full texts."
)
def search(question: str, as_json: bool, **settings: Any) -> None:
    """Show the documents that `ask` would use to answer QUESTION, without calling a model.

    Use this command to check a search before you pay for a model.
    """
    from rich.console import Console

    from conflictscore.loop.question_check import check_question
    from conflictscore.loop.searching import find_documents
    from conflictscore.reporting.terminal import print_documents
    from conflictscore.retrieval.cleaning import clean_text

    question = clean_text(question)
    check_question(question, ())
    documents, notes = run_async(find_documents(open_retriever(settings), question))
    if as_json:
        summary = {
            "question": question,
            "documents": [document.to_json() for document in documents],
            "notes": notes,
        }
        click.echo(json.dumps(summary, ensure_ascii=False, indent=2))
    else:
        print_documents(documents, notes, Console(highlight=False, markup=False, emoji=False))
