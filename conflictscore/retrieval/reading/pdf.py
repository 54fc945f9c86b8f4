"""The text of a PDF by pdfium, which is right about spaces and hyphens where pypdf is not.

Each character is looked at, for raised digits and columns, which makes it slower than pypdf.
"""

import ctypes
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby, pairwise
from statistics import fmean
from typing import Any, NamedTuple

from conflictscore.retrieval.cleaning import clean_text
from conflictscore.retrieval.pages.page import UnreadableError
from conflictscore.retrieval.reading.texts import Note, NoteKind, RichText

_SMALLER = 0.85
"""Raised and lowered characters are smaller than those beside them by so much."""
_SHIFTED = 0.08
"""And so much of the size above or below their line."""
_HYPHENS = "\x02\ufffe"
"""Character that pdfium inserts where a word is divided at the end of a line."""
_DIVIDED = re.compile(rf"\b(\w++)(?:[{_HYPHENS}]\n?|[-\u2010]\n)(?=(\w*+))")
_COMPOUND = re.compile(r"\b\w++-\w++")
_NO_HYPHENS = dict.fromkeys(map(ord, _HYPHENS))
_GAP = 2.5
"""White space of so many character sizes within a line stands between columns."""
_LONGEST_VALUE = 100_000
"""Bytes of a form's field."""
_COLUMN_LINES, _COLUMN_WORDS = 3, 3
"""So many lines in a row with a gap at the same place, of so many words a side, are columns; fewer
words are a table."""


_LEAST_LINES, _EDGE = 3, 2
"""Lines of a page that may have a running head, and lines at its ends that may be one."""
_PAGE_NUMBER = re.compile(
    r"(?:(?:page|p\.|seite|página|pagina|str\.|стр\.)\s*+)?(?:[-–]\s*+)?\d{1,4}(?:\s*+[-–])?"
    r"(?:\s*+(?:of|/|von|de|di|van|из|z)\s*+\d{1,4})?",
    re.IGNORECASE,
)
_UNPAINTED = (3, 7)
"""Modes of drawing text that paint nothing, as the recognised text over a scan's picture has."""


class _Letter(NamedTuple):
    text: str
    size: float
    x: float
    y: float


def read_pdf(data: bytes) -> RichText:
    """The text of a PDF, with the values of its form's fields.

    Raised and lowered digits are marked (10^6, H_2O), words divided at the end of a line joined,
    and columns read one after the other.

    Raises:
        ImportError: pypdfium2 is not installed.
        UnreadableError: It needs a password, or has no text.
        Exception: It is damaged.
    """
    import pypdfium2
    import pypdfium2.raw as pdfium

    try:
        file = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if pdfium.FPDF_GetLastError() == pdfium.FPDF_ERR_PASSWORD or "password" in str(error):
            raise UnreadableError("is locked; save a copy that opens without a password") from None
        raise
    with file:
        file.init_forms()
        if _is_dynamic_form(file):
            raise UnreadableError(
                "is a dynamic form (XFA) that only Adobe's programs show; print it to a PDF"
            )
        pages = _without_running_heads([*_undivided([_page_text(page) for page in file])])
        title = file.get_metadata_value("Title")
    missing = len(pages) - len(read := [page for page in pages if clean_text(page)])
    if not read:
        raise UnreadableError(
            "has no text; where its pages are pictures, have their text recognised (OCR) first"
        )
    sentence = f"{missing} of its {len(pages)} pages have no text"
    notes = (Note(NoteKind.PAGES_WITHOUT_TEXT, sentence),) if missing else ()
    return RichText("\n\n".join(read), title, notes)


def _is_dynamic_form(file: Any) -> bool:
    import pypdfium2.raw as pdfium

    if pdfium.FPDF_GetFormType(file) == pdfium.FORMTYPE_XFA_FULL:
        return True
    if pdfium.FPDF_GetFormType(file) == pdfium.FORMTYPE_NONE:
        return False
    return len(file) == 1 and "Please wait..." in file[0].get_textpage().get_text_bounded()[:200]


