import pytest

from conflictscore.retrieval.html.article import extract
from conflictscore.retrieval.html.signs import marked_inline
from conflictscore.retrieval.html.tree import shown_page
from conflictscore.retrieval.html.whole import whole_text
from conflictscore.retrieval.pages.page import FetchedPage, UnreadableError

FILLER = (
    "<p>The harbour authority published its yearly account of the works, with details of each of"
    " the structures in its care and of the money that was spent on them.</p>"
)


@pytest.mark.parametrize(
    ("body", "shown", "unseen"),
    [
        ("<p>It opened on <time datetime='1932-03-19'>19 March 1932</time>.</p>", ['It opened on 19 March 1932.'], []),
        ('<p>The sum is <output>42</output> euros.</p>', ['sum is 42 euros'], []),
        ('<div>It opened in<center>1932</center>by order of Poe.</div>', ['It opened in 1932 by order of Poe.'], []),
        ('<p><label>Opened <b>1932</b></label> by the mayor.</p>', ['Opened 1932 by the mayor'], []),
        ('<p>It cost <data value=5>five</data> euros, says <dfn>Poe</dfn>, <samp>ok</samp> <kbd>F1</kbd> <var>x</var> <bdi>abc</bdi> <mark>gold</mark> <small>tiny</small>.</p>', ['cost five euros, says Poe, ok F1 x abc gold tiny'], []),
        ("<p>Energy is <math><mi>E</mi><mo>=</mo><mi>m</mi><msup><mi>c</mi><mn>2</mn></msup><annotation encoding='application/x-tex'>E=mc^{2}</annotation></math> here.</p>", ['E=mc^2 here'], ['{2}']),
        ('<figure><img src=x.png alt=y><figcaption>The bridge opened in 1932.</figcaption></figure>', ['The bridge opened in 1932.'], []),
        ('<details><summary>Opened in 1932</summary><p>By the mayor of Vik.</p></details>', ['Opened in 1932', 'By the mayor of Vik'], []),
        ('<div>The bridge opened in 1932.<br>It cost 5 million.</div><h3>Length</h3><div>1,149 m</div>', ['opened in 1932.', 'cost 5 million', '1,149 m'], []),
        ('<section>The bridge opened in 1932. <p>It cost 5 million.</p> It was red.</section>', ['opened in 1932.', 'cost 5 million', 'was red'], []),
        ('<div>Opened <b>in</b> <a href=x>1932</a> by <i>Poe</i>.<p>Next.</p>After it <em>rained</em>.</div>', ['Opened in 1932 by Poe.', 'After it rained.'], []),
        ('<p>The reservoir holds 10<sup>6</sup> litres and H<sub>2</sub>O, 5 m<sup>2</sup>.</p>', ['10^6 litres', 'H_2O', 'm^2'], ['106']),
        ("<p>The lamp was lit in 1874<sup><a href='#n2'>2</a></sup>. It fell in 1932<sup class=reference>3</sup>.</p>", ['1874[2]', '1932[3]'], ['18742', '19323', '18742']),
        ("<p>The lamp was lit in 1874<sup id='cite_ref-1' class='reference'><a href='#cite_note-1'>[1]</a></sup>, they say<sup>†</sup>.</p>", ['1874[1], they'], ['18741', '^[1]']),
        ('<p>The 1<sup>st</sup> of May and the XIX<sup>e</sup> century, n<sup>o</sup> 5.</p>', ['1st of May', 'XIXe century'], ['^st']),
        ('<p>It opened in <del>1930</del> <ins>1932</ins>, and cost <s>4</s> 5 million, <strike>or 6</strike>.</p>', ['1932', '5 million'], ['1930', 'or 6', 'cost 4']),
        ("<p hidden></p><p style='display:none'>Secret two.</p><p style='color:red;DISPLAY : none'>Secret three.</p><div style='visibility:hidden'><p>Secret four.</p></div><template><p>Secret five</p></template><noscript>Secret six</noscript><dialog><p>Secret seven</p></dialog><p>It is <span hidden>not</span> red.</p>", ['It is red.'], ['Secret']),
        ("<p style='font-size:0'></p><p style='opacity:0'>Secret two</p><div aria-hidden='true' style='position:absolute;left:-9999px'>Secret three.</div><p class='sr-only'>Secret four</p><p style='text-decoration:line-through'>Secret five</p>", [], ['Secret']),
        ('<table><tr><th>Year</th><th>Events</th></tr><tr><td>1932</td><td><ul><li>opened</li><li>painted</li></ul></td></tr><tr><td>1940</td><td>closed</td></tr></table>', ['1932', 'opened', 'painted', '1940 | closed'], ['openedpainted']),
        ('<table><tr><th rowspan=2>Bridge</th><th colspan=2>Years</th></tr><tr><th>opened</th><th>closed</th></tr><tr><td>Vik</td><td>1932</td><td>1940</td></tr></table>', ['Vik | 1932 | 1940', 'opened | closed'], []),
        ('<dl><dt>Opened</dt><dd>1932</dd><dt>Cost</dt><dd>5 million</dd></dl>', ['Opened', '1932', '5 million'], []),
        ('<table><caption>Fares of 1932</caption><tr><td>Bus</td><td>3</td></tr><tr><td>Ferry</td><td>5</td></tr></table>', ['Fares of 1932', 'Bus | 3'], []),
        ('<my-text>The bridge opened in 1932.</my-text><p>It is <x-y>red</x-y> now.</p>', ['opened in 1932', 'is red now'], []),
        ('<p><ruby>漢<rt>kan</rt></ruby> is old.</p>', ['漢'], []),
        ('<p>The <button>1932</button> <abbr title=x>EU</abbr> <cite>Poe</cite> <q>yes</q> is here.</p>', ['EU Poe'], []),
        ('<div role=table><div role=row><i role=columnheader>Bridge</i><i role=columnheader>Opened</i></div><div role=row><i role=cell>Vik</i><i role=cell>1932</i></div></div>', ['Bridge | Opened', 'Vik | 1932'], []),
        ('<ul><li><i class="fa fa-check"></i> Dogs<li><svg><title>No</title></svg> Cars</ul><p>Rated: <b role=img aria-label="4 of 5"></b></p>', ['✓ Dogs', 'No Cars', 'Rated: 4 of 5'], []),
        ('<table><tr><th>Toll<th>Due<tr><td>Dogs<td><b role=checkbox aria-checked=true></b><tr><td>Cars<td><svg role=img><desc>No</desc></svg></table>', ['Dogs | ☑', 'Cars | No'], []),
        ('<p>So <span class=MathJax>106</span><script type="math/tex">10^6</script> and <math><mfrac><mn>1</mn><mrow><mn>2</mn><mi>a</mi></mrow></mfrac></math>.</p>', ['So 10^6 and 1/(2a).'], ['106']),
        ('<p>It takes <math><mn>2</mn><mfrac><mn>3</mn><mn>4</mn></mfrac></math> h, and <math><mfrac><mn>1</mn><mn>2</mn></mfrac><mi>m</mi></math> is lost.</p>', ['takes 2 3/4 h, and (1/2)m is lost'], ['23/4', '1/2m']),
        ('<p>10<span style="vertical-align:super">6</span> at 1.299,<sup>99</sup> €</p>', ['10^6 at 1.299,99 €'], ['106']),
        ('<ol style="list-style-type:upper-roman"><li>Opening<li>Toll</ol>', ['I. Opening', 'II. Toll'], []),
        ('<div style="white-space:pre-line">Vik 1932\nPoe 1940</div><textarea>Mid 1950</textarea>', ['Vik 1932 Poe 1940', 'Mid 1950'], []),
        ('<x-y><template shadowrootmode=open><p>Opened <slot name=a>never</slot> in <slot></slot></p></template><b slot=a>again</b>1932<b slot=c>1950</b></x-y>', ['Opened again in 1932'], ['never', '1950']),
        ('<p style="color:#eee;background:#eee">1950</p><p style="font-size:.5px">1951</p><ul><li><b>Opened</b><span>1932</span></ul>', ['Opened 1932'], ['1950', '1951']),
        ('<p>Toll: <b aria-hidden=true>$<i>12</i><i>.</i><i>99</i></b><b class=sr-only>twelve dollars</b></p>', ['Toll: $12.99'], ['twelve']),
        ('<div><span style="display:block">Vik</span><span style="display:block">1932</span><p><span style="display:block;float:left">W</span>hen</p></div>', ['Vik 1932', 'When'], []),
        ('<p>The light&shy;house.</p>', ['The lighthouse.'], []),
        ('<h2>Opened in <time>1932</time></h2><ul><li>Cost: <output>5</output> million</li><li>Red <sup>2</sup></li></ul>', ['Opened in 1932', 'Cost: 5 million'], []),
    ],
)  # fmt: skip
def test_all_that_is_shown_is_read_and_nothing_else(
    body: str, shown: list[str], unseen: list[str]
) -> None:
    html = (
        f"<html><body><article><h1>Works</h1>{FILLER * 3}{body}{FILLER * 3}</article></body></html>"
    )
    page = FetchedPage("http://a.test/", "http://a.test/", "text/html", "utf-8", html.encode())
    for text in (extract(page).text, whole_text(html).text):
        read = " ".join(text.split())
        assert [part for part in shown if part not in read] == []
        assert [part for part in unseen if part in read] == []


