"""A PDF is read as a person sees its pages, and nothing else is read."""

import re

import pytest

from conflictscore.retrieval.reading.by_ending import read_file
from conflictscore.retrieval.reading.texts import NoteKind, Notes
from tests.retrieval.pdf_files import drawn, paragraph, pdf, table

pytest.importorskip("pypdfium2")

SEEN = drawn("Lit in 1932.", y=720)
OFF = "/OCProperties << /OCGs [4 0 R] /D << /OFF [4 0 R] /Order [4 0 R] >> >>"
ON = "/OCProperties << /OCGs [4 0 R] /D << /Order [4 0 R] >> >>"
LAYER = "/Properties << /L1 4 0 R >>"
PICTURE = "/XObject << /I << /Type /XObject /Subtype /Image /Width 1 /Height 1 >> >>"  # see _scan


def read(data: bytes) -> str:
    text, _ = read_with_notes(data)
    return text


def read_with_notes(data: bytes) -> tuple[str, Notes]:
    (document,), notes = read_file(data, ".pdf", "log.pdf")
    return document.text, notes


def in_layer(text: str) -> str:
    return f"/OC /L1 BDC {text} EMC"


def group(drawn_text: str, about: str = "") -> str:
    """An object that draws a group; ``about`` goes into its dictionary."""
    content = "/Resources << /Font << /F1 3 0 R >> /XObject << /G2 8 0 R >> " + LAYER + " >>"
    return (
        f"<< /Type /XObject /Subtype /Form /BBox [0 0 595 842] {content} {about}"
        f" /Length {len(drawn_text)} >>\nstream\n{drawn_text}\nendstream"
    )


def with_group(page: str, *groups: str, layers: str) -> bytes:
    resources = LAYER + " /XObject << /G1 7 0 R >>"
    return pdf(SEEN + page, layers=layers, resources=resources, more=groups)


LIT = drawn("Lit in 1950.")
GROUPS = {
    "marked on the page": (in_layer("/G1 Do"), group(LIT)),
    "marked in its dictionary": ("/G1 Do", group(LIT, about="/OC 4 0 R")),
    "marked by an escaped name": ("/G1 Do", group(LIT, about="/#4fC 4 0 R")),
    "with a marked text": ("/G1 Do", group(in_layer(LIT))),
    "with a marked group": ("/G1 Do", group(in_layer("/G2 Do")), group(LIT)),
}


@pytest.mark.parametrize("how", GROUPS)
def test_a_group_in_a_layer_is_read_only_if_the_layer_is_on(how: str) -> None:
    assert read(with_group(*GROUPS[how], layers=OFF)) == "Lit in 1932."
    assert read(with_group(*GROUPS[how], layers=ON)) == "Lit in 1932.\nLit in 1950."


