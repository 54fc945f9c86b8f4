"""Workbooks are read as Excel shows their visible sheets."""

from datetime import date, datetime
from io import BytesIO
from zipfile import ZipFile

import pytest
from openpyxl import Workbook
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.chart import BarChart, Reference
from openpyxl.comments import Comment
from openpyxl.drawing.image import Image
from openpyxl.styles import Font, PatternFill
from openpyxl.worksheet.worksheet import Worksheet

from conflictscore.retrieval.pages.page import UnreadableError
from conflictscore.retrieval.reading.by_ending import read_file
from conflictscore.retrieval.reading.texts import Note, NoteKind
from tests.retrieval.office_files import PIXEL, packed, parts_of, rows_of, sheet_parts, workbook


def read(data: bytes) -> tuple[list[str], list[Note]]:
    (document,), notes = read_file(data, ".xlsx", "log.xlsx")
    return document.text.split("\n"), notes


def test_a_workbook_is_read_sheet_by_sheet_in_rows_and_columns() -> None:
    def fill(book: Workbook, sheet: Worksheet) -> None:
        book.properties.title = "Bridges of the coast"
        for row in (("Bridge", "Opened", "Toll"), ("Vik", None, 2), ("Poe", 1932, 3.5)):
            sheet.append(row)
        book.create_sheet("Empty")
        book.create_sheet("More")["B2"] = "Ferry,\nlit at dusk"

    lines, notes = read(workbook(fill))
    assert lines == [
        "Log",
        "Bridge | Opened | Toll",
        "Vik |  | 2",
        "Poe | 1932 | 3.5",
        "",
        "More",
        "Ferry, lit at dusk",
    ]
    assert notes == []
    (document,), _ = read_file(workbook(fill), ".xlsx", "log.xlsx")
    assert document.title == "Bridges of the coast"


def test_numbers_and_dates_are_written_by_their_formats() -> None:
    shown = {
        "d mmm yyyy": (date(1932, 3, 9), "9 Mar 1932"),
        "mm-dd-yy": (date(1932, 3, 9), "1932-03-09"),
        "d.m.yy h:mm": (datetime.fromisoformat("1932-03-09T17:05"), "9.3.32 17:05"),
        '#,##0.00 "kr"': (1234.5, "1,234.50 kr"),
        "0%": (0.125, "13%"),
        "000000": (42, "000042"),
        "General": (0.1 + 0.2, "0.3"),
    }

    def fill(_: Workbook, sheet: Worksheet) -> None:
        for number, (code, (stored, _shown)) in enumerate(shown.items(), 1):
            sheet.cell(number, 1, stored).number_format = code
        sheet.append([True])
        sheet.append(["#N/A"])

    lines, _ = read(workbook(fill))
    assert lines[1:] == [*(text for _, text in shown.values()), "TRUE", "#N/A"]


def test_dates_count_from_1904_where_the_workbook_says_so() -> None:
    days = "<row><c s='1'><v>1</v></c></row>"
    styles = "<styleSheet><cellXfs><xf/><xf numFmtId='14'/></cellXfs></styleSheet>"
    data = sheet_parts(days, styles=styles)
    assert read(data)[0][1] == "1900-01-01"
    parts = parts_of(data)
    setting = b"<workbookPr date1904='1'/><sheets>"
    parts["xl/workbook.xml"] = parts["xl/workbook.xml"].replace(b"<sheets>", setting)
    assert read(packed(parts))[0][1] == "1904-01-02"


def test_formulas_are_read_by_their_stored_results() -> None:
    rows = (
        "<row><c><f>1+1</f><v>2</v></c><c t='str'><f>A1</f><v>lit</v></c><c><f>NOW()</f><v/></c>"
        "<c t='str'><f>A2</f><v></v></c></row>"
    )
    lines, notes = read(sheet_parts(rows))
    assert lines == ["Log", "2 | lit | [formula]"]
    assert [note.kind for note in notes] == [NoteKind.NOT_IN_WORDS]
    assert notes[0] == "log.xlsx: left out a formula without a stored result"


def test_hidden_sheets_rows_and_columns_are_left_out_and_noted() -> None:
    def fill(book: Workbook, sheet: Worksheet) -> None:
        for row in (("Vik", 1932, "north"), ("Old", 1950, "x"), ("Poe", 1940, "south")):
            sheet.append(row)
        sheet.row_dimensions[2].hidden = True
        sheet.column_dimensions["C"].hidden = True
        for name, state in (("Draft", "hidden"), ("Secret", "veryHidden")):
            other = book.create_sheet(name)
            other["A1"], other.sheet_state = "1951", state

    lines, notes = read(workbook(fill))
    assert lines == ["Log", "Vik | 1932", "Poe | 1940"]
    assert [note.kind for note in notes] == [NoteKind.UNSEEN]
    assert notes[0] == (
        "log.xlsx: hidden parts are left out: the sheets “Draft”, “Secret”, 1 row, 1 column"
    )


