"""OpenDocument texts are read as they are shown."""

import pytest

from conflictscore.retrieval.pages.page import UnreadableError
from conflictscore.retrieval.reading.by_ending import read_file
from conflictscore.retrieval.reading.texts import Note, NoteKind
from tests.retrieval.office_files import odt, packed

STYLES = (
    "<style family='text' name='gone'><text-properties display='none'/></style>"
    "<style family='text' name='based' parent-style-name='gone'/>"
    "<style family='text' name='struck'><text-properties text-line-through-style='solid'/></style>"
    "<style family='text' name='up'><text-properties text-position='super 58%'/></style>"
    "<style family='text' name='down'><text-properties text-position='-33% 58%'/></style>"
    "<style family='text' name='sign'><text-properties font-name='Wingdings'/></style>"
    "<style family='text' name='white'><text-properties color='#ffffff'/></style>"
    "<style family='text' name='lit'><text-properties color='#ffffff' background-color='#000000'/></style>"
    "<style family='paragraph' name='nothing'><text-properties display='none'/></style>"
    "<list-style name='L'><list-level-style-number level='1' num-format='I' num-suffix='.' start-value='4'/>"
    "<list-level-style-number level='2' num-format='a' num-suffix=')' num-prefix='('/>"
    "<list-level-style-bullet level='3'/></list-style>"
    "<list-style name='N'><list-level-style-number level='1' num-format='1'/>"
    "<list-level-style-number level='2' num-format='1' display-levels='2'/></list-style>"
)


def read(data: bytes) -> tuple[list[str], str, list[Note]]:
    (document,), notes = read_file(data, ".odt", "log.odt")
    return document.text.split("\n"), document.title, notes


def span(style: str, text: str) -> str:
    return f"<span style-name='{style}'>{text}</span>"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<p>Lit<s c='2'/>in<tab/>1932<line-break/>Out</p>", "Lit\u00a0\u00a0in 1932\nOut"),
        (f"<p>a{span('gone', 'x')}{span('based', 'x')}{span('struck', 'x')} 1932</p><p style-name='nothing'>x</p>", "a 1932"),
        (f"<p>10{span('up', '6')} m H{span('down', '2')}O 1{span('up', 'st')}</p>", "10^6 m H_2O 1st"),
        (f"<p>{span('sign', 'þ')} lit &lt;b></p>", "☑ lit <b>"),
        (f"<p>a{span('white', 'x')}{span('lit', '1932')}</p>", "a1932"),
        ("<tracked-changes><changed-region><deletion><p>1950</p></deletion></changed-region></tracked-changes><p>1932<change/></p>", "1932"),
        ("<section display='none'><p>1950</p></section><section><p>1932</p></section>", "1932"),
        ("<p><hidden-text is-hidden='true'>1950</hidden-text><a>1932</a></p>", "1932"),
        ("<list style-name='L'><list-item><p>a</p><p>more</p></list-item><list-item><p>b</p><list><list-item><p>c</p></list-item></list></list-item></list>", "IV. a\nmore\nV. b\n(a) c"),
        ("<list style-name='L'><list-item><p>a</p></list-item></list><p>x</p><list style-name='L' continue-numbering='true'><list-item><p>b</p></list-item></list>", "IV. a\nx\nV. b"),
        ("<list style-name='N'><list-item><p>a</p><list><list-item><p>b</p></list-item><list-item start-value='7'><p>c</p></list-item></list></list-item></list>", "1 a\n1.1 b\n1.7 c"),
        ("<p>a<note><note-citation>1</note-citation><note-body><p>A note.</p></note-body></note> b</p><p>c</p>", "a[1] b\nc\n[1] A note."),
        ("<p>a<ruby><ruby-base>b</ruby-base><ruby-text>x</ruby-text></ruby></p>", "ab"),
        ("<p>a<frame><text-box><p>box</p></text-box></frame></p><p>b</p>", "a\nbox\nb"),
        ("<p>a<frame><text-box><p>box</p></text-box></frame><note><note-citation>1</note-citation><note-body><p>A note.</p></note-body></note></p>", "a[1]\nbox\n[1] A note."),
        ("<frame><image/><desc>Plan</desc></frame><p>b</p>", "[image: Plan]\nb"),
        ("<p><frame><object><math><mfrac><mi>a</mi><mi>b</mi></mfrac></math></object></frame></p>", "a/b"),
        ("<table><table-column/><table-header-rows><table-row><table-cell><p>Bridge</p></table-cell><table-cell number-columns-spanned='2'><p>Opened</p></table-cell><covered-table-cell/></table-row></table-header-rows>"
         "<table-row><table-cell><p>Vik</p></table-cell><table-cell/><table-cell><p>2</p></table-cell></table-row><table-row visibility='collapse'><table-cell><p>x</p></table-cell></table-row></table>",
         "Bridge | Opened | Opened\nVik |  | 2"),
    ],
)  # fmt: skip
def test_text_is_read_as_shown(body: str, text: str) -> None:
    assert read(odt(body, STYLES))[0] == text.split("\n")


