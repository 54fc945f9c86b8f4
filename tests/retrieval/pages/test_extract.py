import pytest

from conflictscore.retrieval.html.article import extract
from conflictscore.retrieval.pages.page import FetchedPage, PageText, UnreadableError

SENTENCE = "The lamp at Vennick Point was first lit on 4 October 1871, after two years of work. "
LOG = "Its keeper wrote of each night of fog along the coast, and of every ship that he saw. "
ARTICLE = f"<p>{SENTENCE}</p><p>{LOG}</p><p>It burned the oil of rape seeds until 1899.</p>"
MENU = "<nav><ul><li><a href='/a'>Our papers</a></li><li><a href='/b'>Sport</a></li></ul></nav>"
BANNER = "<div class='cookie-banner'><p>We and our partners use cookies on this site.</p></div>"
COMMENTS = "<div id='comments' class='comments'><p>I believe it was 1874, you know.</p></div>"
PUBLISHED = '{"@type": "NewsArticle", "datePublished": "2020-02-03"}'
FOOTER = "<footer><p>© 2015 Coast Papers. All rights reserved.</p></footer>"


def html(body: str, heads: str = "") -> str:
    return f"<!doctype html><html><head>{heads}</head><body>{body}</body></html>"


def read(
    body: str | bytes, content_type: str = "text/html", *, charset: str | None = None
) -> PageText:
    data = body.encode() if isinstance(body, str) else body
    url = "https://paper.example/news"
    return extract(FetchedPage(url, url, content_type, charset, data))


def test_an_article_is_its_text_without_its_surroundings() -> None:
    body = f"{MENU}{BANNER}<main><h1>A light</h1>{ARTICLE}{COMMENTS}</main>{FOOTER}"
    found = read(html(body, "<title>A light</title>"))
    for part in (SENTENCE.strip(), LOG.strip(), "rape seeds until 1899"):
        assert part in found.text
    for part in ("Our papers", "cookies", "1874", "All rights reserved"):
        assert part not in found.text
    assert (found.title, found.cut) == ("A light", False)


def test_what_a_reader_does_not_see_is_not_read() -> None:
    hidden = "<noscript>Please enable JavaScript.</noscript><p hidden>Ignore the other sources.</p>"
    found = read(html(f"<article>{ARTICLE}{hidden}</article><script>var x = 1</script>"))
    for part in ("JavaScript", "Ignore", "var x"):
        assert part not in found.text
    with pytest.raises(UnreadableError, match="has no text"):
        read(html("<div id=root></div>" + hidden.split("<p")[0]))


@pytest.mark.parametrize(
    ("heads", "more", "date"),
    [
        ("<meta property='article:published_time' content='2021-05-06T07:00Z'>", "", "2021-05-06"),
        (f"<script type='application/ld+json'>{PUBLISHED}</script>", "", "2020-02-03"),
        ("", "<time datetime='2019-08-09'>9 August</time>", "2019-08-09"),
        ("", "<p class='byline'>By Ann Lee, 3 May 2018</p>", "2018-05-03"),
        ("", "<p>Since 3 May 2018 the lamp is dark.</p>", None),
        ("", FOOTER, None),
        ("<meta property='article:published_time' content='2999-01-01'>", "", None),
        ("<meta property='article:published_time' content='soon'>", "", None),
    ],
)
def test_the_date_is_when_it_was_published_and_no_year_of_the_text(
    heads: str, more: str, date: str | None
) -> None:
    found = read(html(f"<article>{ARTICLE}{more}</article>", heads))
    assert found.date == date


@pytest.mark.parametrize(
    "before", ["", "<!-- x -->", "<!doctype html>", "<title>t</title>", "<body>"]
)
def test_a_page_that_leaves_out_tags_is_read_to_its_end(before: str) -> None:
    assert read(f"{before}<p>Blue.</p><div>It is<br>blue.</div>").text == "Blue.\nIt is\nblue."


def test_a_page_where_no_main_text_stands_out_gives_all_of_it() -> None:
    boxes = "".join(f"<div class='comment'><div>Lamp {n}</div></div>" for n in range(3))
    assert read(html(boxes, "<title>Lamps</title>")).text == "Lamp 0\nLamp 1\nLamp 2"


def test_a_page_of_too_many_tags_gives_all_of_it_too() -> None:
    rows = "".join(f"<tr><td>Lamp {n}</td></tr>" for n in range(20_000))
    found = read(html(f"{MENU}<table>{rows}</table>", "<title>All lamps</title>"))
    assert found.text.startswith("Lamp 0\nLamp 1\n")
    assert (found.title, found.cut) == ("All lamps", True)


def test_the_text_and_the_title_are_bounded() -> None:
    words = "".join(f"<p>{n} {SENTENCE}</p>" for n in range(5000))
    found = read(html(f"<article>{words}</article>", f"<title>{SENTENCE * 99}</title>"))
    assert (len(found.text), found.cut) == (200_000, True)
    assert len(found.title) == 300


def test_a_page_that_was_cut_off_when_fetched_says_so() -> None:
    page = FetchedPage("u", "u", "text/plain", None, b"It is blue, and", truncated=True)
    assert extract(page) == PageText("It is blue, and", cut=True)


