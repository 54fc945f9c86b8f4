"""The report of benchmark runs, as HTML."""

import hashlib
import json
import re
import sys
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from lxml import html as parsed

from conflictscore.benchmarks.harness.records import Question
from conflictscore.benchmarks.harness.report.page.render import (
    markdown,
    render_report,
    word_diff,
    write_report,
)
from conflictscore.benchmarks.harness.report.reviews import ChangeVerdict, Review
from conflictscore.benchmarks.harness.report.tables import sections
from conflictscore.errors import ConfigurationError, InputError, install_hint
from conflictscore.markup import web_address
from conflictscore.records import Document
from tests.benchmarks.harness.report.lamps import HOSTILE, PWN, choice, evidence, free, graded, run

pytestmark = pytest.mark.usefixtures("no_charts")


def page(*runs: Any) -> Any:
    return parsed.fromstring(render_report(runs))


def texts(found: Any, path: str) -> list[str]:
    """The texts of the elements at an XPath, each on one line."""
    return [" ".join(" ".join(element.itertext()).split()) for element in found.xpath(path)]


def card(found: Any, kind: str = "card") -> str:
    (only,) = texts(found, f"//article[contains(@class, '{kind}')]")
    return only


def test_a_flip_is_shown_with_its_evidence_and_the_other_methods() -> None:
    found = page(run("demo", [choice("a", 1, 0, sides="SCIU")]))
    shown = card(found, "correction")
    for part in (
        "Corrected: wrong to right",
        "When was the lamp of a lit?",
        "A It was lit in 1874. right answer after",
        "B It was lit in 1871. before",
        "Before: B wrong After: A right",
        "The model's justification Document 2 is the log of a, written on the night.",
        "Claim that was reconsidered: It was lit in 1871.",
        "Supports the claim: 1 1 Log, volume 1; log.test",
        "Contradicts the claim: 1 2 Log, volume 2; log.test",
        "Judge: The years were compared.",
        "Neither for nor against: document 3.",
        "Document 4 has no label: the judge did not answer",
        "CS-C 1.00 before, 0.00 after",
        "guarded-rag accepts this change",
        "control-rag B same as before wrong",
    ):
        assert part in shown, part
    assert set(texts(found, "//blockquote")) == {"The lamp was lit in 1874"}
    assert "https://log.test/2" in found.xpath("//a/@href")
    assert {"noopener noreferrer"} == set(found.xpath("//a/@rel"))

    harm = card(page(run("demo", [choice("a", 0, 1, refused=True)])), "harm")
    assert "Harmed: right to wrong refused by guarded-rag" in harm
    assert "guarded-rag refuses this change : no better evidence" in harm
    assert "guarded-rag A same as before right" in harm


def test_free_form_answers_stand_with_their_verdicts_references_and_reviews() -> None:
    flip = free("a", ("It was 1871.", False), ("It was 1874.", None))
    review = Review(verdict=ChangeVerdict.WORSE, decided_by=(1, 2), comment="The log is a copy.")
    said = {"a": {"ann@lamp.test": review}}
    found = page(run("one", [flip], reviews=said), run("two", [choice("a", 1, 0)]))
    shown = card(found, "unjudged")
    for part in (
        "Before truthful: no informative: yes It was 1871."
        " Judge's reason for truthful: The reference",
        "After truthful: not judged informative: yes It was 1874.",
        "No verdict on truthful: the judge's reply could not be read",
        "Reference answers: 1 right, 2 wrong",
        "What changed, word by word It was 1871. 1874.",
    ):
        assert part in shown, part
    assert texts(found, "//section[@class='reviews']") == [
        "Reviewers ann@lamp.test : worse; decided by documents 1, 2. The log is a copy."
    ]


def test_a_graded_run_is_shown_by_means_and_by_higher_and_lower() -> None:
    found = page(run("demo", [graded("a", 0.5, 1.0), graded("b", 0.75, 0.25), graded("c", 0, 0.5)]))
    rows, heads = texts(found, "//tr"), texts(found, "//th[@scope='col']")
    assert any(re.match(r"regenerated-rag 58\.3 [\d.]+ to [\d.]+ 3", row) for row in rows)
    assert any(row.startswith("regenerated-rag 3 2 1 ") for row in rows), rows
    assert {"Higher", "Lower"} <= set(heads)
    assert "Harmed" not in heads
    better, worse, _ = texts(found, "//article")
    for part in (
        "Better by recall type given by people: outdated",
        "Before recall: 50.0 %",
        "After recall: 100.0 %",
        "Judge's reason for recall: 1 of 2",
        "pipeline (named the type misinformation) It was 1871. same as before",
    ):
        assert part in better, part
    assert "Worse by recall" in worse