def test_pages_without_text_in_a_layer_are_not_compared_with_images(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn_pages: list[object] = []
    monkeypatch.setattr("conflictscore.retrieval.reading.pdf_sight._image", drawn_pages.append)

    data = with_group("/Span << /Lang (en) >> BDC /G1 Do EMC", group(LIT), layers=OFF)

    assert read(data) == "Lit in 1932.\nLit in 1950."
    assert drawn_pages == []


UNSEEN = {
    "not painted": pdf(SEEN + drawn("Lit in 1950.", before="3 Tr")),
    "a clip alone": pdf(SEEN + drawn("Lit in 1950.", before="7 Tr")),
    "white": pdf(SEEN + drawn("Lit in 1950.", before="1 1 1 rg")),
    "white by its shade": pdf(SEEN + drawn("Lit in 1950.", before="1 g")),
    "white by four inks": pdf(SEEN + drawn("Lit in 1950.", before="0 0 0 0 k")),
    "nearly white": pdf(SEEN + drawn("Lit in 1950.", before=".98 g")),
    "as dark as its ground": pdf(
        SEEN + "1 1 .8 rg 60 690 200 30 re f " + drawn("Lit in 1950.", before="1 1 .9 rg")
    ),
    "outside of the page": pdf(SEEN + drawn("Lit in 1950.", x=700)),
    "above the page": pdf(SEEN + drawn("Lit in 1950.", y=900)),
    "outside of the crop box": pdf(
        SEEN + drawn("Lit in 1950.", y=60), page="/CropBox [0 100 595 842]"
    ),
    "behind a clip": pdf(SEEN + drawn("Lit in 1950.", before="0 0 10 10 re W n")),
    "behind two clips": pdf(
        SEEN + drawn("Lit in 1950.", before="0 0 595 842 re W n 300 0 40 40 re W n")
    ),
    "behind a round clip": pdf(
        SEEN + drawn("Lit in 1950.", before="0 0 m 20 0 20 20 0 20 c 0 0 l h W n")
    ),
    "painted over": pdf(SEEN + drawn("Lit in 1950.") + "0 g 60 690 200 30 re f "),
    "too small": pdf(SEEN + drawn("Lit in 1950.", y=600, size=0.1)),
    "a layer that is off": pdf(SEEN + in_layer(drawn("Lit in 1950.")), layers=OFF, resources=LAYER),
    "a layer that is off, over what is seen": pdf(
        SEEN + in_layer(drawn("Lit in 1950.", y=718)), layers=OFF, resources=LAYER
    ),
}


@pytest.mark.parametrize("how", UNSEEN)
def test_text_that_a_page_does_not_show_is_left_out(how: str) -> None:
    assert read(UNSEEN[how]) == "Lit in 1932."


SHOWN = {
    "white on a dark ground": "0 0 .4 rg 60 680 300 40 re f " + drawn("Lit in 1950.", before="1 g"),
    "light grey": drawn("Lit in 1950.", before=".7 g"),
    "within a clip": drawn("Lit in 1950.", before="60 600 300 200 re W n"),
    "outlined": drawn("Lit in 1950.", before="1 Tr 1 g"),
    "small": drawn("Lit in 1950.", size=5, before="0 0 595 842 re W n"),
}


@pytest.mark.parametrize("how", SHOWN)
def test_text_that_a_page_shows_is_read(how: str) -> None:
    assert read(pdf(SEEN + SHOWN[how])).split("\n") == ["Lit in 1932.", "Lit in 1950."]


def image(x: float, y: float, width: float, height: float) -> str:
    return f"q {width} 0 0 {height} {x} {y} cm BI /W 2 /H 1 /CS /G /BPC 8 ID 7z EI Q\n"


def test_a_picture_leaves_a_mark_at_its_place_and_a_note() -> None:
    above, below = drawn("It was lit in 1874.", y=700), drawn("It went out in 1950.", y=500)
    logo = image(72, 760, 40, 40)
    page = above + below + image(72, 540, 200, 120) + logo
    text, notes = read_with_notes(pdf(page, above + logo))
    assert text.split("\n") == [
        "[picture]",
        "It was lit in 1874.",
        "[picture]",
        "It went out in 1950.",
        "",
        "It was lit in 1874.",
    ]
    assert [note.kind for note in notes] == [NoteKind.NOT_IN_WORDS]
    assert "2 pictures" in notes[0]


def test_a_picture_next_to_a_column_interrupts_no_sentence() -> None:
    left = paragraph(*[f"The left column says {n}" for n in range(12)], size=9)
    right = paragraph("It was lit in 1874", "by the keeper", "of the light", x=330, size=9)
    text = read(pdf(left + right + image(330, 500, 200, 120)))
    assert re.search(r"says 0\n.*says 11\n.*of the light\n\[picture\]$", text, re.DOTALL)


def test_a_word_that_is_divided_between_lines_drawn_alone_is_one() -> None:
    text = read(pdf(paragraph("The light was inau-", "gurated in 1874.")))
    assert text == "The light was inaugurated in 1874."


def test_many_pages_are_read_in_order_and_each_hides_its_own_text() -> None:
    pages = [
        drawn(f"Lamp {number} was lit.") + drawn("Never lit.", y=500, before="1 g")
        for number in range(20)
    ]

    assert read(pdf(*pages)).split("\n\n") == [f"Lamp {number} was lit." for number in range(20)]


def test_a_layer_that_is_on_is_read() -> None:
    data = pdf(SEEN + in_layer(drawn("Painted in 1950.")), layers=ON, resources=LAYER)
    assert read(data) == "Lit in 1932.\nPainted in 1950."


def test_another_picture_at_the_place_of_an_earlier_one_is_no_logo() -> None:
    chart = image(72, 540, 200, 120)
    next_chart = chart.replace("ID 7z EI", "ID z7 EI")
    assert read(pdf(SEEN + chart, SEEN + next_chart, SEEN + chart)).count("[picture]") == 2


def test_the_recognised_text_of_a_scan_stays_and_a_logo_makes_no_scan() -> None:
    picture = "BI /W 1 /H 1 /CS /G /BPC 8 ID \x80 EI"
    scan = pdf(f"q 595 0 0 842 0 0 cm {picture} Q\n" + drawn("Lit in 1932.", before="3 Tr"))
    assert read(scan) == "Lit in 1932."
    logo = pdf(f"q 50 0 0 50 500 780 cm {picture} Q\n" + SEEN + drawn("1950", before="3 Tr"))
    assert read(logo) == "[picture]\nLit in 1932."


HEAD = ("Bridge", "Opened", "Closed", "Toll")
X = (72, 180, 290, 400)


def test_empty_cells_keep_their_places_in_a_table() -> None:
    rows = [HEAD, ("North", "1932", "", "2"), ("South", "", "1999", "3"), ("East", "", "", "")]
    assert read(pdf(paragraph("The bridges of the harbour", y=740) + table(rows, X))) == (
        "The bridges of the harbour\nBridge | Opened | Closed | Toll\nNorth | 1932 |  | 2"
        "\nSouth |  | 1999 | 3\nEast"
    )
    years = [("", "1931", "1932"), ("North", "", "12"), ("South", "7", "")]
    assert read(pdf(table(years, X))) == " | 1931 | 1932\nNorth |  | 12\nSouth | 7 |".strip()


def test_narrow_columns_of_several_rows_keep_their_places() -> None:
    rows = [("Year", "Ships", "Tons"), ("1932", "", "40"), ("1933", "12", ""), ("1934", "9", "7")]
    text = read(pdf(table(rows, (72, 120, 165))))
    assert text.split("\n")[1:] == ["1932 |  | 40", "1933 | 12 | ", "1934 | 9 | 7"]


def test_a_row_of_a_table_whose_cells_are_drawn_at_once_keeps_its_columns() -> None:
    data = pdf(
        "BT /F1 12 Tf 72 700 Td [(North) -6000 (1932) -6000 (2)] TJ 0 -16 Td"
        " [(South) -6000 (1940) -6000 (3)] TJ ET"
    )
    assert read(data) == "North | 1932 | 2\nSouth | 1940 | 3"


def test_justified_text_is_not_a_table() -> None:
    lines = (
        "The bridge was opened in the year",
        "nineteen hundred and thirty-two",
        "by the mayor of a town on the",
        "coast, who cut ribbons of silk",
    )
    drawn_lines = "".join(
        f"BT /F1 12 Tf {10 + 2 * n} Tw 72 {700 - 15 * n} Td ({line}) Tj ET "
        for n, line in enumerate(lines)
    )
    assert "|" not in read(pdf(drawn_lines))


@pytest.mark.parametrize("step", [1, 5])
@pytest.mark.parametrize("at_once", [True, False])
def test_line_numbers_interrupt_no_sentence(step: int, at_once: bool) -> None:
    lines = [
        "The bridge was opened for the public",
        "on 19 March in the year nineteen hundred",
        "and thirty-two by the mayor of the town, who",
        "cut a ribbon of silk and was then",
        "seen to walk over it with his family.",
    ]
    numbers = [drawn(str(step * (n + 1)), x=40, y=700 - 15 * n) for n in range(len(lines))]
    texts = [drawn(line, y=700 - 15 * n) for n, line in enumerate(lines)]
    pairs = zip(numbers, texts, strict=True)
    order = [*texts, *numbers] if at_once else [part for pair in pairs for part in pair]
    assert read(pdf("".join(order))).split("\n") == lines


def test_numbers_of_rows_stay() -> None:
    rows = [
        (str(n), name, str(1930 + n))
        for n, name in enumerate(("North", "South", "East", "West"), 1)
    ]
    assert read(pdf(table(rows, X))).split("\n")[0] == "1 | North | 1931"


HEADS = {
    "the same on each page": ("Annual Report 1950", "Annual Report 1950"),
    "with the page's number": ("Annual Report 1950    7", "Annual Report 1950    8"),
    "with the number first": ("7 Annual Report 1950", "8 Annual Report 1950"),
}
FEET = {
    "named": ("Page 7 of 9", "Page 8 of 9"),
    "of all": ("7/9", "8/9"),
    "alone": ("7", "8"),
    "between dashes": ("- 7 -", "- 8 -"),
    "roman": ("vii", "viii"),
}


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("foot", FEET)
def test_heads_and_feet_interrupt_no_sentence(head: str, foot: str) -> None:
    bodies = (
        paragraph("The towers took three years.", "The bridge was opened on 19"),
        paragraph("March 1932 by the mayor.", "It was painted grey."),
    )
    pages = [
        drawn(top, y=800, size=9) + body + drawn(bottom, x=280, y=40, size=9)
        for top, body, bottom in zip(HEADS[head], bodies, FEET[foot], strict=True)
    ]
    text = read(pdf(*pages))
    assert re.search(r"on 19\s+March 1932", text)
    assert text.startswith(("Annual Report 1950", "7 Annual"))


def test_a_foot_that_the_file_draws_first_interrupts_no_sentence_either() -> None:
    foot = drawn("Harbour Board - 1950", y=40)
    first = foot + paragraph("The towers took three years.", "The bridge was opened on 19")
    second = foot + paragraph("March 1932 by the mayor.", "It was painted grey.")
    assert re.search(r"on 19\s+March 1932", read(pdf(first, second)))


def test_years_at_the_end_of_pages_are_not_page_numbers() -> None:
    pages = (paragraph("The lamp", "was lit in", year) for year in ("1874", "1932"))
    assert read(pdf(*pages)).count("1874") == 1
    assert "1932" in read(pdf(*(paragraph("The lamp", "was lit in", y) for y in ("1874", "1932"))))


@pytest.mark.parametrize("turn", [".7 .7 -.7 .7 150 600 cm", "1 0 0 1 80 650 cm"])
def test_a_watermark_interrupts_no_sentence(turn: str) -> None:
    lines = [f"The bridge number {n} was opened in the year 19{n}" for n in range(30, 40)]
    mark = f"q {turn} .85 g BT /F1 60 Tf 0 0 Td (DRAFT 1950) Tj ET Q\n"
    texts = [drawn(line, y=720 - 15 * n) for n, line in enumerate(lines)]
    text = read(pdf("".join([*texts[:5], mark, *texts[5:]])))
    assert text.split("\n") == ["DRAFT 1950", *lines]


def test_a_raised_term_is_marked_and_a_raised_ending_is_not() -> None:
    power = drawn("x") + drawn("n+1", x=79, y=705, size=7) + drawn("is 1", x=92)
    ordinal = drawn("1", y=660) + drawn("st", x=79, y=665, size=7) + drawn("of May", x=92, y=660)
    assert read(pdf(power + ordinal)) == "x^n+1 is 1\n1st of May"


def test_a_raised_letter_is_marked_at_the_end_of_every_line() -> None:
    lines = (
        drawn("It takes 2", y=700) + drawn("n", x=124, y=705, size=7),
        drawn("steps, and at most 3", y=680) + drawn("n", x=184, y=685, size=7),
    )

    assert read(pdf("".join(lines))).count("^n") == 2


HELVETICA = {**dict.fromkeys("li", 222), "t": 278, "r": 333, "k": 500, **dict.fromkeys("nadg", 556)}
"""Widths of letters, in thousandths of the font size."""


def test_two_objects_with_white_space_between_them_are_two_words() -> None:
    gaps = {"lit": 0.0, "in": 2.2, "dark": 2.4, "again": 3.0}
    x, operators = 72.0, ""
    for word, gap in gaps.items():
        x += gap
        operators += drawn(word, x=round(x, 2))
        x += 12 * sum(HELVETICA[letter] for letter in word) / 1000
    assert read(pdf(operators)) == "lit in dark again"


def test_hyphens_of_long_compounds_and_of_code_survive_the_end_of_a_line() -> None:
    lines = (
        "It is hard to tell a hard-",
        "to-find lamp from inter-",
        "national-level ones, as <&digit-",
        "moves accord-",
        "ingly. From day-to-",
        "day work to well-estab-",
        "lished rules in a day.",
    )
    text = "".join(drawn(line, y=700 - 14 * number) for number, line in enumerate(lines))
    shown = read(pdf(text)).replace("\n", " ")
    assert "hard-to-find lamp from international-level ones, as <&digit-moves accordingly." in shown
    assert "From day-to-day work to well-established rules" in shown


def test_a_small_line_below_a_large_letter_is_no_subscript() -> None:
    index = drawn("T", size=14) + drawn("temporary overrides", x=72.5, y=687, size=9)
    assert "T\ntemporary" in read(pdf(index))


def test_untranslated_ligatures_of_tex_s_fonts_are_read() -> None:
    assert read(pdf(drawn("A di\\033erence, \\034rst, o\\013ers"))) == "A difference, first, offers"


def test_white_space_counts_where_pdfium_breaks_a_line() -> None:
    power = drawn("x", x=72) + drawn("2", x=78.5, y=705, size=8) + drawn("= 9 means", x=88)
    assert read(pdf(power + drawn("x", x=152))) == "x^2 = 9 means x"


def test_a_cell_that_reaches_into_the_next_one_is_a_word_by_itself() -> None:
    cells = "BT /F1 12 Tf 72 700 Td (secret-helpers) Tj 68 0 Td (V694) Tj ET\n"
    assert "secret-helpers V694" in read(pdf(cells))


def test_lines_that_differ_by_an_amount_are_no_running_heads() -> None:
    pages = [
        drawn("Invoice", y=780)
        + drawn("A lamp and a lens", y=700)
        + drawn("for the light", y=680)
        + drawn(f"Amount due: {amount}", y=40)
        for amount in (50, 1870, 90)
    ]
    text = read(pdf(*pages))
    assert [line for line in text.split("\n") if line.startswith("Amount")] == [
        "Amount due: 50",
        "Amount due: 1870",
        "Amount due: 90",
    ]
    assert text.count("Invoice") == 1