def _without_running_heads(pages: list[str]) -> list[str]:
    """The pages with heads and feet that stand on each of them once, and without page numbers.

    Those would stand in the middle of a sentence that goes on over the page's end.
    """
    lines = [page.split("\n") for page in pages]
    filled = [page for page in lines if len(page) >= _LEAST_LINES]
    if len(filled) < len(pages) or len(pages) < 2:
        return pages
    edges = [{*page[:_EDGE], *page[-_EDGE:]} for page in lines]
    running = set.intersection(*edges)
    kept = [
        [
            line
            for place, line in enumerate(page)
            if not (
                (_EDGE <= place < len(page) - _EDGE) is False
                and (_PAGE_NUMBER.fullmatch(line.strip()) or (line in running and number))
            )
        ]
        for number, page in enumerate(lines)
    ]
    return ["\n".join(page) for page in kept]


def _undivided(pages: list[str]) -> Iterator[str]:
    """The pages, with the words that a line's end divides as one.

    Before a capital or a digit the hyphen is the word's own (Barnes-Jewish, COVID-19), and so it is
    where the same word has it within a line (proto-oncogene).
    """
    compounds = {word.lower() for page in pages for word in _COMPOUND.findall(page)}

    def rejoin(end: re.Match[str]) -> str:
        before, after = end[1], end[2]
        own = f"{before}-{after}".lower() in compounds or not after.islower()
        return f"{before}-" if own and after else before

    for page in pages:
        yield _DIVIDED.sub(rejoin, page).translate(_NO_HYPHENS)


def _page_text(page: Any) -> str:
    lines = _in_columns([line for line in _lines(page) if line])
    text = "\n".join(lines)
    # pdfium counts in UTF-16, half a character at a time
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return "\n".join([text, *_form_values(page)]).strip()


def _lines(page: Any) -> Iterator[list[_Letter]]:
    """The letters of each line, with a mark before what is raised or lowered.

    A single letter is marked, as in x^n or at a note; several, as in 1st, are not.
    """
    line: list[_Letter] = []
    base: _Letter | None = None
    shifted = broken = False
    gap: list[_Letter] = []
    alone: int | None = None
    """Place in the line of a single letter that is raised or lowered."""
    for letter in _letters(page):
        if not letter.text.strip():
            broken |= letter.text in "\r\n"
            gap += [letter] if letter.text not in "\r\n" else []
            continue
        goes_on, moved = _beside(base, letter, shifted=shifted)
        if alone is not None and base and not moved:
            line.insert(alone, _mark(line[alone], base))
        if broken and not goes_on:  # pdfium breaks the line around what is raised, too
            yield line
            line, base, gap = [], None, []
        if base and len(line) == 1 and not (gap or broken) and _notes(base, letter):
            line = [_mark(base, letter), base, base._replace(text=" ")]
        line += gap
        starts = moved and not shifted and base is not None
        if starts and base and re.match(r"[\d+\u2212-]", letter.text):
            line.append(_mark(letter, base))
        alone = len(line) if starts and letter.text.isalpha() else None
        line.append(letter)
        shifted, broken, gap = moved, False, []
        base = base if moved else letter
    if alone is not None and base:
        line.insert(alone, _mark(line[alone], base))
    yield line


def _notes(first: _Letter, letter: _Letter) -> bool:
    raised = first.size and (first.y - letter.y) / first.size > _SHIFTED
    return bool(raised and first.text.isalnum() and first.size < _SMALLER * letter.size)


def _mark(letter: _Letter, base: _Letter) -> _Letter:
    return letter._replace(text="^" if letter.y > base.y else "_")


