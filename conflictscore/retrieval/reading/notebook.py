"""Reads the text of a Jupyter notebook (.ipynb) as displayed: Markdown cells, code and outputs."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from conflictscore.retrieval.html.whole import whole_text
from conflictscore.retrieval.pages.page import UnreadableError
from conflictscore.retrieval.reading.markdown_text import seen_markdown
from conflictscore.retrieval.reading.texts import RichText, left_out_notes, mark, pictures_note


def read_notebook(source: str) -> RichText:
    """Return the cells of a notebook in order, with each output after its code.

    Hidden code and outputs are left out. A picture or interactive output is replaced with a
    placeholder, with a note. The title is the first heading.

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
    return _Cells().read(filter(lambda cell: isinstance(cell, dict), cells))


class _Cells:
    """Reads the cells of a notebook, and counts content without words."""

    def __init__(self) -> None:
        self._pictures = 0
        self._not_in_words: Counter[str] = Counter()

    def read(self, cells: Iterable[Mapping[str, Any]]) -> RichText:
        """Return the text of the cells, the first heading, and notes."""
        title = ""
        pieces: list[str] = []
        for cell in cells:
            if cell.get("cell_type") == "markdown":
                seen = seen_markdown(_joined(cell.get("source")))
                title = title or seen.title
                pieces.append(seen.text)
                self._pictures += seen.pictures
            else:  # code, or raw text, which has no outputs
                pieces += self._code_and_outputs(cell)
        text = "\n\n".join(piece.strip("\n") for piece in pieces if piece.strip())
        pictures = (pictures_note(self._pictures),) if self._pictures else ()
        return RichText(text, title, (*pictures, *left_out_notes(self._not_in_words)))

    def _code_and_outputs(self, cell: Mapping[str, Any]) -> Iterator[str]:
        metadata = _mapping(cell.get("metadata"))
        settings = _mapping(metadata.get("jupyter"))
        code = _joined(cell.get("source"))
        if code.strip() and not settings.get("source_hidden"):
            yield code
        outputs = cell.get("outputs")
        # "collapsed" is the setting's older name
        is_hidden = settings.get("outputs_hidden") or metadata.get("collapsed")
        if isinstance(outputs, list) and not is_hidden:
            yield from (self._output(_mapping(output)) for output in outputs)

    def _output(self, output: Mapping[str, Any]) -> str:
        """Return an output's text in the format that a notebook shows.

        Jupyter shows the first of these formats that the output has: HTML, Markdown, a picture,
        plain text.
        """
        if output.get("output_type") == "error":
            return f"{output.get('ename')}: {output.get('evalue')}"
        forms = _mapping(output.get("data"))
        if text := self._laid_out(forms):
            return text
        if any(str(kind).startswith("image/") for kind in forms):
            self._pictures += 1
            return mark("image")
        text = _joined(forms.get("text/plain")) or _overwritten(_joined(output.get("text")))
        if forms and not text.strip():  # for example, a chart that only a script draws
            self._not_in_words["interactive output"] += 1
            return mark("interactive output")
        return text

    def _laid_out(self, forms: Mapping[str, Any]) -> str:
        """Return the text of an output's HTML or Markdown; empty if the output has neither."""
        if html := _joined(forms.get("text/html")):
            try:
                whole = whole_text(html)
            except UnreadableError:  # for example, elements that are nested too deeply
                self._not_in_words["unreadable output"] += 1
                return mark("unreadable output")
            if whole.text:
                self._pictures += whole.pictures
                return whole.text
        seen = seen_markdown(_joined(forms.get("text/markdown")))
        self._pictures += seen.pictures
        return seen.text


def _overwritten(text: str) -> str:
    """Return a printed text without the text that was overwritten on its line (progress bars)."""
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _joined(source: object) -> str:
    """Return a text in a notebook, which may be stored as one string or as a list of lines."""
    if isinstance(source, list):
        return "".join(line for line in source if isinstance(line, str))
    return source if isinstance(source, str) else ""
