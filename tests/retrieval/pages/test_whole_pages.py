"""All the text of a page, as a reader sees it."""

import pytest

from conflictscore.retrieval.html.article import extract
from conflictscore.retrieval.html.whole import whole_text
from conflictscore.retrieval.pages.page import FetchedPage


def styled(css: str, body: str) -> str:
    return f"<html><head><style>{css}</style></head><body>{body}</body></html>"


@pytest.mark.parametrize(
    ("css", "body", "text"),
    [
        ("a,b,.x{display:none}.x{display:block}", "<p class=x>Lit in 1871", "Lit in 1871"),
        ("a,b,.x{display:block}.x{display:none}", "<p class=x>Lit in 1871</p>Red", "Red"),
        ("p.x{display:block}.x{display:none}", "<p class=x>Lit in 1871", "Lit in 1871"),
        (".x{display:none!important}", "<p class=x style='display:block'>1871</p>Red", "Red"),
        (".x{display:block!important}", "<p class=x style='display:none'>1871</p>", "1871"),
        (".x{display:none;color:red!important}.x{display:block}", "<p class=x>1871</p>", "1871"),
        (".g{font-size:0}.g > p{font-size:16px}", "<div class=g>No<p>1871</p></div>", "1871"),
        (".g{font-size:0}.g > p{font-size:1em}", "<div class=g><p>1871</p></div>Red", "Red"),
        (".x{color:inherit;background:inherit}", "<p class=x>1871</p>", "1871"),
        (".x{color:#aaa;background:#aaa}", "<p class=x>1871</p>Red", "Red"),
        ("/* a */ /* .x{display:block} ", "<p class=x>1871</p>", "1871"),
        (
            "td:nth-child(2){display:none}",
            "<table><tr><td>Vik<td>1950<td>1871</table>",
            "Vik | 1871",
        ),
        ("td:last-child{display:none}", "<table><tr><td>Vik<td>1871<td>1950</table>", "Vik | 1871"),
        (".a:is(.x, .y), b{display:none}", "<p class='a y'>1950</p><p class=y>1871</p>", "1871"),
        (".x:not(.a, .b){display:none}", "<p class='x b'>1871</p><p class=x>1950</p>", "1871"),
        (".x:hover,.y:checked{display:none}", "<p class=x>1871</p>", "1871"),
        ("", "<p popover>1950</p><p>1871</p>", "1871"),
    ],
)
def test_the_rule_that_prevails_in_a_browser_hides_or_shows(css: str, body: str, text: str) -> None:
    assert whole_text(styled(css, body)).text == text


@pytest.mark.parametrize(
    ("css", "body", "text"),
    [
        ("ul{counter-reset:n}li{counter-increment:n}.t:after{content:' Total ' counter(n)}", "<ul class=t><li>a<li>b</ul>", "a\nb\nTotal 2"),
        ("h2:before{counter-increment:s;content:counter(s) '. '}", "<h2>A</h2><h2>B</h2>", "1. A\n1. B"),
        (":root{counter-reset:s}h2:before{counter-increment:s;content:counter(s) '. '}", "<div><h2>A</h2></div><div><h2>B</h2></div>", "1. A\n2. B"),
        (".x{counter-increment:s}body{counter-reset:s}p:before{content:counter(s) '. '}", "<p class=x>A</p><blockquote class=x>B</blockquote><p class=x>C</p>", "1. A\nB\n3. C"),
        (".x:before{CONTENT:'Not '}", "<p class=x>open", "Not open"),
        ("", "<ol start='9999999999'><li>a</ol><ol start='3.5'><li>b</ol>", "1. a\n3. b"),
        ("", "<ol><li><h3>Lamp</h3><p>Lit.</ol>", "1. Lamp\nLit."),
        ("li{list-style:none}", "<ol><li>a<li>b</ol>", "a\nb"),
    ],
)  # fmt: skip
def test_numbers_are_those_that_a_browser_draws(css: str, body: str, text: str) -> None:
    assert whole_text(styled(css, body)).text == text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("m<sub>e</sub>, V<sub>o</sub>, 1<sup>er</sup>", "m_e, V_o, 1er"),
        ("Opens <input type=time value=09:30> in <input type=month value=2026-05>", "Opens 09:30 in 2026-05"),
        ("<div role=row>Total <b>five</b> <b>six</b></div>", "Total five six"),
        ("<div role=row><div role=row><b>a</b><b>b</b></div><b>c</b></div>", "a | b | c"),
        ("<div><template shadowrootmode=open><p>shown</p></template><p>not drawn</p></div>", "shown"),
        ("<table><tr><td>A<td><table><tr><th>Year<th>N<tr><td>1871<td>5</table></table>", "A | Year | N; 1871 | 5"),
        ("<table><tr><td colspan=0>a<td>b<tr><td>1<td>2</table>", "a | b\n1 | 2"),
        ("<math><mmultiscripts><mi>C</mi><mprescripts/><mn>6</mn><mn>14</mn></mmultiscripts></math>", "_6^14C"),
        ("<math>" + "<mrow>" * 500 + "<mi>x</mi>", "[formula]"),
        ("<ul><li><i class='fa fa-ticket'></i> Boats<li><i class='fa fa-ticket fa-check'></i> Dogs</ul>", "Boats\n✓ Dogs"),
        ("<ul><li><i class='fa-brands fa-x-twitter'></i> Vik<li><i class='fa fa-x-ray'></i> Poe</ul>", "Vik\nPoe"),
        ("<ul><li><i class='icon no-print'></i> Dogs<li><i class='icon icon-no'></i> Cars</ul>", "Dogs\n✗ Cars"),
        ("<p><i class='fa fa-star'></i><i class='fa fa-star-o'></i><i class='far fa-star'></i></p><p>stars", "★\nstars"),
        ("<script>" + "if(a<b){f(c=>d)} " * 1_100 + "</script><p>Lit in 1871", "Lit in 1871"),
    ],
)  # fmt: skip
def test_what_stands_on_a_page_is_read_as_a_reader_sees_it(body: str, text: str) -> None:
    assert whole_text(f"<body>{body}</body>").text == text


