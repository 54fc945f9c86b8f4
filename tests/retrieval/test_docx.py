import re
from io import BytesIO
from itertools import pairwise
from zipfile import ZipFile

import pytest

from conflictscore.retrieval.pages.page import UnreadableError
from conflictscore.retrieval.reading.by_ending import read_file
from conflictscore.retrieval.reading.docx import read_docx
from conflictscore.retrieval.reading.texts import NoteKind, RichText

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
        (p(run("a"), "<w:r><w:footnoteReference w:id='2'/></w:r>"), "a[1]\n[1] A note."),
        (p("<m:oMath><m:sSup><m:e><m:r><m:t>x</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup></m:oMath>"), "x^2"),
        (p("<w:r><w:t>a</w:t><w:noBreakHyphen/><w:softHyphen/><w:t>b</w:t><w:sym w:char='F041'/></w:r>"), "a-bA"),
        (p("<w:r><w:fldChar><w:ffData><w:ddList><w:result w:val='1'/><w:listEntry w:val='no'/><w:listEntry w:val='yes'/></w:ddList></w:ffData></w:fldChar></w:r>"), "yes"),
        (f"<w:tbl><w:tr>{cell('a', '<w:gridSpan/>')}{cell('b')}</w:tr><w:tr>{cell('', GONE)}{cell('c')}</w:tr></w:tbl>", "a | b\na | c"),
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


def test_headers_and_footers_appear_once_around_the_body() -> None:
    twice = "<w:sectPr><w:headerReference r:id='header1'/><w:footerReference r:id='footer1'/></w:sectPr>"
    data = docx(f"{p(run('body'))}{twice}{twice}", header1=p(run("above")), footer1=p(run("7")))
    assert read_docx(data) == RichText("above\nbody", "", ())


def test_what_has_no_text_is_named() -> None:
    data = docx(p(run("a"), "<c:chart/><c:chart/>", "<w:r><w:commentReference/></w:r>"))
    (document,), notes = read_file(data, ".docx", "log.docx")
    assert (document.text, document.title) == ("a[chart][chart]", "log")
    assert notes == ["log.docx: left out a chart (2 times), a comment"]
    assert [note.kind for note in notes] == [NoteKind.NOT_IN_WORDS]


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


def test_a_picture_has_its_author_s_words_and_digits_raised_by_place_a_mark() -> None:
    drawing = "<w:r><w:drawing><inline><docPr descr='a mast'/><graphic><pic/></graphic></inline></w:drawing></w:r>"
    raised = run("6", "<w:position w:val='8'/>")
    assert read_docx(docx(p(drawing, run(" of 10"), raised))).text == "[picture: a mast] of 10^6"


def test_entities_are_refused() -> None:
    made = BytesIO()
    with ZipFile(made, "w") as file:
        file.writestr("word/document.xml", '<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>')
    with pytest.raises(ValueError, match="declares entities"):
        read_docx(made.getvalue())


def sym(font: str, code: str) -> str:
    return f"<w:r><w:sym w:font='{font}' w:char='{code}'/></w:r>"


@pytest.mark.parametrize(
    ("signs", "text"),
    [
        (f"5 {sym('Symbol', 'F06D')}g {sym('Symbol', 'F0A3')} {sym('Symbol', 'F0B3')} {sym('Symbol', 'F0D6')}", "5 μg ≤ ≥ √"),
        (f"{sym('Wingdings', 'F0FC')}{sym('Wingdings', 'F0FB')}{sym('Wingdings', 'F0FE')}{sym('Wingdings', 'F0FD')}{sym('Wingdings', 'F0A8')}{sym('Wingdings', 'F0E0')}", "✓✗☑☒☐→"),
        (f"{sym('Wingdings 2', 'F050')}{sym('Wingdings 2', 'F04F')}{sym('Wingdings 2', 'F052')}{sym('Wingdings 3', 'F0C7')}", "✓✗☑"),
        (f"{sym('Webdings', 'F061')}{sym('Webdings', 'F072')}", "✔✗"),
        (run("m", "<w:rFonts w:ascii='Symbol'/>") + run("\uf0b4", "<w:rFonts w:hAnsi='Symbol'/>"), "μ×"),
        (run("5 mg"), "5 mg"),
    ],
)  # fmt: skip
def test_signs_of_symbol_fonts_are_read_as_they_are_drawn(signs: str, text: str) -> None:
    body = p(
        *(
            part if part.startswith("<") else run(part)
            for part in re.split("(<w:r>.*?</w:r>)", signs)
            if part
        )
    )
    assert read_docx(docx(body)).text.startswith(text)


