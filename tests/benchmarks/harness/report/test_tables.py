"""The tables of a run: every figure with its counts, and missing figures as words."""

import re
from io import StringIO

import pytest
from rich.console import Console

from conflictscore.benchmarks.harness.figures import (
    CategoryFigures,
    Figures,
    Interval,
    MethodFigures,
)
from conflictscore.benchmarks.harness.records import QuestionResult
from conflictscore.benchmarks.harness.report.tables import print_figures
from conflictscore.benchmarks.paper_figures import PaperFigures, paper_figures
from conflictscore.benchmarks.wikicontradict.benchmark import MEASURES
from tests.benchmarks.harness.report.bench_world import (
    category,
    changed,
    cost,
    figures,
    graded_figures,
    method,
    paired,
    share,
    transitions,
)

PAPER = paper_figures("truthfulqa", "multiple-choice")
CONFLICTS = paper_figures("conflicts", "free-form")
NATCONFQA = paper_figures("natconfqa", "free-form")


def shown(
    given: Figures,
    *,
    paper: PaperFigures | None = None,
    results: tuple[QuestionResult, ...] = (),
    verbose: bool = False,
    width: int = 100,
    title: str = "TruthfulQA",
) -> str:
    out = StringIO()
    console = Console(file=out, width=width, highlight=False)
    print_figures(
        given, console, title=title, paper=paper, question_results=results, verbose=verbose
    )
    return out.getvalue()


def row(text: str, start: str, after: str = "") -> list[str]:
    """The cells of the first row with this beginning, below a heading."""
    lines = text[text.index(after) :].splitlines()
    line = next(line.strip() for line in lines if line.strip().startswith(start))
    return re.split(r"\s{2,}", line)


def rated(name: str, correct: int, some: int, measures: tuple[str, ...]) -> MethodFigures:
    made = method(name, correct, 10, measure=measures[0])
    return made.model_copy(update={"measures": {**made.measures, measures[1]: share(some, 10)}})


WORDS = ("truthful", "informative")
PLAIN, GRADED = figures(), graded_figures()
IN_WORDS = figures(measures=WORDS, methods=(rated("rag", 7, 9, WORDS),), paired=())
LACKING = figures(methods=(method("rag", 5, 9, failed=2, unjudged=1),), failed=2)
UNPRICED = figures(cost=cost(money=None, unknown=("my-model",)))
NO_GAIN = figures(cost=cost().model_copy(update={"net_corrections": {"regenerated-rag": -1}}))
KEPT = figures(transitions=(transitions(0, 0, 10),))
TAXONOMY = method("taxonomy-aware", 5, 10, measure="expected behaviour")
EXPECTED = figures(measures=("expected behaviour",), methods=(TAXONOMY,))
PAIRS, CONFLICT, NET, TYPES = "Against", "Answers with", "net corrections", "Types of conflict"


@pytest.mark.parametrize(
    ("given", "paper", "after", "cells"),
    [
        (PLAIN, PAPER, "", "rag|51.0|10.0 to 90.0|51|100|84.21"),
        (IN_WORDS, None, "Truthful", "rag|70.0|10.0 to 90.0|7|10"),
        (IN_WORDS, None, "Informative", "rag|90.0|10.0 to 90.0|9|10"),
        (LACKING, None, "Accuracy", "method|%|95 % interval|right|n|failed|unjudged"),
        (LACKING, None, "Accuracy", "rag|55.6|10.0 to 90.0|5|9|2|1"),
        (GRADED, NATCONFQA, "Conflicts f1", "method|mean %|95 % interval|n|paper %"),
        (GRADED, NATCONFQA, "Conflicts f1", "rag|50.0|40.0 to 60.0|100|67.2"),
        (GRADED, None, PAIRS, "method|n|higher|lower|p|points|95 % interval"),
        (GRADED, None, PAIRS, "regenerated-rag|100|9|3|0.021|+5.0|+1.2 to +9.0"),
        (PLAIN, PAPER, PAIRS, "regenerated-rag|50|47|2|1|1.000|+1.0|-2.0 to +4.0"),
        (PLAIN, PAPER, PAIRS, "in the paper|16|8|0.152|+1.0"),
        (PLAIN, PAPER, CONFLICT, "harms|1|3|33.3|6.1 to 79.2|8 of 24, 33.3 %"),
        (KEPT, None, CONFLICT, "harms|0|0|none|none"),
        (GRADED, None, TYPES, "pipeline|60.0|31.3 to 83.2|6|10|1"),
        (UNPRICED, None, NET, "regenerated-rag|+1|unknown|64,500"),
        (NO_GAIN, None, NET, "regenerated-rag|-1|no gain|no gain"),
        (EXPECTED, CONFLICTS, "", "taxonomy-aware|50.0|10.0 to 90.0|5|10|70.0"),
    ],
)
def test_a_figure_stands_with_its_interval_its_counts_and_the_papers(
    given: Figures, paper: PaperFigures | None, after: str, cells: str
) -> None:
    expected = cells.split("|")
    assert row(shown(given, paper=paper), expected[0], after) == expected


