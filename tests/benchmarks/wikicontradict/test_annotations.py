"""WikiContradict's annotations to Label Studio and back."""

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from conflictscore.benchmarks.wikicontradict import annotations as module
from conflictscore.benchmarks.wikicontradict.annotations import (
    export_tasks,
    main,
    read_export,
    tasks,
)
from conflictscore.benchmarks.wikicontradict.articles import annotation, read_annotations
from conflictscore.errors import InputError
from tests.benchmarks.truthfulqa.files import REAL, needs_real_data, write_jsonl
from tests.benchmarks.wikicontradict.records import ARTICLE, RESULT

MADE = annotation(ARTICLE, RESULT | {"confidence": 4}, "here")
CONFIG = ElementTree.parse(Path(module.__file__).with_name("labeling_config.xml")).getroot()
REAL_FILE = REAL / "wikicontradict" / "annotations.jsonl"


def results(task: dict[str, Any]) -> dict[str, dict[str, Any]]:
    [entry] = task["annotations"]
    return {result["from_name"]: result for result in entry["result"]}


def exported(path: Path, *entries: dict[str, Any]) -> Path:
    """A Label Studio export of one task, with what an export adds."""
    [task] = tasks([MADE])
    finished = [task["annotations"][0] | entry for entry in entries]
    path.write_text(json.dumps([{"id": 1, "data": task["data"], "annotations": finished}]))
    return path


def test_a_task_shows_the_article_and_has_a_result_for_each_control() -> None:
    [task] = tasks([MADE])
    assert task["data"] == ARTICLE
    made = results(task)
    assert made["wikitag_label_valid"]["value"] == {"choices": ["Valid"]}
    assert made["question1_answer2"]["value"] == {"text": ["1874"]}
    assert made["taxonomy"]["value"] == {"taxonomy": RESULT["taxonomy"]}
    assert made["confidence"]["value"] == {"rating": 4}
    assert {result["to_name"] for result in made.values()} == {"wikitag"}
    assert "question2_answer1" not in made
    assert not any(name.startswith("Contradict type") for name in made)


def test_annotations_of_one_paragraph_are_one_task() -> None:
    other = MADE.model_copy(update={"title": "Another"})
    [first, second] = tasks([MADE, other, MADE])
    assert [len(first["annotations"]), len(second["annotations"])] == [2, 1]


def test_every_result_has_a_control_of_its_kind_that_points_at_the_text() -> None:
    controls = {c.get("name"): c for c in CONFIG.iter() if c.get("toName")}
    [texts] = [t for t in CONFIG.iter("Text") if t.get("name") == "wikitag"]
    assert texts.get("value") == "$paragraph_A"
    for name, result in results(tasks([MADE])[0]).items():
        assert controls[name].tag.lower() == result["type"]
        assert controls[name].get("toName") == result["to_name"]


def test_what_is_exported_comes_back(tmp_path: Path) -> None:
    assert export_tasks([MADE], tmp_path / "ls") == 1
    [back] = read_export(tmp_path / "ls" / "tasks.json")
    assert back == ("", MADE)
    assert (tmp_path / "ls" / "labeling_config.xml").read_text().startswith("<View>")


def test_an_annotators_last_word_counts_and_a_cancelled_one_does_not(tmp_path: Path) -> None:
    early = {"completed_by": {"id": 1, "email": "a@x.test"}, "updated_at": "2024-01-01"}
    path = exported(
        tmp_path / "e.json",
        early | {"updated_at": "2024-02-02", "result": _sure(5)},
        early | {"result": _sure(1)},
        {"completed_by": 2, "result": _sure(2)},
        {"completed_by": 3, "was_cancelled": True, "result": _sure(3)},
        {"result": _sure(4)},
        {"result": _sure(4)},
    )
    read = [(by, made.confidence) for by, made in read_export(path)]
    assert read == [("a@x.test", 5), ("2", 2), ("", 4), ("", 4)]


def test_an_untouched_answer_box_goes_with_no_question(tmp_path: Path) -> None:
    boxes = [
        _part(f"question2_answer{side}", text=[f"add the answer based on Passage {side}"])
        for side in (1, 2)
    ]
    [back] = read_export(exported(tmp_path / "e.json", {"result": [*_sure(4), *boxes]}))
    assert back.annotation == MADE


def test_a_box_with_several_submissions_holds_them_all(tmp_path: Path) -> None:
    twice = [_part("qa_comment", text=["one"]), _part("qa_comment", text=["two", "three"])]
    [back] = read_export(exported(tmp_path / "e.json", {"result": [*_sure(4), *twice]}))
    assert back.annotation.qa_comment == "one\ntwo\nthree"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("no json", "not JSON"),
        ("{}", "not a list of tasks"),
        ("[3]", "task 1: not an object"),
        ('[{"data": {}, "annotations": 3}]', "task 1, field annotations: not a list"),
        ('[{"annotations": []}]', "task 1, field data: not an object"),
        ('[{"data": {}, "annotations": [{}]}]', "task 1, annotation 1, field result: not a list"),
        (
            '[{"data": {}, "annotations": [{"result": [{"from_name": "q", "value": {"text": 3}}]}'
            "]}]",
            "annotation 1, field q: not a list of texts",
        ),
        ('[{"data": {}, "annotations": [{"result": []}]}]', "annotation 1, field title"),
    ],
)
def test_what_is_no_export_is_named_by_task_and_field(
    tmp_path: Path, content: str, told: str
) -> None:
    path = tmp_path / "e.json"
    path.write_text(content)
    with pytest.raises(InputError, match=re.escape(told)):
        read_export(path)


@needs_real_data
def test_the_real_annotations_go_to_label_studio_and_back(tmp_path: Path) -> None:
    runner, folder, back = CliRunner(), tmp_path / "ls", tmp_path / "back.jsonl"
    done = runner.invoke(main, ["export", str(REAL_FILE), str(folder)])
    assert done.output == f"69 tasks in {folder / 'tasks.json'}\n"
    done = runner.invoke(main, ["import", str(folder / "tasks.json"), str(back)])
    assert done.output == f"69 annotations in {back}\n"
    assert read_annotations(back) == read_annotations(REAL_FILE)


@needs_real_data
def test_every_choice_of_the_real_annotations_is_one_of_the_form() -> None:
    [taxonomy] = CONFIG.iter("Taxonomy")
    known = {(top.get("value"),) for top in taxonomy} | {
        (top.get("value"), leaf.get("value")) for top in taxonomy for leaf in top
    }
    names = {c.get("name") for c in CONFIG.iter() if c.get("toName")}
    for one in read_annotations(REAL_FILE):
        assert set(one.taxonomy) <= known
        assert set(results(tasks([one])[0])) <= names


def test_a_file_that_cannot_be_used_is_one_line_of_the_command(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [ARTICLE])
    done = CliRunner().invoke(main, ["export", str(path), str(tmp_path / "ls")])
    assert done.exit_code == 1
    assert done.output == f"Error: {path}, row 1, field annotationResult: an object is needed\n"


def _part(name: str, **value: Any) -> dict[str, Any]:
    return {"from_name": name, "to_name": "wikitag", "type": "any", "value": value}


def _sure(rating: int) -> list[dict[str, Any]]:
    """The results of an annotation, with this confidence."""
    kept = [r for name, r in results(tasks([MADE])[0]).items() if name != "confidence"]
    return [*kept, _part("confidence", rating=rating)]