@pytest.mark.parametrize("damage", ["<worksheet", b"\xff", None])
def test_sheets_that_are_missing_or_damaged_are_named_in_a_note(damage: str | bytes | None) -> None:
    def fill(book: Workbook, sheet: Worksheet) -> None:
        sheet.append(("Vik", 1932))
        for number in range(2):
            book.create_sheet(f"Tolls {number}").append(("Poe", 1940))

    parts: dict[str, str | bytes] = {**parts_of(workbook(fill))}
    for name in ("xl/worksheets/sheet2.xml", "xl/worksheets/sheet3.xml"):
        if damage is None:
            del parts[name]
        else:
            parts[name] = damage
    lines, notes = read(packed(parts))
    assert lines == ["Log", "Vik | 1932"]
    assert [note.kind for note in notes] == [NoteKind.PAGES_WITHOUT_TEXT]
    assert notes[0].startswith("log.xlsx: the sheets “Tolls 0”, “Tolls 1” are missing or damaged")


def test_a_sheet_that_cannot_be_unpacked_is_named_in_a_note() -> None:
    def fill(book: Workbook, sheet: Worksheet) -> None:
        sheet.append(("Vik", 1932))
        book.create_sheet("Tolls").append(("Poe", 1940))

    whole = workbook(fill)
    with ZipFile(BytesIO(whole)) as file:
        place = file.getinfo("xl/worksheets/sheet2.xml").header_offset
    # the first letters after the local header and the name
    begin = place + 30 + len("xl/worksheets/sheet2.xml")
    lines, notes = read(whole[:begin] + b"\xff" * 20 + whole[begin + 20 :])
    assert lines == ["Log", "Vik | 1932"]
    assert notes[0].startswith("log.xlsx: the sheet “Tolls” is missing or damaged")


def test_struck_and_white_texts_are_left_out_and_signs_written() -> None:
    def fill(_: Workbook, sheet: Worksheet) -> None:
        sheet.append(["1950", "1932", "white", "on red", "white", "þ", ";;;", 5])
        sheet["A1"].font = Font(strike=True)
        sheet["C1"].font = Font(color="FFFFFFFF")
        sheet["D1"].font = Font(color="FFFFFFFF")
        sheet["D1"].fill = PatternFill("solid", fgColor="FFFF0000")
        sheet["E1"].number_format = sheet["H1"].number_format = ";;;"
        sheet["F1"].font = Font(name="Wingdings")
        half_struck = TextBlock(InlineFont(strike=True), "1950")
        raised = TextBlock(InlineFont(vertAlign="superscript"), "2")
        sheet["I1"] = CellRichText([half_struck, "10 m", raised])

    lines, notes = read(workbook(fill))
    assert lines == ["Log", "1932 | on red | ☑ | ;;; | 10 m^2"]
    assert notes == []


def test_merged_cells_are_repeated_and_a_title_stands_alone() -> None:
    def fill(_: Workbook, sheet: Worksheet) -> None:
        for row in (("Tolls of the coast",), ("", 1932, "", 1933), ("Bridge", "in", "out", "in")):
            sheet.append(row)
        for tolls in (("Vik", 1, 2, 3), (None, 4, 5, 6)):
            sheet.append(tolls)
        for cells in ("A1:D1", "B2:C2", "A4:A5"):
            sheet.merge_cells(cells)
        for number in range(6, 200):
            sheet.append([f"Bridge {number}", 1, 2, 3])

    lines, _ = read(workbook(fill))
    header = [" | 1932 | 1932 | 1933", "Bridge | in | out | in"]
    assert lines[:6] == ["Log", "Tolls of the coast", *header, "Vik | 1 | 2 | 3", "Vik | 4 | 5 | 6"]
    again = lines.index(header[0], 4)
    assert lines[again + 1] == header[1]
    assert len("\n".join(lines[4:again])) < 1_500


def test_a_table_below_another_has_its_own_header_or_the_one_above() -> None:
    rows = [
        ("Bridge", "Opened"),
        ("Vik", 1.5),
        (),
        ("Poe", 2.5),
        (),
        ("Ferry", "Boats"),
        ("Ann", 3),
    ]
    assert read(rows_of(*rows))[0][1:] == [
        "Bridge | Opened",
        "Vik | 1.5",
        "Bridge | Opened",
        "Poe | 2.5",
        "Ferry | Boats",
        "Ann | 3",
    ]