def test_every_table_of_the_terminal_stands_on_the_page() -> None:
    in_free_form = [
        free("a", ("It was 1871.", False), ("It was 1874.", True), category="outdated"),
        free("b", ("It was 1874.", True), ("It was 1871.", False), category="no conflict"),
    ]
    for made in (
        run("choice", [choice("a", 1, 0), choice("b", 0, 1, refused=True), choice("c", 0, None)]),
        run("free", in_free_form),
        run("graded", [graded("a", 0.5, 1.0), graded("b", 0.5, 1.0)]),
    ):
        found = page(made)
        rows, shown = texts(found, "//tr"), texts(found, "//body")[0]
        tables = sections(made.figures, made.paper, made.results)
        folded = {"limits", "published"}
        if len(made.figures.categories) < 2:
            folded.add("categories")
        for one in (one for name in tables.keys() - folded for one in tables[name]):
            assert " ".join(one.title.split()) in shown
            for row in one.rows:
                assert " ".join(" ".join(row).split()) in rows
        assert bool(found.xpath("//*[@id='types']")) is bool(made.figures.types)
        assert bool(found.xpath("//*[@id='categories']")) is (len(made.figures.categories) > 1)


def test_conflicts_that_were_kept_are_folded_away_below_the_flips() -> None:
    ticked = "//input[@value='kept']/@checked"
    both = page(run("demo", [choice("kept", 0, 0), choice("flip", 1, 0)]))
    (below,) = both.xpath("//details[@id='kept']")
    [text] = texts(below, ".//article")
    assert "When was the lamp of kept lit?" in text
    assert below.get("open") is None
    assert len(both.xpath("//article")) == 2
    assert not both.xpath(ticked)
    # if nothing flipped, these are all that is shown
    assert page(run("demo", [choice("kept", 0, 0)])).xpath(ticked)


def test_every_setting_is_there_and_those_that_differ_are_marked() -> None:
    one = run("one", [choice("a", 0, 0)])
    changed = {**one.manifest, "configuration": {**one.manifest["configuration"], "seed": 8}}
    rows = texts(page(one, run("two", one.results, manifest=changed)), "//tr")
    assert "configuration.seed (differs) 7 8" in rows
    assert "configuration.model.name model-a model-a" in rows
    manifest = json.loads('{"benchmark": "x", "a": [], "b": {}, "c": null, "d": [{"e": [1, 2]}]}')
    rows = texts(page(run("demo", one.results, manifest=manifest)), "//tr")
    assert {"a none", "b none", "c none", "d.1.e 1, 2"} <= set(rows)


def test_a_run_without_conflict_or_answer_still_has_a_report() -> None:
    nothing = run("empty", [], figures=run("x", [choice("a", 0, 0)]).figures)
    assert not page(nothing).xpath("//article")
    methods = {"rag": choice("a", 0, None).methods["regenerated-rag"]}
    failed = choice("a", 0, 0, methods=methods, conflict=None, reconsidered=None)
    assert "the model did not answer (503) 1 a" in texts(page(run("demo", [failed])), "//tr")


