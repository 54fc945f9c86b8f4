"""Reads the text of a PDF with pdfium, which handles spaces and hyphens better than pypdf.

Superscripts, columns and tables are recognised by the positions of words. The positions are read
for a few words at a time, so reading takes little longer than pdfium's own extraction.

Limits without a stated reason were chosen by hand.
"""

import ctypes
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from conflictscore.retrieval.cleaning import clean_text
from conflictscore.retrieval.pages.page import UnreadableError
from conflictscore.retrieval.reading.pdf_columns import PageLine
from conflictscore.retrieval.reading.pdf_drawings import drawings
from conflictscore.retrieval.reading.pdf_glyph_names import UNKNOWN, GlyphNames
from conflictscore.retrieval.reading.pdf_grids import Grid, grids, laid_out_with_grids
from conflictscore.retrieval.reading.pdf_hyphens import undivided
from conflictscore.retrieval.reading.pdf_lines import lines
from conflictscore.retrieval.reading.pdf_margins import split_watermarks, without_running_heads
from conflictscore.retrieval.reading.pdf_names import Names
from conflictscore.retrieval.reading.pdf_objects import Area, PageObjects, pictures, with_marks
from conflictscore.retrieval.reading.pdf_pieces import BlockGlyphs, PageGlyphs
from conflictscore.retrieval.reading.pdf_runs import Runs, Walls
from conflictscore.retrieval.reading.pdf_sight import Sight
from conflictscore.retrieval.reading.pdfium_calls import ManyCalls, address, calls, pointer
from conflictscore.retrieval.reading.texts import Note, NoteKind, RichText, pictures_note

_MOST_PAGES, _MOST_SIGNS = 24, 80_000
"""Maximum number of pages that are open at once, to limit the memory.

If their characters and objects exceed the second number, fewer pages are open.
"""
_SAMPLE = 1_000
"""Number of characters that are cleaned first to find out whether a file has any text."""
_LONGEST_VALUE = 100_000
"""Maximum size of a form field's value, in bytes."""
_JOINED_OPERATORS = (b"ETBT /", b"ET BT/")
"""Two PDF operators between texts: first as some programs write them, without a space, then in
their usual form.

The form without a space, which Ghostscript also accepts, is replaced with the usual form. The
replacement has the same length, since a PDF refers to positions by byte offset. Compressed bytes
hardly ever contain these six bytes by chance.
"""


class _Picture(NamedTuple):
    """The area of a picture; equal pictures at the same place of two pages have the same look."""

    area: Area
    look: int


def read_pdf(data: bytes) -> RichText:
    """Return the text of a PDF, with the values of its form fields.

    Superscript and subscript digits are marked (10^6, H_2O), hyphenated words are joined, and
    columns are read one after another. Each row of a table becomes a line, with separators between
    its cells. Cells are recognised by lines or wide white space between them. Text that is not
    visible on the pages is left out; running heads and watermarks appear once.

    Raises:
        ImportError: pypdfium2 is not installed.
        UnreadableError: The file needs a password, or has no text.
        Exception: The file is damaged.
    """
    import pypdfium2
    import pypdfium2.raw as pdfium

    try:
        file = pypdfium2.PdfDocument(data.replace(*_JOINED_OPERATORS))
    except pypdfium2.PdfiumError as error:
        if error.err_code == pdfium.FPDF_ERR_PASSWORD:
            raise UnreadableError("is locked; save a copy that opens without a password") from None
        raise
    with file:
        file.init_forms()
        if _is_dynamic_form(file):
            raise UnreadableError(
                "is a dynamic form (XFA) that only Adobe's programs show; print it to a PDF"
            )
        text, empty, notes = _text(file, data)
        title = file.get_metadata_value("Title")
        count = len(file)
    if not (clean_text(text[:_SAMPLE]) or clean_text(text)):
        raise UnreadableError(
            "has no text; if its pages are pictures, run text recognition (OCR) on them first"
        )
    if UNKNOWN in text and not clean_text(text.replace(UNKNOWN, "")):
        raise UnreadableError(
            "has no readable text, because its fonts do not define what their characters mean; run"
            " text recognition (OCR) on its pages first"
        )
    if empty:
        sentence = f"{empty} of its {count} pages have no text"
        notes.insert(0, Note(NoteKind.PAGES_WITHOUT_TEXT, sentence))
    return RichText(text, title, tuple(notes))


