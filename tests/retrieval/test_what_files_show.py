"""Small files of every format, each of one kind, give the text that a person would see."""

import csv
import json
from typing import NamedTuple

import pytest

from conflictscore.errors import InputError
from conflictscore.retrieval.html import style_sheets
from conflictscore.retrieval.html.article import extract
from conflictscore.retrieval.pages.page import FetchedPage, UnreadableError
from conflictscore.retrieval.reading import delimited_rows, rows
from conflictscore.retrieval.reading.by_ending import read_file
from tests.retrieval.office_files import book, odt, packed, rtf, sheet_parts, slide_parts
from tests.retrieval.pdf_files import drawn, pdf
from tests.retrieval.test_docx import cell, docx, p, run
from tests.retrieval.test_message import HEAD, group, typed

LISTS = (
    "<list-style name='L'><list-level-style-number level='1' num-format='1' num-suffix='.' start-value='0'/>"
    "<list-level-style-number level='2' num-format='1'/></list-style>"
    "<list-style name='B'><list-level-style-bullet level='2'/></list-style>"
)
FIELD = "<document xmlns:text='urn:oasis:names:tc:opendocument:xmlns:text:1.0'><body><text><p>See <text:title>The light</text:title>.</p></text></body></document>"
TWO_PICTURES = "".join(f"<pic><nvPicPr><cNvPr descr='{words}'/></nvPicPr></pic>" for words in "ab")
SYMBOL = "<w:rPr><w:rFonts w:ascii='Symbol'/></w:rPr>"
ACCENT = "<m:oMath><m:acc><m:accPr><m:chr m:val='{}'/></m:accPr><m:e><m:r><m:t>x</m:t></m:r></m:e></m:acc></m:oMath>"
PROMPT = f"<w:sdt><w:sdtPr><w:showingPlcHdr/></w:sdtPr><w:sdtContent>{p(run('Click here'))}</w:sdtContent></w:sdt>"
FORMS = f"<mc:AlternateContent><mc:Choice>{p(run('lit'))}</mc:Choice><mc:Fallback>{p(run('lit'))}</mc:Fallback></mc:AlternateContent>"
SOLID = "<w:pPr><w:shd w:val='solid' w:color='000000' w:fill='auto'/></w:pPr>"
COLORS = r"{\colortbl;\red0\green0\blue0;\red255\green0\blue0;}"
LAYERS = "/OCProperties << /OCGs [4 0 R] /D << /OFF [] >> >>"
NOTE = "<< /Type /Annot /Subtype /FreeText {} /Contents ({}) /Rect [0 0 9 9] >>"


def srt(*cues: str) -> str:
    """Captions with these texts, one after another."""
    return "".join(
        f"{place}\n00:00:{place:02},000 --> 00:00:{place:02},900\n{text}\n\n"
        for place, text in enumerate(cues, 1)
    )


def notebook(*cells: object) -> str:
    return json.dumps({"cells": cells})


def output(**forms: object) -> dict[str, object]:
    named = {name.replace("_", "/", 1): form for name, form in forms.items()}
    return {"cell_type": "code", "source": "", "outputs": [{"data": named}]}


def print_book() -> bytes:
    """A book whose only style sheet is for printers."""
    link = '<link rel="stylesheet" media="print" href="a.css"/><p>1932</p>'
    return book(link, styles="", **{"OPS/text/a.css": "p { display: none }"})


class Shown(NamedTuple):
    """A file's ending and bytes, the text that it shows, and a part of its only note."""

    ending: str
    data: bytes | str
    text: str
    note: str = ""