def hostile_run(name: str = HOSTILE) -> Any:
    question = Question(
        id=HOSTILE, question=HOSTILE, options=(HOSTILE, f"no {HOSTILE}"), gold=0, category=HOSTILE
    )
    text = f"{HOSTILE} The lamp was lit in 1874. {HOSTILE}" * 20
    urls = [
        f"javascript:{PWN}",
        f"data:text/html,<script>{PWN}</script>",
        f'https://log.test/" onmouseover="{PWN}"',
        'https://log.test/?q=<b>&"quoted"',
        "JaVaScRiPt:alert(1)",
        "http://[half",
    ]
    found = tuple(
        Document(number=n, text=text, title="" if n == 2 else HOSTILE, url=url)
        for n, url in enumerate(urls, start=1)
    )
    review = Review(verdict=ChangeVerdict.WORSE, comment=HOSTILE)
    flip = choice(
        "a",
        1,
        0,
        question=question,
        documents=found,
        reconsidered=evidence("SCSCSC", HOSTILE),
        justification=HOSTILE,
    )
    failed = choice("b", 0, None).methods["regenerated-rag"]
    failed = failed.model_copy(update={"error": HOSTILE})
    flip = flip.model_copy(update={"methods": flip.methods | {"control-rag": failed}})
    return run(
        name,
        [flip, free("f", (HOSTILE, True), (f"{HOSTILE} 1874", None), category=HOSTILE)],
        manifest={"benchmark": HOSTILE, "created": HOSTILE, "configuration": {HOSTILE: [HOSTILE]}},
        reviews={HOSTILE: {HOSTILE: review}},
    )


def test_hostile_texts_become_neither_elements_nor_attributes_nor_addresses() -> None:
    found = page(hostile_run(), run("other", [choice("a", 1, 0)]))
    assert len(found.xpath("//script")) == len(found.xpath("//style")) == 1
    assert not found.xpath("//@*[starts-with(name(), 'on')]")
    images = found.xpath("//img")
    assert images == found.xpath("//section[@id='pictures']//figure/img")  # our own charts
    assert all(image.get("src").startswith("data:image/svg+xml;base64,") for image in images)
    assert {href for href in found.xpath("//a/@href") if not href.startswith("#")} == {
        'https://log.test/?q=<b>&"quoted"',
        "https://log.test/1",
        "https://log.test/2",
    }
    assert "{{ 7 * 7 }}" in "".join(texts(found, "//h4"))
    html = render_report([hostile_run()])
    html.encode()
    assert not re.search(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", html
    )
    assert f"&lt;/script&gt;&lt;/style&gt;&lt;/title&gt;&lt;script&gt;{PWN}" in html


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


def test_markdown_and_changes_become_markup_and_html_stays_text() -> None:
    assert markdown("It was **1874**.\n\n- <b>x</b>") == (
        "<p>It was <strong>1874</strong>.</p>\n<ul>\n<li>&lt;b&gt;x&lt;/b&gt;</li>\n</ul>\n"
    )
    assert word_diff("It was lit in 1871.", "It was first lit in <1874>.") == (
        "It was<ins> first</ins> lit in<del> 1871.</del><ins> &lt;1874&gt;.</ins>"
    )
    assert word_diff("a " * 3000, "a " * 3000 + "b") == ""


def test_the_policy_names_the_one_style_and_the_one_script() -> None:
    html = render_report([run("demo", [choice("a", 1, 0)])])
    policy = parsed.fromstring(html).xpath("//meta/@content")[0]
    for tag in ("style", "script"):
        (content,) = re.findall(f"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
        digest = b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert not re.search(r"""(src|href)=["']?(https?:)?//(?!log\.test)""", html)
    assert " style=" not in html


@pytest.mark.parametrize(
    ("url", "known"),
    [
        ("https://log.test/a?b=c#d", True),
        ("HTTP://log.test", True),
        ("java\nscript:alert(1)", False),
        (" https://log.test", False),
        ("https://log.test/\u202egnp.exe", False),
        ("//log.test/a", False),
        ("https:///a", False),
        ("http://[half", False),
        ("file:///etc/passwd", False),
        ("", False),
    ],
)
def test_only_addresses_of_the_web_become_links(url: str, known: bool) -> None:
    assert web_address(url) == (url if known else None)


def test_a_report_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    out, runs = tmp_path / "report.html", [run("demo", [choice("a", 1, 0)])]
    out.write_text("an earlier report", "utf-8")
    write_report(runs, out)
    for given, place, told in (
        ([], out, "at least one run"),
        (runs, tmp_path / "absent" / "report.html", r"absent/report\.html: cannot be written"),
        (runs, tmp_path, "is a folder; give the name of an HTML file"),
    ):
        with pytest.raises(InputError, match=told):
            write_report(given, place)
    assert out.read_text("utf-8").lstrip().startswith("<!doctype html>")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_without_jinja_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ConfigurationError, match=re.escape(install_hint("bench"))):
        render_report([run("demo", [choice("a", 1, 0)])])