def _text(file: Any, data: bytes) -> tuple[str, int, list[Note]]:
    """Return the text of all pages, the number of pages without text, and notes."""
    names, many = Names(data), ManyCalls()
    sight = Sight(many, has_layers=names.layers, has_layered_groups=names.layered_groups)
    pages: list[list[PageLine]] = []
    values: list[str] = []
    watermarks: list[str] = []
    drawn: list[list[_Picture]] = []
    for page, runs, number in _opened(file, many, names.glyphs):
        objects = PageObjects(page, many)
        page_lines, marks, areas = _page_lines(page, objects, runs, number, sight)
        pages.append(page_lines)
        drawn.append(areas)
        watermarks += marks
        # without repetitions, since all buttons of a choice have the same value
        fields = dict.fromkeys(_form_values(page, names))
        values.append("\n".join(fields))
        page.close()
    texts: list[str] = []
    logos: set[int] = set()
    pictures_marked = 0
    for page_lines, areas in zip(without_running_heads(pages), drawn, strict=True):
        # the same picture at the same place of a later page is a logo
        shown = [picture.area for picture in areas if picture.look not in logos]
        logos.update(picture.look for picture in areas)
        # a page without text, such as a scan, gets a note instead of placeholders
        marked = with_marks(page_lines, shown) if page_lines else page_lines
        pictures_marked += len(marked) - len(page_lines)
        texts.append("\n".join(line.text for line in marked))
    both = [f"{text}\n{form}".strip() for text, form in zip(texts, values, strict=True)]
    empty = sum(not text for text in both)
    text = "\n".join([*dict.fromkeys(watermarks), undivided("\n\n".join(filter(None, both)))])
    notes = []
    if sight.unsure:
        sentence = "some text that was read may be invisible on its page (white, or behind a clip)"
        notes.append(Note(NoteKind.UNSEEN, sentence))
    if unknown_signs := text.count(UNKNOWN):
        signs = "a character is" if unknown_signs == 1 else f"{unknown_signs} characters are"
        sentence = f"{signs} shown as {UNKNOWN}, because the font does not define a meaning"
        notes.append(Note(NoteKind.NOT_IN_WORDS, sentence))
    if pictures_marked:
        notes.append(pictures_note(pictures_marked))
    return text, empty, notes


def _opened(file: Any, many: ManyCalls, glyphs: GlyphNames) -> Iterator[tuple[Any, Runs, int]]:
    """Yield each page, the runs of the pages that are read together, and its number among them.

    Several pages are opened and read at once. This is faster than opening and reading each page in
    turn, since the processor's caches then keep first what pdfium needs, and afterwards what Python
    needs.
    """
    pages: list[Any] = []
    texts: list[PageGlyphs] = []
    size = 0
    for page in file:
        pages.append(page)
        texts.append(text := PageGlyphs(page, glyphs))
        size += text.count + calls().count_objects(pointer(address(page.raw)))
        if len(pages) == _MOST_PAGES or size > _MOST_SIGNS:
            yield from _read(pages, texts, many)
            pages, texts, size = [], [], 0
    yield from _read(pages, texts, many)


def _read(
    pages: Sequence[Any], texts: Sequence[PageGlyphs], many: ManyCalls
) -> Iterator[tuple[Any, Runs, int]]:
    runs = Runs(BlockGlyphs(texts, many), [page.get_cropbox() for page in pages])
    for number, page in enumerate(pages):
        yield page, runs, number


