"""One rule for every format, as in the guide's table: visible text is read, and nothing else."""

import json
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from conflictscore.errors import InputError
from conflictscore.retrieval.document_files import read_documents
from conflictscore.retrieval.pages.page import UnreadableError
from conflictscore.retrieval.reading.by_ending import read_file
from conflictscore.retrieval.reading.texts import NoteKind
from tests.retrieval.office_files import (
    book,
    odt,
    rows_of,
    rtf,
    sheet_parts,
    slide_parts,
    with_second,
)
from tests.retrieval.pdf_files import drawn, pdf, table
from tests.retrieval.test_docx import cell, docx, p, run
from tests.retrieval.test_message import mail

pytest.importorskip("pypdfium2")

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "documents.md"


class Cell(NamedTuple):
    """A file, the text that is read and the text that is not, and the kind of the note."""

    data: bytes
    text: str
    unseen: str = ""
    note: NoteKind | None = None


SOME_ROWS = [("Bridge", "Opened", "Toll"), ("Vik", "", "2"), ("Poe", "1932", "3")]
X = (72, 200, 300)
ROWS = "".join(f"<w:tr>{''.join(map(cell, row))}</w:tr>" for row in SOME_ROWS)
IMAGE = "q 200 0 0 100 72 500 cm BI /W 2 /H 1 /CS /G /BPC 8 ID 7z EI Q\n"
PICTURE = "<w:r><w:drawing><inline><docPr descr='mast'/><pic/></inline></w:drawing></w:r>"
POWER = "<m:oMath><m:sSup><m:e><m:r><m:t>10</m:t></m:r></m:e><m:sup><m:r><m:t>6</m:t></m:r></m:sup></m:sSup></m:oMath>"
NUMBERING = (
    "<w:abstractNum w:abstractNumId='0'><w:lvl w:ilvl='0'><w:start w:val='1'/><w:numFmt w:val='decimal'/>"
    "<w:lvlText w:val='Article %1.'/></w:lvl></w:abstractNum><w:num w:numId='1'><w:abstractNumId w:val='0'/></w:num>"
)
CLAUSE = "<w:pPr><w:numPr><w:ilvl w:val='0'/><w:numId w:val='1'/></w:numPr></w:pPr>"
SYMBOL = "/Font << /F1 3 0 R /S << /Type /Font /Subtype /Type1 /BaseFont /Symbol >> >>"


def page(number: int, *lines: str) -> str:
    """A page with a head, a foot and these lines between them."""
    foot = drawn(f"Page {number} of 2", y=40)
    return (
        drawn("Log", y=800) + "".join(drawn(a, y=700 - 15 * n) for n, a in enumerate(lines)) + foot
    )


def slide_text(text: str) -> str:
    """A text box of a slide."""
    return f"<sp><nvSpPr><cNvPr/></nvSpPr><txBody><p><r><t>{text}</t></r></p></txBody></sp>"


def slide_table() -> str:
    """The table of a slide."""
    texts = [
        f"<tc><txBody><p><r><t>{text}</t></r></p></txBody></tc>"
        for row in SOME_ROWS
        for text in row
    ]
    rows = "".join(f"<tr>{''.join(texts[n : n + 3])}</tr>" for n in (0, 3, 6))
    return f"<graphicFrame><graphic><graphicData><tbl>{rows}</tbl></graphicData></graphic></graphicFrame>"


MARKED, NOTED = NoteKind.NOT_IN_WORDS, NoteKind.ENCODING
HALF = "Brücke " * 9

