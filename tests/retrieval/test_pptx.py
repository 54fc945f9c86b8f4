"""Slides are read in order, as they are shown."""

from copy import deepcopy
from io import BytesIO
from typing import Any, cast

import pytest
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.oxml import parse_xml
from pptx.util import Inches

from conflictscore.retrieval.pages.page import UnreadableError
from conflictscore.retrieval.reading.by_ending import read_file
from conflictscore.retrieval.reading.texts import Note, NoteKind
from tests.retrieval.office_files import PIXEL, packed, slide_parts, slides, with_second

TITLE_AND_BODY, TITLE_ONLY, BLANK = 1, 5, 6


def read(data: bytes) -> tuple[list[str], str, list[Note]]:
    (document,), notes = read_file(data, ".pptx", "log.pptx")
    return document.text.split("\n"), document.title, notes


def box(slide: Any, left: float, top: float, text: str) -> Any:
    shape = slide.shapes.add_textbox(Inches(left), Inches(top), Inches(3), Inches(1))
    shape.text_frame.text = text
    return shape


def test_slides_are_read_in_order_with_titles_bodies_and_notes() -> None:
    def fill(deck: Any) -> None:
        for title in ("Bridges", "Lamps"):
            slide = deck.slides.add_slide(deck.slide_layouts[TITLE_AND_BODY])
            slide.placeholders[1].text = f"All {title.lower()}\nof\vthe coast"
            slide.shapes.title.text = title
        slide.notes_slide.notes_text_frame.text = "Say who lit them.\nPause."
        order = deck.slides._sldIdLst
        order.append(order[0])

    lines, title, notes = read(slides(fill))
    assert lines == [
        "Lamps", "All lamps", "of", "the coast", "Notes: Say who lit them.", "Pause.", "",
        "Bridges", "All bridges", "of", "the coast",
    ]  # fmt: skip
    assert (title, notes) == ("Lamps", [])


def test_shapes_are_read_from_top_to_bottom_and_left_to_right() -> None:
    def fill(deck: Any) -> None:
        slide = deck.slides.add_slide(deck.slide_layouts[TITLE_ONLY])
        box(slide, 5, 2, "right")
        box(slide, 1, 5, "below")
        box(slide, 1, 2.1, "left")
        box(slide, 1, 20, "outside")
        gone = box(slide, 1, 6, "hidden")
        gone._element.nvSpPr.cNvPr.set("hidden", "1")
        slide.shapes.title.text = "top"

    assert read(slides(fill))[0] == ["top", "left", "right", "below"]


def test_a_content_placeholder_without_a_place_takes_that_of_the_masters_body() -> None:
    def fill(deck: Any) -> None:
        layout = deck.slide_layouts[TITLE_AND_BODY]
        assert not layout.placeholders[1]._element.spPr.xpath("a:xfrm")
        slide = deck.slides.add_slide(layout)
        slide.shapes.title.text = "top"
        slide.placeholders[1].text = "body"
        box(slide, 1, 0.1, "above the body")

    assert read(slides(fill))[0] == ["top", "above the body", "body"]


def shape_at(text: str, place: str, kind: str = "") -> str:
    xfrm = "<xfrm><off x='{}' y='{}'/><ext cx='100' cy='100'/></xfrm>".format(*place.split(","))
    placeholder = f"<ph type='{kind}'/>" if kind else ""
    about = f"<nvSpPr><cNvPr/><nvPr>{placeholder}</nvPr></nvSpPr>"
    body = f"<txBody><p><r><t>{text}</t></r></p></txBody>"
    return f"<sp>{about}<spPr>{xfrm}</spPr>{body}</sp>"


def test_a_shape_without_a_place_is_read_although_the_one_before_it_lies_outside() -> None:
    unplaced = "<sp><nvSpPr><cNvPr/></nvSpPr><txBody><p><r><t>lit</t></r></p></txBody></sp>"
    shapes = shape_at("outside", "-5000000,0") + unplaced + shape_at("1932", "0,9000")
    assert sorted(read(slide_parts(shapes))[0]) == ["1932", "lit"]


def test_what_a_layout_keeps_outside_the_slide_is_left_out() -> None:
    shapes = shape_at("how to use this template", "-5000000,0") + shape_at("Draft", "0,0")
    layout = f"<sldLayout><cSld><spTree>{shapes}</spTree></cSld></sldLayout>"
    assert read(slide_parts(shape_at("lit", "0,0"), slideLayout=layout))[0] == ["lit", "Draft"]


