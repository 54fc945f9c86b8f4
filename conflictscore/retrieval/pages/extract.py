"""From a fetched page to what it says, in a process of its own, which `extractor` starts.

A process can be ended. There are pages that keep the libraries busy inside one call that nothing
can interrupt, and a thread in such a call stops every other thread too: one phrase repeated over
200 kB takes 5 seconds, over 2 MB a hundred times as long. The process is started as a program, not
through ``multiprocessing``, which would run the user's script again.

For each page it reads one JSON line of what is known of it and then its bytes, and answers with one
JSON line. It ends itself where a page takes too long, and when its standard input closes, so it
never outlives the process that started it for longer than that.
"""

import codecs
import faulthandler
import json
import logging
import os
import re
import sys
from dataclasses import asdict
from typing import Any

from conflictscore.retrieval.pages.page import FetchedPage, PageError, PageText

__all__ = ["decode", "extract", "whole_text"]

_LONGEST_TEXT = 200_000
"""Characters, more than any passage of a prompt is cut from."""
_LONGEST_TITLE = 300
_MOST_TAGS = 50_000
"""Tags of a page whose main text is looked for; an article of a megabyte has half as many."""
_UNSEEN = ("//noscript", "//*[@hidden]")
"""What a reader of the page does not see."""

_BLANKS = re.compile(r"\s+")
_SPACES = re.compile(r"[^\S\n]+")
_LINE_END = re.compile(r" ?\n\s*")
_HIDDEN = ("script", "style", "nav", "noscript", "template", "svg")
_BLOCKS = (
    "address,article,aside,blockquote,br,dd,div,dl,dt,figcaption,figure,footer,form,h1,h2,h3,h4,"
    "h5,h6,header,hr,li,main,ol,option,p,pre,section,summary,table,td,th,tr,ul"
)

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark is the beginning of its own
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_META = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)
_META_WITHIN = 4096
"""Bytes at the beginning of a page in which it may name its encoding."""
_WIDER = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
}
"""What pages mean by the encodings that they name, as browsers read them."""
_NOT_OF_THE_WEB = ("utf-7", "unicode-escape", "raw-unicode-escape", "idna", "punycode")
"""Codecs that no page is written in."""
_HIGH = bytes(range(128, 256))
_GUESS_FROM = 50_000
"""Bytes that an encoding is guessed from."""
_LONGEST_CHARACTER = 4
"""Bytes."""
_DAMAGE = 10
"""One character in so many bytes beyond ASCII may be damaged."""
_BINARY = 20
"""One character in so many may be a control character."""
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f]")


def extract(page: FetchedPage) -> PageText:
    """The page's main text, without its menus and notices; all of its text where none stands out.

    Raises:
        PageError: It is not text, or there is none in it.
    """
    html = page.content_type != "text/plain"
    content = decode(page.body, page.charset, html=html)
    title, text, date = _main_text(content, page.final_url) if html else ("", content, None)
    if not text.strip():
        title, text = whole_text(content)
    if not text.strip():
        raise PageError("has no text")
    return PageText(
        text=text[:_LONGEST_TEXT],
        title=title[:_LONGEST_TITLE],
        date=date,
        cut=page.truncated or len(text) > _LONGEST_TEXT,
    )


def _main_text(html: str, url: str) -> tuple[str, str, str | None]:
    """Title, text and date; an empty text where there is none, or too much of it to look for."""
    if html.count("<") > _MOST_TAGS:
        return "", "", None
    import trafilatura

    found: Any = trafilatura.bare_extraction(
        f"<html>{html}",  # else a page that leaves the tag out would be read up to its first block
        url=url,
        with_metadata=True,
        include_comments=False,
        prune_xpath=list(_UNSEEN),
        # A year that merely stands in the text is not when the page was published.
        date_extraction_params={"original_date": True, "extensive_search": False},
    )
    if found is None:
        return "", "", None
    return found.title or "", found.text or "", found.date


