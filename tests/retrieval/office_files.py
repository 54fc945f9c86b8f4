"""Files of spreadsheets and slides, made by the libraries that write them or part by part."""

from collections.abc import Callable
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile

from openpyxl import Workbook
from openpyxl.worksheet.worksheet import Worksheet

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108000000003a7e9b550000000a49444154789c63680000"
    "00820081dd436af40000000049454e44ae426082"
)
"""A picture (PNG) of one dot."""


def packed(parts: dict[str, str]) -> bytes:
    """A file with these parts."""
    made = BytesIO()
    with ZipFile(made, "w", ZIP_DEFLATED) as file:
        for name, part in parts.items():
            file.writestr(name, part)
    return made.getvalue()


def workbook(fill: Callable[[Workbook, Worksheet], None]) -> bytes:
    """A workbook as openpyxl writes it, whose first sheet is named Log."""
    book, made = Workbook(), BytesIO()
    sheet = book.worksheets[0]
    sheet.title = "Log"
    fill(book, sheet)
    book.save(made)
    return made.getvalue()


def rows_of(*rows: tuple[object, ...]) -> bytes:
    """A workbook with these rows."""

    def fill(_: Workbook, sheet: Worksheet) -> None:
        for row in rows:
            sheet.append(row)

    return workbook(fill)


def sheet_parts(rows: str, beside: str = "", **parts: str) -> bytes:
    """A workbook with a sheet of these rows, part by part; parts such as ``styles`` by name."""
    related = "".join(
        f'<Relationship Id="{name}" Type="http://x/{name}" Target="{name}.xml"/>' for name in parts
    )
    return packed(
        {
            "xl/workbook.xml": '<workbook xmlns:r="r"><sheets><sheet name="Log" r:id="s"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": f'<Relationships><Relationship Id="s" Type="http://x/worksheet" Target="s.xml"/>{related}</Relationships>',
            "xl/s.xml": f"<worksheet><sheetData>{rows}</sheetData>{beside}</worksheet>",
            **{f"xl/{name}.xml": part for name, part in parts.items()},
        }
    )