def test_a_sign_of_an_unknown_font_leaves_a_mark_and_a_note() -> None:
    rich = read_docx(
        docx(
            p(run("toll "), sym("House Signs", "F041"), run("\ue001", "<w:rFonts w:ascii='Own'/>"))
        )
    )
    assert rich.text == "toll \ufffd\ufffd"
    assert rich.notes == ("left out a symbol of an unknown font (2 times)",)


def level(number: int, text: str, form: str = "decimal", more: str = "") -> str:
    return f"<w:lvl w:ilvl='{number}'><w:start w:val='1'/><w:numFmt w:val='{form}'/>{more}<w:lvlText w:val='{text}'/></w:lvl>"


def item(text: str, number: int, place: int = 0) -> str:
    return p(
        f"<w:pPr><w:numPr><w:ilvl w:val='{place}'/><w:numId w:val='{number}'/></w:numPr></w:pPr>",
        run(text),
    )


def test_numbers_of_lists_clauses_and_headings_precede_them() -> None:
    clauses = (
        level(0, "Article %1.")
        + level(1, "%1.%2")
        + level(2, "(%3)", "lowerLetter")
        + level(3, "%4)", "upperRoman")
    )
    bullet = "<w:lvl w:ilvl='0'><w:numFmt w:val='bullet'/><w:lvlText w:val='\uf0fc'/><w:rPr><w:rFonts w:ascii='Wingdings'/></w:rPr></w:lvl>"
    years = "<w:num w:numId='3'><w:abstractNumId w:val='0'/><w:lvlOverride w:ilvl='0'><w:startOverride w:val='5'/></w:lvlOverride></w:num>"
    numbering = (
        f"<w:abstractNum w:abstractNumId='0'>{clauses}</w:abstractNum><w:abstractNum w:abstractNumId='1'>{bullet}</w:abstractNum>"
        f"<w:num w:numId='1'><w:abstractNumId w:val='0'/></w:num><w:num w:numId='2'><w:abstractNumId w:val='1'/></w:num>{years}"
    )
    styles = "<w:style w:styleId='Clause'><w:pPr><w:numPr><w:ilvl w:val='1'/><w:numId w:val='1'/></w:numPr></w:pPr></w:style>"
    body = [
        item("Tolls", 1), item("Carts", 1, 1), p("<w:pPr><w:pStyle w:val='Clause'/></w:pPr>", run("Dogs")),
        item("Blind", 1, 2), item("Guide", 1, 2), item("Deep", 1, 3), item("Closing", 1), item("Ends", 1, 1),
        item("done", 2), item("Fifth", 3), item("none", 0),
    ]  # fmt: skip
    assert read_docx(docx("".join(body), numbering=numbering, styles=styles)).text.split("\n") == [
        "Article 1. Tolls", "1.1 Carts", "1.2 Dogs", "(a) Blind", "(b) Guide", "I) Deep",
        "Article 2. Closing", "2.1 Ends", "✓ done", "Article 5. Fifth", "none",
    ]  # fmt: skip


def math(content: str) -> str:
    return p(f"<m:oMath>{content}</m:oMath>")