def _is_dynamic_form(file: Any) -> bool:
    import pypdfium2.raw as pdfium

    if pdfium.FPDF_GetFormType(file) == pdfium.FORMTYPE_XFA_FULL:
        return True
    if pdfium.FPDF_GetFormType(file) == pdfium.FORMTYPE_NONE:
        return False
    # the page that viewers show if they do not support dynamic forms
    return len(file) == 1 and "Please wait..." in file[0].get_textpage().get_text_bounded()[:200]


def _page_lines(
    page: Any, objects: PageObjects, runs_of_pages: Runs, number: int, sight: Sight
) -> tuple[list[PageLine], list[str], list[_Picture]]:
    """Return the visible lines of a page, its watermarks, and its pictures."""
    sight.look_at(objects)
    tables = grids(objects.vertical, objects.horizontal)
    walls = _walls(tables)
    doubtful = sight.doubtful(runs_of_pages.owners(number))
    page_runs = [*runs_of_pages.of_page(number, doubtful, walls, objects.text_areas)]
    if tables:
        # lines in drawings and frames do not divide text, so runs divided there are joined again
        page_lines = [*lines(page_runs, walls)]
        tables = [table for table in tables if table.fits(page_lines)]
        walls = _walls(tables)
    seen = sight.seen(page, page_runs)
    runs, marks = split_watermarks(seen)
    areas: list[Area] = []
    if objects.images or objects.shapes:
        points, page_size = [(run.x, run.y) for run in seen], page.get_size()
        areas = pictures(objects.images, page_size, points)
        read_areas = [*areas, *(table.area() for table in tables)]
        areas += drawings(objects.shapes, page_size, points, read_areas)
    drawn = [_Picture(area, objects.look(area)) for area in areas]
    return laid_out_with_grids(lines(runs, walls), tables), marks, drawn


def _walls(tables: Sequence[Grid]) -> Walls | None:
    """Return a function that gives the vertical table lines at a height; None without tables."""
    if not tables:
        return None
    if len(tables) == 1:
        return tables[0].walls_at
    return lambda y: sorted(x for table in tables for x in table.walls_at(y))


def _form_values(page: Any, names: Names) -> Iterator[str]:
    """Yield the values of a page's form fields, and its typed notes.

    Yields nothing, without spending time, if ``names`` shows that the file has neither.
    """
    import pypdfium2.raw as pdfium

    if not names.fields:
        return

    form, handle = page.formenv, address(page.raw)
    unseen = pdfium.FPDF_ANNOT_FLAG_HIDDEN | pdfium.FPDF_ANNOT_FLAG_NOVIEW
    for number in range(calls().count_notes(handle)):
        # most annotations are links, which have no text
        kind = calls().note_kind(note := calls().note(handle, number))
        calls().close_note(note)
        if kind not in (pdfium.FPDF_ANNOT_FREETEXT, pdfium.FPDF_ANNOT_WIDGET):
            continue
        field = pdfium.FPDFPage_GetAnnot(page, number)
        if pdfium.FPDFAnnot_GetFlags(field) & unseen:
            pass
        elif kind == pdfium.FPDF_ANNOT_FREETEXT:
            yield _string(pdfium.FPDFAnnot_GetStringValue, field, b"Contents")
        elif form:
            value = _string(pdfium.FPDFAnnot_GetFormFieldValue, form, field)
            name = _string(pdfium.FPDFAnnot_GetFormFieldAlternateName, form, field)
            name = name or _string(pdfium.FPDFAnnot_GetFormFieldName, form, field)
            if value and value != "Off":  # "Off" is the value of an empty check box
                yield f"{name}: {value}"
        pdfium.FPDFPage_CloseAnnot(field)


def _string(getter: Callable[..., int], *where: Any) -> str:
    """Return the text that a pdfium function writes into a buffer as null-terminated UTF-16."""
    size = getter(*where, None, 0)
    if not 2 < size <= _LONGEST_VALUE:  # the null alone takes two bytes
        return ""
    buffer = ctypes.create_string_buffer(size)
    characters = ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort))
    getter(*where, characters, size)
    return buffer.raw[: size - 2].decode("utf-16-le", "replace").strip()