CELLS = {
    ("tables", ".html"): Cell(b"<table><tr><th>Bridge<th>Opened<th>Toll<tr><td>Vik<td><td>2</table>", "Vik |  | 2"),
    ("tables", ".md"): Cell(b"| Bridge | Opened |\n|--|--|\n| Vik | |", "| Vik | |"),
    ("tables", ".docx"): Cell(docx(f"<w:tbl>{ROWS}</w:tbl>"), "Vik |  | 2"),
    ("tables", ".pdf"): Cell(pdf(table(SOME_ROWS, X)), "Vik |  | 2"),
    ("tables", ".csv"): Cell(b"title,text\nVik,opened 1932\n", "opened 1932"),
    ("tables", ".jsonl"): Cell(b'{"text": "opened 1932"}', "opened 1932"),
    ("tables", ".txt"): Cell(b"Vik  1932\nPoe  1940", "Vik  1932\nPoe  1940"),
    ("invisible text", ".html"): Cell(b"<p>1932<p hidden>1950", "1932", "1950"),
    ("invisible text", ".md"): Cell(b"1932 <!-- 1950 -->", "1932", "1950"),
    ("invisible text", ".docx"): Cell(docx(p(run("1932"), run("1950", "<w:vanish/>"))), "1932", "1950"),
    ("invisible text", ".pdf"): Cell(pdf(drawn("1932") + drawn("1950", y=600, before="1 g")), "1932", "1950"),
    ("invisible text", ".txt"): Cell(b"\x1b[1m1932\x1b[0m", "1932", "[1m"),
    ("struck text", ".html"): Cell(b"<p><s>1950</s> 1932", "1932", "1950"),
    ("struck text", ".md"): Cell(b"~~1950~~ 1932", "1932", "1950"),
    ("struck text", ".docx"): Cell(docx(p(run("1950", "<w:strike/>"), run("1932"))), "1932", "1950"),
    ("struck text", ".pdf"): Cell(pdf(drawn("1932") + "70 704 m 120 704 l S\n"), "1932"),
    ("pictures", ".html"): Cell(b"<p>a</p><p><img src=a alt='a mast'></p>", "[image: a mast]", "", MARKED),
    ("pictures", ".md"): Cell(b"a\n\n![a mast](a.png)", "[image: a mast]", "", MARKED),
    ("pictures", ".docx"): Cell(docx(p(PICTURE, run("a"))), "[picture: mast]a", "", MARKED),
    ("pictures", ".pdf"): Cell(pdf(drawn("1932") + IMAGE), "1932\n[picture]", "", MARKED),
    ("formulas", ".html"): Cell(b"<p><math><msup><mn>10</mn><mn>6</mn></msup></math>", "10^6"),
    ("formulas", ".md"): Cell(b"so $10^6$", "$10^6$"),
    ("formulas", ".docx"): Cell(docx(p(POWER)), "10^6"),
    ("formulas", ".pdf"): Cell(pdf(drawn("10") + drawn("6", x=86, y=705, size=7)), "10^6"),
    ("list numbers", ".html"): Cell(b"<ol start=4><li>Toll</ol>", "4. Toll"),
    ("list numbers", ".md"): Cell(b"4. Toll\n4. Dogs", "5. Dogs"),
    ("list numbers", ".docx"): Cell(docx(p(CLAUSE, run("Toll")), numbering=NUMBERING), "Article 1. Toll"),
    ("list numbers", ".pdf"): Cell(pdf(drawn("4. Toll")), "4. Toll"),
    ("symbols and checkboxes", ".html"): Cell(b"<p><input type=checkbox checked> lit", "\u2611 lit"),
    ("symbols and checkboxes", ".md"): Cell(b":x: lit", "\u274c lit"),
    ("symbols and checkboxes", ".docx"): Cell(docx(p(run("5 "), "<w:r><w:sym w:font='Symbol' w:char='F06D'/></w:r>", run("g"))), "5 \u03bcg"),
    ("symbols and checkboxes", ".pdf"): Cell(pdf("BT /S 12 Tf 72 700 Td (a) Tj ET\n", resources="").replace(b"/Font << /F1 3 0 R >>", SYMBOL.encode()), "\u03b1"),
    ("page headers and numbers", ".docx"): Cell(docx(p(run("a")) + "<w:sectPr><w:headerReference r:id='header1'/></w:sectPr>", header1=p(run("Log"))), "Log\na"),
    ("page headers and numbers", ".pdf"): Cell(pdf(page(1, "The lamp was lit", "on 19"), page(2, "March 1932", "by Poe")), "on 19\n\nMarch 1932", "Page"),
    ("tables", ".eml"): Cell(mail("<table><tr><td>Vik<td><td>2</table>"), "Vik |  | 2"),
    ("invisible text", ".eml"): Cell(mail("<p>1932<p style='display:none'>1950"), "1932", "1950"),
    ("struck text", ".eml"): Cell(mail("<p><s>1950</s> 1932"), "1932", "1950"),
    ("pictures", ".eml"): Cell(mail("<p>a <img src='cid:a' alt='a mast'>"), "a [image: a mast]", "", MARKED),
    ("list numbers", ".eml"): Cell(mail("<ol start=4><li>Toll</ol>"), "4. Toll"),
    ("symbols and checkboxes", ".eml"): Cell(mail("<input type=checkbox checked> lit"), "\u2611 lit"),
    ("damaged content", ".eml"): Cell(mail("Brücke " * 9, "text/plain", b"\xfc"), "Brücke \ufffd", "", NOTED),
    ("tables", ".xlsx"): Cell(rows_of(("Bridge", "Opened", "Toll"), ("Vik", None, 2)), "Vik |  | 2"),
    ("invisible text", ".xlsx"): Cell(sheet_parts("<row><c><v>1932</v></c></row><row hidden='1'><c><v>1950</v></c></row>"), "1932", "1950", NoteKind.UNSEEN),
    ("struck text", ".xlsx"): Cell(sheet_parts("<row><c t='inlineStr'><is><r><rPr><strike/></rPr><t>1950</t></r><r><t>1932</t></r></is></c></row>"), "1932", "1950"),
    ("pictures", ".xlsx"): Cell(sheet_parts("<row><c><v>1932</v></c><c t='e' vm='1'><v>#VALUE!</v></c></row>"), "1932 | [picture]", "", MARKED),
    ("symbols and checkboxes", ".xlsx"): Cell(sheet_parts("<row><c t='inlineStr'><is><r><rPr><rFont val='Wingdings'/></rPr><t>\u00fe</t></r></is></c></row>"), "\u2611"),
    ("damaged content", ".xlsx"): Cell(with_second(sheet_parts("<row><c><v>1932</v></c></row>"), "<"), "1932", "", NoteKind.PAGES_WITHOUT_TEXT),
    ("tables", ".pptx"): Cell(slide_parts(slide_table()), "Vik |  | 2"),
    ("invisible text", ".pptx"): Cell(slide_parts(slide_text("1932") + slide_text("1950").replace("<cNvPr/>", "<cNvPr hidden='1'/>")), "1932", "1950"),
    ("struck text", ".pptx"): Cell(slide_parts(slide_text("1950</t></r><r><t>1932").replace("<r>", "<r><rPr strike='sngStrike'/>", 1)), "1932", "1950"),
    ("pictures", ".pptx"): Cell(slide_parts("<pic><nvPicPr><cNvPr descr='a mast'/></nvPicPr></pic>"), "[picture: a mast]", "", MARKED),
    ("formulas", ".pptx"): Cell(slide_parts(slide_text(f"</t></r><m>{POWER.replace('m:', '')}</m><r><t>")), "10^6"),
    ("list numbers", ".pptx"): Cell(slide_parts(slide_text("Toll").replace("<p>", "<p><pPr><buAutoNum startAt='4'/></pPr>")), "4. Toll"),
    ("symbols and checkboxes", ".pptx"): Cell(slide_parts(slide_text("\u00fe").replace("<r>", "<r><rPr><latin typeface='Wingdings'/></rPr>")), "\u2611"),
    ("page headers and numbers", ".pptx"): Cell(slide_parts(slide_text("a") + slide_text("7").replace("<nvSpPr>", "<nvSpPr><nvPr><ph type='sldNum'/></nvPr>") + slide_text("Log").replace("<nvSpPr>", "<nvSpPr><nvPr><ph type='ftr'/></nvPr>")), "a\nLog", "7"),
    ("damaged content", ".pptx"): Cell(with_second(slide_parts(slide_text("1932")), "<"), "1932", "", NoteKind.PAGES_WITHOUT_TEXT),
    ("tables", ".epub"): Cell(book("<table><tr><td>Vik</td><td/><td>2</td></tr></table>"), "Vik |  | 2"),
    ("invisible text", ".epub"): Cell(book("<p>1932</p><p class='a'>1950</p>", styles=".a { display: none }"), "1932", "1950"),
    ("struck text", ".epub"): Cell(book("<p><s>1950</s> 1932</p>"), "1932", "1950"),
    ("pictures", ".epub"): Cell(book("<p>a <img src='a' alt='a mast'/></p>"), "a [image: a mast]", "", MARKED),
    ("formulas", ".epub"): Cell(book("<p><math><msup><mn>10</mn><mn>6</mn></msup></math></p>"), "10^6"),
    ("list numbers", ".epub"): Cell(book("<ol start='4'><li>Toll</li></ol>"), "4. Toll"),
    ("symbols and checkboxes", ".epub"): Cell(book("<p><input type='checkbox' checked='checked'/> lit</p>"), "\u2611 lit"),
    ("damaged content", ".epub"): Cell(book("<p>1932</p>", "<div>" * 3000), "1932", "", NoteKind.NOT_IN_WORDS),
    ("tables", ".odt"): Cell(odt("<table><table-row><table-cell><p>Vik</p></table-cell><table-cell/><table-cell><p>2</p></table-cell></table-row></table>"), "Vik |  | 2"),
    ("invisible text", ".odt"): Cell(odt("<p>1932</p><section display='none'><p>1950</p></section>"), "1932", "1950"),
    ("struck text", ".odt"): Cell(odt("<p><span style-name='a'>1950</span> 1932</p>", "<style family='text' name='a'><text-properties text-line-through-style='solid'/></style>"), "1932", "1950"),
    ("pictures", ".odt"): Cell(odt("<p>a <frame><image/><desc>a mast</desc></frame></p>"), "a [image: a mast]", "", MARKED),
    ("formulas", ".odt"): Cell(odt("<p><frame><object><math><msup><mn>10</mn><mn>6</mn></msup></math></object></frame></p>"), "10^6"),
    ("list numbers", ".odt"): Cell(odt("<list style-name='L'><list-item><p>Toll</p></list-item></list>", "<list-style name='L'><list-level-style-number level='1' num-format='1' num-suffix='.' start-value='4'/></list-style>"), "4. Toll"),
    ("symbols and checkboxes", ".odt"): Cell(odt("<p><span style-name='a'>\u00fe</span></p>", "<style family='text' name='a'><text-properties font-name='Wingdings'/></style>"), "\u2611"),
    ("page headers and numbers", ".odt"): Cell(odt("<p>a</p>", margins="<master-page><header><p>Log</p><p>7</p></header></master-page>"), "Log\na", "7"),
    ("damaged content", ".odt"): Cell(b"PK", ""),
    ("tables", ".rtf"): Cell(rtf(r"\trowd\cellx1\cellx2\cellx3 Vik\cell\cell 2\cell\row"), "Vik |  | 2"),
    ("invisible text", ".rtf"): Cell(rtf(r"1932{\v 1950}"), "1932", "1950"),
    ("struck text", ".rtf"): Cell(rtf(r"1932{\strike 1950}"), "1932", "1950"),
    ("pictures", ".rtf"): Cell(rtf(r"a {\pict 00}"), "a [picture]", "", MARKED),
    ("list numbers", ".rtf"): Cell(rtf(r"{\listtext 4. }Toll"), "4. Toll"),
    ("formulas", ".rtf"): Cell(rtf(r"{\mmath{\*\moMath{\msSup{\me{\mr 10}}{\msup{\mr 6}}}}}"), "10^6"),
    ("symbols and checkboxes", ".rtf"): Cell(rtf(r"{\fonttbl{\f1\fcharset2 Symbol;}}5 {\f1 m}g"), "5 \u03bcg"),
    ("page headers and numbers", ".rtf"): Cell(rtf(r"{\header Log\par 7\par}a"), "Log\na", "7"),
    ("damaged content", ".rtf"): Cell(b"{", ""),
    ("damaged content", ".html"): Cell(b"<meta charset=utf-8><p>" + HALF.encode() + b"\xfc", "Br\u00fccke \ufffd", "", NOTED),
    ("damaged content", ".md"): Cell(HALF.encode() + b"\xfc", "Br\u00fccke \ufffd", "", NOTED),
    ("damaged content", ".docx"): Cell(b"PK", ""),
    ("damaged content", ".pdf"): Cell(b"%PDF-1.7", ""),
    ("damaged content", ".csv"): Cell(b"text,title\n1932,a\nb,c,d,e\n", "1932", "", NoteKind.ROW_LEFT_OUT),
    ("damaged content", ".jsonl"): Cell(b'{"text": "1932"}\n{"text\n', "1932", "", NoteKind.ROW_LEFT_OUT),
    ("damaged content", ".txt"): Cell(HALF.encode() + b"\xfc", "Br\u00fccke \ufffd", "", NOTED),
}  # fmt: skip


