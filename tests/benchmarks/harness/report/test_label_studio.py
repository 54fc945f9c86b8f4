"""Flips as Label Studio tasks, and the annotations back."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from conflictscore.benchmarks.harness.report.label_studio import export_tasks, read_annotations
from conflictscore.benchmarks.harness.report.page.report_run import ChangeVerdict, Review
from conflictscore.errors import InputError
from tests.benchmarks.harness.report.lamps import (
    HOSTILE,
    choice,
    documents,
    evidence,
    free,
    graded,
    run,
)


@cache
def runs() -> list[Any]:
    return [
        run("small model", [choice("a", 1, 0, sides="SCI"), choice("b", 0, 0)]),
        run("large model", [choice("a", 0, 1, refused=True)]),
        run("free form", [free("f", ("1871", True), ("1874", False))]),
    ]


def exported(folder: Path) -> list[dict[str, Any]]:
    data: list[dict[str, Any]] = json.loads((folder / "tasks.json").read_text("utf-8"))
    return [task["data"] for task in data]


def reviewed(who: object, verdict: str, **fields: Any) -> dict[str, Any]:
    """What JSON_MIN adds to a task's own fields."""
    return {"id": 1, "annotation_id": 1, "annotator": who, "verdict": verdict, **fields}


def saved(folder: Path, content: object) -> Path:
    path = folder / "export.json"
    path.write_text(json.dumps(content), "utf-8")
    return path


def test_there_is_a_task_for_each_flip_with_what_a_reviewer_needs(tmp_path: Path) -> None:
    assert export_tasks(runs(), tmp_path / "made" / "new") == 3
    tasks = exported(tmp_path / "made" / "new")
    assert [(task["run"], task["question_id"]) for task in tasks] == [
        ("small model", "a"),
        ("large model", "a"),
        ("free form", "f"),
    ]
    first = tasks[0]
    assert first["question"] == "When was the lamp of a lit?"
    assert first["gold"] == first["after"] == "It was lit in 1874."
    assert first["before"] == first["claim"] == "It was lit in 1871."
    assert first["justification"] == "Document 2 is the log of a, written on the night."
    assert [document["source"] for document in first["documents"]] == [
        "Document 1, supports the claim: Log, volume 1",
        "Document 2, contradicts the claim: Log, volume 2",
    ]
    assert first["document_choices"][1] == {"value": "Document 2", "hint": "Log, volume 2"}


def test_where_only_typed_rag_looked_again_its_reason_is_shown(tmp_path: Path) -> None:
    whole = graded("a", 0.5, 1.0)
    methods = {m: whole.methods[m] for m in ("rag", "typed-rag")}
    export_tasks([run("typed", [whole.model_copy(update={"methods": methods})])], tmp_path)
    [task] = exported(tmp_path)
    assert (task["kind"], task["justification"]) == ("correction", "The newer log says 1874.")


def test_the_configuration_shows_fields_that_tasks_have_and_asks_three_things(
    tmp_path: Path,
) -> None:
    export_tasks(runs(), tmp_path)
    text = (tmp_path / "labeling_config.xml").read_text("utf-8")
    root = ElementTree.fromstring(text)
    assert set(re.findall(r'"\$(\w+)"', text)) <= set(exported(tmp_path)[0])
    asked = {tag.get("name"): tag for tag in root.iter() if tag.get("toName")}
    assert set(asked) == {"verdict", "decided_by", "comment"}
    assert [choice.get("value") for choice in asked["verdict"]] == list(ChangeVerdict)
    named = {tag.get("name") for tag in root.iter()}
    assert {tag.get("toName") for tag in asked.values()} <= named
    # in JSON_MIN answers stand beside the fields of the task, under the same roof
    assert not set(asked) & set(exported(tmp_path)[0])


