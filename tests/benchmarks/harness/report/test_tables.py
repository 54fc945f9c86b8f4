"""The tables of a run: every figure with its counts, and what cannot be had as words."""

import re
from io import StringIO

import pytest
from rich.console import Console

from conflictscore.benchmarks.harness.figures import (
    CategoryFigures,
    Figures,
    Interval,
    MethodFigures,
    Proportion,
)
from conflictscore.benchmarks.harness.records import QuestionResult
from conflictscore.benchmarks.harness.report.tables import print_figures
from conflictscore.benchmarks.paper_figures import PaperFigures, paper_figures
from conflictscore.benchmarks.wikicontradict.judge import MEASURES
from tests.benchmarks.harness.report.bench_world import (
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
    print_figures(given, console, title=title, paper=paper, results=results, verbose=verbose)
    return out.getvalue()


def row(text: str, start: str, after: str = "") -> list[str]:
    """The cells of the first row that begins so, below a heading."""
    lines = text[text.index(after) :].splitlines()
    line = next(line.strip() for line in lines if line.strip().startswith(start))
    return re.split(r"\s{2,}", line)


def test_a_method_stands_with_its_interval_its_counts_and_the_papers_figure() -> None:
    text = shown(figures(), paper=PAPER)
    assert row(text, "rag") == ["rag", "51.0", "10.0 to 90.0", "51", "100", "84.21"]
    assert "paper: Table 5 and section 6.4 of the ACL submission, gpt-4.1-mini, 779" in text


def test_free_form_has_a_table_a_measure() -> None:
    truthful = method("rag", 7, 10, measure="truthful")
    both = truthful.model_copy(
        update={"measures": {**truthful.measures, "informative": share(9, 10)}}
    )
    given = figures(measures=("truthful", "informative"), methods=(both,), paired=())
    text = shown(given, paper=paper_figures("truthfulqa", "free-form"))
    assert row(text, "rag", "Truthful")[1::4] == ["70.0", "78.7"]
    assert row(text, "rag", "Informative")[1::4] == ["90.0", "91.5"]


def test_a_graded_measure_is_a_mean_with_its_interval() -> None:
    text = shown(graded_figures(), paper=paper_figures("natconfqa", "free-form"))
    head = row(text, "method", "Conflicts f1")
    assert head == ["method", "mean %", "95 % interval", "n", "paper %"]
    assert row(text, "rag", "Conflicts f1") == ["rag", "50.0", "40.0 to 60.0", "100", "67.2"]
    folded = " ".join(text.split())
    assert "NatConfQA, Table 1, gpt-4o, 269 questions (o4-mini was the judge there)" in folded


def test_pairs_of_a_graded_measure_are_higher_or_lower() -> None:
    text = shown(graded_figures())
    after = "Against rag"
    head = row(text, "method", after)
    assert head == ["method", "n", "higher", "lower", "p", "points", "95 % interval"]
    expected = ["regenerated-rag", "100", "9", "3", "0.021", "+5.0", "+1.2 to +9.0"]
    assert row(text, "regenerated-rag", after) == expected
    assert "Wilcoxon" in text
    assert "McNemar" not in text
    assert row(text, "higher", "Answers with conflict")[:3] == ["higher", "2", "3"]
    assert row(shown(graded_figures(), verbose=True), "wh", "By category")[2] == "50.0 (8)"
    assert "higher less lower" in text
    assert "net corrections" not in text


def test_types_that_were_told_stand_with_the_published_accuracies() -> None:
    text = shown(graded_figures(), paper=paper_figures("conflicts", "free-form"))
    told = row(text, "pipeline", "Types of conflict")
    assert told == ["pipeline", "60.0", "31.3 to 83.2", "6", "10", "1"]
    folded = " ".join(text.split())
    assert "GPT-4o 59.2 %" in folded
    assert '"DRAGged into Conflicts", Table 4, 458 questions' in folded
    assert "Types of conflict" not in shown(figures())


def test_more_published_figures_show_in_verbose_only() -> None:
    paper = paper_figures("conflicts", "free-form")
    assert "In the paper" not in shown(graded_figures(), paper=paper)
    text = shown(graded_figures(), paper=paper, verbose=True)
    cells = ["conflicting opinions", "36.2", "73.3", "69.8", "87.9"]
    assert row(text, "conflicting opinions") == cells


def test_failed_and_unjudged_show_only_where_there_are_any() -> None:
    assert "unjudged" not in shown(figures())
    methods = (method("rag", 5, 9, failed=2, unjudged=1),)
    text = shown(figures(methods=methods, failed=2))
    assert row(text, "method", "Accuracy")[-3:] == ["n", "failed", "unjudged"]
    assert row(text, "rag")[-3:] == ["9", "2", "1"]


def test_another_benchmark_has_no_word_of_the_paper() -> None:
    assert "paper" not in shown(figures())


def test_pairs_stand_with_the_papers_counts_below() -> None:
    text = shown(figures(), paper=PAPER)
    after = "Against rag"
    expected = ["regenerated-rag", "50", "47", "2", "1", "1.000", "+1.0", "-2.0 to +4.0"]
    assert row(text, "regenerated-rag", after) == expected
    assert row(text, "in the paper", after) == ["in the paper", "16", "8", "0.152", "+1.0"]


def test_answers_with_conflict_stand_beside_the_papers() -> None:
    text = shown(figures(), paper=PAPER)
    assert "regenerated-rag: 10 first answers with conflict" in text
    harms = row(text, "harms", "Answers with conflict")
    assert harms == ["harms", "1", "3", "33.3", "6.1 to 79.2", "8 of 24, 33.3 %"]
    assert row(text, "retained")[-1] == "224 of 248, 90.3 %"


def test_labels_that_are_missing_are_told_and_never_rounded_away() -> None:
    lacking = Interval(value=0.99987, n=97)
    text = " ".join(shown(figures(coverage=lacking)).split())
    assert "99.9 % of their pairs were labelled (97 answers); 3 could not be scored" in text


def test_what_has_no_answers_to_count_is_none_and_not_0_percent() -> None:
    text = shown(figures(transitions=(transitions(0, 0, 10),)))
    assert row(text, "harms", "Answers with conflict") == ["harms", "0", "0", "none", "none"]


def test_methods_that_look_at_no_conflict_have_their_transitions_in_verbose_only() -> None:
    given = figures(transitions=(transitions(1, 1, 10, name="madam-rag"),))
    assert "Answers with conflict" not in shown(given)
    assert "madam-rag: 10 first answers with conflict" in shown(given, verbose=True)


def test_categories_and_steps_show_in_verbose_only() -> None:
    brief, long = shown(figures()), shown(figures(), verbose=True)
    assert "Myths" not in brief
    assert row(long, "Myths") == ["Myths", "8", "62.5 (8)", "75.0 (8)"]
    assert "loop" not in brief
    assert row(long, "loop") == ["loop", "412", "35", "120,331", "8,812"]


def test_a_few_categories_stand_without_being_asked_for() -> None:
    kinds = ["no-conflict", "complementary", "conflicting-opinions", "outdated", "misinformation"]
    whole: dict[str, Proportion | Interval] = {"accuracy": share(161, 161)}
    right = {"rag": whole, "regenerated-rag": whole}
    categories = tuple(
        CategoryFigures(category=kind, questions=161, measures=right) for kind in kinds
    )
    text = shown(figures(categories=categories), width=80)
    assert row(text, "outdated", "By category: accuracy, % (n)") == [
        *("outdated", "161", "100.0 (161)", "100.0 (161)")
    ]
    assert text[text.index("By category") :].splitlines()[1].split() == ["regenerated-"]


def test_three_ratings_are_counted_back_from_their_two_measures() -> None:
    def rated(name: str, correct: int, some: int) -> MethodFigures:
        made = method(name, correct, 10, measure=MEASURES[0])
        return made.model_copy(update={"measures": {**made.measures, MEASURES[1]: share(some, 10)}})

    methods = (rated("rag", 3, 8), rated("regenerated-rag", 0, 10), rated("no-documents", 1, 1))
    text = shown(figures(measures=MEASURES, methods=methods, paired=(), categories=()))
    lines = text[text.index("Ratings") :].splitlines()[3:6]
    assert [re.split(r"\s{2,}", line) for line in lines] == [
        ["no-documents", "1", "10.0 (1)", "0.0 (0)", "90.0 (9)", "10"],
        ["rag", "4", "30.0 (3)", "50.0 (5)", "20.0 (2)", "10"],
        ["regenerated-rag", "0.0 (0)", "100.0 (10)", "0.0 (0)", "10"],
    ]
    assert "Ratings" not in shown(figures())


def test_a_published_figure_without_decimals_has_one_as_the_others() -> None:
    paper = paper_figures("conflicts", "free-form")
    assert paper is not None
    told = method("taxonomy-aware", 5, 10, measure="expected behaviour")
    text = shown(figures(measures=("expected behaviour",), methods=(told,)), paper=paper)
    assert row(text, "taxonomy-aware")[-1] == "70.0"


def test_cost_names_the_models_without_a_price() -> None:
    text = shown(figures(cost=cost(money=None, unknown=("my-model",))))
    assert "dollars: unknown (no price for my-model)" in text
    assert row(text, "regenerated-rag", "net corrections")[1:] == ["+1", "unknown", "64,500"]
    assert "$0.00" not in text


def test_input_from_the_providers_prompt_cache_is_told_where_there_was_any() -> None:
    used = cost().usage["gpt-4.1-mini"].model_copy(update={"cache_read_tokens": 98_304})
    spent = cost().model_copy(update={"usage": {"gpt-4.1-mini": used}})
    told = "of the tokens in, 98,304 were in a provider's prompt cache"
    assert told in shown(figures(cost=spent))
    assert "prompt cache" not in shown(figures())


def test_without_a_net_correction_there_is_no_price_of_one() -> None:
    spent = cost().model_copy(update={"net_corrections": {"regenerated-rag": -1}})
    text = shown(figures(cost=spent))
    assert row(text, "regenerated-rag", "net corrections")[1:] == ["-1", *["no gain"] * 2]


def test_equal_reasons_are_folded_and_only_the_first_few_shown() -> None:
    same = [changed(True, None, question=f"q-{n}", error="no connection") for n in range(3)]
    others = [changed(True, None, question=f"r-{n}", error=f"reason {n}") for n in range(7)]
    text = shown(figures(), results=(*same, *others))
    assert row(text, "no connection") == ["no connection", "3", "q-0"]
    assert "reason 3" in text
    assert "reason 4" not in text
    assert "and 3 more reasons" in text


def test_an_unreadable_verdict_is_shown_apart_from_a_failure() -> None:
    text = shown(figures(), results=(changed(True, None),))
    assert "Failed" not in text
    assert row(text, "no gold", "Unjudged")[:2] == ["no gold", "1"]


@pytest.mark.parametrize("hostile", ["\x1b[2Jgone", "\u202egnp.exe", "a\x07b\rc"])
def test_untrusted_text_cannot_steer_the_terminal_and_is_no_markup(hostile: str) -> None:
    text = f"[red]{hostile}[/red]"
    category = CategoryFigures(category=text, questions=1, measures={})
    spent = cost(money=None, unknown=(text,)).model_copy(
        update={"usage": {text: cost().usage["gpt-4.1-mini"]}}
    )
    given = figures(categories=(category,), cost=spent)
    results = (changed(True, None, error=text),)
    out = shown(given, results=results, verbose=True, title=text, width=120)
    assert out.count("[red]") == 5, "title, category, error, model, price"
    assert not set(out) & set("\x1b\x07\r\u202e")


@pytest.mark.parametrize("width", [20, 40, 80])
def test_a_narrow_terminal_folds_and_nothing_is_wider(width: int) -> None:
    conflicts = paper_figures("conflicts", "free-form")
    for given, paper in ((figures(), PAPER), (graded_figures(), conflicts)):
        out = shown(given, paper=paper, verbose=True, width=width)
        assert max(map(len, out.splitlines())) <= width
        assert "…" not in out


def test_80_columns_keep_the_name_of_every_method_on_one_line() -> None:
    out = shown(figures(), paper=PAPER, verbose=True, width=80)
    assert row(out, "regenerated-rag", "Against rag")[:2] == ["regenerated-rag", "50"]


def test_80_columns_cut_no_word_of_a_header() -> None:
    adjusted = tuple(p.model_copy(update={"p_holm": 0.999}) for p in figures().paired)
    out = shown(figures(paired=adjusted), paper=PAPER, width=80)
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
    assert "coverage of the first answers: none has a score" in text
    assert "no model was called" in text