def test_a_style_sheet_hides_numbers_and_raises_and_known_ones_that_are_not_fetched_hide() -> None:
    html = (
        "<head><link rel=stylesheet href=a.css></head><p class='hidden'>1950</p><p class='d-none d-md-block'>1932</p>"
        "<style>.a{list-style-type:lower-alpha}.b{vertical-align:sub}.c{white-space:pre}</style>"
        "<ol class=a><li>Opening</ol><p>H<i class=b>2</i>O</p><div class=c>Vik 1932\nPoe 1940</div>"
    )
    assert whole_text(html).text.split("\n") == [
        "1932",
        "a. Opening",
        "H_2O",
        "Vik 1932",
        "Poe 1940",
    ]
    variants = (
        "<head><link rel=stylesheet href=a.css></head><p class='hidden dark:bg-gray-700'>1950</p>"
        "<p class='hidden print:block'>1951</p><p class='hidden md:inline-flex'>1932</p>"
    )
    assert whole_text(variants).text == "1932"
    menu = shown_page("<body><nav aria-hidden=true>1950</nav><p>1932</p></body>")
    assert menu.tree.text().strip() == "1932"
    printed = (
        "<style media=print>p{display:none}</style><style media=screen>b{display:none}</style>"
    )
    assert whole_text(f"{printed}<p>1932 <b>1950</b></p>").text == "1932"
    unclosed = "<style>.w{display:none</style><p class=w>1950</p><p>1932</p>"
    assert whole_text(unclosed).text == "1932"
    white = "<style>.w{color:white}</style><p class=w>1950</p><p>1932</p>"
    assert whole_text(white).text == "1932"
    on_white = "<style>body{background:#FFF}</style><p style='color:#fff'>1950</p><p>1932</p>"
    assert whole_text(on_white).text == "1932"
    on_black = "<style>p{background:#000}</style><p style='color:#fff'>1950</p><p>1932</p>"
    assert whole_text(on_black).text == "1950\n1932"


