"""Reads the documents in a file, choosing the reader by the file's extension."""

import re
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath

from conflictscore.errors import install_hint
from conflictscore.retrieval.cleaning import clean_text
from conflictscore.retrieval.pages.page import UnreadableError
from conflictscore.retrieval.reading.rows import read_csv, read_jsonl
from conflictscore.retrieval.reading.texts import (
    FileDocument,
    Note,
    NoteKind,
    Notes,
    RichText,
    damage_note,
    pictures_note,
)
from conflictscore.retrieval.shaping.decoding import decode

# A Markdown heading, which is the title of a file if it comes first.
_HEADING = re.compile(r"#{1,6}[ \t]+([^\s#].*)")
# The signs that may close a heading; without a space before them, they are part of it, as in "C#".
_HEADING_END = re.compile(r"(?<=[ \t])#+[ \t]*\Z")
_NO_TITLE = re.compile(
    r"(?:\(?(?:untitled|anonymous|unknown|no title|title|document)\)?[\s_-]*\d{0,3}"
    r"|Microsoft \w{1,20} - .*|(?:PowerPoint|Word|Excel) \w{1,20}"
    r"|.*\.(?:docx?|xlsx?|pptx?|odt|rtf|pdf|indd|tex|dvi|qxd))",
    re.IGNORECASE,
)
"""Matches titles that programs write into a file's properties if the author sets none."""


_NULS = 20
"""A file is not text if more than one in 20 characters is NUL; chosen by hand."""
_UNSURE = "has more style rules than can be applied, so some text that was read may be invisible"


def read_file(data: bytes, ending: str, url: str) -> tuple[list[FileDocument], Notes]:
    """Read the documents in a file, with notes on how they were read.

    Notes and documents name the file by its ``url``.

    Raises:
        UnreadableError: The file is empty or damaged, or its content does not match its extension.
        InputError: The file has too many rows.
    """
    notes: Notes = []
    documents = list(_READERS[ending](data, url, notes))
    if not documents:
        raise UnreadableError("has no text")
    return documents, notes


def _decoded(data: bytes, url: str, notes: Notes, *, html: bool = False) -> str:
    decoding = decode(data, html=html)
    if decoding.text.count("\0") * _NULS > len(decoding.text):
        raise UnreadableError("is not text")
    text = decoding.text.replace("\0", "\ufffd")
    if not decoding.encoding.startswith(("utf-8", "utf-16", "utf-32")):
        sentence = f"{url}: not UTF-8, read as {decoding.encoding}"
        notes.append(Note(NoteKind.ENCODING, sentence))
    # the file itself may contain U+FFFD
    elif (replaced_characters := text.count("\ufffd")) > data.count(b"\xef\xbf\xbd"):
        notes.append(damage_note(replaced_characters).about(url))
    return text


def _read_text(data: bytes, url: str, notes: Notes) -> Iterator[FileDocument]:
    text = clean_text(_decoded(data, url, notes))
    heading = _HEADING.match(text)  # only at the top, since "#" may begin a comment elsewhere
    if text:
        title = _HEADING_END.sub("", heading[1]).rstrip() if heading else PurePosixPath(url).stem
        yield FileDocument(text, title, url)


def _read_rows(
    reader: Callable[[str, str, Notes], Iterator[FileDocument]],
) -> "_Reader":
    return lambda data, url, notes: reader(_decoded(data, url, notes), url, notes)


def _read_text_with_layout(kind: str, reader: Callable[[str], RichText]) -> "_Reader":
    """Return a reader for formatted text files, such as Markdown."""

    def read_decoded(data: bytes, url: str, notes: Notes) -> Iterator[FileDocument]:
        text = _decoded(data, url, notes, html=kind == "HTML")
        yield from _document(reader(text), url, notes)

    return read_decoded


