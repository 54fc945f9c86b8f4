"""Tables with lines in PDFs, and words whose letters are stored in an unusual way."""

from collections.abc import Sequence

import pytest

from conflictscore.retrieval.reading.by_ending import read_file
from conflictscore.retrieval.reading.pdf_words import with_whole_words
from conflictscore.retrieval.reading.texts import NoteKind
from tests.retrieval.pdf_files import drawn, paragraph, pdf

FONT = 10


def text_of(page: str) -> str:
    [document], _ = read_file(pdf(page), ".pdf", "log.pdf")
    return document.text


def ruled(
    rows: Sequence[Sequence[str]], xs: Sequence[float], *, without: Sequence[str] = ()
) -> str:
    """A table with a line around each cell; ``without`` names sides such as ``floor 0 1``."""
    lines = []
    for row, texts in enumerate(rows):
        top, bottom = 700 - 16 * row, 684 - 16 * row
        for column, text in enumerate(texts):
            left, right = xs[column], xs[column + 1]
            if text:
                lines.append(drawn(text, left + 2, bottom + 4, FONT))
            sides = {"floor": (left, bottom, right, bottom), "wall": (right, bottom, right, top)}
            for name, (x, y, x2, y2) in sides.items():
                if f"{name} {row} {column}" not in without:
                    lines.append(f"{x} {y} m {x2} {y2} l S\n")
    lines.append(f"{xs[0]} 700 m {xs[-1]} 700 l S\n")
    lines.append(f"{xs[0]} 700 m {xs[0]} {700 - 16 * len(rows)} l S\n")
    return "".join(lines)


def test_the_lines_of_a_table_divide_cells_that_stand_close_together() -> None:
    rows = [("Ferry", "Opened", "Closed"), ("Red", "1901", ""), ("Blue", "", "1931")]
    assert text_of(ruled(rows, (72, 104, 146, 190))) == (
        "Ferry | Opened | Closed\nRed | 1901 | \nBlue |  | 1931"
    )


def test_a_cell_over_two_rows_is_repeated_and_one_over_two_columns_is_padded() -> None:
    rows = [("Line", "Years", ""), ("", "Plan", "Real"), ("Red", "1901", "1905")]
    without = ("floor 0 0", "wall 0 1")
    assert text_of(ruled(rows, (72, 104, 146, 190), without=without)) == (
        "Line | Years | \nLine | Plan | Real\nRed | 1901 | 1905"
    )


def test_the_wrapped_text_of_a_cell_stays_in_its_row() -> None:
    page = ruled([("Ferry", "Fee"), ("", "12"), ("Blue", "9")], (72, 130, 170))
    wrapped = drawn("Green line", 74, 678, 5) + drawn("of the north", 74, 671, 5)
    assert text_of(page + wrapped) == "Ferry | Fee\nGreen line of the north | 12\nBlue | 9"


def test_rows_without_lines_between_them_stay_rows() -> None:
    box = "72 640 m 72 700 l S 110 640 m 110 700 l S 150 640 m 150 700 l S\n"
    box += "72 700 m 150 700 l S 72 684 m 150 684 l S 72 640 m 150 640 l S\n"
    cells = [("City", "Year"), ("Orla", "1990"), ("Vik", ""), ("Bo", "1995")]
    texts = "".join(
        drawn(text, x, 688 - 14 * row, FONT)
        for row, pair in enumerate(cells)
        for text, x in zip(pair, (74, 112), strict=True)
        if text
    )
    assert text_of(box + texts) == "City | Year\nOrla | 1990\nVik | \nBo | 1995"


def test_words_that_are_stored_from_left_to_right_are_read_from_the_right() -> None:
    text = "\u062d\u062a\u062a\u0641\u0627 1932"
    right_to_left = text[4::-1] + text[5:]
    assert with_whole_words(text, Placed(1)) == right_to_left
    assert with_whole_words(right_to_left, Placed(-1)) == right_to_left


class Placed:
    """Characters at equal distances, in the order of the text or against it."""

    def __init__(self, step: int) -> None:
        self.step = step

    def x(self, place: int) -> float:
        return self.step * place

    def right(self, end: int) -> float:
        return self.step * end

    def size(self, place: int) -> float:
        return 1

    def is_inserted(self, place: int) -> bool:
        return False