def r(text: str) -> str:
    return f"<m:r><m:t>{text}</m:t></m:r>"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (r("10−") + f"<m:d><m:e>{r('4−3')}</m:e></m:d>", "10−(4−3)"),
        (f"<m:d><m:dPr><m:begChr m:val='|'/><m:endChr m:val='|'/></m:dPr><m:e>{r('x')}</m:e></m:d>", "|x|"),
        (f"<m:d><m:dPr><m:begChr m:val='['/><m:endChr m:val=''/></m:dPr><m:e>{r('2')}</m:e><m:e>{r('5')}</m:e></m:d>", "[2|5"),
        (f"<m:f><m:num>{r('a+b')}</m:num><m:den>{r('c')}</m:den></m:f>", "(a+b)/c"),
        (f"<m:f><m:fPr><m:type m:val='noBar'/></m:fPr><m:num>{r('n')}</m:num><m:den>{r('k')}</m:den></m:f>", "(n over k)"),
        (f"<m:rad><m:deg>{r('3')}</m:deg><m:e>{r('x+1')}</m:e></m:rad>", "√[3](x+1)"),
        (f"<m:rad><m:radPr><m:degHide/></m:radPr><m:deg/><m:e>{r('2')}</m:e></m:rad>", "√(2)"),
        (f"<m:nary><m:naryPr><m:chr m:val='∑'/></m:naryPr><m:sub>{r('i=1')}</m:sub><m:sup>{r('n')}</m:sup><m:e>{r('i')}</m:e></m:nary>", "∑_(i=1)^n i"),
        (f"<m:sSubSup><m:e>{r('x')}</m:e><m:sub>{r('1')}</m:sub><m:sup>{r('2')}</m:sup></m:sSubSup>", "x_1^2"),
        (f"<m:sSup><m:e>{r('a+b')}</m:e><m:sup>{r('n−1')}</m:sup></m:sSup>", "(a+b)^(n−1)"),
        (f"<m:func><m:fName>{r('log')}</m:fName><m:e>{r('x+1')}</m:e></m:func>", "log (x+1)"),
        (f"<m:m><m:mr><m:e>{r('1')}</m:e><m:e>{r('0')}</m:e></m:mr><m:mr><m:e>{r('0')}</m:e><m:e>{r('1')}</m:e></m:mr></m:m>", "[1, 0; 0, 1]"),
        (f"<m:acc><m:accPr><m:chr m:val='\u0302'/></m:accPr><m:e>{r('p')}</m:e></m:acc>", "hat(p)"),
    ],
)  # fmt: skip
def test_a_formula_keeps_what_its_drawing_says(content: str, text: str) -> None:
    assert read_docx(docx(math(content))).text == text


WHITE = "<w:color w:val='FFFFFF'/>"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (p(run("x", WHITE), run("a")), "a"),
        (p(run("x", "<w:color w:val='auto' w:themeColor='background1'/>"), run("a")), "a"),
        (p(run("a", f"{WHITE}<w:shd w:fill='000000'/>")), "a"),
        (p(run("a", f"{WHITE}<w:highlight w:val='darkBlue'/>")), "a"),
        (p("<w:pPr><w:shd w:fill='336699'/></w:pPr>", run("a", WHITE)), "a"),
        (f"<w:tbl><w:tr><w:tc><w:tcPr><w:shd w:fill='336699'/></w:tcPr>{p(run('a', WHITE))}</w:tc></w:tr></w:tbl>", "a"),
        (p(run("x", "<w:sz w:val='2'/>"), run("a")), "a"),
        (f"<w:tbl><w:tr>{cell('a')}{cell('x', '<w:cellDel/>')}{cell('b', '<w:cellIns/>')}</w:tr></w:tbl>", "a | b"),
        (p("<w:pPr><w:framePr w:dropCap='drop'/></w:pPr>", run("T")) + p(run("he bridge")), "The bridge"),
        (p("<w:pPr><w:rPr><w:del/></w:rPr></w:pPr>", run("opened ")) + p(run("in 1932")), "opened in 1932"),
        (p("<w:r><w:fldChar><w:ffData><w:checkBox><w:checked/></w:checkBox></w:ffData></w:fldChar></w:r>", run(" a")), "☒ a"),
        (p("<w:r><w:fldChar><w:ffData><w:checkBox><w:default w:val='0'/></w:checkBox></w:ffData></w:fldChar></w:r>", run(" a")), "☐ a"),
    ],
)  # fmt: skip
def test_what_is_not_seen_is_not_read_and_what_is_drawn_is(body: str, text: str) -> None:
    assert read_docx(docx(body)).text == text


