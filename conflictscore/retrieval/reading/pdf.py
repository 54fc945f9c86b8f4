"""Reads the text of a PDF with pdfium, which handles spaces and hyphens better than pypdf.

Superscripts, columns and tables are recognised by the positions of words. The positions are read
for a few words at a time, so reading takes little longer than pdfium's own extraction.

Limits without a stated reason were chosen by hand.
"""

import ctypes
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from conflictscore.retrieval.cleaning import clean_text
from conflictscore.retrieval.pages.page import UnreadableError
from conflictscore.retrieval.reading.pdf_columns import PageLine
from conflictscore.retrieval.reading.pdf_drawings import drawings
from conflictscore.retrieval.reading.pdf_grids import Grid, grids, laid_out_with_grids
from conflictscore.retrieval.reading.pdf_lines import lines
from conflictscore.retrieval.reading.pdf_margins import split_watermarks, without_running_heads
from conflictscore.retrieval.reading.pdf_names import Names
from conflictscore.retrieval.reading.pdf_objects import Area, PageObjects, pictures, with_marks
from conflictscore.retrieval.reading.pdf_pieces import PageGlyphs
from conflictscore.retrieval.reading.pdf_runs import PageRuns, Walls
from conflictscore.retrieval.reading.pdf_sight import Sight
from conflictscore.retrieval.reading.pdf_words import JOINER
from conflictscore.retrieval.reading.pdfium_calls import ManyCalls, address, calls
from conflictscore.retrieval.reading.texts import Note, NoteKind, RichText, pictures_note