CASES = {
    "answers that captions repeat": Shown(".srt", srt("Was it safe?", "Yes.", "Was it approved?", "Yes."), "Was it safe?\nYes.\nWas it approved?\nYes."),
    "captions that scroll": Shown(".srt", srt("Lit in", "Lit in\n1932", "1932\nby Poe"), "Lit in\n1932\nby Poe"),
    "a cue that begins with a blank": Shown(".vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\n \nLit\n", "Lit"),
    "captions with short times": Shown(".vtt", "WEBVTT\n\na1/12-0\n0:0:3.540 --> 0:0:7.23\n<v Ann>Lit</v>\n", "Ann: Lit"),
    "captions with whole seconds": Shown(".srt", "1\n00:00:01 --> 00:00:02\nLit\n", "Lit"),
    "captions with old line ends": Shown(".vtt", "WEBVTT\r\r00:01.000 --> 00:02.000\rLit\r", "Lit"),
    "thousands in an unquoted text": Shown(".csv", "id,text\n1,It cost 1,250,000 marks\n", "It cost 1,250,000 marks", "read as one text"),
    "rows above a header": Shown(".csv", "Lights of the coast,\n\nname,text\na,Lit in 1932\n", "Lit in 1932", "rows above the header, left out: 1 ('Lights of the coast')"),
    "a backslash at the end of a file": Shown(".csv", 'text\n"C:\\logs\\"', "C:\\logs\\"),
    "the line of a row below a declared separator": Shown(".csv", "sep=;\ntext;url\na;b;c;d\nlit;x\n", "lit", "line 3: the row has 4 cells"),
    "a title with the word hidden": Shown(".md", '<p title="a hidden gem">lit</p>\n\nx <span title="the hidden">1932</span>', "lit\n\n\nx 1932"),
    "types in angle brackets": Shown(".md", "a Map<String, Integer> of<b>it</b>", "a Map<String, Integer> ofit"),
    "a rule above a text": Shown(".md", "---\nIt opened in 1932.\n\nIt is long.\n---\nAfter", "---\nIt opened in 1932.\n\nIt is long.\n---\nAfter"),
    "front matter": Shown(".md", "---\ntitle: Light\ntags:\n- a\n  b\n\n# c\n---\nAfter", "After"),
    "a speaker in brackets": Shown(".md", "As Ann said\n[Ann]: No\n\n[a]: http://x\n", "As Ann said\n[Ann]: No"),
    "the target of a link with its title below": Shown(".md", "[a]: http://x\n  'more'\n\nlit\n\n[^1]: note", "lit\n\n[^1]: note"),
    "a ratio": Shown(".md", "diluted 1:100:200 :x:", "diluted 1:100:200 ❌"),
    "the word image in code and links": Shown(".md", "`a[image]` [images](b)\n\n```\nc[image]\n```", "`a[image]` [images](b)\n\n```\nc[image]\n```"),
    "brackets in a picture's address": Shown(".md", "![mast](a_(b).png) lit", "[image: mast] lit", "a picture not read"),
    "a table beside its picture": Shown(".ipynb", notebook(output(text_html="<table><tr><td>5</table>", image_png="x")), "5"),
    "a chart drawn by a script": Shown(".ipynb", notebook(output(text_html="<script>a</script>")), "[interactive output]", "an interactive output"),
    "a collapsed output": Shown(".ipynb", notebook({"source": "lit", "metadata": {"collapsed": True}, "outputs": [{"text": "1950"}]}), "lit"),
    "an output that cannot be read": Shown(".ipynb", notebook(output(text_html="<div>" * 3000 + "x"), {"source": "lit"}), "[unreadable output]\n\nlit", "an unreadable output"),
    "a merged cell without a first": Shown(".docx", docx(f"<w:tbl><w:tr>{cell('a', '<w:vMerge/>')}{cell('b')}</w:tr></w:tbl>"), "a | b"),
    "two pictures of a group": Shown(".docx", docx(p(f"<w:r><wgp>{TWO_PICTURES}</wgp></w:r>")), "[picture: a][picture: b]", "a picture (2 times)"),
    "a picture in text of the font Symbol": Shown(".docx", docx(p(f"<w:r>{SYMBOL}<inline><docPr descr='mast'/><pic/></inline><w:t>m</w:t></w:r>")), "[picture: mast]μ", "a picture"),
    "a prompt that nobody has answered": Shown(".docx", docx(PROMPT + p(run("lit"))), "lit"),
    "two forms of the same paragraph": Shown(".docx", docx(FORMS), "lit"),
    "a damaged sign": Shown(".docx", docx(p(run("a"), "<w:r><w:sym w:font='Symbol' w:char='zz'/></w:r>")), "a\ufffd", "a symbol of an unknown font"),
    "a plain sign": Shown(".docx", docx(p(run("a"), "<w:r><w:sym w:char='2022'/></w:r>")), "a•"),
    "an accent with a name": Shown(".docx", docx(p(ACCENT.format("\u030c"))), "check(x)"),
    "an accent without a name": Shown(".docx", docx(p(ACCENT.format("\u0309"))), "x\u0309"),
    "white text on a pattern": Shown(".docx", docx(p(SOLID, run("lit", "<w:color w:val='FFFFFF'/>"))), "lit"),
    "bytes in the file's encoding": Shown(".rtf", b"{\\rtf1\\ansi\\ansicpg1251 \xcc\xee\xf1\xf2}", "Мост"),
    "a character of a code and a letter": Shown(".rtf", b"{\\rtf1\\ansi\\ansicpg932 \\'83e\\'83X}", "テス"),
    "signs that replace others": Shown(".rtf", rtf(r"1932\u8211\endash 1940 \u8226\bullet\tab c"), "1932–1940 •\tc"),
    "a footnote in a cell": Shown(".rtf", rtf(r"\trowd\cellx1\cellx2\intbl A{\footnote\pard note}\par B\cell C\cell\row"), "A B | C\n[1] note"),
    "a table in a header": Shown(".rtf", rtf(r"{\header\trowd\cellx1\cellx2\pard\intbl Acme\cell Log\cell\row\pard}Lit"), "Acme | Log\nLit"),
    "cells of several columns": Shown(".rtf", rtf(r"\trowd\cellx2000\cellx4000\cellx6000\intbl a\cell b\cell c\cell\row\trowd\cellx4005\cellx6000 d\cell e\cell\row"), "a | b | c\nd | d | e"),
    "a tall cell beside a wide one": Shown(".rtf", rtf(r"\trowd\clmgf\cellx1\clmrg\cellx2\clvmgf\cellx3 a\cell\cell b\cell\row\trowd\cellx1\cellx2\clvmrg\cellx3 c\cell d\cell\cell\row"), "a | a | b\nc | d | b"),
    "columns and old line breaks": Shown(".rtf", rtf(r"a\column b\lbr0 c"), "a\nb\nc"),
    "a text that is stored twice": Shown(".rtf", rtf(r"{\upr{Brucke}{\*\ud{Br\u252 ucke}}} lit"), "Brücke lit"),
    "a blacked-out text": Shown(".rtf", rtf(COLORS + r"a{\cf1\chcbpat1 1950}{\cf1\chcbpat2 b}"), "ab"),
    "a list that starts at zero": Shown(".odt", odt("<list style-name='L'><list-item><p>a</p></list-item></list>", LISTS), "0. a"),
    "a nested list with a style of its own": Shown(".odt", odt("<list style-name='L'><list-item><p>a</p><list style-name='B'><list-item><p>b</p></list-item></list></list-item></list>", LISTS), "0. a\nb"),
    "a line end before an element": Shown(".odt", odt("<p>lit\n<span>in</span>\n1932</p>"), "lit in 1932"),
    "the file's title as a field": Shown(".odt", packed({"content.xml": FIELD}), "See The light."),
    "a hidden paragraph and section": Shown(".odt", odt("<p>1950<hidden-paragraph is-hidden='true'/></p><section display='condition' is-hidden='true'><p>1951</p></section><p>1932</p>"), "1932"),
    "a first page's header": Shown(".odt", odt("<p>a</p>", margins="<master-page><header-first><p>Log</p></header-first><header display='false'><p>Old</p></header></master-page>"), "Log\na"),
    "a film": Shown(".odt", odt("<p>a <frame><plugin/></frame></p>"), "a [embedded object]", "an embedded object"),
    "a picture in a note": Shown(".odt", odt("<p>a<note><note-citation>1</note-citation><note-body><p><frame><image/></frame></p></note-body></note></p>"), "a[1]\n[1] [image]", "a picture not read"),
    "cells without a value": Shown(".xlsx", sheet_parts("<row><c t='s'/><c t='b'/><c><v>5</v></c></row>"), "Log\n5"),
    "comments on a slide": Shown(".pptx", slide_parts("<sp><txBody><p><r><t>a</t></r></p></txBody></sp>", comments="<cmLst><cm/><cm/></cmLst>"), "a", "a comment (2 times)"),
    "a style sheet for printers": Shown(".epub", print_book(), "1932"),
    "a damaged chapter": Shown(".epub", book("<p>lit</p>", "<div>" * 3000), "lit", "a chapter is missing, damaged or not a page of text"),
    "an encrypted attachment": Shown(".eml", HEAD + group("mixed", typed("Lit", "text/plain"), typed("MII", "application/pkcs7-mime")), "Subject: The light\nFrom: Poe <poe@b.example>\n\nLit\n\n[attachment: application/pkcs7-mime]", "attachments are not read"),
    "an empty version with a layout": Shown(".eml", HEAD + group("alternative", typed("Lit", "text/plain"), typed("<p></p>", "text/html")), "Subject: The light\nFrom: Poe <poe@b.example>\n\nLit"),
    "turned text in a file with layers": Shown(".pdf", pdf("BT /F1 12 Tf 0 1 -1 0 300 300 Tm (turned) Tj ET\n" + drawn("lit"), layers=LAYERS), "turned\nlit"),
    "a hidden note of a page": Shown(".pdf", pdf(drawn("lit"), page=f"/Annots [{NOTE.format('', '1932')} {NOTE.format('/F 2', '1950')}]"), "lit\n1932"),
    "a letter that is no page number": Shown(".pdf", pdf(*("".join(drawn(line, y=800 - 50 * n) for n, line in enumerate(lines)) for lines in (("lit", "in", "the", "x"), ("year", "of", "1932", "n")))), "lit\nin\nthe\nx\n\nyear\nof\n1932\nn"),
    "a range at the end of a line": Shown(".pdf", pdf(drawn("It cost $10-") + drawn("$20 in all", y=685)), "It cost $10-\n$20 in all"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("table", "texts"),
    [
        ('id,text\n1,"abc\n2,def\n3,"ghi"\n4,jkl\n', ["abc", "def", "ghi", "jkl"]),
        ('id,text\n1,"abc\n2,def\n3,"g"hi\n4,"jk\nl"\n', ["abc", "def", "ghi", "jk\nl"]),
        ('text,id\n"abc,1\ndef,2\n"ghi",3\n', ["abc", "def", "ghi"]),
        ('id,text\n1,"a\nHe said "yes", then left"\n', ['a\nHe said yes", then left"']),
        ('text\n"a\nHe said "yes"\nb\n', ['a\nHe said yes"', "b"]),
        ('id,text\n1,"a\n2,b ""c""\n3,d"\n4,e\n', ['a\n2,b "c"\n3,d', "e"]),
    ],
)
def test_a_mark_that_is_not_closed_swallows_no_rows(table: str, texts: list[str]) -> None:
    documents, notes = read_file(table.encode(), ".csv", "log.csv")
    assert [document.text for document in documents] == texts
    assert [note for note in notes if "not closed" in note] == [
        "log.csv, line 2: a quotation mark is not closed; the line was read as a row"
    ] * (len(texts) > 2)


@pytest.mark.parametrize("kind", CASES)
def test_a_file_gives_the_text_that_it_shows(kind: str) -> None:
    ending, data, text, part_of_note = CASES[kind]
    if ending == ".pdf":
        pytest.importorskip("pypdfium2")
    source = data.encode() if isinstance(data, str) else data
    (document,), notes = read_file(source, ending, f"log{ending}")
    assert document.text == text
    if part_of_note:
        (note,) = notes
        assert part_of_note in note
    else:
        assert notes == []


@pytest.mark.parametrize(
    ("ending", "data"),
    [
        (".jsonl", "[{0}, {0}, {0}, {0}]"),
        (".jsonl", "{0}\n{0}\n{0}\n{0}"),
        (".csv", 'text\n"a\nb\nc\nd\n'),
        (".csv", "text\na\nb\nc\nd\n"),
    ],
)
def test_every_form_of_too_many_rows_is_refused(
    ending: str, data: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (rows, delimited_rows):
        monkeypatch.setattr(module, "MOST_ROWS", 3)
    with pytest.raises(InputError, match="more than 3 rows; split the file"):
        read_file(data.replace("{0}", '{"text": "a"}').encode(), ending, f"log{ending}")


def test_a_book_of_damaged_chapters_says_what_is_wrong_with_the_first() -> None:
    with pytest.raises(UnreadableError, match="nested more than 1,000 deep"):
        read_file(book("<div>" * 3000, "<div>" * 3000), ".epub", "log.epub")


def test_reading_a_short_table_does_not_lower_the_limit_on_cells_for_others() -> None:
    delimited_rows.allow_long_cells(300_000)
    read_file(b"text\nLit in 1932\n", ".csv", "a.csv")
    assert csv.field_size_limit() >= 300_000


def test_style_rules_beyond_the_limit_are_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    page = "<style>p { color: red } .x { display: none } .y { display: none }</style>" + 9 * (
        "<p class=x>Hidden</p><p class=y>Lit</p>"
    )
    monkeypatch.setattr(style_sheets, "_MOST_STEPS", 10)
    documents, notes = read_file(page.encode(), ".html", "a.html")
    assert "Lit" in documents[0].text
    assert "Hidden" not in documents[0].text
    assert ["may be invisible" in note for note in notes] == [True]
    fetched = FetchedPage("", "http://localhost/", "text/html", None, page.encode())
    with pytest.raises(UnreadableError, match="more style rules than can be applied"):
        extract(fetched)


@pytest.mark.parametrize(
    "padding",
    ["".join(f".a{number}{{display:none}}" for number in range(900)), f"/*{'x' * 400_000}*/"],
    ids=["rules", "characters"],
)
def test_a_rule_after_many_others_still_hides_its_text(padding: str) -> None:
    page = f"<style>{padding}.x{{display:none}}</style><p>Lit</p><p class=x>Hidden</p>"
    documents, notes = read_file(page.encode(), ".html", "a.html")
    assert (documents[0].text, notes) == ("Lit", [])


@pytest.mark.parametrize("limit", ["_MOST_RULES", "_MOST_CHARACTERS"])
@pytest.mark.parametrize(
    ("last", "is_noted"),
    [("display:none", True), ("margin:0; color:white", True), ("margin:0", False)],
)
def test_a_rule_that_may_hide_text_beyond_a_limit_is_noted(
    monkeypatch: pytest.MonkeyPatch, limit: str, last: str, is_noted: bool
) -> None:
    monkeypatch.setattr(style_sheets, limit, 1 if limit == "_MOST_RULES" else 30)
    css = f".a{{display:none;color:white}}/*{'x' * 30}*/.x{{{last}}}"
    page = f"<style>{css}</style><p>Lit</p><p class=x>Hidden</p>"
    documents, notes = read_file(page.encode(), ".html", "a.html")
    assert "Lit" in documents[0].text
    assert ["may be invisible" in note for note in notes] == [True] * is_noted