@pytest.mark.parametrize(
    ("given", "paper", "told"),
    [
        (PLAIN, PAPER, "Table 5 and section 6.4 of the ACL submission, gpt-4.1-mini, 779"),
        (PLAIN, PAPER, "regenerated-rag: 10 first answers with a conflict"),
        (PLAIN, PAPER, "p: exact McNemar test"),
        (GRADED, None, "p: Wilcoxon"),
        (GRADED, None, "higher less lower"),
        (GRADED, NATCONFQA, "Table 1, gpt-4o, 269 questions (o4-mini was the judge there)"),
        (GRADED, CONFLICTS, "GPT-4o 59.2 %"),
        (GRADED, CONFLICTS, '"DRAGged into Conflicts", Table 4, 458 questions'),
        (UNPRICED, None, "dollars: unknown (no price for my-model)"),
        (
            figures(coverage=Interval(value=0.99987, n=97)),
            None,
            "99.9 % of their pairs were labelled (97 answers); 3 could not be scored",
        ),
    ],
)
def test_a_table_says_what_its_figures_are(
    given: Figures, paper: PaperFigures | None, told: str
) -> None:
    assert told in " ".join(shown(given, paper=paper).split())


def test_what_a_run_does_not_have_is_in_no_table() -> None:
    text = shown(figures())
    for absent in ("unjudged", "paper", "Types of conflict", "Ratings", "prompt cache", "Wilcoxon"):
        assert absent not in text
    assert "net corrections" not in shown(graded_figures())


def test_more_shows_in_verbose() -> None:
    other = (transitions(1, 1, 10, name="madam-rag"),)
    for given, paper, start, cells in (
        (graded_figures(), CONFLICTS, "conflicting opinions", ["36.2", "73.3", "69.8", "87.9"]),
        (figures(), None, "Myths", ["8", "62.5 (8)", "75.0 (8)"]),
        (figures(), None, "loop", ["412", "35", "120,331", "8,812"]),
        (figures(transitions=other), None, "madam-rag: 10 first answers with a conflict", []),
        (graded_figures(), None, "wh", ["8", "50.0 (8)", "50.0 (8)"]),
    ):
        brief = [re.split(r"\s{2,}", line.strip())[0] for line in shown(given).splitlines()]
        assert start not in brief
        assert row(shown(given, paper=paper, verbose=True), start) == [start, *cells]


def test_a_few_categories_stand_without_being_asked_for() -> None:
    kinds = ["no-conflict", "complementary", "conflicting-opinions", "outdated", "misinformation"]
    whole = share(161, 161)
    categories = tuple(category(kind, "accuracy", whole, whole) for kind in kinds)
    text = shown(figures(categories=categories), width=80)
    assert row(text, "outdated", "By category: accuracy, % (n)") == [
        *("outdated", "161", "100.0 (161)", "100.0 (161)")
    ]
    assert text[text.index("By category") :].splitlines()[1].split() == ["regenerated-"]