def test_reviews_of_several_runs_and_reviewers_find_their_questions(tmp_path: Path) -> None:
    # as Label Studio writes it: its own id, an answer alone where there is one, a row a reviewer
    export_tasks(runs(), tmp_path)
    small, large, free_form = exported(tmp_path)
    both = {"choices": ["Document 2", "Document 1"]}
    two = {"text": ["One.", "Two."]}
    path = saved(
        tmp_path,
        [
            small | reviewed("ann@lamp.test", "better", decided_by=both, comment="Clear."),
            small | reviewed(2, "worse"),
            large | reviewed(2, "cannot tell", decided_by="Document 2", comment=two),
            free_form | {"id": 3, "annotator": None, "annotation_id": None},
        ],
    )
    found = read_annotations(path)
    assert found["small model"]["a", "regenerated-rag"].reviews == {
        "ann@lamp.test": Review(verdict=ChangeVerdict.BETTER, decided_by=(1, 2), comment="Clear."),
        "2": Review(verdict=ChangeVerdict.WORSE),
    }
    assert found["large model"]["a", "regenerated-rag"].reviews == {
        "2": Review(verdict=ChangeVerdict.CANNOT_TELL, decided_by=(2,), comment="One.\nTwo.")
    }
    assert set(found) == {"small model", "large model"}


TASK = {"run": "r", "question_id": "q"}


def test_of_two_by_the_same_reviewer_the_later_counts(tmp_path: Path) -> None:
    late = reviewed(2, "worse", updated_at="2026-03-02T09:00:00Z")
    path = saved(tmp_path, [TASK | late, TASK | reviewed(2, "better")])
    assert read_annotations(path)["r"]["q", ""].reviews["2"].verdict is ChangeVerdict.WORSE


def test_hostile_ids_come_back_as_they_went(tmp_path: Path) -> None:
    name = HOSTILE.replace("\ud800", "")
    result = choice(name, 1, 0, documents=documents(3, title=name, url=name))
    export_tasks([run(name, [result])], tmp_path)
    (task,) = exported(tmp_path)
    path = saved(tmp_path, [task | reviewed(name, "better")])
    assert read_annotations(path)[name][name, "regenerated-rag"].reviews.keys() == {name}


def test_a_flip_without_a_claim_has_no_documents_to_choose(tmp_path: Path) -> None:
    export_tasks([run("r", [choice("a", 1, 0, reconsidered=None)])], tmp_path)
    assert exported(tmp_path)[0]["document_choices"] == []
    export_tasks([run("r", [choice("a", 1, 0, reconsidered=evidence("IUI"))])], tmp_path)
    assert exported(tmp_path)[0]["document_choices"] == []


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ({"tasks": []}, "not a list of tasks"),
        ([[]], "row 1: not an object"),
        ([{"data": TASK, "annotations": []}], "row 1: .*; export as JSON_MIN"),
        ([{"question_id": "q"} | reviewed(2, "better")], "row 1, field run: missing"),
        ([{"run": "r", "id": 3}], "row 1, field question_id: missing"),
        ([TASK | reviewed(None, "better")], "row 1, field annotator: it does not say who"),
        ([TASK | reviewed(2, "great")], "row 1, field verdict: it is one of .*, not 'great'"),
        ([TASK | reviewed(2, "")], "row 1, field verdict: "),
        (
            [TASK | reviewed(2, "better", decided_by="Document 0")],
            "row 1, field decided_by: 'Document 0' is not as 'Document 3'",
        ),
    ],
)
def test_what_is_no_export_of_our_tasks_is_named(
    tmp_path: Path, content: object, told: str
) -> None:
    path = saved(tmp_path, content)
    with pytest.raises(InputError, match=rf"export\.json.*{told}") as raised:
        read_annotations(path)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("text", ["", "[", "[" * 100_000, f"[{'9' * 5000}]", "\udcff"])
def test_a_file_that_is_not_json_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "export.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError, match=r"export\.json: (not JSON|cannot be read)"):
        read_annotations(path)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("", "utf-8")
    with pytest.raises(InputError, match="taken: cannot be made a folder"):
        export_tasks(runs(), tmp_path / "taken")
