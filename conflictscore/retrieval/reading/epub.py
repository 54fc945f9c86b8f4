"""Reads the chapters of an e-book (.epub) in order, each as a web page."""

import re
from collections.abc import Iterator
from io import BytesIO
from posixpath import dirname, join, normpath
from urllib.parse import unquote, urldefrag
from zipfile import ZipFile

from conflictscore.retrieval.html.whole import WholeText, whole_text
from conflictscore.retrieval.pages.page import UnreadableError
from conflictscore.retrieval.reading.ooxml import DAMAGE, Package, child, children, name_of
from conflictscore.retrieval.reading.texts import Note, NoteKind, RichText, pictures_note
from conflictscore.retrieval.shaping.decoding import decode

_FONT_LOCKS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
"""Algorithms that scramble only fonts, so that the text remains readable."""
# Types of chapters; the last two are from earlier versions of the format.
_PAGES = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml", "text/x-oeb1-document")
# Quantifiers are bounded, so that matching a hostile text takes linear time. The bounds were chosen
# by hand.
_STYLE_LINK = re.compile(r"<link\b[^<>]{0,1000}>", re.IGNORECASE)
_ADDRESS = re.compile(r"""\bhref\s{0,9}=\s{0,9}["']([^"'<>]{1,500})["']""", re.IGNORECASE)
_MEDIA = re.compile(r"""\bmedia\s{0,9}=\s{0,9}["']([^"'<>]{1,200})["']""", re.IGNORECASE)
# Media of screens: "screen and (color)", or only a condition, such as "(min-width: 600px)".
_SCREEN = re.compile(r"\b(?:all|screen)\b|^\s{0,9}\(", re.IGNORECASE)
_DRAWN_IMAGE = re.compile(r"<(?:svg:)?image\b[^<>]{0,2000}>", re.IGNORECASE)
_AS_IMAGE = "</svg><img src='image'/><svg>"
"""Replaces a picture inside an SVG drawing, as on book covers, with an HTML image outside it."""
# Declarations of XML, which have no meaning in HTML.
_SCRAP = re.compile(r"<(?:\?xml\b[^<>]{0,500}\?|!DOCTYPE\b[^<>]{0,1000})>", re.IGNORECASE)
_EMPTY_TAG = re.compile(
    r"<(?!(?:area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr)\b)"
    r"([a-zA-Z][\w:-]{0,40})((?:\s[^<>]{0,2000})?)/>"
)
"""Matches an empty XHTML element, which would stay open if it were read as HTML."""


def read_epub(data: bytes) -> RichText:
    """Return the text of a book's chapters in reading order, each read as a web page.

    The title is the book's title.

    Raises:
        UnreadableError: The book is encrypted by copy protection, or no chapter can be read.
        ValueError: The file is not an .epub file, or unpacks to more than 100 MB.
        Exception: The file is damaged.
    """
    with ZipFile(BytesIO(data)) as file:
        return _Book(file).read()


class _Book:
    """Reads the chapters of a book in the order that the book specifies."""

    def __init__(self, file: ZipFile) -> None:
        self._package, self._file = Package(file), file
        self._names = set(file.namelist())
        if self._is_locked():
            raise UnreadableError("is locked by copy protection")
        rootfiles = child(self._package.part("META-INF/container.xml"), "rootfiles")
        main = next((each.get("full-path") for each in children(rootfiles)), None)
        root = self._package.part(main)
        if root is None or main is None:
            raise ValueError("it has no package document")
        self._root, self._folder = root, dirname(main)
        self._fault: UnreadableError | None = None
        """The first error in a chapter, which is raised if no other chapter has text."""

    def read(self) -> RichText:
        """Return the text of the book, its title and notes."""
        pieces: list[str] = []
        pictures = missing = 0
        for name in self._chapters():
            whole = self._whole(name)
            if whole is None:
                missing += 1
            else:
                pieces.append(whole.text)
                pictures += whole.pictures
        if self._fault and not any(pieces):
            raise self._fault
        notes = [pictures_note(pictures)] if pictures else []
        if missing:
            count = "a chapter is" if missing == 1 else f"{missing} chapters are"
            sentence = f"{count} missing, damaged or not a page of text"
            notes.append(Note(NoteKind.NOT_IN_WORDS, sentence))
        return RichText("\n\n".join(filter(None, pieces)), self._title(), tuple(notes))

    def _chapters(self) -> Iterator[str | None]:
        """Yield the chapters' names in reading order; None for a chapter that is not text.

        Each chapter is yielded once, since a small hostile book may list one a million times.
        """
        items = {each.get("id"): each for each in children(child(self._root, "manifest"))}
        spine = [e for e in children(child(self._root, "spine")) if name_of(e) == "itemref"]
        for reference in dict.fromkeys(each.get("idref") for each in spine):
            item = items.get(reference)
            if item is None or (item.get("media-type") or "") not in _PAGES:
                yield None
            else:
                yield self._place(self._folder, item.get("href") or "")

    def _whole(self, name: str | None) -> WholeText | None:
        """Return a chapter's text; None if the chapter is missing or damaged."""
        if name is None or name not in self._names:
            return None
        try:
            return whole_text(self._page(name))
        except UnreadableError as error:  # the other chapters are still read
            self._fault = self._fault or error
        except DAMAGE as error:
            # 200 characters, since a library may quote the file in its message
            self._fault = self._fault or UnreadableError(f"has a damaged chapter ({error})"[:200])
        return None

    def _is_locked(self) -> bool:
        """Return whether anything other than fonts is encrypted."""
        tree = self._package.part("META-INF/encryption.xml")
        methods = (
            each.get("Algorithm") or ""
            for each in (tree.iter() if tree is not None else ())
            if name_of(each) == "EncryptionMethod"
        )
        return any(method not in _FONT_LOCKS for method in methods)

    def _title(self) -> str:
        titles = (
            each.text or ""
            for each in children(child(self._root, "metadata"))
            if name_of(each) == "title"
        )
        return next(titles, "")

    def _page(self, name: str) -> str:
        """Return a chapter's source with embedded style sheets, and images for drawn pictures."""
        page = _SCRAP.sub("", decode(self._file.read(name), html=True).text)
        page = _DRAWN_IMAGE.sub(_AS_IMAGE, page)
        page = _EMPTY_TAG.sub(r"<\1\2></\1>", page)
        folder = dirname(name)
        return _STYLE_LINK.sub(lambda link: self._style(link[0], folder), page)

    def _style(self, link: str, folder: str) -> str:
        """Return the style sheet of a link as an element; empty if it does not style a screen."""
        address, media = _ADDRESS.search(link), _MEDIA.search(link)
        place = self._place(folder, address[1]) if address else ""
        is_for_screens = not media or bool(_SCREEN.search(media[1]))
        if "stylesheet" not in link.lower() or place not in self._names or not is_for_screens:
            return ""
        try:
            styles = decode(self._file.read(place)).text
        except (UnreadableError, *DAMAGE):  # a damaged style sheet is ignored
            return ""
        # without "</", the style sheet cannot end its element
        return f"<style>{styles.replace('</', '')}</style>"

    def _place(self, folder: str, address: str) -> str:
        return normpath(join(folder, unquote(urldefrag(address).url)))
