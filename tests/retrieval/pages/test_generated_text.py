"""Text that a page's style sheets draw before and after elements."""

import pytest

from conflictscore.retrieval.reading.by_ending import read_file

FILLER = (
    "<p>The harbour authority published its yearly account of the works, with details of each of"
    " the structures in its care and of the money that was spent on them.</p>"
)


def text_of_page(css: str, body: str) -> str:
    html = (
        f"<html><head><title>T</title><style>{css}</style></head><body>{FILLER}{body}</body></html>"
    )
    [document], _ = read_file(html.encode(), ".html", "page.html")
    return document.text


@pytest.mark.parametrize(
    ("css", "body", "text"),
    [
        (".w::before{content:'Not '}", "<p class=w>lit in 1871</p>", "Not lit in 1871"),
        (".e:after{content:\"; closed\";color:red}", "<p class=e>Open in May</p>", "Open in May; closed"),
        (".e::after{content:' \\20AC'}.p::before{content:'£'}", "<p>Fee <b class=e>12</b> or <b class=p>10</b></p>", "Fee 12 € or £10"),
        (".y::before{content:'\\2713 '}.n:before{content:'\\2717 '}", "<ul><li class=y>Dogs<li class=n>Cats</ul>", "✓ Dogs\n✗ Cats"),
        (".y::before{font-family:FontAwesome;content:'\\f00c'}", "<table><tr><th>A<th>B<tr><td>Dogs<td class=y></table>", "Dogs | ✓"),
        ("abbr[title]::after{content:' (' attr(title) ')'}", "<p>The <abbr title='Lake Board'>LB</abbr> met</p>", "LB (Lake Board) met"),
        ("td.kg::after{content:' kg'}", "<table><tr><th>A<th>B<tr><td>Load<td class=kg>12</table>", "Load | 12 kg"),
    ],
)  # fmt: skip
def test_text_that_a_style_sheet_draws_is_read(css: str, body: str, text: str) -> None:
    assert text in text_of_page(css, body)


@pytest.mark.parametrize(
    ("css", "body", "text"),
    [
        (".w::before{content:'Open ';content:'Not '}", "<p class=w>lit in 1871</p>", "\nNot lit in 1871"),
        (".w::before{content:'Not ';content:unknown}", "<p class=w>lit in 1871</p>", "Not lit in 1871"),
        (".n::before{counter-reset:a 4;counter-reset:a 7;content:'No. ' counter(a) ' '}", "<p class=n>Fees</p>", "No. 7 Fees"),
        (".n::before{content:'New: ' / 'alternative text '}", "<p class=n>the quay opens</p>", "New: the quay opens"),
        (".n::before{content:url(tick.svg) / 'Included: '}", "<p class=n>two towels</p>", "\nIncluded: two towels"),
        (".n::before{content:url('tick.svg') 'New: '}", "<p class=n>two towels</p>", "\nNew: two towels"),
        ("ol{counter-reset:i;list-style:none}li{counter-increment:i}li::before{content:counters(i,'') ' '}", "<ol><li>Aim<ol><li>Fees</ol></ol>", "11 Fees"),
        (".m::before{content:'−'}", "<p class=m>5 degrees at dawn</p>", "\n−5 degrees at dawn"),
        (".m::before{content:'-'}", "<p>It fell by <b class=m>€3</b> a day</p>", "fell by -€3 a day"),
        (".m::after{content:'+'}", "<p><b class=m>500</b> boats a year</p>", "500+ boats"),
        (".y::after{content:'✓'}", "<p>It is <b class=y>open</b></p>", "It is open ✓"),
        ("body{counter-reset:i}.s{counter-set:i 5}.t::before{content:counter(i) ' '}", "<div><p class=s>Aim</p></div><p class=t>Fees</p>", "5 Fees"),
        (".s{counter-set:i 5;counter-increment:i 2}.s::before{content:counter(i) ' '}", "<p class=s>Fees</p>", "\n5 Fees"),
        (".w::before{content:attr(data-w, 'Not ')}", "<p class=w>lit in 1871</p>", "Not lit in 1871"),
        (".w::before{content:attr(data-w string, attr(data-v))}", "<p class=w data-v='Never '>lit in 1871</p>", "Never lit in 1871"),
        (".w::before{content:attr(DATA-W, 'Not ')}", "<p class=w data-w='Last '>lit in 1871</p>", "\nLast lit in 1871"),
    ],
)  # fmt: skip
def test_generated_text_is_what_a_browser_draws(css: str, body: str, text: str) -> None:
    assert text in text_of_page(css, body)


