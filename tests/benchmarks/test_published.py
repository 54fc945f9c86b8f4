"""The paper's figures agree with each other: its accuracies with its counts of flips."""

from importlib import import_module

import pytest

from conflictscore.benchmarks.paper_figures import PaperFigures, paper_figures


def published(*asked: str) -> PaperFigures:
    paper = paper_figures(*asked)
    assert paper is not None
    return paper


def test_the_counts_of_flips_are_the_difference_of_the_accuracies() -> None:
    paper = published("truthfulqa", "multiple-choice")
    assert paper.transitions is not None
    told = paper.transitions
    gain = paper.difference("regenerated-rag", "accuracy")
    assert gain is not None
    assert round(gain * paper.questions) == told.corrections - told.harms
    assert told.retained + told.revised == told.conflict
    assert told.corrections + told.harms == told.revised


def test_every_accuracy_is_a_whole_number_of_questions() -> None:
    paper = published("truthfulqa", "multiple-choice")
    for measures in paper.measures.values():
        right = round(measures["accuracy"] * paper.questions)
        assert round(right / paper.questions, 4) == measures["accuracy"]


def test_what_the_paper_does_not_report_is_none() -> None:
    paper = published("truthfulqa", "free-form")
    assert paper.transitions is None
    assert paper.value("guarded-rag", "truthful") is None
    assert paper.value("rag", "accuracy") is None
    assert paper.difference("madam-rag", "truthful") is None
    assert paper_figures("ramdocs", "free-form") is None


def test_published_figures_of_other_benchmarks_agree_with_themselves() -> None:
    natconfqa = published("natconfqa", "free-form")
    gain = natconfqa.difference("control-rag", "conflicts recall")
    assert gain == pytest.approx(0.276)
    conflicts = published("conflicts", "free-form")
    assert conflicts.value("oracle", "expected behaviour") == 0.886
    assert max(value for _, value in conflicts.types) == 0.653
    wikicontradict = published("wikicontradict", "free-form")
    for told in wikicontradict.measures.values():
        assert told["correct"] <= told["at least partially correct"] <= 1
        right = round(told["correct"] * wikicontradict.questions)
        assert right / wikicontradict.questions == pytest.approx(told["correct"], abs=6e-4)
    for table in (*natconfqa.tables, *conflicts.tables, *wikicontradict.tables):
        assert {len(row) for row in table.rows} == {len(table.columns)}
    f1 = {model: (answers, both) for model, answers, both in natconfqa.tables[0].rows}
    assert f1["o3"] == ("77.0 to 80.5", "81.2 to 88.1")
    assert f1["gpt-4o"] == ("67.5 to 73.5", "67.2 to 79.7")


def test_a_run_stands_beside_the_papers_model_that_it_asks() -> None:
    for asked, name in {
        "openai:gpt-4.1-nano-2025-04-14": "GPT-4.1-Nano",
        "openai:gpt-4.1": "GPT-4.1",
        "local:qwen": "GPT-4.1",
    }.items():
        paper = published("reports", "free-form", asked)
        assert paper.model == name
        shown = [f"{100 * paper.measures[method]['cs-c']:.1f}" for method in paper.measures]
        rows = {row[0]: row[1:] for row in paper.tables[0].rows}
        assert [cell.split(",")[0] for cell in rows[name]] == shown


@pytest.mark.parametrize(
    ("name", "ours"),
    [("natconfqa", "natconfqa.metrics"), ("conflicts", "conflicts.judges")],
)
def test_what_is_published_is_called_as_the_benchmark_calls_it(name: str, ours: str) -> None:
    module = import_module(f"conflictscore.benchmarks.{ours}")
    known = getattr(module, "MEASURES", None) or {
        module.BEHAVIOUR,
        module.RECALL,
        module.GROUNDING,
    }
    paper = published(name, "free-form")
    ours_alone = {measure for measure in known if measure.endswith(("with zeros", "as listed"))}
    assert {measure for given in paper.measures.values() for measure in given} == (
        set(known) - ours_alone
    )