def test_three_ratings_are_counted_back_from_their_two_measures() -> None:
    counts = (("rag", 3, 8), ("regenerated-rag", 0, 10), ("no-documents", 1, 1))
    methods = tuple(rated(name, right, some, MEASURES) for name, right, some in counts)
    text = shown(figures(measures=MEASURES, methods=methods, paired=(), categories=()))
    lines = text[text.index("Ratings") :].splitlines()[3:6]
    assert [re.split(r"\s{2,}", line) for line in lines] == [
        ["no-documents", "1", "10.0 (1)", "0.0 (0)", "90.0 (9)", "10"],
        ["rag", "4", "30.0 (3)", "50.0 (5)", "20.0 (2)", "10"],
        ["regenerated-rag", "0.0 (0)", "100.0 (10)", "0.0 (0)", "10"],
    ]


def test_input_from_the_providers_prompt_cache_is_told() -> None:
    used = cost().usage["gpt-4.1-mini"].model_copy(update={"cache_read_tokens": 98_304})
    spent = cost().model_copy(update={"usage": {"gpt-4.1-mini": used}})
    told = "98,304 of the input tokens came from a provider's prompt cache"
    assert told in shown(figures(cost=spent))


def test_equal_reasons_are_folded_and_only_the_first_few_shown() -> None:
    same = [changed(True, None, question=f"q-{n}", error="no connection") for n in range(3)]
    others = [changed(True, None, question=f"r-{n}", error=f"reason {n}") for n in range(7)]
    text = shown(figures(), results=(*same, *others))
    assert row(text, "no connection") == ["no connection", "3", "q-0"]
    assert "reason 3" in text
    assert "reason 4" not in text
    assert "and 3 more reasons" in text
    unread = shown(figures(), results=(changed(True, None),))
    assert "Failed" not in unread
    assert row(unread, "no gold", "Unjudged")[:2] == ["no gold", "1"]


@pytest.mark.parametrize("hostile", ["\x1b[2Jgone", "\u202egnp.exe", "a\x07b\rc"])
def test_untrusted_text_cannot_steer_the_terminal_and_is_no_markup(hostile: str) -> None:
    text = f"[red]{hostile}[/red]"
    hostile_category = CategoryFigures(category=text, questions=1, measures={})
    spent = cost(money=None, unknown=(text,)).model_copy(
        update={"usage": {text: cost().usage["gpt-4.1-mini"]}}
    )
    given = figures(categories=(hostile_category,), cost=spent)
    results = (changed(True, None, error=text),)
    out = shown(given, results=results, verbose=True, title=text, width=120)
    assert out.count("[red]") == 5, "title, category, error, model, price"
    assert not set(out) & set("\x1b\x07\r\u202e")


@pytest.mark.parametrize("width", [20, 40, 80])
def test_a_narrow_terminal_folds_and_cuts_no_name_or_header(width: int) -> None:
    adjusted = tuple(p.model_copy(update={"p_holm": 0.999}) for p in figures().paired)
    out = ""
    for given, paper in ((graded_figures(), CONFLICTS), (figures(paired=adjusted), PAPER)):
        out = shown(given, paper=paper, verbose=True, width=width)
        assert max(map(len, out.splitlines())) <= width
        assert "…" not in out
    if width == 80:
        assert row(out, "regenerated-rag", "Against rag")[:2] == ["regenerated-rag", "50"]
        assert re.search(r"method .* corrected +harmed +p +Holm +points", out)


def test_a_run_without_any_question_ended_is_printed() -> None:
    empty = figures(
        ended=0,
        methods=(method("rag", 0, 0),),
        paired=(paired(0, 0, p=None, n=0),),
        coverage=Interval(value=None),
        transitions=(),
        categories=(),
        cost=cost(money=0.0).model_copy(update={"usage": {}, "net_corrections": {}}),
    )
    text = shown(empty, paper=PAPER)
    assert row(text, "rag")[1:5] == ["none", "none", "0", "0"]
    assert "coverage of the first answers: no first answer has a score" in text
    assert "no model was called" in text


def test_a_pair_that_was_judged_on_no_question_is_not_among_the_adjusted_tests() -> None:
    tested = [
        paired(9, 3, p=0.02, name=name).model_copy(update={"p_holm": 0.04})
        for name in ("control-rag", "regenerated-rag")
    ]
    empty = paired(0, 0, p=None, name="placebo", n=0)
    words = " ".join(shown(figures(paired=(*tested, empty))).split())
    assert "Holm's adjustment over all 2 tests of the run" in words
