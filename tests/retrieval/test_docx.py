from io import BytesIO
from zipfile import ZipFile

import pytest

from conflictscore.retrieval.pages.page import UnreadableError
from conflictscore.retrieval.reading.by_ending import read_file
from conflictscore.retrieval.reading.docx import read_docx
from conflictscore.retrieval.reading.texts import RichText

TRANSITIONAL = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
STRICT = "http://purl.oclc.org/ooxml/wordprocessingml/main"


def docx(body: str, namespace: str = TRANSITIONAL, **parts: str) -> bytes:
    """A file with this body; parts by name, such as ``styles``, are related to it."""
    spaces = f'xmlns:w="{namespace}" xmlns:m="m" xmlns:r="r" xmlns:c="c" xmlns:mc="mc"'
    related = "".join(
        f'<Relationship Id="{name}" Type="http://x/{name.rstrip("0123456789")}" Target="{name}.xml"/>'
        for name in parts
    )
    made = BytesIO()
    with ZipFile(made, "w") as file:
        file.writestr(
            "word/document.xml", f"<w:document {spaces}><w:body>{body}</w:body></w:document>"
        )
        file.writestr("word/_rels/document.xml.rels", f"<Relationships>{related}</Relationships>")
        for name, part in parts.items():
            file.writestr(f"word/{name}.xml", f"<w:{name} {spaces}>{part}</w:{name}>")
    return made.getvalue()


def run(text: str, properties: str = "") -> str:
    return f"<w:r><w:rPr>{properties}</w:rPr><w:t>{text}</w:t></w:r>"


def p(*content: str) -> str:
    return f"<w:p>{''.join(content)}</w:p>"


def cell(text: str, properties: str = "") -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{p(run(text))}</w:tc>"


GONE = "<w:vMerge/>"
BOX = f"<mc:Choice><w:txbxContent>{p(run('box'))}</w:txbxContent></mc:Choice>"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (p(run("a"), f"<w:ins>{run('1932')}</w:ins>", "<w:del><w:r><w:delText>x</w:delText></w:r></w:del>"), "a1932"),
        (p(f"<w:moveTo>{run('1932')}</w:moveTo>", f"<w:moveFrom>{run('x')}</w:moveFrom>"), "1932"),
        (p(f"<w:smartTag><w:fldSimple>{run('1932')}</w:fldSimple></w:smartTag>"), "1932"),
        (f"<w:sdt><w:sdtContent>{p(run('1932'))}</w:sdtContent></w:sdt>", "1932"),
        (p(f"<w:sdt><w:sdtPr><w:showingPlcHdr/></w:sdtPr><w:sdtContent>{run('x')}</w:sdtContent></w:sdt>", run("a")), "a"),
        (p(run("<!-- -->a", "<w:vanish/>"), run("b", "<w:strike w:val='0'/>"), run("c", "<w:dstrike/>")), "b"),
        (p("<w:pPr><w:pStyle w:val='Based'/></w:pPr>", run("x")) + p(run("a")), "a"),
        (p(run("10"), run("6", "<w:vertAlign w:val='superscript'/>"), run("st", "<w:vertAlign w:val='superscript'/>")), "10^6st"),
        (p(f"<mc:AlternateContent>{BOX}<mc:Fallback>{run('x')}</mc:Fallback></mc:AlternateContent>", run("a")), "a\nbox"),
        (p(run("a"), "<w:r><w:footnoteReference w:id='2'/></w:r>"), "a[2]\n[2] A note."),
        (p("<m:oMath><m:sSup><m:e><m:r><m:t>x</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup></m:oMath>"), "x^2"),
        (p("<w:r><w:t>a</w:t><w:noBreakHyphen/><w:softHyphen/><w:t>b</w:t><w:sym w:char='F041'/></w:r>"), "a-bA"),
        (p("<w:r><w:fldChar><w:ffData><w:ddList><w:result w:val='1'/><w:listEntry w:val='no'/><w:listEntry w:val='yes'/></w:ddList></w:ffData></w:fldChar></w:r>"), "yes"),
        (f"<w:tbl><w:tr>{cell('a', '<w:gridSpan/>')}{cell('b')}</w:tr><w:tr>{cell('', GONE)}{cell('c')}</w:tr></w:tbl>", "a | b\nc"),
        (f"<w:tbl><w:tr><w:tc><w:tbl><w:tr>{cell('1932')}</w:tr></w:tbl></w:tc></w:tr><w:tr><w:trPr><w:del/></w:trPr>{cell('x')}</w:tr></w:tbl>", "1932"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("namespace", [TRANSITIONAL, STRICT])
def test_text_is_read_as_shown(body: str, text: str, namespace: str) -> None:
    styles = (
        "<w:style w:styleId='Gone'><w:rPr><w:vanish/></w:rPr></w:style>"
        "<w:style w:styleId='Based'><w:basedOn w:val='Gone'/></w:style>"
    )
    notes = f"<w:footnote w:id='0' w:type='separator'>{p(run('x'))}</w:footnote>"
    notes += f"<w:footnote w:id='2'>{p(run('A note.'))}</w:footnote>"
    data = docx(body, namespace, styles=styles, footnotes=notes)
    assert read_docx(data).text == text


def test_headers_and_footers_stand_once_around_the_body() -> None:
    twice = "<w:sectPr><w:headerReference r:id='header1'/><w:footerReference r:id='footer1'/></w:sectPr>"
    data = docx(f"{p(run('body'))}{twice}{twice}", header1=p(run("above")), footer1=p(run("7")))
    assert read_docx(data) == RichText("above\nbody", "", ())


def test_what_has_no_text_is_named() -> None:
    data = docx(p(run("a"), "<c:chart/><c:chart/>", "<w:r><w:commentReference/></w:r>"))
    (document,), notes = read_file(data, ".docx", "log.docx")
    assert (document.text, document.title) == ("a", "log")
    assert notes == ["log.docx: left out a chart (2 times), a comment"]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"no zip", "not a DOCX that can be read"),
        (b"\xd0\xcf\x11\xe0" * 9, "locked by a password, or a .doc"),
        (docx("<w:p>" * 3000 + "</w:p>" * 3000), "recursion"),
        (docx("", styles="").replace(b"word/styles.xml", b"word/stylez.xml"), "has no text"),
    ],
)
def test_what_cannot_be_read_says_why(data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableError, match=reason):
        read_file(data, ".docx", "log.docx")


def test_entities_are_refused() -> None:
    made = BytesIO()
    with ZipFile(made, "w") as file:
        file.writestr("word/document.xml", '<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>')
    with pytest.raises(ValueError, match="declares entities"):
        read_docx(made.getvalue())