def test_a_long_generated_text_is_cut() -> None:
    text = text_of_page(f".w::before{{content:'Not {'a' * 201}'}}", "<p class=w>lit in 1871</p>")
    assert "Not aaa" in text
    assert "a…lit in 1871" in text


@pytest.mark.parametrize(
    ("css", "body"),
    [
        ("li::before{content:'-'}", "<ul><li>5 apples<li>3 pears</ul>"),
        ("h2::before{content:'−'}", "<h2>2019 in review</h2>"),
        ("p.x::before{content:'− '}", "<p class=x>5 apples</p>"),
        ("p.x::before{content:'−'}", "<p class=x>apples: 5</p>"),
    ],
)
def test_a_sign_that_belongs_to_no_number_is_not_read(css: str, body: str) -> None:
    assert text_of_page(css, body) == text_of_page("", body)


@pytest.mark.parametrize(
    ("css", "body", "unseen"),
    [
        ("p:hover::after{content:' not true'}", "<p>lit in 1871</p>", "not true"),
        (".e::after{content:' closed'}p.e::after{content:none}", "<p class=e>Open</p>", "closed"),
        (".t::after{content:attr(data-t);opacity:0}", "<p class=t data-t=closed>Open</p>", "closed"),
        ("@media print{a::after{content:' (' attr(href) ')'}}", "<p><a href='/1950'>lit</a></p>", "1950"),
        ("li::before{content:'• '}li::after{content:'/'}", "<ul><li>Dogs</ul>", "•"),
        (".c:after{content:'Done.';height:0;visibility:hidden}", "<p class=c>lit</p>", "Done"),
    ],
)  # fmt: skip
def test_text_that_is_not_drawn_and_decoration_are_not_read(
    css: str, body: str, unseen: str
) -> None:
    assert unseen not in text_of_page(css, body)


def test_headings_have_the_numbers_of_their_counters() -> None:
    css = (
        "body{counter-reset:a} h2{counter-increment:a;counter-reset:b} h3{counter-increment:b}"
        "h2::before{content:'Article ' counter(a,upper-roman) '. '}"
        "h3::before{content:counter(a) '.' counter(b) ' '}"
    )
    headings = "".join(
        f"<{tag}>{words}</{tag}>{FILLER}"
        for tag, words in (
            ("h2", "Aim"),
            ("h3", "Fees"),
            ("h3", "Dues"),
            ("h2", "End"),
            ("h3", "Law"),
        )
    )
    text = text_of_page(css, headings)
    places = [text.index(f"{n}\n") for n in ("Article I. Aim", "1.1 Fees", "1.2 Dues", "Article II. End", "2.1 Law")]  # fmt: skip
    assert places == sorted(places)


def test_a_nested_list_continues_its_outer_numbers() -> None:
    css = (
        "ol{counter-reset:i;list-style:none} li{counter-increment:i}"
        "li::before{content:counters(i,'.') ' '}"
    )
    items = "<ol><li>Aim<ol><li>Fees</li><li>Dues</li></ol></li><li>End</li></ol>"
    assert "1 Aim\n1.1 Fees\n1.2 Dues\n2 End" in text_of_page(css, items).replace("\n\n", "\n")


def test_an_icon_after_the_words_of_an_item_says_yes_or_no() -> None:
    items = "<ul><li>Dogs <i class='fa fa-check'></i><li>Cats <i class='bi bi-x-lg'></i></ul>"
    assert "Dogs ✓\nCats ✗" in text_of_page("", items)
