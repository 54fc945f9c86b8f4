"""The report of benchmark runs, as HTML."""

import hashlib
import json
import re
import sys
from base64 import b64encode
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from markupsafe import escape

from conflictscore.benchmarks.harness.conflict_types import ConflictType
from conflictscore.benchmarks.harness.records import Question
from conflictscore.benchmarks.harness.report.page.render import render_report, write_report
from conflictscore.benchmarks.harness.report.reviews import ChangeVerdict, Review
from conflictscore.benchmarks.harness.report.tables import sections
from conflictscore.errors import ConfigurationError, InputError, install_hint
from conflictscore.markup import web_address
from conflictscore.records import Document
from tests.benchmarks.harness.report.lamps import HOSTILE, PWN, choice, evidence, free, graded, run

INLINE = {"mark", "strong", "q"}
VOID = {"meta", "link", "input", "line", "rect", "circle", "path"}


class Page(HTMLParser):
    """A page's elements: each with its attributes and the texts inside it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str], list[str]]] = []
        self._open: list[tuple[str, dict[str, str], list[str]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._part(tag)
        element = (tag, {name: value or "" for name, value in attrs}, [""])
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        self._part(tag)
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        for _, _, texts in self._open:
            texts.append(data)

    def _part(self, tag: str) -> None:
        if tag not in INLINE:
            self.handle_data(" ")

    def all(self, tag: str, **attributes: str) -> list[str]:
        """The texts of the elements of this kind with these words among their attributes."""
        return [
            " ".join("".join(texts).split())
            for name, attrs, texts in self.elements
            if name == tag
            and all(
                value in attrs.get(key.strip("_"), "").split() for key, value in attributes.items()
            )
        ]

    def attributes(self, tag: str, name: str) -> list[str]:
        return [attrs[name] for t, attrs, _ in self.elements if t == tag and name in attrs]


def page(*runs: Any) -> Page:
    return Page(render_report(runs))


def card(found: Page, kind: str = "") -> str:
    (only,) = found.all("article", class_=kind or "card")
    return only


def card_of(found: Page, words: str) -> str:
    return next(text for text in found.all("article") if words in text)


def test_a_flip_is_shown_as_in_the_papers_figure() -> None:
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
        "guarded-rag accepts this change.",
        "control-rag B same as before wrong",
    ):
        assert part in shown, part
    assert set(found.all("blockquote")) == {"The lamp was lit in 1874"}
    assert "https://log.test/2" in found.attributes("a", "href")
    assert {"noopener noreferrer"} == set(found.attributes("a", "rel"))


def test_a_harm_that_the_guard_refused_says_so() -> None:
    shown = card(page(run("demo", [choice("a", 0, 1, refused=True)])), "harm")
    assert "Harmed: right to wrong refused by guarded-rag" in shown
    assert "guarded-rag refuses this change: no better evidence" in shown
    assert "guarded-rag A same as before right" in shown


def test_free_form_answers_stand_with_their_verdicts_and_references() -> None:
    flip = free("a", ("It was 1871.", False), ("It was 1874.", None))
    shown = card(page(run("demo", [flip])), "unjudged")
    assert (
        "Before truthful: no informative: yes It was 1871. Judge on truthful: The reference"
        in shown
    )
    assert "After truthful: not judged informative: yes It was 1874." in shown
    assert "No verdict on truthful: the judge's reply could not be read" in shown
    assert "Reference answers: 1 right, 2 wrong" in shown


def test_a_graded_run_is_shown_by_means_and_by_higher_and_lower() -> None:
    found = page(run("demo", [graded("a", 0.5, 1.0), graded("b", 0.75, 0.25), graded("c", 0, 0.5)]))
    rows = found.all("tr")
    assert any(re.match(r"regenerated-rag 58\.3 [\d.]+ to [\d.]+ 3", row) for row in rows)
    assert any(row.startswith("regenerated-rag 3 2 1 ") for row in rows), rows
    heads = found.all("th", scope="col")
    assert {"Higher", "Lower"} <= set(heads)
    assert "Harmed" not in heads
    better = found.all("article", class_="correction")[0]
    for part in ("Better: higher recall", "Before recall: 50.0 %", "After recall: 100.0 %"):
        assert part in better, part
    assert "Judge on recall: 1 of 2" in better
    assert "pipeline (told misinformation) It was 1871. same as before" in better
    assert "Worse: lower recall" in card_of(found, "lamp of b lit")


def test_types_that_were_told_stand_with_the_methods() -> None:
    shown = card(page(run("demo", [graded("a", 0.5, 1.0)])))
    assert "Better: higher recall people: outdated" in shown
    assert "pipeline (told misinformation) It was 1871. same as before" in shown


def test_every_table_of_the_terminal_stands_on_the_page() -> None:
    told = ConflictType.MISINFORMATION
    in_free_form = [
        free("a", ("It was 1871.", False), ("It was 1874.", True), category="outdated"),
        free("b", ("It was 1874.", True), ("It was 1871.", False), category="no conflict"),
    ]
    for made in (
        run("choice", [choice("a", 1, 0), choice("b", 0, 1, refused=True), choice("c", 0, 0)]),
        run("free", in_free_form),
        run("graded", [graded("a", 0.5, 1.0), graded("b", 0.5, 1.0, told=told)]),
    ):
        html, rows = render_report([made]), page(made).all("tr")
        tables = sections(made.figures, made.paper, made.results)
        folded = {"limits", "published"}
        if len(made.figures.categories) < 2:
            folded.add("categories")
        for card in (card for name in tables.keys() - folded for card in tables[name]):
            assert str(escape(card.title)) in html
            for row in card.rows:
                assert " ".join(" ".join(row).split()) in rows
        assert ('<section id="types">' in html) is bool(made.figures.types)
        assert ('id="categories"' in html) is (len(made.figures.categories) > 1)


def test_where_nothing_flipped_the_kept_conflicts_are_what_there_is_to_see() -> None:
    def ticked(found: Page) -> bool:
        (box,) = [attrs for _, attrs, _ in found.elements if attrs.get("value") == "kept"]
        return "checked" in box

    assert ticked(page(run("demo", [choice("kept", 0, 0)])))
    assert not ticked(page(run("demo", [choice("kept", 0, 0), choice("flip", 1, 0)])))


def test_conflicts_that_were_kept_are_folded_away_below_the_flips() -> None:
    found = page(run("demo", [choice("kept", 0, 0), choice("flip", 1, 0)]))
    assert len(found.all("article")) == 2
    (below,) = ["".join(texts) for tag, attrs, texts in found.elements if attrs.get("id") == "kept"]
    assert "When was the lamp of kept lit?" in below
    assert "flip lit?" not in below
    assert "open" not in dict(next(a for _, a, _ in found.elements if a.get("id") == "kept"))


def test_what_reviewers_said_stands_with_the_flip_of_its_run() -> None:
    review = Review(verdict=ChangeVerdict.WORSE, decided_by=(1, 2), comment="The log is a copy.")
    said = {"a": {"ann@lamp.test": review}}
    found = page(run("one", [choice("a", 1, 0)], reviews=said), run("two", [choice("a", 1, 0)]))
    assert found.all("section", class_="reviews") == [
        "Reviewers ann@lamp.test: worse; decided by documents 1, 2. The log is a copy."
    ]


def test_runs_stand_one_below_the_other_and_every_failure_with_its_reason() -> None:
    one = run("one", [choice(f"q{i}", 1, int(i > 2)) for i in range(10)])
    two = run("two", [choice("a", 0, 0), choice("b", 0, None)])
    found = page(one, two)
    captions = {caption.partition(": paper")[0] for caption in found.all("caption")}
    assert {"one: Accuracy", "two: Accuracy"} <= captions
    assert "the model did not answer (503) 1 b" in found.all("tr")


def test_every_setting_is_there_and_those_that_differ_are_marked() -> None:
    one = run("one", [choice("a", 0, 0)])
    two = run("two", [choice("a", 0, 0)])
    changed = {**one.manifest, "configuration": {**one.manifest["configuration"], "seed": 8}}
    rows = page(one, run("two", two.results, manifest=changed)).all("tr")
    assert "configuration.seed (differs) 7 8" in rows
    assert "configuration.model.name model-a model-a" in rows
    assert f"hashes.questions {'0f' * 32} {'0f' * 32}" in rows


def test_a_run_without_conflict_or_answer_still_has_a_report() -> None:
    nothing = run("empty", [], figures=run("x", [choice("a", 0, 0)]).figures)
    assert page(nothing).all("article") == []
    failed = choice(
        "a",
        0,
        0,
        methods={"rag": choice("a", 0, None).methods["regenerated-rag"]},
        conflict=None,
        reconsidered=None,
    )
    assert "the model did not answer (503) 1 a" in page(run("demo", [failed])).all("tr")


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
    assert [tag for tag, _, _ in found.elements].count("script") == 1
    assert not found.attributes("img", "src")
    assert not [name for _, attrs, _ in found.elements for name in attrs if name.startswith("on")]
    assert {"style", "script"} - {tag for tag, _, _ in found.elements} == set()
    addresses = [href for href in found.attributes("a", "href") if not href.startswith("#")]
    assert set(addresses) == {
        'https://log.test/?q=<b>&"quoted"',
        "https://log.test/1",
        "https://log.test/2",
    }
    assert "{{ 7 * 7 }}" in "".join(found.all("h4"))


def test_nothing_of_a_document_can_turn_the_text_around_or_break_the_file() -> None:
    html = render_report([hostile_run()])
    html.encode()
    assert not re.search(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", html
    )
    assert f"&lt;/script&gt;&lt;/style&gt;&lt;/title&gt;&lt;script&gt;{PWN}" in html


def test_the_policy_names_the_one_style_and_the_one_script() -> None:
    html = render_report([run("demo", [choice("a", 1, 0)])])
    policy = Page(html).attributes("meta", "content")[0]
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
        ("javascript:alert(1)", False),
        ("java\nscript:alert(1)", False),
        (" https://log.test", False),
        ("https://log.test/\u202egnp.exe", False),
        ("//log.test/a", False),
        ("https:///a", False),
        ("http://[half", False),
        ("file:///etc/passwd", False),
        ("notes/log.txt", False),
        ("", False),
    ],
)
def test_only_addresses_of_the_web_become_links(url: str, known: bool) -> None:
    assert web_address(url) == (url if known else None)


def test_a_report_replaces_an_earlier_one_whole_or_not_at_all(tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    out.write_text("an earlier report", "utf-8")
    write_report([run("demo", [choice("a", 1, 0)])], out)
    assert out.read_text("utf-8").lstrip().startswith("<!doctype html>")
    with pytest.raises(InputError, match="at least one run"):
        write_report([], out)
    assert "Corrected" in out.read_text("utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_where_a_report_cannot_be_written_is_named(tmp_path: Path) -> None:
    runs = [run("demo", [choice("a", 1, 0)])]
    with pytest.raises(InputError, match=r"absent/report\.html: cannot be written"):
        write_report(runs, tmp_path / "absent" / "report.html")
    with pytest.raises(InputError, match="a folder; name the HTML file"):
        write_report(runs, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_without_jinja_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ConfigurationError, match=re.escape(install_hint("bench"))):
        render_report([run("demo", [choice("a", 1, 0)])])


def test_manifest_entries_of_any_shape_are_shown() -> None:
    manifest = json.loads('{"benchmark": "x", "a": [], "b": {}, "c": null, "d": [{"e": [1, 2]}]}')
    rows = page(run("demo", [choice("a", 0, 0)], manifest=manifest)).all("tr")
    assert {"a none", "b none", "c none", "d.1.e 1, 2"} <= set(rows)