def test_spanning_cells_appear_in_each_of_their_places() -> None:
    def tr(*cells: str, properties: str = "") -> str:
        return f"<w:tr><w:trPr>{properties}</w:trPr>{''.join(cells)}</w:tr>"

    start = "<w:vMerge w:val='restart'/>"
    table = (
        tr(cell("Bridges of 1999", "<w:gridSpan w:val='4'/>"))
        + tr(cell("Bridge"), cell("Opened", "<w:gridSpan w:val='2'/>"), cell("Closed"))
        + tr(cell("North", start), cell("1932"), cell(""), cell("1950"))
        + tr(cell("", GONE), cell("1961", "<w:gridSpan w:val='2'/>"), cell("1999"))
        + tr(cell("1970"), cell("1980"), properties="<w:gridBefore w:val='2'/>")
    )
    assert read_docx(docx(f"<w:tbl>{table}</w:tbl>")).text.split("\n") == [
        "Bridges of 1999",
        "Bridge | Opened | Opened | Closed",
        "North | 1932 |  | 1950",
        "North | 1961 | 1961 | 1999",
        " |  | 1970 | 1980",
    ]


def test_a_long_table_repeats_its_header() -> None:
    header = f"<w:tr><w:trPr><w:tblHeader/></w:trPr>{cell('Bridge')}{cell('Opened')}</w:tr>"
    rows = "".join(
        f"<w:tr>{cell(f'The bridge of mile {n}')}{cell(str(n))}</w:tr>" for n in range(200)
    )
    lines = read_docx(docx(f"<w:tbl>{header}{rows}</w:tbl>")).text.split("\n")
    places = [place for place, line in enumerate(lines) if line == "Bridge | Opened"]
    assert places[0] == 0
    assert len(places) > 2
    assert max(len(" ".join(lines[a:b])) for a, b in pairwise(places)) < 2_000
    assert len(lines) - len(places) == 200


def field(instruction: str, shown: str = "", kind: str = "") -> str:
    """A field as Word stores it; ``shown`` is its stored result."""
    mark = "<w:r><w:fldChar w:fldCharType='{}'/></w:r>".format
    middle = f"{mark('separate')}{shown}" if shown or kind == "separate" else ""
    words = f"<w:r><w:instrText>{instruction}</w:instrText></w:r>"
    inside = instruction if instruction.startswith("<") else words
    return f"{mark('begin')}{inside}{middle}{mark('end')}"


NESTED = "<w:r><w:instrText>IF </w:instrText></w:r>" + field("MERGEFIELD n", run("5"))


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (p(run("Fee: "), field(NESTED, run("twelve")), run(" euros")), "Fee: twelve euros"),
        (p(run("5 "), field('SYMBOL 109 \\f "Symbol" \\s 11'), run("g")), "5 μg"),
        (p(run("5 "), field("SYMBOL 0xA3 \\f Symbol", kind="separate"), run(" 7")), "5 ≤ 7"),
        (p(run("Dose "), field("EQ \\f(1,2)"), run(" tablet")), "Dose 1/2 tablet"),
        (p(field("EQ \\r(3,x+1)"), field("EQ \\i\\su(i=1,n,i)")), "√[3](x+1)∑_(i=1)^n i"),
        (p(run("x"), field("EQ \\s\\do4(12)")), "x_12"),
        (p(run("署名"), field("eq \\o\\ac(○,印)")), "署名印"),
        (p(field('EQ \\* jc2 \\* "Font:MS" \\o\\ad(\\s\\up 9(とうきょう),東京)'), run("は首都")), "東京は首都"),
        (p(field("MACROBUTTON None [Your name]")), "[Your name]"),
        (p("<w:r><w:fldChar w:fldCharType='begin'/></w:r>", run("never ends")), "never ends"),
    ],
)  # fmt: skip
def test_a_field_shows_its_result_and_not_its_instruction(body: str, text: str) -> None:
    assert read_docx(docx(body)).text == text


MARKED_GONE = "<w:pPr><w:numPr><w:ilvl w:val='0'/><w:numId w:val='1'/></w:numPr><w:rPr><w:{}/></w:rPr></w:pPr>"
ONE_LIST = "<w:abstractNum w:abstractNumId='0'>{}</w:abstractNum><w:num w:numId='1'><w:abstractNumId w:val='0'/></w:num>"


