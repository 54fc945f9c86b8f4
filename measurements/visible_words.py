"""The words that a person sees in a file, from programs that are none of the compared readers.

- .html and .md: what Chromium shows, with the style sheets of the file's folder, without scripts
  and without struck text (Markdown is converted to HTML by markdown-it-py)
- .pdf: the words that at least two of pymupdf, pdfminer.six and pypdf extract
- .docx: the runs in the text, its headers, footers and notes, without deleted, hidden and struck
  runs
- .csv: the cells, by Python's csv module
"""

import io
import re
import tempfile
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from statistics import median_low
from typing import NamedTuple
from xml.etree import ElementTree

from markdown_it import MarkdownIt
from selenium.common.exceptions import WebDriverException

from measurements.real_files import RealFile, second_text
from tests.browser import browser

_WORD = re.compile(r"[^\W_]+")
# What a reader writes in place of a picture, with its description.
MARK = re.compile(
    r"!\[[^\]\n]*\](?:\([^)\n]*\))?"
    r"|\[(?:picture|image|drawing|chart|diagram|figure)\b[^\]\n]*\]"
    r"|<!-- image -->|<img\b[^<>]*>|----media/[^\n]*?----"
    r"|==>[^\n]*<==",
    re.IGNORECASE,
)
_LINK_TARGET = re.compile(r"(?<=\])\([^()\s]*(?:\s(?:\"[^\"\n]*\"|'[^'\n]*'))?\)")
_PARTS = re.compile(r"word/(?:document|header|footer|footnotes|endnotes)\d*\.xml")
_UNSEEN = ("del", "moveFrom", "Fallback", "instrText", "sdtPr", "delText")
_SHOWN = """
document.querySelectorAll("del,s,strike").forEach(node => node.remove());
return document.body.innerText;
"""
_PAGE = "<!DOCTYPE html><meta charset=utf-8><body>"


class Visible(NamedTuple):
    """The visible words of a file with their numbers, and a text that has them in some order."""

    words: Counter[str]
    text: str


def words_of(text: str) -> list[str]:
    """Return the words of a text in a form in which they can be compared."""
    folded = unicodedata.normalize("NFKC", text).replace("\u00ad", "").casefold()
    return _WORD.findall(folded)


def without_marks(text: str) -> str:
    """Return Markdown text without the marks of pictures and the addresses of links."""
    return _LINK_TARGET.sub("", MARK.sub(" ", text))


@contextmanager
def viewer() -> Iterator[Callable[[RealFile, Path], Visible]]:
    """Start a browser, and yield a function that returns what is visible in a file."""
    with browser() as driver, tempfile.TemporaryDirectory() as name:
        driver.set_page_load_timeout(30)
        driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
        converted = Path(name) / "page.html"

        def shown(page: Path) -> str:
            driver.get(page.as_uri())
            if driver.current_url.partition("#")[0] != page.as_uri():
                return ""  # the page leads to another one
            return str(driver.execute_script(_SHOWN))

        def visible(file: RealFile, folder: Path) -> Visible:
            content = file.content(folder)
            if file.ending == ".html":
                place = file.place(folder)
                if place.suffix == ".gz":
                    converted.write_bytes(content)
                    place = converted
                text = shown(place)
            elif file.ending == ".md":
                parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
                converted.write_text(_PAGE + parser.render(content.decode("utf-8", "replace")))
                text = shown(converted)
            elif file.ending == ".docx":
                text = _runs(content)
            elif file.ending == ".pdf":
                return _by_most(content)
            else:
                text = second_text(content, file.ending)
            return Visible(Counter(words_of(text)), text)

        yield visible


FAILURES = (WebDriverException, ElementTree.ParseError, zipfile.BadZipFile)
"""Errors of a program that shows files; such files are left out."""


def _runs(content: bytes) -> str:
    lines: list[str] = []
    with zipfile.ZipFile(io.BytesIO(content)) as package:
        for name in sorted(filter(_PARTS.fullmatch, package.namelist())):
            lines += _paragraphs(ElementTree.fromstring(package.read(name)))  # noqa: S314 - test files
    return "\n".join(lines)


def _paragraphs(root: ElementTree.Element) -> list[str]:
    lines = [""]

    def walk(element: ElementTree.Element) -> None:
        name = element.tag.rpartition("}")[2]
        if name in _UNSEEN or (name == "r" and _is_hidden(element)):
            return
        if name == "t":
            lines[-1] += element.text or ""
        elif name in ("tab", "br", "cr"):
            lines[-1] += " "
        elif name == "noBreakHyphen":
            lines[-1] += "-"
        for child in element:
            walk(child)
        if name == "p":
            lines.append("")

    walk(root)
    return lines


def _is_hidden(run: ElementTree.Element) -> bool:
    properties = (each for part in run if part.tag.endswith("}rPr") for each in part)
    return any(
        each.tag.endswith(("}vanish", "}strike", "}dstrike"))
        and not any(value in ("0", "false") for value in each.attrib.values())
        for each in properties
    )


def _by_most(content: bytes) -> Visible:
    """Return the words that two of three plain extractors find in a PDF, in pymupdf's order."""
    by_pymupdf = second_text(content, ".pdf")
    others = (_text_by(extract, content) for extract in (_by_pdfminer, _by_pypdf))
    texts = [by_pymupdf, *others]
    counts = [Counter(words_of(re.sub("[-\u2010\u00ad][ \t]?\n", "", text))) for text in texts]
    words = {word: median_low([count[word] for count in counts]) for word in set().union(*counts)}
    return Visible(Counter({word: count for word, count in words.items() if count}), by_pymupdf)


def _text_by(extract: Callable[[bytes], str], content: bytes) -> str:
    """Return an extractor's text of a PDF.

    An extractor that fails finds no words, so a word then counts only if both others find it.
    """
    try:
        return extract(content)
    except ImportError:
        raise
    except Exception:  # noqa: BLE001 - extractors raise errors of any type
        return ""


def _by_pdfminer(content: bytes) -> str:
    return str(import_module("pdfminer.high_level").extract_text(io.BytesIO(content)))


def _by_pypdf(content: bytes) -> str:
    reader = import_module("pypdf").PdfReader(io.BytesIO(content))
    return "\n".join(page.extract_text() for page in reader.pages)