def _read_rich(kind: str, reader: Callable[[bytes], RichText]) -> "_Reader":
    """Return a reader for a binary format, whose library may raise anything on damaged files."""

    def read_guarded(data: bytes, url: str, notes: Notes) -> Iterator[FileDocument]:
        try:
            rich = reader(data)
        except ImportError as error:
            library = (error.name or "a library").partition(".")[0]
            raise UnreadableError(f"needs {library} to be read: {install_hint('docs')}") from None
        except (MemoryError, UnreadableError):  # the process that reads the file reports these
            raise
        except Exception as error:  # noqa: BLE001 - see above
            # 200 characters, since a library may quote the file in its message
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            # as the names are pronounced: "an XLSX"
            article = "an" if kind.startswith(("E", "O", "R", "X", "e")) else "a"
            raise UnreadableError(f"is not {article} {kind} that can be read ({reason})") from None
        yield from _document(rich, url, notes)

    return read_guarded


def _document(rich: RichText, url: str, notes: Notes) -> Iterator[FileDocument]:
    notes.extend(note.about(url) for note in rich.notes)
    title = " ".join(clean_text(rich.title).split())
    if text := clean_text(rich.text):
        own_title = "" if _NO_TITLE.fullmatch(title) else title
        yield FileDocument(text, own_title or PurePosixPath(url).stem, url)


# Each reader is imported when it is first used, since some readers need optional libraries.


def _html(text: str) -> RichText:
    from conflictscore.retrieval.html.whole import whole_text

    whole = whole_text(text)
    notes = [pictures_note(whole.pictures)] if whole.pictures else []
    if whole.is_unsure:
        notes.append(Note(NoteKind.UNSEEN, _UNSURE))
    return RichText(whole.text, whole.title, tuple(notes))


def _markdown(text: str) -> RichText:
    from conflictscore.retrieval.reading.markdown_text import read_markdown

    return read_markdown(text)


def _captions(text: str) -> RichText:
    from conflictscore.retrieval.reading.captions import read_captions

    return read_captions(text)


def _notebook(text: str) -> RichText:
    from conflictscore.retrieval.reading.notebook import read_notebook

    return read_notebook(text)


def _message(data: bytes) -> RichText:
    from conflictscore.retrieval.reading.message import read_message

    return read_message(data)


def _pdf(data: bytes) -> RichText:
    from conflictscore.retrieval.reading.pdf import read_pdf

    return read_pdf(data)


def _docx(data: bytes) -> RichText:
    from conflictscore.retrieval.reading.docx import read_docx

    return read_docx(data)


def _xlsx(data: bytes) -> RichText:
    from conflictscore.retrieval.reading.xlsx import read_xlsx

    return read_xlsx(data)


def _pptx(data: bytes) -> RichText:
    from conflictscore.retrieval.reading.pptx import read_pptx

    return read_pptx(data)


def _epub(data: bytes) -> RichText:
    from conflictscore.retrieval.reading.epub import read_epub

    return read_epub(data)


def _odt(data: bytes) -> RichText:
    from conflictscore.retrieval.reading.odt import read_odt

    return read_odt(data)


def _rtf(data: bytes) -> RichText:
    from conflictscore.retrieval.reading.rtf import read_rtf

    return read_rtf(data)


_Reader = Callable[[bytes, str, Notes], Iterator[FileDocument]]

_READERS: dict[str, _Reader] = {
    ".txt": _read_text,
    ".md": _read_text_with_layout("Markdown", _markdown),
    ".html": _read_text_with_layout("HTML", _html),
    ".htm": _read_text_with_layout("HTML", _html),
    ".jsonl": _read_rows(read_jsonl),
    ".csv": _read_rows(read_csv),
    ".srt": _read_text_with_layout("captions", _captions),
    ".vtt": _read_text_with_layout("captions", _captions),
    ".ipynb": _read_text_with_layout("notebook", _notebook),
    ".eml": _read_rich("email", _message),
    ".pdf": _read_rich("PDF", _pdf),
    ".docx": _read_rich("DOCX", _docx),
    ".xlsx": _read_rich("XLSX", _xlsx),
    ".pptx": _read_rich("PPTX", _pptx),
    ".epub": _read_rich("EPUB", _epub),
    ".odt": _read_rich("ODT", _odt),
    ".rtf": _read_rich("RTF", _rtf),
}

ENDINGS = tuple(_READERS)
PLAIN_ENDINGS = (".txt",)
"""File extensions that are read in the main process: no content can make their reader slow."""