_HYPHENS = "\x02\ufffe"
"""Characters that pdfium inserts into a word that is hyphenated at the end of a line."""
# A hyphen that divides a word at the end of a line.
_LINE_END = re.compile(rf"[-\u2010{_HYPHENS}](?:\n|(?<=[{_HYPHENS}]) ?)")
_WORD = re.compile(r"\w*+")
# At most this many characters before a hyphen are read, so that the time stays linear.
_LONGEST_WORD = 60
_COMPOUND = re.compile(r"\b\w++-\w++")
_WITH_HYPHENS = re.compile(rf"[\w\-\u2010{_HYPHENS}]++")
# The letters of ligatures.
_SPELLED = {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
_RARE, _AFTER_SURROGATES = 0xD800, 0xE000
"""The codes between these are halves of characters beyond Unicode's first plane; pdfium counts such
a character as two."""
_FORMS = re.compile("[\ufb50-\ufdff\ufe70-\ufefc]")
"""Matches Arabic presentation forms: letters in the shape that they have at one place in a word."""
_CODE = frozenset("&<>=\\$")
"""Characters before a word that show that the word is part of code."""
_MOST_PAGES, _MOST_SIGNS = 8, 50_000
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
replacement has the same length, since a PDF refers to positions by byte offset.
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
        if pdfium.FPDF_GetLastError() == pdfium.FPDF_ERR_PASSWORD or "password" in str(error):
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
    if empty:
        sentence = f"{empty} of its {count} pages have no text"
        notes.insert(0, Note(NoteKind.PAGES_WITHOUT_TEXT, sentence))
    return RichText(text, title, tuple(notes))


def _text(file: Any, data: bytes) -> tuple[str, int, list[Note]]:
    """Return the text of all pages, the number of pages without text, and notes."""
    names, many = Names(data), ManyCalls()
    sight = Sight(many, has_layers=names.layers)
    pages: list[list[PageLine]] = []
    values: list[str] = []
    watermarks: list[str] = []
    drawn: list[list[_Picture]] = []
    for page, glyphs in _opened(file):
        page_lines, marks, areas = _page_lines(page, glyphs, sight, many)
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
        marked = with_marks(page_lines, shown) if page_lines else page_lines
        pictures_marked += len(marked) - len(page_lines)
        texts.append("\n".join(line.text for line in marked))
    both = [f"{text}\n{form}".strip() for text, form in zip(texts, values, strict=True)]
    empty = sum(not text for text in both)
    text = "\n".join([*dict.fromkeys(watermarks), _undivided("\n\n".join(filter(None, both)))])
    notes = []
    if sight.unsure:
        sentence = "some text that was read may be invisible on its page (white, or behind a clip)"
        notes.append(Note(NoteKind.UNSEEN, sentence))
    if unknown_signs := text.count("\ufffd"):
        signs = "a character is" if unknown_signs == 1 else f"{unknown_signs} characters are"
        sentence = f"{signs} shown as \ufffd, because the font does not define a meaning"
        notes.append(Note(NoteKind.NOT_IN_WORDS, sentence))
    if pictures_marked:
        notes.append(pictures_note(pictures_marked))
    return text, empty, notes


def _opened(file: Any) -> Iterator[tuple[Any, PageGlyphs]]:
    """Yield the pages of a file and their texts; several pages are opened at once.

    This is faster than opening and reading each page in turn, since the processor's caches then
    keep first what pdfium needs, and afterwards what Python needs.
    """
    batch: list[tuple[Any, PageGlyphs]] = []
    size = 0
    for page in file:
        batch.append((page, glyphs := PageGlyphs(page)))
        size += glyphs.count + calls().count_objects(ctypes.c_void_p(address(page.raw)))
        if len(batch) == _MOST_PAGES or size > _MOST_SIGNS:
            yield from batch
            batch, size = [], 0
    yield from batch


def _is_dynamic_form(file: Any) -> bool:
    import pypdfium2.raw as pdfium

    if pdfium.FPDF_GetFormType(file) == pdfium.FORMTYPE_XFA_FULL:
        return True
    if pdfium.FPDF_GetFormType(file) == pdfium.FORMTYPE_NONE:
        return False
    # The page that viewers show if they do not support dynamic forms.
    return len(file) == 1 and "Please wait..." in file[0].get_textpage().get_text_bounded()[:200]


def _undivided(text: str) -> str:
    """Join words that are hyphenated across two lines, and spell out ligatures.

    A hyphen is kept if a capital or a digit follows it (Barnes-Jewish, COVID-19), or if the word
    before it is code (``<&digit-``). A hyphen is also kept if the same word occurs with a hyphen
    within another line (proto-oncogene), and in compounds of more than two words (hard-to-find).
    """
    words = _Words(text)
    parts: list[str] = []
    start = 0
    for end in _LINE_END.finditer(text):
        before = _last_word(text[max(start, end.start() - _LONGEST_WORD) : end.start()])
        after = _first_word(text, end.end())
        if not _divides(before, after, text[end.start()]):
            continue
        own = not after.islower() or f"{before}-{after}".lower() in words.compounds
        sign = text[max(0, end.start() - len(before) - 1) : end.start() - len(before)]
        is_part = sign == "-" or text[end.end() + len(after) : end.end() + len(after) + 1] == "-"
        own = own or sign in _CODE or (is_part and words.form_compound(before, after))
        parts += [text[start : end.start()], "-" * (own and bool(after))]
        start = end.end()
    joined_text = "".join([*parts, text[start:]])
    for hyphen in _HYPHENS:
        joined_text = joined_text.replace(hyphen, "")
    joined_text = joined_text.replace(JOINER, "")
    return _plain(joined_text)


def _plain(text: str) -> str:
    """Return a text with whole characters, and with letters in their usual forms."""
    if text.isascii():
        return text
    codes = np.frombuffer(text.encode("utf-16-le", "surrogatepass"), np.uint16)
    rare = codes[codes >= _RARE]  # searching few codes is faster than searching the text
    if (rare < _AFTER_SURROGATES).any():
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if len(rare) and _FORMS.search(text):
        text = _FORMS.sub(lambda form: unicodedata.normalize("NFKC", form[0]), text)
    for ligature, letters in _SPELLED.items():
        text = text.replace(ligature, letters)
    return text


def _divides(before: str, after: str, hyphen: str) -> bool:
    """Whether the hyphen at the end of a line belongs to a word.

    A dash does not belong to a word, and neither does the hyphen in "10-$20". The characters that
    pdfium inserts always belong to a word, since it inserts them only within words.
    """
    return bool(before and (after or hyphen in _HYPHENS))


class _Words:
    """The words of a text, which are looked up only where a hyphen ends a line."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _tokens(self) -> set[str]:
        """Return the parts of the text between white space; repetitions need not be examined."""
        return {*self._text.lower().split()}

    @cached_property
    def compounds(self) -> set[str]:
        """Return the pairs of words that are joined by a hyphen within a line."""
        # Few tokens contain a hyphen, so the others are passed over quickly.
        return {pair for each in self._tokens if "-" in each for pair in _COMPOUND.findall(each)}

    @cached_property
    def _alone(self) -> set[str]:
        """Return the words that contain no hyphen."""
        pieces = {*_WITH_HYPHENS.findall(" ".join(self._tokens))}
        return {piece for piece in pieces if len(piece) > 1 and piece.isalpha()}

    def form_compound(self, before: str, after: str) -> bool:
        """Whether two parts of a longer compound both occur as separate words in the text."""
        both_are_words = {before.lower(), after.lower()} <= self._alone
        return both_are_words and f"{before}{after}".lower() not in self._alone


def _first_word(text: str, start: int = 0) -> str:
    """Return the word that begins at a position; empty if no word begins there."""
    word = _WORD.match(text, start)
    return word[0] if word else ""


def _last_word(text: str) -> str:
    return _first_word(text[::-1])[::-1]


def _page_lines(
    page: Any, glyphs: PageGlyphs, sight: Sight, many: ManyCalls
) -> tuple[list[PageLine], list[str], list[_Picture]]:
    """Return the visible lines of a page, its watermarks, and its pictures."""
    objects = PageObjects(page)
    sight.look_at(objects)
    tables = grids(objects.vertical, objects.horizontal)
    walls = _walls(tables)
    page_runs = [*PageRuns(page, glyphs, sight.doubtful, walls, many)]
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
    """Yield the values of a page's form fields, and its typed notes; ``names`` may exclude both."""
    import pypdfium2.raw as pdfium

    if not names.fields:
        return

    form, handle = page.formenv, address(page.raw)
    unseen = pdfium.FPDF_ANNOT_FLAG_HIDDEN | pdfium.FPDF_ANNOT_FLAG_NOVIEW
    for number in range(calls().count_notes(handle)):
        # Most annotations are links, which have no text.
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
            if value and value != "Off":
                yield f"{name}: {value}"
        pdfium.FPDFPage_CloseAnnot(field)


def _string(getter: Callable[..., int], *where: Any) -> str:
    """Return the text that a pdfium function writes into a buffer as null-terminated UTF-16."""
    size = getter(*where, None, 0)
    if not 2 < size <= _LONGEST_VALUE:
        return ""
    buffer = ctypes.create_string_buffer(size)
    characters = ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort))
    getter(*where, characters, size)
    return buffer.raw[: size - 2].decode("utf-16-le", "replace").strip()