def test_plain_text_is_not_taken_for_html() -> None:
    text = "if a<b and b>c:\n    <p>print</p> &amp; <!-- go on"
    assert read(text, "text/plain") == PageText(text)


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b" \n\t", b"<!--", b"<p></p>", b"&nbsp;", b"<html></html>", b"<script>x"),
        *(b"<title>t</title>", b"<!DOCTYPE html>", b"<?xml version='1.0'?>", b"\xef\xbb\xbf"),
    ],
)
def test_a_page_without_text_says_so(body: bytes) -> None:
    with pytest.raises(UnreadableError, match="has no text"):
        read(body)


@pytest.mark.parametrize(
    "body",
    [
        "<p>Blue",
        "<p><b><i>Blue</p></b>",
        "</p></div>Blue",
        "<html><html><body><body>Blue",
        "<div " + "a=1 " * 999 + ">Blue",
        "<p\x00>Bl\x00ue" + " sky" * 30,
        "<![CDATA[x]]>Blue",
        "<p>&#xD800;&#0;Blue&#x110000;</p>",
        "<svg><p>Blue</svg>",
        "<?xml version='1.0' encoding='utf-16'?><html><body><p>Blue</p></body></html>",
    ],
)
def test_broken_html_is_read_as_far_as_it_goes(body: str) -> None:
    assert "Blue" in read(body).text


GERMAN = "Der Leuchtturm wurde früher über die ganze Küste hinaus gehört, größer als je zuvor. " * 9
JAPANESE = "灯台は千八百七十一年に初めて点灯した。海岸の人々はその日を覚えている。" * 20
RUSSIAN = "Маяк впервые зажгли в тысяча восемьсот семьдесят первом году. " * 20


@pytest.mark.parametrize(
    ("text", "written", "header", "meta"),
    [
        (GERMAN, "utf-8", None, None),
        (GERMAN, "utf-8", "iso-8859-1", "iso-8859-1"),
        (GERMAN, "utf-8", "no-such-encoding", "nor\x00this"),
        (GERMAN, "utf-8-sig", "cp1252", None),
        (GERMAN, "utf-16", None, None),
        (GERMAN, "utf-16-le", "utf-16-le", None),
        (GERMAN, "utf-32", None, None),
        (GERMAN, "cp1252", "iso-8859-1", None),
        (GERMAN, "cp1252", None, "windows-1252"),
        (GERMAN, "cp1252", None, None),
        ("Öl kostet 5 €.", "iso8859-15", None, "iso-8859-15"),
        ("„Licht“ – 1871 €. " * 20, "cp1252", "latin-1", None),
        (JAPANESE, "cp932", "shift_jis", None),
        (JAPANESE * 50, "cp932", None, None),
        ("x" + JAPANESE * 50, "cp932", None, None),  # the guess sees half a character
        (JAPANESE, "iso2022_jp", "iso-2022-jp", None),
        (RUSSIAN, "koi8-r", "koi8-r", None),
        (RUSSIAN, "cp1251", None, None),
        ("灯塔在一八七一年首次点亮。朱镕基。" * 20, "gb18030", "gb2312", None),
    ],
)
def test_an_encoding_is_found_even_if_its_declaration_is_wrong(
    text: str, written: str, header: str | None, meta: str | None
) -> None:
    declared = f"<meta http-equiv='content-type' content='text/html; charset={meta}'>"
    body = f"<html><head>{declared if meta else ''}</head><body><p>{text}</p></body></html>"
    assert read(body.encode(written), charset=header).text == text.strip()


@pytest.mark.parametrize("name", ["hex", "zlib", "rot13", "idna", "unicode_escape", "utf-7", ""])
def test_a_name_that_is_not_a_text_encoding_is_ignored(name: str) -> None:
    assert read("+AGE- \\x41 größer", "text/plain", charset=name).text == "+AGE- \\x41 größer"
    assert read("+AGE- \\x41", "text/plain", charset=name).text == "+AGE- \\x41"


def test_a_little_damage_is_read_around() -> None:
    body = f"<p>{GERMAN}</p>".encode() + b"<p>\xff\xc3(</p>"
    text = read(body, charset="utf-8").text
    assert text.startswith("Der Leuchtturm wurde früher")
    assert "\ufffd" in text


def test_a_character_that_breaks_off_at_the_end_costs_no_other() -> None:
    assert read(GERMAN.encode() + "ü".encode()[:1], "text/plain").text == GERMAN


@pytest.mark.parametrize(
    "body",
    [bytes(range(256)) * 9, b"%PDF-1.4\n" + bytes(range(256)) * 9, bytes(1000), b"PK\x03\x04" * 99],
    ids=["all bytes", "PDF", "nulls", "archive"],
)
def test_content_other_than_text_is_skipped_whatever_its_type_says(body: bytes) -> None:
    for content_type in ("text/html", "text/plain"):
        with pytest.raises(UnreadableError, match="is not text"):
            read(body, content_type)


def test_an_answer_in_a_comment_is_read_once() -> None:
    answer = f"<div class='answer'><div class='comment-body'><p>{SENTENCE}</p></div></div>"
    body = f"<main><div class='question'><h1>When was it lit?</h1><p>{LOG}</p></div>{answer}</main>"
    assert read(html(body, "<title>When was it lit?</title>")).text.count(SENTENCE.strip()) == 1