def test_a_paragraph_whose_end_is_hidden_or_deleted_goes_on_with_one_number() -> None:
    body = [
        p(MARKED_GONE.format("vanish"), run("Term.")), p(run(" It runs 5 years.")),
        item("Rent", 1), p(MARKED_GONE.format("del"), "<w:del><w:r><w:delText>x</w:delText></w:r></w:del>"),
        item("Heat", 1), p(MARKED_GONE.format("del"), run("Cold ")), item("rooms", 1),
        p(MARKED_GONE.format("del"), run("last")), f"<w:tbl><w:tr>{cell('a')}{cell('b')}</w:tr></w:tbl>",
    ]  # fmt: skip
    numbering = ONE_LIST.format(level(0, "%1."))
    assert read_docx(docx("".join(body), numbering=numbering)).text.split("\n") == [
        "1. Term. It runs 5 years.", "2. Rent", "3. Heat", "4. Cold rooms", "5. last", "a | b",
    ]  # fmt: skip


def test_a_level_that_states_no_start_begins_with_zero() -> None:
    numbering = ONE_LIST.format("<w:lvl w:ilvl='0'><w:lvlText w:val='%1.'/></w:lvl>")
    body = item("Rent", 1) + item("Heat", 1)
    assert read_docx(docx(body, numbering=numbering)).text == "0. Rent\n1. Heat"


def test_the_level_of_a_heading_is_that_of_its_style() -> None:
    styles = "".join(
        f"<w:style w:styleId='{name}'><w:pPr><w:numPr><w:numId w:val='1'/></w:numPr></w:pPr></w:style>"
        for name in ("First", "Second")
    )
    linked = (level(n, text, more=f"<w:pStyle w:val='{style}'/>") for n, text, style in ((0, "%1.", "First"), (1, "%1.%2", "Second")))  # fmt: skip
    body = "".join(
        p(f"<w:pPr><w:pStyle w:val='{style}'/></w:pPr>", run(text))
        for style, text in (("First", "Uno"), ("Second", "Due"), ("Second", "Tre"))
    )
    data = docx(body, numbering=ONE_LIST.format("".join(linked)), styles=styles)
    assert read_docx(data).text == "1. Uno\n1.1 Due\n1.2 Tre"


@pytest.mark.parametrize(
    ("form", "numbers"),
    [
        ("russianLower", "а б"),
        ("hebrew1", "א ב"),
        ("arabicAbjad", "أ ب"),
        ("chineseCounting", "一 二"),
        ("decimalEnclosedCircle", "① ②"),
        ("ideographTraditional", "甲 乙"),
        ("thaiNumbers", "๑ ๒"),
        ("numberInDash", "- 1 - - 2 -"),
        ("cardinalText", "1 2"),
    ],
)
def test_numbers_of_lists_are_written_in_their_script(form: str, numbers: str) -> None:
    numbering = ONE_LIST.format(level(0, "%1", form))
    text = read_docx(docx(item("x", 1) + item("x", 1), numbering=numbering)).text
    assert text.removesuffix(" x").replace(" x\n", " ") == numbers


def test_a_note_with_a_mark_of_its_own_is_read() -> None:
    own = "<w:r><w:footnoteReference w:customMarkFollows='1' w:id='5'/><w:t>*</w:t></w:r>"
    body = p(run("5 euros"), own, run(", 6"), "<w:r><w:footnoteReference w:id='6'/></w:r>")
    notes = f"<w:footnote w:id='5'>{p(run('* without tax'))}</w:footnote><w:footnote w:id='6'>{p(run('Winter'))}</w:footnote>"
    expected = "5 euros*, 6[1]\n* without tax\n[1] Winter"
    assert read_docx(docx(body, footnotes=notes)).text == expected


def test_a_note_in_a_note_is_read_and_white_notes_show_on_a_dark_page() -> None:
    refers = "<w:r><w:endnoteReference w:id='3'/></w:r>"
    background = "</w:body><w:background w:color='000000'/><w:body>"
    body = background + p(run("5 euros"), "<w:r><w:footnoteReference w:id='2'/></w:r>")
    white = run("In winter", "<w:color w:val='FFFFFF'/>")
    footnotes = f"<w:footnote w:id='2' w:type='normal'>{p(white, refers)}</w:footnote>"
    endnotes = f"<w:endnote w:id='3'>{p(run('Since 1932'))}</w:endnote>"
    parts = {"footnotes": footnotes, "endnotes": endnotes}
    shown = read_docx(docx(body, **parts, settings="<w:displayBackgroundShape/>"))
    assert shown.text == "5 euros[1]\n[1] In winter[i]\n[i] Since 1932"
    assert read_docx(docx(body, **parts)).text == "5 euros[1]\n[1] [i]\n[i] Since 1932"