@pytest.mark.parametrize(("aspect", "ending"), CELLS)
def test_each_cell_of_the_guide_s_table_holds(aspect: str, ending: str) -> None:
    case = CELLS[aspect, ending]
    if not case.text:
        with pytest.raises(UnreadableError):
            read_file(case.data, ending, f"log{ending}")
        return
    documents, notes = read_file(case.data, ending, f"log{ending}")
    text = "\n".join(document.text for document in documents)
    assert case.text in text
    assert not case.unseen or case.unseen not in text
    assert [note.kind for note in notes] == ([case.note] if case.note else [])


SECTION = "<w:sectPr><w:headerReference r:id='header1'/></w:sectPr>"
REPEATED = {
    ".pdf": pdf(page(1, "The lamp was lit", "on 19"), page(2, "March 1932", "by Poe")),
    ".docx": docx(
        p(f"<w:pPr>{SECTION}</w:pPr>", run("a")) + p(run("b")) + SECTION, header1=p(run("Log"))
    ),
    ".rtf": rtf(r"{\header Log\par}a\par\sect\sectd{\header Log\par}b"),
}


@pytest.mark.parametrize("ending", REPEATED)
def test_a_header_of_several_pages_is_read_once(ending: str) -> None:
    (document,), _ = read_file(REPEATED[ending], ending, f"a{ending}")
    assert document.text.count("Log") == 1


