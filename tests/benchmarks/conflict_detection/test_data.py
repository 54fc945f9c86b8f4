from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from conflictscore.benchmarks.conflict_detection.data import balanced, read_data
from conflictscore.benchmarks.conflict_detection.groups import read_groups
from conflictscore.errors import InputError
from tests.benchmarks.conflict_detection.claims import C, N, S, claim_group, record
from tests.benchmarks.truthfulqa.files import write_jsonl

LABELS = Path(__file__).parents[4] / "shared" / "data" / "labels"
REAL = {  # claims, claims with conflict, pairs, pairs without one of the three labels
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

    assert (group.set, group.id, group.has_conflict) == ("lamps", "a", True)
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
        ({"docs": []}, "field docs: List should have at least 1 item"),
        ({"docs": [{"text": " "}]}, "field docs.0.text: a non-empty string is needed"),
        ({"docs": [{"text": "x", "label": "TRUE"}]}, "field docs.0.label: Input should be"),
        ({"claim": ...}, "field claim: Field required"),
        ({"has_conflict": "yes"}, "field has_conflict: Input should be a valid boolean"),
        ({"has_conflict": False}, "field has_conflict: it is false, but the labels"),
        (
            {"has_conflict": ..., "docs": [{"text": "x"}]},
            "field has_conflict: it is required unless all documents have a label",
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


def test_several_sets_are_read(tmp_path: Path) -> None:
    one = write_jsonl(tmp_path / "one_groups.jsonl", [record(), record(id="b")])
    two = write_jsonl(tmp_path / "two_groups.jsonl", [record()])
    read = read_data([str(one), f"groups:{two}"])
    assert [(group.set, group.id) for group in read] == [("one", "a"), ("one", "b"), ("two", "a")]


def test_two_files_of_one_name_are_not_taken_for_one_set(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        write_jsonl(tmp_path / folder / "x.jsonl", [record()])
    with pytest.raises(InputError, match="a set named 'x' has already been read"):
        read_data([str(tmp_path / "a" / "x.jsonl"), str(tmp_path / "b" / "x.jsonl")])
    with pytest.raises(InputError, match="give each only once"):
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


@pytest.mark.parametrize(("size", "conflicts", "others"), [(1, 1, 0), (2, 1, 1), (7, 4, 3)])
def test_an_odd_sample_is_as_large_as_was_asked(size: int, conflicts: int, others: int) -> None:
    groups = [claim_group(str(n), (S, C) if n < 9 else (S, S)) for n in range(18)]

    drawn = Counter(group.has_conflict for group in balanced(groups, size, seed=1))

    assert (drawn[True], drawn[False]) == (conflicts, others)


@pytest.mark.skipif(not LABELS.is_dir(), reason="the real labelled sets are not here")
@pytest.mark.parametrize("name", REAL)
def test_the_real_sets_are_read_whole(name: str) -> None:
    groups = read_data([str(LABELS / f"{name}_groups.jsonl")])

    labels = [label for group in groups for label in group.labels]
    conflicts = sum(group.has_conflict for group in groups)
    assert (len(groups), conflicts, len(labels), labels.count(None)) == REAL[name]
    assert {group.set for group in groups} == {name}
