"""Characters whose font does not say what they mean are marked, and never read as other letters."""

from collections.abc import Callable, Sequence

import pytest

from conflictscore.retrieval.pages.page import UnreadableError
from conflictscore.retrieval.reading.by_ending import read_file
from conflictscore.retrieval.reading.pdf_glyph_names import GlyphNames
from conflictscore.retrieval.reading.texts import NoteKind
from tests.retrieval.pdf_files import drawn, pdf

pytest.importorskip("pypdfium2")

Font = Callable[[int, Sequence[str]], str]
TOLL = drawn("Toll: 5", 72, 650)
"""A line in a font whose characters are known."""


def encoding(first: int, names: Sequence[str]) -> str:
    return f"/Encoding << /Differences [{first} {' '.join(f'/{name}' for name in names)}] >>"


def dots(first: int, names: Sequence[str]) -> str:
    """A Type 3 font, which draws each of its glyphs itself."""
    glyphs = " ".join(f"/{name} 7 0 R" for name in names)
    widths = " ".join("600" for _ in names)
    return (
        "<< /Type /Font /Subtype /Type3 /FontBBox [0 0 750 750] /FontMatrix [.001 0 0 .001 0 0]"
        f" /CharProcs << {glyphs} >> {encoding(first, names)} /FirstChar {first}"
        f" /LastChar {first + len(names) - 1} /Widths [{widths}] /Resources << >> >>"
    )


def outlines(first: int, names: Sequence[str]) -> str:
    return f"<< /Type /Font /Subtype /Type1 /BaseFont /Odd {encoding(first, names)} >>"


def composite(table: str = "") -> str:
    """A font whose codes are the numbers of its glyphs."""
    return (
        f"<< /Type /Font /Subtype /Type0 /BaseFont /AAAAAA+Odd-Identity-H /Encoding /Identity-H"
        f" {table} /DescendantFonts [8 0 R] >>"
    )


PARTS = (
    "<< /Length 35 >>\nstream\n600 0 0 0 500 700 d1 0 0 500 700 re f\nendstream",
    "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /AAAAAA+Odd /CIDSystemInfo << /Registry (Adobe)"
    " /Ordering (Identity) /Supplement 0 >> >>",
)  # fmt: skip


def read(font: str, codes: str, also: str = TOLL) -> tuple[str, list[NoteKind]]:
    """Return the text and the notes of a page with these codes in a font, above a known line."""
    page = f"BT /F2 12 Tf 72 700 Td {codes} Tj ET\n" + also
    source = pdf(page, more=PARTS).replace(b"/F1 3 0 R", b"/F1 3 0 R /F2 " + font.encode())
    [document], notes = read_file(source, ".pdf", "log.pdf")
    return document.text, [note.kind for note in notes]


MARKED = "\ufffd\ufffd\ufffd\nToll: 5", [NoteKind.NOT_IN_WORDS]


@pytest.mark.parametrize("font", [dots, outlines])
@pytest.mark.parametrize("names", [("g23", "g24", "g25"), ("GX1", "GX2", "GX3")])
def test_codes_with_invented_names_are_marked_and_noted(font: Font, names: Sequence[str]) -> None:
    assert read(font(97, names), "(abc)") == MARKED


@pytest.mark.parametrize(
    ("font", "names", "text"),
    [
        (outlines, ("A", "eacute", "summation"), "Aé∑"),
        (dots, ("A", "eacute", "Sigma"), "AéΣ"),
        (dots, ("uni2264", "u00B5", "a.sc"), "≤µa"),
        (outlines, ("angbracketleft", "x", "angbracketright"), "⟨x⟩"),
    ],
)
def test_codes_with_the_names_of_characters_are_read_by_their_names(
    font: Font, names: Sequence[str], text: str
) -> None:
    assert read(font(97, names), "(abc)") == (f"{text}\nToll: 5", [])


def test_ligatures_and_brackets_at_control_codes_are_read_by_their_names() -> None:
    font = outlines(27, ("f_i", "f_f", "f_f_i", "f_l", "angbracketleft"))
    assert read(font, r"(\033\034\035\036\037)") == ("fiffffifl⟨\nToll: 5", [])


def test_signs_in_fonts_of_tex_are_no_letters_and_no_digits() -> None:
    names = GlyphNames()
    names.add(b"/BaseFont /ABCDEF+CMSY10")
    names.settle()
    fonts = {2: "ABCDEF+CMSY10", 7: "CMSY8", 8: "CMR10", 9: "CMBSY5"}
    drawn_text = names.read("x 6= 6 hai", lambda places: fonts, lambda place: fonts[place])
    assert drawn_text == "x ≠\u2060 6 ⟨a⟩"
    assert names.read("6 = 6", lambda _: (), lambda _: "CMSY10") == "6 = 6"


@pytest.mark.parametrize(
    "names", [("a97", "a98", "a99"), ("c97", "c98", "c99"), ("G61", "G62", "G63"), ("CP", "CQ", "CR")]
)  # fmt: skip
def test_names_that_repeat_their_codes_keep_the_characters(names: Sequence[str]) -> None:
    assert read(dots(97, names), "(abc)") == ("abc\nToll: 5", [])


def test_glyph_numbers_of_a_composite_font_are_marked_unless_it_has_a_table() -> None:
    assert read(composite(), "<002400250026>") == MARKED
    known = drawn("$%&", 72, 650)
    assert read(composite(), "<002400250026>", known)[0] == "\ufffd\ufffd\ufffd\n$%&"
    names = "3 beginbfchar\n<0024> <0041>\n<0025> <0042>\n<0026> <0043>\nendbfchar"
    table = f"<< /Length {len(names)} >>\nstream\n{names}\nendstream"
    page = "BT /F2 12 Tf 72 700 Td <002400250026> Tj ET\n"
    source = pdf(page, more=(*PARTS, table)).replace(
        b"/F1 3 0 R", b"/F1 3 0 R /F2 " + composite("/ToUnicode 9 0 R").encode()
    )
    [document], notes = read_file(source, ".pdf", "log.pdf")
    assert (document.text, notes) == ("ABC", [])


def test_a_file_without_any_known_character_is_refused() -> None:
    with pytest.raises(UnreadableError, match="OCR"):
        read(composite(), "<002400250026>", also="")


def test_names_of_two_fonts_that_disagree_keep_the_own_character_or_none() -> None:
    names = GlyphNames()
    names.add(b"/Type3 /Differences [97 /g1 /g2 /.notdef] /Differences [97 /a /eacute /g9]")
    names.settle()
    assert names.meanings == {"b": "\ufffd", "c": "\ufffd"}


def test_escaped_names_and_several_numbers_in_a_list_are_read() -> None:
    names = GlyphNames()
    names.add(b"/Type3 /Differences[65/eacut#65 66/g7 200/#41.alt]")
    names.settle()
    assert names.meanings == {"A": "é", "B": "\ufffd", "È": "A"}


def test_a_standard_name_at_a_control_code_is_not_used_for_other_fonts() -> None:
    names = GlyphNames()
    names.add(b"/Type3 /Differences [28 /fi] /Differences [97 /eacute]")
    names.settle()
    assert names.meanings == {"a": "\u00e9"}


def test_names_of_other_fonts_do_not_apply_to_fonts_of_tex() -> None:
    names = GlyphNames()
    names.add(b"/BaseFont /ABCDEF+CMEX10 /Differences [28 /f_i]")
    names.settle()
    fonts = {0: "CMEX10", 1: "LMRoman10"}
    assert names.read("\x1c\x1c", lambda places: fonts, lambda place: fonts[place]) == "\x1c\ufb01"