def test_the_guide_s_table_has_these_cells() -> None:
    shown = set()
    endings: list[str] = []
    for line in GUIDE.read_text().split("\n"):
        aspect, *cells = (part.strip() for part in line.strip("|").split("|"))
        if not line.startswith("|"):
            endings = []
        elif re.match(r"\| \| `\.", line):
            endings = [cell.strip("`") for cell in cells]
        elif endings and "---" not in line:
            shown |= {(aspect, ending) for ending, cell in zip(endings, cells, strict=True) if cell}
    assert shown == set(CELLS)


@pytest.mark.parametrize("ending", [".ods", ".doc"])
def test_other_formats_are_refused_by_name(ending: str, tmp_path: Path) -> None:
    file = tmp_path / f"log{ending}"
    file.write_bytes(b"lit")
    with pytest.raises(InputError, match=rf"log\{ending}: its extension is not supported"):
        read_documents([file])


def read(data: str, ending: str) -> tuple[str, str, list[NoteKind]]:
    (document,), notes = read_file(data.encode(), ending, f"log{ending}")
    return document.text, document.title, [note.kind for note in notes]


def test_captions_are_read_as_they_are_said() -> None:
    srt = "1\n00:00:01,000 --> 00:00:02,000\n<i>Lit in</i>\n1874.\n2\n00:00:03,000 --> 00:00:04,000\n{\\an8}Out &amp; dark"
    assert read(srt, ".srt")[0] == "Lit in\n1874.\nOut & dark"
    vtt = (
        "WEBVTT - 1950\n\nNOTE\n1951\n\nSTYLE\n::cue { color: red }\n\nintro\n00:01.000 --> 00:02.000 line:0\n"
        "<v Ann>Lit <c.x>in</c> 1874.</v>\n\n00:02.000 --> 00:03.000\nAnn: Lit in 1874.\nTrue."
    )
    assert read(vtt, ".vtt")[0] == "Ann: Lit in 1874.\nTrue."
    with pytest.raises(UnreadableError, match="has no text"):
        read("WEBVTT\n\nNOTE 1950", ".vtt")