def test_a_header_refers_to_its_own_parts() -> None:
    chart = "<c:chart xmlns:c='c'><c:chart><c:title><c:t>{}</c:t></c:title></c:chart></c:chart>"
    header = p("<w:r><c:chart r:id='space1'/></w:r>")
    twice = "<w:sectPr><w:headerReference r:id='header1'/></w:sectPr>" * 2
    made = BytesIO(docx(f"{p(run('body'))}{twice}", header1=header, space1="<c:chart/>"))
    with ZipFile(made, "a") as file:
        file.writestr("word/own.xml", chart.format("Riders by year"))
        related = "<Relationships><Relationship Id='space1' Target='own.xml'/></Relationships>"
        file.writestr("word/_rels/header1.xml.rels", related)
    rich = read_docx(made.getvalue())
    assert rich.text == "[chart: Riders by year]\nbody"
    assert rich.notes == ("left out a chart",)


def test_the_text_of_a_box_follows_a_paragraph_that_goes_on() -> None:
    body = p(MARKED_GONE.format("vanish"), run("Term"), BOX) + p(run(" of 5 years"))
    assert read_docx(docx(body)).text == "Term of 5 years\nbox"


def test_old_pictures_ink_and_objects_leave_one_mark_each() -> None:
    shape = "<w:pict><shape alt='Plan'><imagedata/></shape></w:pict>"
    embedded = "<w:object><shape><imagedata/></shape><OLEObject/></w:object>"
    rich = read_docx(docx(p(f"<w:r>{shape}{embedded}</w:r><w:r><contentPart/></w:r>")))
    assert rich.text == "[picture: Plan][embedded object][drawing by hand]"
    assert rich.notes == ("left out a picture, an embedded object, a drawing by hand",)


def test_a_chart_is_read_with_its_title() -> None:
    chart = "<c:title><c:tx><a:t xmlns:a='a'>Riders by year</a:t></c:tx></c:title>"
    data = docx(p("<w:r><c:chart r:id='space'/></w:r>"), space=f"<c:chart>{chart}</c:chart>")
    assert read_docx(data).text == "[chart: Riders by year]"


@pytest.mark.parametrize(("more", "text"), [("", "Head\nbody"), ("<w:titlePg/>", "Head\nFirst\nbody")])  # fmt: skip
def test_unused_headers_are_not_read(more: str, text: str) -> None:
    kinds = zip(("default", "first", "even"), range(1, 4), strict=True)
    references = "".join(
        f"<w:headerReference w:type='{kind}' r:id='header{number}'/>" for kind, number in kinds
    )
    heads = {f"header{n}": p(run(name)) for n, name in ((1, "Head"), (2, "First"), (3, "Even"))}
    data = docx(f"{p(run('body'))}<w:sectPr>{references}{more}</w:sectPr>", **heads)
    assert read_docx(data).text == text


@pytest.mark.parametrize(
    "looks",
    ["<w:shd w:fill='000000'/>", "<w:highlight w:val='black'/>"],
)
def test_text_in_the_colour_of_its_background_is_not_read(looks: str) -> None:
    black = f"<w:color w:val='000000'/>{looks}"
    assert read_docx(docx(p(run("Name: "), run("Anna", black), run("end")))).text == "Name: end"
    assert read_docx(docx(p(run("Anna", looks)))).text == "Anna"


HALF = f"<m:f><m:num>{r('1')}</m:num><m:den>{r('2')}</m:den></m:f>"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (r("2") + HALF, "2 1/2"),
        (HALF + r("mv"), "(1/2)mv"),
        (r("k") + HALF, "k(1/2)"),
        (r("x=−") + HALF + r("+1"), "x=−1/2+1"),
        (r("x=") + f"<w:del>{r('4')}</w:del><w:ins>{r('5')}</w:ins>", "x=5"),
    ],
)
def test_a_fraction_stands_apart_and_deleted_parts_are_not_read(content: str, text: str) -> None:
    assert read_docx(docx(math(content))).text == text
    assert read_docx(docx(f"<m:oMathPara><m:oMath>{content}</m:oMath></m:oMathPara>")).text == text