def whole_text(html: str) -> tuple[str, str]:
    """The page's title and text; each is empty where there is none."""
    from selectolax.lexbor import LexborHTMLParser

    # Line ends of the source mean nothing in a web page; those put around blocks are the text's.
    page = LexborHTMLParser(_BLANKS.sub(" ", html))
    title = page.css_first("head > title")
    heading = title.text().strip() if title else ""
    page.strip_tags(list(_HIDDEN))
    for block in page.css(_BLOCKS):
        block.insert_before("\n")
        block.insert_after("\n")
    body = page.body.text() if page.body else ""
    return heading, _LINE_END.sub("\n", _SPACES.sub(" ", body)).strip()


def decode(body: bytes, charset: str | None, *, html: bool) -> str:
    """The text of a page.

    A byte order mark is believed first. Bytes beyond ASCII that are valid UTF-8 are UTF-8,
    whatever is named; else what the server names, then what the page itself names, where it fits.
    A text with little damage is read in spite of it, and an encoding is guessed otherwise.

    Args:
        body: The page, which may break off in mid-character.
        charset: The encoding that the server names; None where it names none.
        html: Whether the page may name its encoding itself.

    Raises:
        PageError: It is not text.
    """
    text = _decoded(body, charset, html)
    if len(_CONTROLS.findall(text)) * _BINARY > len(text):
        raise PageError("is not text")
    return text


def _decoded(body: bytes, charset: str | None, html: bool) -> str:
    for mark, name in _BOMS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, "replace")
    named = [_codec(charset), _codec(_named_in(body) if html else None)]
    high = len(body) - len(body.translate(None, _HIGH))
    candidates = [name for name in (["utf-8", *named] if high else [*named, "utf-8"]) if name]
    for name in candidates:
        try:
            # An incremental decoder waits for the rest of a last character that breaks off.
            return codecs.getincrementaldecoder(name)().decode(body)
        except (UnicodeError, LookupError):
            continue
    best = body.decode(next(filter(None, named), "utf-8"), "replace")
    if best.count("\ufffd") * _DAMAGE <= high:
        return best
    guess = _guess(body)
    return body.decode(guess, "replace") if guess else best


def _guess(body: bytes) -> str | None:
    from charset_normalizer import from_bytes

    # A cut in mid-character makes the right encoding the one that does not fit.
    guesses = (from_bytes(body[: _GUESS_FROM - less]).best() for less in range(_LONGEST_CHARACTER))
    best = next(filter(None, guesses), None)
    return best.encoding if best else None


def _named_in(body: bytes) -> str | None:
    found = _META.search(body[:_META_WITHIN])
    return found[1].decode("ascii", "replace") if found else None


def _codec(name: str | None) -> str | None:
    """The codec that reads an encoding; None for what is not an encoding of text."""
    try:
        found = codecs.lookup(name or "").name
        b"a".decode(found, "replace")
    except (LookupError, ValueError):  # unknown, no name at all, or from bytes to bytes
        return None
    return None if found in _NOT_OF_THE_WEB else _WIDER.get(found, found)


_FIRST = FetchedPage(
    "", "http://localhost/", "text/html", None, b"<p>The first page takes longest."
)
"""Read before any other, so that loading the libraries costs no page its time."""


def main() -> None:
    """Answer for one page after another."""
    logging.disable()
    # Only answers go where answers are read, whatever a library prints.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    _answer(_FIRST)
    while line := sys.stdin.buffer.readline():
        request = json.loads(line)
        page = FetchedPage(body=sys.stdin.buffer.read(request["size"]), **request["page"])
        faulthandler.dump_traceback_later(request["seconds"], exit=True)
        answer = _answer(page)
        faulthandler.cancel_dump_traceback_later()
        print(json.dumps(answer), file=answers, flush=True)


def _answer(page: FetchedPage) -> dict[str, Any]:
    try:
        return asdict(extract(page))
    except PageError as error:
        return {"error": str(error)}


if __name__ == "__main__":
    main()