@pytest.mark.parametrize(
    "style",
    ["filter:opacity(0)", "text-indent:100%;white-space:nowrap;overflow:hidden"],
)
def test_text_that_is_filtered_or_pushed_out_of_its_box_is_not_seen(style: str) -> None:
    assert whole_text(f"<p style='{style}'>1950</p><p>1932</p>").text == "1932"


def test_a_picture_with_a_caption_leaves_a_mark_even_without_words() -> None:
    figure = "<figure><a href=a><img src=a alt=''></a><figcaption>The mast</figcaption></figure>"
    whole = whole_text(figure)
    assert (whole.text.split("\n"), whole.pictures) == (["[image]", "The mast"], 1)
    assert whole_text("<figure><img src=a alt=''></figure><p>lit</p>").pictures == 0
    caption = "The mast was raised on the pier in 1932."
    at_end = f"<h1>Works</h1>{FILLER * 3}<figure><img src=a alt=''><figcaption>{caption}</figcaption></figure>"
    html = f"<html><body><article>{at_end}</article></body></html>"
    page = FetchedPage("http://a.test/", "http://a.test/", "text/html", "utf-8", html.encode())
    assert extract(page).text.endswith(caption)


def test_a_group_of_icons_is_read_as_its_name() -> None:
    stars = "<i class='star full'></i>" * 5
    html = f"<p>Rated <span role=img aria-label='4 of 5 stars'>{stars}</span> by Vik</p>"
    assert whole_text(html).text == "Rated 4 of 5 stars by Vik"
    drawn = "<svg class=star><title>star</title></svg>" * 5
    html = f"<p>Rated <span role=img aria-label='4 of 5 stars'>{drawn}</span> by Vik</p>"
    assert whole_text(html).text == "Rated 4 of 5 stars by Vik"
    words = "<p><span role=img aria-label=Sales><svg><text>1932</text></svg></span></p>"
    assert whole_text(words).text == "1932"
    seen = "<p>Rated <span role=img aria-label='four'>★★★★☆</span></p>"
    assert whole_text(seen).text == "Rated ★★★★☆"