def test_a_title_with_a_formula_comes_first_and_names_the_document() -> None:
    title = shape_at("Range in km", "0,9000", "title")
    shapes = (
        f"{shape_at('lit', '0,0')}<AlternateContent><Choice>{title}</Choice></AlternateContent>"
    )
    assert read(slide_parts(shapes)) == (["Range in km", "lit"], "Range in km", [])


def test_the_title_is_that_of_the_first_slide_that_has_one() -> None:
    def fill(deck: Any) -> None:
        box(deck.slides.add_slide(deck.slide_layouts[BLANK]), 1, 1, "1932")
        deck.slides.add_slide(deck.slide_layouts[TITLE_ONLY]).shapes.title.text = "Lamps"

    assert read(slides(fill))[1] == "Lamps"


@pytest.mark.parametrize("second", [None, "<sld", b"\xff"])
def test_a_slide_that_is_missing_or_damaged_is_noted(second: str | bytes | None) -> None:
    lines, _, notes = read(with_second(slide_parts(shape_at("lit", "0,0")), second))
    assert (lines, notes) == (["lit"], ["log.pptx: a slide is missing or damaged"])


def test_tables_keep_their_columns_and_spanning_cells_are_repeated() -> None:
    def fill(deck: Any) -> None:
        slide = deck.slides.add_slide(deck.slide_layouts[BLANK])
        table = slide.shapes.add_table(3, 3, 0, 0, Inches(6), Inches(2)).table
        rows = (("Bridge", "Opened", "Toll"), ("Vik", "", "2"), ("", "1932", ""))
        for number, row in enumerate(rows):
            for column, text in enumerate(row):
                table.cell(number, column).text = text
        table.cell(1, 0).merge(table.cell(2, 0))

    assert read(slides(fill))[0] == ["Bridge | Opened | Toll", "Vik |  | 2", "Vik | 1932 |"]


def test_pictures_and_charts_are_marked_and_noted() -> None:
    def fill(deck: Any) -> None:
        slide = deck.slides.add_slide(deck.slide_layouts[BLANK])
        for number, words in enumerate(("a mast", "")):
            picture = slide.shapes.add_picture(BytesIO(PIXEL), 0, Inches(number))
            picture._element.nvPicPr.cNvPr.set("descr", words)
        chart_data: Any = cast("Any", CategoryChartData)()
        chart_data.categories = ["Vik"]
        chart_data.add_series("Tolls", (2,))
        frame = slide.shapes.add_chart(
            XL_CHART_TYPE.PIE, 0, Inches(4), Inches(2), Inches(2), chart_data
        )
        frame.chart.chart_title.text_frame.text = "Tolls of 1932"

    lines, _, notes = read(slides(fill))
    assert lines == ["[picture: a mast]", "[picture]", "[chart: Tolls of 1932]"]
    assert notes == ["log.pptx: left out a picture (2 times), a chart"]


def test_hidden_slides_are_left_out_and_noted() -> None:
    def fill(deck: Any) -> None:
        for text in ("1932", "1950"):
            box(deck.slides.add_slide(deck.slide_layouts[BLANK]), 1, 1, text)
        deck.slides[1]._element.set("show", "0")

    lines, _, notes = read(slides(fill))
    assert lines == ["1932"]
    assert [note.kind for note in notes] == [NoteKind.UNSEEN]
    assert notes[0] == "log.pptx: a hidden slide is left out"


def test_texts_that_all_slides_repeat_appear_once() -> None:
    def fill(deck: Any) -> None:
        layout = deck.slide_layouts[BLANK]
        for number in (1, 2):
            slide = deck.slides.add_slide(layout)
            box(slide, 1, 1, f"text {number}")
            for shape in layout.placeholders:
                slide.shapes._spTree.append(deepcopy(shape._element))
            for shape in slide.placeholders:
                kind = shape.placeholder_format.type.name
                shape.text_frame.text = {"FOOTER": "Coast Office", "DATE": "May 1932"}.get(
                    kind, "7"
                )
        label = '<p:sp xmlns:p="{}"><p:nvSpPr><p:cNvPr id="99" name="x"/><p:cNvSpPr/><p:nvPr/></p:nvSpPr><p:txBody><a:p xmlns:a="{}"><a:r><a:t>Draft</a:t></a:r></a:p></p:txBody></p:sp>'
        spaces = deck.slides[0]._element.nsmap
        layout.shapes._spTree.append(parse_xml(label.format(spaces["p"], spaces["a"])))

    lines, _, _ = read(slides(fill))
    assert lines == ["text 1", "May 1932", "Coast Office", "Draft", "", "text 2"]


