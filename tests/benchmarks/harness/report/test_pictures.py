"""Charts of runs: what they show, as files and on the page."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from conflictscore.benchmarks.harness.figures import Interval
from conflictscore.benchmarks.harness.records import QuestionResult, Verdict
from conflictscore.benchmarks.harness.report.page.render import FlipCard, render_report
from conflictscore.benchmarks.harness.report.pictures.charts import export_pictures, pictures
from conflictscore.benchmarks.harness.report.pictures.forest import color_of, in_points
from conflictscore.benchmarks.harness.report.pictures.picture import BAD, GOOD, NEUTRAL, Picture
from conflictscore.benchmarks.harness.report.study_cards import named_study_cards
from conflictscore.errors import InputError
from conflictscore.records import Usage
from tests.benchmarks.harness.report.lamps import (
    HOSTILE,
    RAG,
    REGENERATED,
    choice,
    free,
    graded,
    run,
)

pytest.importorskip("matplotlib")


def test_a_difference_without_an_interval_has_no_brackets() -> None:
    assert in_points(Interval(value=0.01)) == "+1.0 points"
    assert in_points(Interval(value=0.01, low=-0.02, high=0.04)) == "+1.0 points (-2.0 to +4.0)"


CHOICES = [choice("tower", 1, 0), choice("pier", 0, 1), choice("reef", 0, 0), choice("bay", 0, 0)]


def by_name(*runs: tuple[str, list[QuestionResult]]) -> dict[str, Picture]:
    charts = pictures([run(name, results) for name, results in runs])
    return {chart.name: chart for chart in charts}


def test_a_run_of_choices_has_every_chart_with_its_figures_in_words() -> None:
    charts = by_name(("One run", CHOICES))

    assert set(charts) == {
        "differences",
        "1-one-run-flow-regenerated-rag",
        "1-one-run-flow-guarded-rag",
        "1-one-run-scores",
        "1-one-run-right-by-score",
        "1-one-run-gain-by-cost",
    }
    flow = charts["1-one-run-flow-regenerated-rag"].description
    assert flow.startswith("4 answers: 2 stay right")
    assert {"1 corrected", "1 harmed"} <= set(flow.split(": ")[1].split(", "))
    assert "960 tokens" in charts["1-one-run-gain-by-cost"].description
    assert "75.0 % of 4" in charts["1-one-run-right-by-score"].description
    assert "mean CS-C 1.00, mean CS-R 0.50" in charts["1-one-run-scores"].description


def test_a_true_answer_that_informs_nobody_is_hedged() -> None:
    hedged = free("buoy", ("It was 1871.", False), ("Nobody knows.", True))
    after = hedged.methods[REGENERATED]
    verdicts = {**after.verdicts, "informative": Verdict(value=False)}
    methods = {**hedged.methods, REGENERATED: after.model_copy(update={"verdicts": verdicts})}

    charts = by_name(("free", [hedged.model_copy(update={"methods": methods})]))

    flow = charts["1-free-flow-regenerated-rag"]
    assert flow.description == "1 answer: 1 wrong to hedged"
    assert flow.image("svg")


def test_what_was_not_judged_is_in_no_flow_and_graded_runs_have_none() -> None:
    unjudged = by_name(("free", [free("buoy", ("It was 1871.", None), ("1874.", True))]))
    by_degrees = by_name(("graded", [graded("tower", 0.5, 1.0), graded("pier", 0.5, 0.5)]))

    assert not [name for name in [*unjudged, *by_degrees] if "flow" in name]
    assert "differences" in by_degrees


def test_a_judge_that_says_1_for_yes_is_in_the_flow_too() -> None:
    tower = free("tower", ("It was 1871.", False), ("It was 1874.", True))
    methods = {
        name: ended.model_copy(
            update={
                "verdicts": {
                    measure: Verdict(value=float(verdict.value or 0))
                    for measure, verdict in ended.verdicts.items()
                }
            }
        )
        for name, ended in tower.methods.items()
    }
    charts = by_name(("free", [tower.model_copy(update={"methods": methods})]))
    assert charts["1-free-flow-regenerated-rag"].description == "1 answer: 1 corrected"


def test_replies_from_a_cache_count_in_the_chart_of_gain_and_cost() -> None:
    paid = Usage(calls=5, input_tokens=900, output_tokens=60)
    from_cache = Usage(
        cached_calls=5, counted_calls=5, kept_input_tokens=900, kept_output_tokens=60
    )
    without_tokens = Usage(cached_calls=5)
    shown = [
        by_name(("run", [choice("tower", 1, 0, usage={"loop": {"model-a": usage}})]))
        for usage in (paid, from_cache, without_tokens)
    ]
    name = "1-run-gain-by-cost"
    assert shown[0][name].description == shown[1][name].description
    assert name not in shown[2]


@pytest.mark.parametrize(("falls", "color"), [(False, GOOD), (True, BAD)])
def test_the_color_of_a_difference_says_whether_it_is_an_improvement(
    falls: bool, color: str
) -> None:
    assert color_of(Interval(value=0.2, low=0.1, high=0.3, n=9), falls=falls) == color
    assert color_of(Interval(value=0.2, low=-0.1, high=0.5, n=9), falls=falls) == NEUTRAL


def test_two_studies_are_told_apart() -> None:
    texts = [free("buoy", ("It was 1871.", False), ("It was 1874.", True))]
    runs = [run(name, CHOICES) for name in ("a", "b")] + [run(name, texts) for name in ("c", "d")]
    (differences,) = (chart for chart in pictures(runs) if chart.name == "differences")
    assert "all runs of truthfulqa, multiple-choice: regenerated-rag" in differences.description
    assert "all runs of truthfulqa, free-form: regenerated-rag" in differences.description
    names = {name for name, _ in named_study_cards(runs)}
    assert names == {
        "all runs of truthfulqa, multiple-choice",
        "all runs of truthfulqa, free-form",
    }
    assert {name for name, _ in named_study_cards(runs[:2])} == {"all runs"}


def test_runs_of_a_study_are_pooled_beside_their_own_lines() -> None:
    shown = by_name(("seed-1", CHOICES), ("seed-2", CHOICES))["differences"].description

    assert "seed-1: regenerated-rag against rag" in shown
    assert "seed-2: regenerated-rag against rag" in shown
    assert "all runs: regenerated-rag against rag" in shown


def test_pooled_levels_of_a_study_are_drawn_with_the_levels_of_its_runs() -> None:
    charts = by_name(("seed-1", CHOICES[:2]), ("seed-2", [choice("tower", 0, 0), CHOICES[1]]))

    levels = charts["study-1-levels"].description
    assert "rag: 75.0 % (50.0 to 100.0), runs 50.0, 100.0" in levels
    assert not [name for name in by_name(("alone", CHOICES)) if "levels" in name]


def test_files_are_written_as_svg_and_png_and_are_the_same_bytes_again(tmp_path: Path) -> None:
    runs = [run(f"${HOSTILE}$", CHOICES[:2])]
    folder = tmp_path / "new" / "charts"

    count = export_pictures(runs, folder)

    names = {path.name for path in folder.iterdir()}
    assert len(names) == 2 * count
    [first, *_] = charts = pictures(runs)
    assert (folder / f"{first.name}.svg").read_bytes() == first.image("svg")
    for chart in charts:
        svg = (folder / f"{chart.name}.svg").read_bytes()
        drawn = ElementTree.fromstring(svg)
        tags = {element.tag.rpartition("}")[2] for element in drawn.iter()}
        assert not tags & {"script", "image", "foreignObject", "text"}
        assert (folder / f"{chart.name}.png").read_bytes().startswith(b"\x89PNG")


def test_runs_without_figures_and_a_file_in_place_of_a_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")

    with pytest.raises(InputError):
        export_pictures([], tmp_path / "new")
    with pytest.raises(InputError):
        export_pictures([run("one", CHOICES)], tmp_path / "file")
    with pytest.raises(InputError, match="choose another folder"):
        export_pictures([run("one", CHOICES)], tmp_path / ("a" * 300))


def test_the_page_holds_its_charts_with_their_figures_as_the_other_text() -> None:
    shown = run("One run", CHOICES[:1])

    page = render_report([shown])

    for chart in pictures([shown]):
        assert chart.address in page
        assert f"{chart.title}. " in page
    assert 'alt="From first answers to regenerated-rag: One run. 1 answer: ' in page


# The evidence on a card


def card(sides: str, duplicates: dict[int, int], *, vote: bool = True) -> FlipCard:
    reason = "The log was written on the night (Document 2)."
    result = choice("tower", 1, 0, sides=sides, justification=reason)
    first = result.methods[RAG]
    assert first.report is not None
    copied = {"duplicates": duplicates, "duplicates_vote": vote}
    report = first.report.model_copy(update=copied)
    methods = {**result.methods, RAG: first.model_copy(update={"report": report})}
    shown = run("One run", [result.model_copy(update={"methods": methods})])
    return FlipCard(shown, shown.results[0], REGENERATED)


@pytest.mark.parametrize(
    ("duplicates", "vote", "tally"),
    [
        ({}, True, "1 for, 4 against"),
        ({3: 2, 4: 2, 5: 2}, True, "1 for; 4 against, 3 of them copies"),
        (
            {3: 2},
            False,
            "1 for; 4 against, 1 of them a copy (a document and its copies count once)",
        ),
    ],
)
def test_a_card_counts_documents_as_the_score_does(
    duplicates: dict[int, int], vote: bool, tally: str
) -> None:
    flip = card("SCCCC", duplicates, vote=vote)

    assert flip.tally(flip.claims[0]) == tally


@pytest.mark.usefixtures("no_charts")
def test_a_card_ties_what_is_cited_to_the_evidence() -> None:
    flip = card("SC", {})

    assert flip.citing(2) == "cited in the justification"
    assert flip.citing(1) == ""
    assert "cited in the justification" in render_report([flip.run])
