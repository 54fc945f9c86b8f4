"""Counts the lines in Hebrew and Arabic that are read from a PDF as they were written.

A browser prints the lines of ``right_to_left.txt`` as PDFs, each set of lines in four fonts, and
our reader reads the PDFs. A line counts as read if it is in the text, character by character.
--show lists the others with the most similar line of the text.
"""

import base64
import difflib
import unicodedata
from pathlib import Path
from urllib.parse import quote

import click

from conflictscore.retrieval.reading.by_ending import read_file
from tests.browser import browser

_SETS = Path(__file__).with_suffix(".txt")
_FONTS = ("serif", "sans-serif", "DejaVu Sans", "DejaVu Sans Mono")


@click.command(help=__doc__)
@click.option("--show", is_flag=True, help="List the lines that are not read.")
def main(show: bool) -> None:
    """See the module."""
    sets = _SETS.read_text("utf-8").split("\n\n")
    with browser() as driver:
        for number, lines in enumerate((each.strip().split("\n") for each in sets), 1):
            wrong = 0
            for font in _FONTS:
                paragraphs = "".join(f"<p dir=auto>{line}</p>" for line in lines)
                page = f'<body style="font:13px {font}">{paragraphs}'
                driver.get("data:text/html;charset=utf-8," + quote(page))
                data = base64.b64decode(driver.print_page())
                (document,), _ = read_file(data, ".pdf", "page.pdf")
                read = [unicodedata.normalize("NFC", line) for line in document.text.split("\n")]
                for line in (unicodedata.normalize("NFC", each) for each in lines):
                    if line not in read:
                        wrong += 1
                        if show:
                            near = difflib.get_close_matches(line, read, 1, 0)
                            click.echo(f"{font}\n  {line}\n  {''.join(near)}")
            total = len(lines) * len(_FONTS)
            click.echo(f"set {number}: {total - wrong} of {total} lines are read")


if __name__ == "__main__":
    main()