def paragraph(text: str, level: int = 0, kind: str = "arabicPeriod", start: int = 1) -> str:
    number = f"<buAutoNum type='{kind}' startAt='{start}'/>"
    return f"<p><pPr lvl='{level}'>{number}</pPr><r><t>{text}</t></r></p>"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<p><r><rPr strike='sngStrike'/><t>1950</t></r><r><t>1932</t></r></p>", "1932"),
        ("<p><r><t>10</t></r><r><rPr baseline='30000'/><t>6</t></r><r><rPr baseline='30000'/><t>th</t></r></p>", "10^6th"),
        ("<p><r><t>H</t></r><r><rPr baseline='-25000'/><t>2</t></r><r><rPr baseline='0'/><t>0</t></r></p>", "H_20"),
        ("<p><r><rPr><latin typeface='Wingdings'/></rPr><t>\u00fe</t></r><r><t> lit</t></r></p>", "☑ lit"),
        ("<p><m><oMath><f><num><r><t>a</t></r></num><den><r><t>b</t></r></den></f></oMath></m></p>", "a/b"),
        ("<p><fld type='datetime'><t>1932</t></fld><br/><r><t>lit</t></r></p>", "1932\nlit"),
        (paragraph("a") + paragraph("b", 1, "alphaLcParenR") + paragraph("c", 1, "alphaLcParenR") + paragraph("d"), "1. a\na) b\nb) c\n2. d"),
        (paragraph("a", 0, "romanUcParenBoth", 4) + "<p><r><t>x</t></r></p>" + paragraph("b"), "(IV) a\nx\n1. b"),
        ("<lstStyle><lvl1pPr><buAutoNum type='arabicPlain'/></lvl1pPr></lstStyle><p><r><t>a</t></r></p>", "1 a"),
    ],
)  # fmt: skip
def test_text_is_read_as_shown(body: str, text: str) -> None:
    shape = f"<sp><nvSpPr><cNvPr/></nvSpPr><txBody>{body}</txBody></sp>"
    assert read(slide_parts(shape))[0] == text.split("\n")
    group = f"<grpSp><grpSp>{shape}</grpSp></grpSp>"
    assert read(slide_parts(group))[0] == text.split("\n")


def test_diagrams_objects_and_other_forms_are_read_or_marked() -> None:
    def frame(content: str, properties: str = "") -> str:
        about = f"<nvGraphicFramePr><cNvPr {properties}/></nvGraphicFramePr>"
        return f"<graphicFrame>{about}<graphic><graphicData>{content}</graphicData></graphic></graphicFrame>"

    ink = "<AlternateContent><Choice><contentPart><nvContentPartPr><cNvPr/></nvContentPartPr></contentPart></Choice><Fallback><pic/></Fallback></AlternateContent>"
    decoration = "<pic><nvPicPr><cNvPr><ext><decorative val='1'/></ext></cNvPr></nvPicPr></pic>"
    shapes = frame("<relIds dm='dm'/>") + frame("<oleObj/>", "descr='a log'") + ink + decoration
    lines, _, notes = read(slide_parts(shapes, dm="<a><pt><t>Lit</t></pt><pt><t>Out</t></pt></a>"))
    assert lines == ["[diagram: Lit; Out]", "[embedded object: a log]", "[drawing by hand]"]
    assert notes == ["log.pptx: left out a diagram, an embedded object, a drawing by hand"]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"lit in 1932", "is not a PPTX that can be read"),
        (b"\xd0\xcf\x11\xe0", "locked by a password, or a .ppt"),
        (packed({"a": "b"}), "has no presentation"),
        (slide_parts(""), "has no text"),
        (slide_parts("<!DOCTYPE x>"), "declares entities"),
        (slide_parts("<sp"), "its slides are missing or damaged"),
        (slide_parts("<grpSp>" * 50 + "<sp/>" + "</grpSp>" * 50), "nested more than 30 deep"),
        (packed({"ppt/presentation.xml": " " * 100_000_001}), "unpacks to more than 100 MB"),
    ],
    ids=range(8),
)
def test_what_is_no_presentation_or_too_large_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableError, match=reason):
        read_file(data, ".pptx", "log.pptx")


def test_bullets_that_say_yes_or_no_are_read() -> None:
    paragraph = (
        "<p><pPr><buFont typeface='{}'/><buChar char='{}'/></pPr><r><t>{}</t></r></p>".format
    )
    lines = (("Wingdings", "ü", "dogs"), ("Wingdings", "û", "cats"), ("Arial", "✓", "mice"), ("Arial", "•", "birds"))  # fmt: skip
    body = "".join(paragraph(*line) for line in lines)
    shape = f"<sp><nvSpPr><cNvPr/></nvSpPr><txBody>{body}</txBody></sp>"
    assert read(slide_parts(shape))[0] == ["✓ dogs", "✗ cats", "✓ mice", "birds"]
