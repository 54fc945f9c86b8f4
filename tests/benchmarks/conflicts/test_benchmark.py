"""CONFLICTS as a benchmark of the harness."""

from pathlib import Path

from conflictscore.benchmarks.conflicts.benchmark import conflicts
from conflictscore.benchmarks.conflicts.judges import BEHAVIOUR, GROUNDING, RECALL
from conflictscore.benchmarks.harness.methods.registry import COMMON_METHODS
from conflictscore.prompts import PromptSet
from tests.benchmarks.conflicts.lines import official, result
from tests.benchmarks.truthfulqa.files import write_jsonl

PROMPTS = PromptSet.load()


def test_it_is_judged_by_three_measures_of_which_grounding_is_graded(tmp_path: Path) -> None:
    made = conflicts(write_jsonl(tmp_path / "c.jsonl", [official()]), "free-form", 0)

    assert made.measures == (BEHAVIOUR, RECALL, GROUNDING)
    assert made.graded == {GROUNDING}
    assert made.offered == (*COMMON_METHODS, "pipeline", "taxonomy-aware", "oracle")


def test_every_method_is_asked_for_citations_by_templates_of_the_same_fields(
    tmp_path: Path,
) -> None:
    wording = conflicts(write_jsonl(tmp_path / "c.jsonl", [official()]), "free-form", 0).wording

    answering = {name: other for name, other in wording.items() if name != "decompose"}
    assert {name for name in PROMPTS.names if name.startswith("free_form_")} == set(answering)
    for name, other in wording.items():
        assert PROMPTS.placeholders(name) == PROMPTS.placeholders(other)
    for other in answering.values():
        said = PROMPTS.render(other, **dict.fromkeys(PROMPTS.placeholders(other), "x"))
        assert "End each sentence with the numbers of the documents that it rests on" in said


def test_what_the_reader_should_know_is_noted(tmp_path: Path) -> None:
    lines = [official(result(), result(snippet="", short_text="")), official(correct_answer=None)]
    notes = conflicts(write_jsonl(tmp_path / "c.jsonl", lines), "free-form", 0).notes

    assert any("a right answer that people wrote: 1 of 2 in the file" in note for note in notes)
    assert "search results without text, left out: 1" in notes
