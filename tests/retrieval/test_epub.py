"""Electronic books are read chapter by chapter, each as a web page."""

from io import BytesIO
from zipfile import ZipFile

import pytest

from conflictscore.retrieval.pages.page import UnreadableError
from conflictscore.retrieval.reading.by_ending import read_file
from conflictscore.retrieval.reading.texts import Note, NoteKind
from tests.retrieval.office_files import book, packed

LOCK = "<encryption><EncryptedData><EncryptionMethod Algorithm='{}'/></EncryptedData></encryption>"


def read(data: bytes) -> tuple[str, str, list[Note]]:
    (document,), notes = read_file(data, ".epub", "log.epub")
    return document.text, document.title, notes


def test_chapters_are_read_in_the_order_of_the_spine() -> None:
    data = book(
        "<h1>One</h1><p>Lit&nbsp;1932.<a id='x'/> Out.</p>", "<ol start='4'><li>Toll</li></ol>"
    )
    text, title, notes = read(data)
    assert text.replace("\u00a0", " ") == "One\nLit 1932. Out.\n\n4. Toll"
    assert (title, notes) == ("The light", [])


def test_the_book_s_style_sheets_hide_text() -> None:
    data = book("<p class='gone'>1950</p><p>1932</p>", styles=".gone { display: none }")
    assert read(data)[0] == "1932"


def test_pictures_are_marked_and_missing_chapters_noted() -> None:
    cover = "<svg xmlns='s'><image xlink:href='a.jpg' width='600' height='800'/></svg>"
    data = book(cover, "<p>a <img src='b.png' alt='a mast'/></p>", spine="<itemref idref='z'/>")
    text, _, notes = read(data)
    assert text == "[image]\n\na [image: a mast]"
    assert [note.kind for note in notes] == [NoteKind.NOT_IN_WORDS, NoteKind.NOT_IN_WORDS]
    assert notes[1] == "log.epub: a chapter is missing, damaged or not a page of text"


def test_a_chapter_is_read_once() -> None:
    assert read(book("<p>1932</p>", spine="<itemref idref='c0'/>" * 9))[0] == "1932"


def test_a_damaged_style_sheet_costs_no_chapter() -> None:
    data = bytearray(book("<p>1932</p>", styles="p{color:red}"))
    with ZipFile(BytesIO(data)) as file:
        sheet = file.getinfo("OPS/a b.css")
    data[sheet.header_offset + 30 + len(sheet.filename) + 3] ^= 0xFF
    assert read(bytes(data))[0] == "1932"


def test_scrambled_fonts_do_not_lock_a_book() -> None:
    fonts = LOCK.format("http://www.idpf.org/2008/embedding")
    assert read(book("<p>1932</p>", **{"META-INF/encryption.xml": fonts}))[0] == "1932"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"lit in 1932", "is not an EPUB that can be read"),
        (packed({"a": "b"}), "has no package document"),
        (book(), "has no text"),
        (book("<p>1932</p>", **{"META-INF/encryption.xml": LOCK.format("http://www.w3.org/2001/04/xmlenc#aes128-cbc")}), "locked by copy protection"),
        (book("a", **{"META-INF/encryption.xml": "<!DOCTYPE x><encryption/>"}), "declares entities"),
        (book("<div>" * 100_000), "elements nested more than 1,000 deep"),
        (book(" " * 100_000_001), "unpacks to more than 100 MB"),
    ],
    ids=range(7),
)  # fmt: skip
def test_what_is_no_book_or_locked_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableError, match=reason):
        read_file(data, ".epub", "log.epub")