def test_pictures_charts_comments_and_text_boxes_are_marked_or_read() -> None:
    def fill(_: Workbook, sheet: Worksheet) -> None:
        sheet.append(["Toll", 1, 2])
        sheet["A1"].comment = Comment("who says?", "Poe")
        chart = BarChart()
        chart.title = "Tolls"
        chart.add_data(Reference(sheet, min_col=2, min_row=1))
        sheet.add_chart(chart, "D9")
        sheet.add_image(Image(BytesIO(PIXEL)), "D2")

    lines, notes = read(workbook(fill))
    assert lines == ["Log", "Toll | 1 | 2", "[picture: Picture]", "[chart: Tolls]"]
    assert notes == ["log.xlsx: left out a picture, a chart, a comment"]
    box = "<a><twoCellAnchor><sp><nvSpPr><cNvPr/></nvSpPr><txBody><p><r><t>Lit 1932</t></r></p></txBody></sp></twoCellAnchor></a>"
    related = '<Relationships><Relationship Id="d" Type="http://x/drawing" Target="d.xml"/></Relationships>'
    parts = parts_of(sheet_parts("<row/>"))
    data = packed({**parts, "xl/d.xml": box, "xl/_rels/s.xml.rels": related})
    assert read(data)[0] == ["Log", "Lit 1932"]


def test_cells_without_places_and_with_wrong_ones_are_read() -> None:
    rows = (
        "<row r='3'><c t='inlineStr'><is><r><t>a</t></r><rPh><t>x</t></rPh></is></c><c><v>1</v></c>"
        "<c r='ZZZZ1'><v>2</v></c></row><row><c t='s'><v>0</v></c><c t='d'><v>1932-03-09T00:00:00</v></c></row>"
    )
    strings = "<sst><si><t>b_x000D_c</t></si></sst>"
    assert read(sheet_parts(rows, sharedStrings=strings))[0] == [
        "Log",
        "a | 1 | 2",
        "b c | 1932-03-09 |",
    ]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"lit in 1932", "is not an XLSX that can be read"),
        (b"\xd0\xcf\x11\xe0", "locked by a password, or a .xls"),
        (sheet_parts("<row/>")[:-60], "is not an XLSX that can be read"),
        (packed({"a": "b"}), "has no workbook"),
        (sheet_parts("<row/>"), "has no text"),
        (sheet_parts("<!DOCTYPE x><row/>"), "declares entities"),
        (sheet_parts("<row"), "the sheet “Log” cannot be read"),
        (sheet_parts("<row><c t='s'><v>7</v></c></row>"), "is not an XLSX that can be read"),
        (sheet_parts("".join(f"<row><c r='{a}{b}{n}'><v>1</v></c></row>" for n, a in enumerate("ABCDEFGHIJKLMNOPQRSTUVW" * 20, 1) for b in "ABCDEFGHIJKLMNOPQRSTUVWXYZ")), "more than 5,000,000 cells"),
        (sheet_parts("<row>" + "<c t='s'><v>0</v></c>" * 3_000 + "</row>", sharedStrings=f"<sst><si><t>{'a' * 10_000}</t></si></sst>"), "more than 20,000,000 characters"),
        (sheet_parts("<row><c><v>1</v></c></row>" * 100, "<mergeCells>" + "<mergeCell ref='A1:XFD1048576'/>" * 60 + "</mergeCells>"), "merged cells cover more than 5,000,000 places"),
        (packed({"xl/workbook.xml": " " * 100_000_001}), "unpacks to more than 100 MB"),
    ],
    ids=range(12),
)  # fmt: skip
def test_what_is_no_workbook_or_too_large_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableError, match=reason):
        read_file(data, ".xlsx", "log.xlsx")


def test_check_boxes_are_read_by_their_state() -> None:
    controls = "".join(
        f"<control shapeId='{n}' r:id='{kind}'/>" for n, kind in ((1, "on"), (2, "off"))
    )
    texts = "".join(
        f"<twoCellAnchor><sp><nvSpPr><cNvPr id='{n}' hidden='1'/></nvSpPr><txBody><p><r><t>{text}</t></r></p></txBody></sp></twoCellAnchor>"
        for n, text in ((1, "Dogs"), (2, "Cats"))
    )
    relations = "".join(
        f'<Relationship Id="{name}" Type="http://x/{kind}" Target="{name}.xml"/>'
        for name, kind in (("on", "ctrlProp"), ("off", "ctrlProp"), ("d", "drawing"))
    )
    data = packed(
        {
            "xl/workbook.xml": "<workbook xmlns:r='r'><sheets><sheet name='Log' r:id='s'/></sheets></workbook>",
            "xl/_rels/workbook.xml.rels": "<Relationships><Relationship Id='s' Type='http://x/worksheet' Target='s.xml'/></Relationships>",
            "xl/s.xml": f"<worksheet xmlns:r='r'><sheetData><row><c><v>5</v></c></row></sheetData><controls>{controls}</controls></worksheet>",
            "xl/_rels/s.xml.rels": f"<Relationships>{relations}</Relationships>",
            "xl/on.xml": "<formControlPr objectType='CheckBox' checked='Checked'/>",
            "xl/off.xml": "<formControlPr objectType='CheckBox'/>",
            "xl/d.xml": f"<wsDr>{texts}</wsDr>",
        }
    )
    assert read(data)[0] == ["Log", "5", "☒ Dogs", "☐ Cats"]