@pytest.mark.parametrize(
    ("css", "body", "text"),
    [
        (".f{display:flex;gap:1em}", "<div class=f><b>Toll</b><b>2</b></div>", "Toll 2"),
        (".f{display:inline-grid}", "<p class=f><i>Opened</i><i>1932</i></p>", "Opened 1932"),
        ("", "<div class=d-flex><span>Toll</span><span>12</span></div>", "Toll 12"),
        (".f{display:flex}", "<p class=f><i>V</i><i>i</i><i>k</i></p>", "Vik"),
        (".f{display:block}", "<p class=f><b>light</b><b>house</b></p>", "lighthouse"),
    ],
)
def test_parts_of_a_flexible_box_are_words_of_their_own(css: str, body: str, text: str) -> None:
    assert whole_text(styled(css, body)).text == text


def test_many_siblings_whose_places_a_style_sheet_counts_do_not_keep_the_reader_busy() -> None:
    css = "p:nth-child(7){display:none} " * 1_000
    whole = whole_text(styled(css, "<p>1871</p>" * 20_000))
    assert whole.is_unsure


def test_an_object_in_an_object_is_one_picture() -> None:
    assert whole_text("<object><object></object></object> a").pictures == 1


def test_no_cell_of_a_wide_table_is_lost() -> None:
    row = "".join(f"<td>c{number}" for number in range(250))
    assert whole_text(f"<table><tr>{row}<tr>{row}</table>").text.count("c249") == 2


@pytest.mark.parametrize("css", ["/* " * 90_000, "}" * 290_000 + "{"])
def test_a_hostile_style_sheet_does_not_keep_the_reader_busy(css: str) -> None:
    assert whole_text(styled(css, "<p>Lit in 1871")).text == "Lit in 1871"


def test_thousands_of_counters_do_not_keep_the_reader_busy() -> None:
    resets = (" ".join(f"c{number}x{n}" for n in range(28)) for number in range(400))
    css = "".join(f"#e{number}{{counter-reset:{names}}}" for number, names in enumerate(resets))
    css += "b::before{content:counter(c0x0) ' '}"
    elements = "".join(f"<i id=e{number}></i>" for number in range(400))
    # without a limit, this page takes minutes, and the test runs into its time limit
    body = f"{elements}{'<u>a</u>' * 50_000}<p><b>Lit in 1871</b>"
    assert whole_text(styled(css, body)).text.endswith("0 Lit in 1871")


def test_the_date_of_the_main_entity_comes_before_those_of_its_parts() -> None:
    parts = '"hasPart": [{"@type": "Article", "datePublished": "2011-01-01"}]'
    main = '"mainEntity": {"@type": "Article", "datePublished": "2012-02-02"}'
    data = f'{{"@type": "WebPage", {main}, {parts}}}'
    html = f"<head><script type='application/ld+json'>{data}</script></head><p>Lit in 1871.</p>"
    page = FetchedPage("u", "https://a.test/", "text/html", None, html.encode())
    assert extract(page).date == "2012-02-02"


def test_a_page_that_declares_utf_16_in_plain_letters_is_not_in_utf_16() -> None:
    html = b"<meta charset=utf-16><p>It opened in 1932.</p>"
    page = FetchedPage("u", "https://a.test/", "text/html", None, html)
    assert extract(page).text == "It opened in 1932."