def test_a_notebook_is_read_with_its_code_and_outputs() -> None:
    hidden = {"metadata": {"jupyter": {"source_hidden": True}}}
    outputs = [
        {"output_type": "stream", "text": ["lit ", "1874"]},
        {"data": {"text/html": "<table><tr><td>Vik<td>2</table>", "text/plain": "other"}},
        {"data": {"image/png": "a", "text/plain": "<Figure>"}},
        {"output_type": "error", "ename": "KeyError", "evalue": "'toll'"},
    ]
    cells = [
        {"cell_type": "markdown", "source": ["# The light\n", "<!-- 1950 -->"]},
        {"cell_type": "code", "source": "print(1)", "outputs": outputs},
        {"cell_type": "code", "source": "secret()", "outputs": [], **hidden},
    ]
    text, title, kinds = read(json.dumps({"cells": cells}), ".ipynb")
    assert text.split("\n\n") == [
        "# The light",
        "print(1)",
        "lit 1874",
        "Vik | 2",
        "[image]",
        "KeyError: 'toll'",
    ]
    assert (title, kinds) == ("The light", [NoteKind.NOT_IN_WORDS])
    for damaged in ("{", "[]", '{"cells": 5}'):
        with pytest.raises(UnreadableError, match="is not a notebook"):
            read(damaged, ".ipynb")


def test_captions_have_no_pronunciations_and_outputs_only_what_a_line_shows_in_the_end() -> None:
    captions = "WEBVTT\n\n00:01.000 --> 00:02.000\n<ruby>漢<rt>かん</rt></ruby>字\n"
    (document,), _ = read_file(captions.encode(), ".vtt", "a.vtt")
    assert document.text == "漢字"
    output = {"output_type": "stream", "text": ["10 %\r50 %\rdone\n", "next\r\n"]}
    cell = {"cell_type": "code", "source": "", "outputs": [output]}
    (document,), _ = read_file(json.dumps({"cells": [cell]}).encode(), ".ipynb", "a.ipynb")
    assert document.text == "done\nnext"
