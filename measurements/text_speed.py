"""CPU a kilobyte of the functions that read texts of others, for the worst of many hostile texts.

Linear functions have the same figure in every column. A text that takes more than ten seconds of
CPU is the last one of its row.
"""

import time
from collections.abc import Callable
from contextlib import suppress

import click

from conflictscore.active_content import added_active_content, without_active_content
from conflictscore.markdown import passages, unclaimed
from conflictscore.markup import rendered_markdown, without_markdown
from conflictscore.nodes.claim_replies import read_claims
from conflictscore.prompts import material
from conflictscore.retrieval.cleaning import clean_text
from conflictscore.retrieval.pages.page import PageError
from conflictscore.retrieval.pages.shown import whole_text
from conflictscore.scripts import terms_in
from conflictscore.sentences import sentence_ends

__all__ = ["FUNCTIONS", "main", "microseconds"]

FUNCTIONS: dict[str, Callable[[str], object]] = {
    "material": material,
    "clean_text": clean_text,
    "sentence_ends": lambda text: list(sentence_ends(text)),
    "terms_in": lambda text: list(terms_in(text)),
    "passages": passages.__wrapped__,
    "unclaimed": lambda text: unclaimed(text, ["The lamp was lit."], []),
    "claims of a reply": read_claims,
    "active content": lambda text: (added_active_content("", text), without_active_content(text)),
    "Markdown as HTML": rendered_markdown,
    "words of Markdown": without_markdown,
    "text of a page": whole_text,
}
_PIECES = (
    *("a", "a b", ". ", "A. ", "<", "</", "< ", "<a ", "[", "](", "[1]", "(", "`", "*", "**a", "_"),
    *(
        "# a\n",
        "| a ",
        "|\n",
        "> ",
        "- a\n",
        "1. a\n",
        "a\n\n",
        "```\n",
        '"',
        "\\",
        "&a",
        "é",
        "你。",
    ),
    *("\u200b", "😀", "https://a.b/", "a@b.", "PASSAGE:\n", "CLAIM 1: ", '{"a":', "$x$", "\n", " "),
)
_MOST_S = 10.0


def microseconds(function: Callable[[str], object], size: int) -> tuple[float, str]:
    """For a kilobyte, and the piece that the worst text repeats."""
    worst = 0.0, ""
    for piece in _PIECES:
        text = piece * (size // len(piece)) + "x"
        began = time.thread_time()
        with suppress(PageError):
            function(text)
        took = time.thread_time() - began
        worst = max(worst, (took * 1e9 / len(text), piece))
        if took > _MOST_S:
            break
    return worst


@click.command(help=__doc__)
@click.option("--most", default=1_000_000, show_default=True, help="Characters of the longest.")
def main(most: int) -> None:
    """See the module."""
    sizes = [size for size in (1_000, 10_000, 100_000, 1_000_000) if size <= most]
    click.echo(f"{'µs a KB at':<20}" + "".join(f"{size // 1000:>9} KB" for size in sizes))
    for name, function in FUNCTIONS.items():
        function("The first call loads libraries.")
        found = [microseconds(function, size) for size in sizes]
        row = "".join(f"{cost:>12.0f}" for cost, _ in found)
        click.echo(f"{name:<20}{row}   {found[-1][1]!r}")


if __name__ == "__main__":
    main()
