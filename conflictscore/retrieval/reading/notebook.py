"""Reads the text of a Jupyter notebook (.ipynb) as displayed: Markdown cells, code and outputs."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from conflictscore.retrieval.html.whole import whole_text
from conflictscore.retrieval.pages.page import UnreadableError
from conflictscore.retrieval.reading.markdown_text import IMAGE_MARK, read_markdown
from conflictscore.retrieval.reading.texts import RichText, pictures_note


def read_notebook(source: str) -> RichText:
    """Return the cells of a notebook in order, with each output after its code.

    Hidden code and outputs are left out. A picture in an output becomes a mark, with a note. The
    title is the first heading.

    Raises:
        UnreadableError: The file is not a notebook.
    """
    try:
        notebook = json.loads(source)
    except (ValueError, RecursionError):
        raise UnreadableError("is not a notebook (its JSON is damaged)") from None
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        raise UnreadableError("has no cells, so it is not a notebook of version 4 or later")
    title = ""
    pieces: list[str] = []
    for cell in filter(lambda cell: isinstance(cell, dict), cells):
        if cell.get("cell_type") == "markdown":
            rich = read_markdown(_joined(cell.get("source")))
            title = title or rich.title
            pieces.append(rich.text)
        else:
            pieces += _code_and_outputs(cell)
    text = "\n\n".join(piece.strip("\n") for piece in pieces if piece.strip())
    pictures = text.count(IMAGE_MARK)
    return RichText(text, title, (pictures_note(pictures),) if pictures else ())


def _code_and_outputs(cell: Mapping[str, Any]) -> Iterator[str]:
    settings = _mapping(_mapping(cell.get("metadata")).get("jupyter"))
    code = _joined(cell.get("source"))
    if code.strip() and not settings.get("source_hidden"):
        yield code
    outputs = cell.get("outputs")
    if isinstance(outputs, list) and not settings.get("outputs_hidden"):
        yield from (_output(_mapping(output)) for output in outputs)


def _output(output: Mapping[str, Any]) -> str:
    """Return an output's text in the form that a notebook shows: HTML, Markdown or plain text."""
    if output.get("output_type") == "error":
        return f"{output.get('ename')}: {output.get('evalue')}"
    data = _mapping(output.get("data"))
    if any(str(kind).startswith("image/") for kind in data):
        return f"{IMAGE_MARK}]"
    if html := _joined(data.get("text/html")):
        return whole_text(html).text
    if markdown := _joined(data.get("text/markdown")):
        return read_markdown(markdown).text
    return _joined(data.get("text/plain")) or _overwritten(_joined(output.get("text")))


def _overwritten(text: str) -> str:
    """Return a printed text without what later text on the line overwrote (progress bars)."""
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _joined(source: object) -> str:
    """Return a text of a notebook, which may be stored as a whole or line by line."""
    if isinstance(source, list):
        return "".join(line for line in source if isinstance(line, str))
    return source if isinstance(source, str) else ""
