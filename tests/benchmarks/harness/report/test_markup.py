"""Markdown and changes of untrusted text, as a page may hold them."""

import pytest

from conflictscore.benchmarks.harness.report.page.render import markdown, word_diff
from tests.benchmarks.harness.report.lamps import HOSTILE


@pytest.mark.parametrize(
    ("text", "markup"),
    [
        ("It was **1874**.\nReally.", "<p>It was <strong>1874</strong>.<br />\nReally.</p>"),
        ("# Lit\n- a", "<h6>Lit</h6>\n<ul>\n<li>a</li>\n</ul>"),
        ("|a|b|\n|-|-|\n|1|2|", "<td>1</td>"),
        ("`<b>`", "<p><code>&lt;b&gt;</code></p>"),
        ("<b>x</b>", "<p>&lt;b&gt;x&lt;/b&gt;</p>"),
        (
            "[a](https://e.test/ 't')",
            '<a href="https://e.test/" title="t" rel="noopener noreferrer"',
        ),
    ],
)
def test_markdown_becomes_markup_and_html_stays_text(text: str, markup: str) -> None:
    assert markup in markdown(text)


@pytest.mark.parametrize(
    "text",
    [
        HOSTILE,
        "[a](javascript:alert(1))",
        "[a](data:text/html;base64,AAAA)",
        "![a](https://e.test/spy.png)",
        "<javascript:alert(1)>",
        '[a](https://e.test/"onmouseover="alert(1))',
    ],
)
def test_no_text_brings_an_element_or_address_of_its_own(text: str) -> None:
    for made in (markdown(text), word_diff("", text)):
        assert not any(f"<{tag}" in made for tag in ("script", "img", "style", "title"))
        assert 'href="javascript' not in made
        assert 'href="data' not in made
        assert '"onmouseover' not in made


def test_a_change_is_shown_word_by_word() -> None:
    assert word_diff("It was lit in 1871.", "It was first lit in <1874>.") == (
        "It was<ins> first</ins> lit in<del> 1871.</del><ins> &lt;1874&gt;.</ins>"
    )
    assert word_diff("a " * 3000, "a " * 3000 + "b") == ""
