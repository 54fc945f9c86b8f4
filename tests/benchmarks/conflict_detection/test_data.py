"""Reading claims with their documents: what is taken, and what is refused in one clear line."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from conflictscore.benchmarks.conflict_detection.data import (
    balanced,
    read_data,
    read_groups,
)
from conflictscore.errors import InputError
from tests.benchmarks.conflict_detection.claims import C, N, S, claim_group, record
from tests.benchmarks.truthfulqa.files import write_jsonl

LABELS = Path(__file__).parents[4] / "shared" / "data" / "labels"
REAL = {  # claims, with conflict, pairs, pairs without one of the three labels
    "climatefever": (742, 69, 3710, 0),
    "factcheckgpt": (332, 5, 1660, 0),
    "healthver": (1574, 223, 6080, 0),
    "natconfqa": (119, 45, 695, 181),
    "perspectrum": (680, 516, 3891, 0),
    "scifact": (809, 0, 919, 0),
    "wikicontradict": (258, 258, 516, 0),
}


def test_a_group_is_read_with_its_documents_and_labels(tmp_path: Path) -> None:
    [group] = read_groups(write_jsonl(tmp_path / "lamps_groups.jsonl", [record()]))

    assert (group.set, group.id, group.split, group.has_conflict) == ("lamps", "a", "dev", True)
    assert group.claim == "The lamp was lit in 1871."
    assert [document.title for document in group.documents] == ["Gazette", ""]
    assert group.labels == (S, C)


def test_partial_support_is_support_and_a_mixed_document_is_on_no_side(tmp_path: Path) -> None:
    labels = ["PARTIAL", "MIXED", "UNLABELLED", None, "IRRELEVANT"]
    docs = [{"text": f"Page {n}.", "label": label} for n, label in enumerate(labels)]
    [group] = read_groups(write_jsonl(tmp_path / "x.jsonl", [record(docs=docs)]))

    assert group.labels == (S, None, None, None, N)
    assert group.has_conflict


def test_whether_there_is_a_conflict_follows_from_labels_where_it_is_not_said(
    tmp_path: Path,
) -> None:
    one_side = [{"text": "It was.", "label": "SUPPORTS"}]
    lines = [record(has_conflict=...), record(id="b", docs=one_side, has_conflict=...)]

    read = read_groups(write_jsonl(tmp_path / "x.jsonl", lines))

    assert [group.has_conflict for group in read] == [True, False]


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"docs": []}, "field docs: a list of documents is needed that is not empty"),
        ({"docs": ...}, "field docs: a list of documents is needed"),
        ({"docs": [{"label": "SUPPORTS"}]}, "document 1, field text: a text is needed"),
        ({"docs": [{"text": " "}]}, "document 1, field text: a text is needed"),
        ({"docs": [{"text": "x", "label": "TRUE"}]}, "document 1, field label: 'TRUE' is none of"),
        ({"docs": [{"text": "x", "label": ["SUPPORTS"]}]}, "field label: ['SUPPORTS'] is none of"),
        ({"docs": [{"text": "x", "title": 3}]}, "document 1, field title: a text is needed"),
        ({"docs": ["a text"]}, "document 1, field text: a text is needed"),
        ({"claim": ...}, "field claim: a text is needed that is not empty"),
        ({"id": 7}, "field id: a text is needed"),
        ({"split": 7}, "field split: a text is needed, or none"),
        ({"has_conflict": "yes"}, "field has_conflict: true or false is needed"),
        ({"has_conflict": False}, "field has_conflict: it is false, and the labels"),
        (
            {"has_conflict": ..., "docs": [{"text": "x"}]},
            "field has_conflict: it is needed where not all documents have a label",
        ),
    ],
)
def test_a_row_that_cannot_be_used_is_named_with_its_field(
    tmp_path: Path, changes: dict[str, Any], complaint: str
) -> None:
    path = write_jsonl(tmp_path / "bad.jsonl", [record(id="good"), record(**changes)])

    with pytest.raises(InputError) as refused:
        read_groups(path)

    assert f"{path}, row 2" in str(refused.value)
    assert complaint in str(refused.value)


def test_a_file_that_is_no_json_lines_is_named_with_its_row(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "bad.jsonl", [record()])
    path.write_text(path.read_text() + "{half\n")
    with pytest.raises(InputError, match=r"bad\.jsonl, row 2: not JSON"):
        read_groups(path)
    path.write_text("[1]\n")
    with pytest.raises(InputError, match=r"bad\.jsonl, row 1: a JSON object is needed"):
        read_groups(path)
    with pytest.raises(InputError, match=r"none\.jsonl: cannot be read"):
        read_groups(tmp_path / "none.jsonl")


def test_several_sets_are_read_and_a_split_is_chosen(tmp_path: Path) -> None:
    one = write_jsonl(tmp_path / "one_groups.jsonl", [record(), record(id="b", split="train")])
    two = write_jsonl(tmp_path / "two_groups.jsonl", [record()])

    read = read_data([str(one), f"groups:{two}"], split="dev")

    assert [(group.set, group.id) for group in read] == [("one", "a"), ("two", "a")]
    with pytest.raises(InputError, match=r"no claim of the split 'test' in it"):
        read_data([str(one)], split="test")


def test_two_files_of_one_name_are_not_taken_for_one_set(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        write_jsonl(tmp_path / folder / "x.jsonl", [record()])
    with pytest.raises(InputError, match="the set 'x' was read from"):
        read_data([str(tmp_path / "a" / "x.jsonl"), str(tmp_path / "b" / "x.jsonl")])
    with pytest.raises(InputError, match="each of them once"):
        read_data([str(tmp_path / "a" / "x.jsonl")] * 2)


def test_a_sample_is_half_conflict_and_a_larger_one_holds_it() -> None:
    groups = [claim_group(str(n), (S, C) if n < 30 else (S, S)) for n in range(90)]

    small, large = balanced(groups, 20, seed=1), balanced(groups, 80, seed=1)

    assert Counter(group.has_conflict for group in small) == {True: 10, False: 10}
    assert Counter(group.has_conflict for group in large) == {True: 30, False: 40}
    assert {group.id for group in small} <= {group.id for group in large}
    assert [int(group.id) for group in large] == sorted(int(group.id) for group in large)
    assert balanced(groups, 20, seed=2) != small
    assert balanced(groups[::-1], 20, seed=1) == small[::-1]


@pytest.mark.skipif(not LABELS.is_dir(), reason="the real labelled sets are not here")
@pytest.mark.parametrize("name", REAL)
def test_the_real_sets_are_read_whole(name: str) -> None:
    groups = read_data([str(LABELS / f"{name}_groups.jsonl")])

    labels = [label for group in groups for label in group.labels]
    conflicts = sum(group.has_conflict for group in groups)
    assert (len(groups), conflicts, len(labels), labels.count(None)) == REAL[name]
    assert {group.set for group in groups} == {name}
