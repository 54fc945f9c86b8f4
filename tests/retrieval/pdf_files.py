"""Small PDFs for tests, each from the operators that draw its pages."""

from collections.abc import Sequence


def pdf(
    *pages: str,
    layers: str = "",
    resources: str = "",
    box: str = "0 0 595 842",
    page: str = "",
    more: Sequence[str] = (),
) -> bytes:
    """A PDF with a page for each text of operators; ``/F1`` is Helvetica.

    ``layers`` goes into the catalog, ``resources`` and ``page`` into each page; ``box`` is the page
    size. The objects ``more`` are numbered from 7 on if there is one page.
    """
    kids = " ".join(f"{5 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        f"<< /Type /Catalog /Pages 2 0 R {layers} >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        "<< /Type /OCG /Name (Draft) >>",
    ]
    for number, drawn in enumerate(pages):
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [{box}] /Contents {6 + 2 * number} 0 R {page}"
            f" /Resources << /Font << /F1 3 0 R >> {resources} >> >>",
            f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream",
        ]
    objects += more
    body, places = "%PDF-1.7\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(body))
        body += f"{number} 0 obj\n{content}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    return (
        f"{body}xref\n0 {size}\n0000000000 65535 f \n{table}"
        f"trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{len(body)}\n%%EOF\n"
    ).encode("latin-1")


def drawn(text: str, x: float = 72, y: float = 700, size: float = 12, before: str = "") -> str:
    """The operators that draw a line of text at a place, after the operators ``before``."""
    return f"q {before} BT /F1 {size} Tf {x} {y} Td ({text}) Tj ET Q\n"


def paragraph(*lines: str, x: float = 72, y: float = 700, size: float = 12) -> str:
    """The operators that draw lines below each other."""
    return "".join(drawn(line, x, y - 15 * number, size) for number, line in enumerate(lines))


def table(rows: Sequence[Sequence[str]], x: Sequence[float], y: float = 700) -> str:
    """The operators that draw the cells of a table; an empty one draws nothing."""
    return "".join(
        drawn(cell, left, y - 16 * number)
        for number, row in enumerate(rows)
        for cell, left in zip(row, x, strict=False)
        if cell
    )