def test_a_formula_that_only_a_script_draws_is_read_after_words() -> None:
    html = "<p>It grows by <script type='math/tex'>10^6</script> a year.</p>"
    assert whole_text(html).text == "It grows by 10^6 a year."


def test_pictures_with_names_are_words_of_their_own() -> None:
    html = "<table><tr><td><img src=a alt=Gold><img src=b alt=Silver><td>1932</table>"
    whole = whole_text(html)
    assert (whole.text, whole.pictures) == ("Gold Silver | 1932", 0)
    icon = "<p><img class=icon alt=Email>info@vik.test <img class=lexicon alt=Word></p>"
    whole = whole_text(icon)
    assert (whole.text, whole.pictures) == ("Email info@vik.test [image: Word]", 1)


def test_a_picture_without_a_name_or_in_place_of_an_object_leaves_no_second_mark() -> None:
    whole = whole_text("<p>Lit <img src=a alt> in 1932</p>")
    assert (whole.text, whole.pictures) == ("Lit in 1932", 0)
    whole = whole_text("<p>Lit <object data=c.svg><img src=c alt=Chart></object></p>")
    assert (whole.text, whole.pictures) == ("Lit [embedded object]", 1)


@pytest.mark.parametrize(
    ("raised", "text"),
    [
        ("$500<sup><a href='#n12'>12</a></sup>", "$500[12]"),
        ("$4<sup><a href='/buy'>99</a></sup>", "$4.99"),
        ("10<sup>12</sup> USD", "10^12 USD"),
        ("$10<sup>12</sup>", "$10^12"),
        ("$10<sup>99</sup>, $110<sup>12</sup>", "$10.99, $110.12"),
        ("$10<sup class=cents>12</sup>, $10<sup>.12</sup>", "$10.12, $10.12"),
        ("Poe<sup>a</sup> 12.3<sup>a</sup> 1,200<sup>a</sup>", "Poe^a 12.3^a 1,200^a"),
        ("1<sup>a</sup> 12<sup>e</sup> M<sup>e</sup> N<sup>o</sup>", "1a 12e Me No"),
        ("lit<a href='#fn1'><sup>1</sup></a>", "lit[1]"),
        ("lit <a href='#fn1'>10<sup>6</sup></a>", "lit 10^6"),
    ],
)
def test_notes_cents_powers_and_endings_are_told_apart(raised: str, text: str) -> None:
    assert whole_text(f"<p>{raised}</p>").text == text


def test_a_snippet_keeps_its_raised_digits_apart() -> None:
    assert marked_inline("10<sup>6</sup> in H<sub>2</sub>O, <del>1930</del>1932<sup>[4]</sup>") == (
        "10^6 in H_2O, 1932[4]"
    )
    assert marked_inline("<ruby>漢<rp>(</rp><rt>kan</rt></ruby>字") == "<ruby>漢</ruby>字"
    assert marked_inline("10<sup><b>6</b></sup>, 1<b>0</b><sup>-<i>3</i></sup>") == (
        "10^6, 1<b>0</b>^-3"
    )
    linked = "1874<sup><a href='#n'>2</a></sup>, 1932<a href='#n'><sup>3</sup></a>"
    assert marked_inline(linked) == "1874[2], 1932<a href='#n'>[3]</a>"
    assert marked_inline("1<sup>a</sup>, <b>XIX</b><sup>e</sup>, Poe<sup>a</sup>") == (
        "1a, <b>XIX</b>e, Poe^a"
    )
    assert marked_inline("<sup>a<b>" * 20_000) == "<sup>a<b>" * 20_000


@pytest.mark.parametrize(
    ("html", "reason"),
    [
        (f"<p {' '.join(f'a{n}=1' for n in range(80_000))}>x</p>", "attributes"),
        (f"<p/{'/'.join(f'a{n}' for n in range(80_000))}>x</p>", "attributes"),
        ("<div>" * 80_000, "nested"),
        ("<x-y>" * 80_000, "nested"),
        ("<figure><figcaption>x" * 80_000, "nested"),
        ("<html a=1>" * 80_000, "nested"),
        (f"<b>{'<div>' * 5_000}{'</b>' * 5_000}", "nested"),
        (f"<select>{'<option>x</option>' * 80_000}", "options"),
    ],
)
def test_what_makes_the_parser_slow_is_refused_before_it_is_parsed(html: str, reason: str) -> None:
    with pytest.raises(UnreadableError, match=reason):
        whole_text(html)


def test_a_long_page_of_paragraphs_that_nobody_closed_is_read() -> None:
    assert whole_text("<ul>" + "<li>One<p>two<br>three " * 5_000)[1].count("three") == 5_000