def _beside(base: _Letter | None, letter: _Letter, *, shifted: bool) -> tuple[bool, bool]:
    """Whether a letter stands on another one's line in spite of a break, and whether it is raised.

    ``shifted`` says whether letters between the two are raised or lowered.
    """
    if base is None or not letter.size or letter.x <= base.x:
        return False, False
    step = abs(letter.y - base.y) / base.size
    moved = letter.size < _SMALLER * base.size and _SHIFTED < step < 1
    return moved or (shifted and step < _SHIFTED), moved


def _letters(page: Any) -> Iterator[_Letter]:
    import pypdfium2.raw as pdfium

    text = page.get_textpage()
    crop = page.get_cropbox()
    is_scan = any(True for _ in page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_IMAGE], max_depth=3))
    x, y, box = ctypes.c_double(), ctypes.c_double(), pdfium.FS_RECTF()
    for place in range(text.count_chars()):
        said = chr(pdfium.FPDFText_GetUnicode(text, place))
        if said.isspace():
            yield _Letter(said, 0, 0, 0)
            continue
        pdfium.FPDFText_GetCharOrigin(text, place, x, y)
        if not (crop[0] - 1 <= x.value <= crop[2] + 1 and crop[1] - 1 <= y.value <= crop[3] + 1):
            continue
        if not is_scan:
            drawn = pdfium.FPDFText_GetTextObject(text, place)
            if drawn and pdfium.FPDFTextObj_GetTextRenderMode(drawn) in _UNPAINTED:
                continue
        pdfium.FPDFText_GetLooseCharBox(text, place, box)
        yield _Letter(said, box.top - box.bottom, x.value, y.value)


def _in_columns(lines: list[list[_Letter]]) -> Iterator[str]:
    halves = [_at_gap(line) for line in lines]
    for place, group in groupby(halves, key=lambda half: half[1] and round(half[1][0].x)):
        left, right = zip(*group, strict=True)
        words = [fmean(len(_said(part).split()) for part in side) for side in (left, right)]
        if place and len(left) >= _COLUMN_LINES and min(words) >= _COLUMN_WORDS:
            yield from map(_said, (*left, *right))
        else:
            yield from (_said([*one, *other]) for one, other in zip(left, right, strict=True))


def _at_gap(line: list[_Letter]) -> tuple[list[_Letter], list[_Letter]]:
    """A line's letters before and after the first wide gap in it; nothing after where none is."""
    drawn = [place for place, letter in enumerate(line) if letter.size and letter.text.strip()]
    for before, after in pairwise(drawn):
        if line[after].x - line[before].x > (_GAP + 1) * line[before].size:
            return line[:after], line[after:]
    return line, []


def _said(letters: Iterable[_Letter]) -> str:
    return "".join(letter.text for letter in letters).strip()


def _form_values(page: Any) -> Iterator[str]:
    import pypdfium2.raw as pdfium

    form = page.formenv
    for number in range(pdfium.FPDFPage_GetAnnotCount(page)):
        field = pdfium.FPDFPage_GetAnnot(page, number)
        kind = pdfium.FPDFAnnot_GetSubtype(field)
        if kind == pdfium.FPDF_ANNOT_FREETEXT:
            yield _string(pdfium.FPDFAnnot_GetStringValue, field, b"Contents")
        elif kind == pdfium.FPDF_ANNOT_WIDGET and form:
            value = _string(pdfium.FPDFAnnot_GetFormFieldValue, form, field)
            name = _string(pdfium.FPDFAnnot_GetFormFieldAlternateName, form, field)
            name = name or _string(pdfium.FPDFAnnot_GetFormFieldName, form, field)
            if value and value != "Off":
                yield f"{name}: {value}"
        pdfium.FPDFPage_CloseAnnot(field)


def _string(read: Callable[..., int], *where: Any) -> str:
    """A text that pdfium writes into a buffer, in UTF-16 with a null character at its end."""
    size = read(*where, None, 0)
    if not 2 < size <= _LONGEST_VALUE:
        return ""
    buffer = ctypes.create_string_buffer(size)
    held = ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort))
    read(*where, held, size)
    return buffer.raw[: size - 2].decode("utf-16-le", "replace").strip()
