"""Lines that are read from right to left are in reading order, as are the phrases inside them."""

import pytest

from conflictscore.retrieval.reading.by_ending import read_file
from tests.retrieval.pdf_files import drawn, pdf

pytest.importorskip("pypdfium2")

HEBREW = (
    "/Font << /F1 3 0 R /H << /Type /Font /Subtype /Type1 /BaseFont /Helvetica"
    " /Encoding << /Differences [97 /afii57664 /afii57665 /afii57666] >> >> >>"
)


def hebrew(text: str, x: float) -> str:
    """Draw letters of the Hebrew alphabet (a, b, c) from left to right, in 12 points."""
    return drawn(text, x).replace("/F1", "/H")


def text_of(*lines: str) -> str:
    data = pdf("".join(lines)).replace(b"/Font << /F1 3 0 R >>", HEBREW.encode())
    (document,), _ = read_file(data, ".pdf", "log.pdf")
    return document.text


def test_a_phrase_in_a_line_from_right_to_left_keeps_its_order() -> None:
    line = hebrew("cba", 300), drawn("20 March", 245), hebrew("cba", 220)
    assert text_of(*line) == "אבג 20 March אבג"


def test_numbers_in_columns_from_right_to_left_stay_in_their_columns() -> None:
    row = hebrew("cba", 300), drawn("1932", 200), drawn("2", 100)
    assert text_of(*row).split() == ["אבג", "1932", "2"]


def spelled(codes: str, x: float) -> str:
    """Draw a glyph that stands for these characters, as browsers store letters with signs."""
    span = f"/Span << /ActualText <FEFF{codes}> >> BDC"
    return drawn("n", x).replace("BT", f"BT {span}").replace("ET", "EMC ET")


def test_letters_with_vowel_signs_stay_in_their_word_beside_a_number() -> None:
    letters = spelled("05D2", 303.4) + spelled("05D105B8", 310) + spelled("05D005B705BC", 316.7)
    phrase = drawn("\\(Vennick\\)", 246) + drawn("1874", 216) + hebrew("cba", 202)
    assert text_of(letters + phrase) == "א\u05b7\u05bcב\u05b8ג (Vennick) 1874 אבג"