def test_headings_are_numbered_and_margins_appear_once() -> None:
    outline = "<outline-style><outline-level-style level='1' num-format='A' num-suffix='.'/></outline-style>"
    pages = (
        "<master-page><header><p>Log</p></header><footer><p>Log</p><p>7</p></footer></master-page>"
    )
    meta = "<document-meta><meta><title>The light</title></meta></document-meta>"
    body = "<h outline-level='1'>Lit</h><p>1932</p><h outline-level='1'>Out</h>"
    lines, title, notes = read(odt(body, outline, margins=pages, **{"meta.xml": meta}))
    assert lines == ["Log", "A. Lit", "1932", "B. Out", "Log"]
    assert (title, notes) == ("The light", [])


def test_white_text_is_read_on_a_coloured_page() -> None:
    body = f"<p>Lit {span('white', '1932')}</p>"
    layouts = "".join(
        f"<page-layout name='{name}'><page-layout-properties background-color='{color}'/></page-layout>"
        for name, color in (("blue", "#0082c9"), ("plain", "transparent"))
    )
    for used, text in (("blue", "Lit 1932"), ("plain", "Lit"), ("none", "Lit")):
        margins = f"<master-page page-layout-name='{used}'/>"
        assert read(odt(body, STYLES, margins, layouts))[0] == [text]


def test_pictures_charts_and_comments_are_marked_and_noted() -> None:
    picture = "<frame><image href='a'/><title>x</title><desc>a mast</desc></frame>"
    chart = "<frame><object href='./Object 1'/></frame>"
    body = f"<p>a {picture}<annotation><p>who says?</p></annotation></p><p>{chart}</p>"
    data = odt(body, **{"Object 1/content.xml": "<document><body><chart/></body></document>"})
    lines, _, notes = read(data)
    assert lines == ["a [image: a mast]", "[chart]"]
    assert [note.kind for note in notes] == [NoteKind.NOT_IN_WORDS, NoteKind.NOT_IN_WORDS]
    assert notes[1] == "log.odt: left out a comment, a chart"


def test_signs_without_a_meaning_outside_their_font_are_marked_and_noted() -> None:
    lines, _, notes = read(odt(f"<p>a {span('sign', chr(0xF01F))}</p><p>b \ue000</p>", STYLES))
    assert lines == ["a \ufffd", "b \ufffd"]
    assert notes == ["log.odt: left out a symbol of an unknown font (2 times)"]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"lit in 1932", "is not an ODT that can be read"),
        (packed({"a": "b"}), "has no document"),
        (packed({"content.xml": "<document><body><spreadsheet/></body></document>"}), "not a text document"),
        (odt("<p/>"), "has no text"),
        (odt("<p>a</p>", **{"META-INF/manifest.xml": "<manifest><encryption-data/></manifest>"}), "locked by a password"),
        (odt("<!DOCTYPE x>"), "declares entities"),
        (packed({"content.xml": "<!DOCTYPE x><x/>".encode("utf-16")}), "declares entities"),
        (odt("<section>" * 200 + "<p>a</p>" + "</section>" * 200), "its parts are nested more than 100 deep"),
        (packed({"content.xml": " " * 100_000_001}), "unpacks to more than 100 MB"),
    ],
    ids=range(9),
)  # fmt: skip
def test_what_is_no_document_or_too_large_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableError, match=reason):
        read_file(data, ".odt", "log.odt")


def test_controls_of_forms_are_read_by_their_state() -> None:
    parts = (
        "<checkbox id='a' label='Dogs' current-state='checked'/><checkbox id='b' label='Cats'/>"
        "<radio id='c' label='By day' current-selected='true'/><text id='d' current-value='Ann'/>"
        "<listbox id='e'><option label='no'/><option label='yes' current-selected='true'/></listbox>"
    )
    shown = " ".join(f"<control control='{name}'/>" for name in "abcdez")
    data = odt(f"<forms><form>{parts}</form></forms><p>{shown}</p>")
    assert read(data)[0] == ["☒ Dogs ☐ Cats ☒ By day Ann yes"]


def test_bullets_that_say_yes_or_no_are_read() -> None:
    styles = "".join(
        f"<list-style name='{name}'><list-level-style-bullet level='1' bullet-char='{sign}'/></list-style>"
        for name, sign in (("Yes", "✓"), ("No", "✗"), ("Dot", "•"))
    )
    lists = "".join(
        f"<list style-name='{name}'><list-item><p>{text}</p></list-item></list>"
        for name, text in (("Yes", "dogs"), ("No", "cats"), ("Dot", "birds"))
    )
    assert read(odt(lists, styles))[0] == ["✓ dogs", "✗ cats", "birds"]