@pytest.mark.parametrize(
    "lines",
    [
        "60 500 m 60 720 l S 540 500 m 540 720 l S 60 500 m 540 500 l S 60 720 m 540 720 l S"
        " 60 600 m 540 600 l S 66 500 m 66 720 l S",
        "".join(f"{x} 500 m {x} 720 l S {60} {500 + x / 3} m 540 {500 + x / 3} l S " for x in range(60, 560, 20)),
    ],
    ids=["frame", "chart"],
)  # fmt: skip
def test_a_frame_and_the_lines_of_a_chart_are_no_table(lines: str) -> None:
    prose = [f"The keeper of the lamp was paid {n} crowns a month until then." for n in range(9)]
    assert text_of(lines + paragraph(*prose, size=FONT)) == "\n".join(prose)


def test_the_letters_of_a_spaced_heading_are_words_and_a_list_of_letters_is_not() -> None:
    heading = "BT /F1 12 Tf 6 Tc 72 700 Td (NOTICE OF CLOSURE) Tj ET\n"
    letters = "".join(drawn(letter, 72 + 18 * place, 600) for place, letter in enumerate("abcdefg"))
    text = text_of(heading + letters)
    assert "NOTICE OF CLOSURE" in text
    assert "abcdefg" not in text.replace(" | ", " ")


def test_a_sign_without_a_meaning_is_marked_and_noted() -> None:
    odd = (
        "/F2 << /Type /Font /Subtype /Type0 /BaseFont /Odd /Encoding /Identity-H /ToUnicode 8 0 R"
        " /DescendantFonts [<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Odd /CIDSystemInfo"
        " << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> >>] >>"
    )
    page = drawn("Toll: 5", 72, 700) + "BT /F2 12 Tf 130 700 Td <00030018> Tj ET\n"
    names = "1 beginbfchar\n<0018> <0035>\nendbfchar"
    source = pdf(page, names).replace(b"/F1 3 0 R", f"/F1 3 0 R {odd}".encode())
    [document], notes = read_file(source, ".pdf", "log.pdf")
    assert "Toll: 5" in document.text
    assert "\ufffd" in document.text
    assert NoteKind.NOT_IN_WORDS in [note.kind for note in notes]


@pytest.mark.parametrize(
    "shapes",
    [
        "".join(f"{90 + 40 * n} 500 24 {h} re f\n" for n, h in enumerate((40, 90, 70, 120))),
        "90 500 m 130 590 l 170 520 l 210 600 l 250 540 l 300 610 l 350 560 l S\n",
        "200 500 m 300 500 300 600 200 600 c 100 600 100 500 200 500 c f\n",
    ],
    ids=["bars", "broken line", "curve"],
)
def test_a_chart_of_paths_leaves_a_mark_at_its_place_and_a_note(shapes: str) -> None:
    page = paragraph("Riders by year:") + shapes + paragraph("End.", y=460)
    [document], notes = read_file(pdf(page), ".pdf", "log.pdf")
    assert document.text == "Riders by year:\n[picture]\nEnd."
    assert [note.kind for note in notes] == [NoteKind.NOT_IN_WORDS]


def test_frames_backgrounds_rules_and_small_signs_are_no_drawings() -> None:
    rows = [(f"Row {n}", f"19{n:02}") for n in range(6)]
    zebra = "".join(f".9 g 72 {696 - 32 * n} 120 16 re f 0 g\n" for n in range(3))
    cells = "".join(
        drawn(text, x, 700 - 16 * number, FONT)
        for number, row in enumerate(rows)
        for text, x in zip(row, (74, 140), strict=True)
    )
    frame = "60 420 m 500 420 l 500 500 l 60 500 l 60 420 l 62 422 l S\n" + drawn("Notice", 80, 460)
    sign = "300 600 m 310 600 310 610 300 610 c 290 610 290 600 300 600 c f\n"
    text = text_of(zebra + cells + frame + sign + "72 400 m 500 400 l S\n")
    assert "[picture]" not in text
    assert "Notice" in text
