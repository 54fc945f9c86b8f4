"""Compares the processor time of reading PDFs with that of pdfium's own text extraction.

Both readers run in turns in this process, on each of the named files. Starting the process and
loading the libraries is not counted. The table shows medians over all rounds.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import click
import pypdfium2

from conflictscore.retrieval.reading.by_ending import read_file


@click.command(help=__doc__)
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--rounds", default=3, show_default=True)
def main(files: Sequence[Path], rounds: int) -> None:
    """See the module."""
    ratios: list[float] = []
    for file in files:
        content = file.read_bytes()
        ours: list[float] = []
        pdfium: list[float] = []
        for _ in range(rounds):
            pdfium.append(_seconds(by_pdfium, content))
            ours.append(_seconds(_by_us, content))
        both = statistics.median(ours), statistics.median(pdfium)
        ratios.append(both[0] / both[1])
        megabytes = len(content) / 1e6
        click.echo(
            f"{file.name:<28} {megabytes:5.1f} MB, ours {both[0]:6.2f} s, pdfium {both[1]:6.2f} s,"
            f" ratio {ratios[-1]:.2f}"
        )
    click.echo(f"median ratio {statistics.median(ratios):.2f}, largest {max(ratios):.2f}")


def by_pdfium(content: bytes) -> str:
    """Return the text of a PDF as pdfium extracts it, page by page."""
    texts: list[str] = []
    with pypdfium2.PdfDocument(content) as document:
        for page in document:
            texts.append(page.get_textpage().get_text_bounded())
            page.close()
    return "\n".join(texts)


def _by_us(content: bytes) -> object:
    return read_file(content, ".pdf", "a.pdf")


def _seconds(read: Callable[[bytes], object], content: bytes) -> float:
    begun = time.process_time()
    read(content)
    return time.process_time() - begun


if __name__ == "__main__":
    main()
