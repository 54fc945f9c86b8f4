from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conflictscore.benchmarks.natconfqa.data import (
    Subset,
    answer_key,
    benchmark_question,
    read_natconfqa,
)
from conflictscore.errors import InputError
from tests.benchmarks.natconfqa.lamps import PASSAGES, row
from tests.benchmarks.truthfulqa.files import REAL, needs_real_data, write_jsonl

YES = {"answer": True, "evidence_ids": [0]}
NO = {"answer": False, "evidence_ids": []}


def read_one(folder: Path, **fields: Any) -> Any:
    [question] = read_natconfqa(write_jsonl(folder / "q.jsonl", [row(**fields)])).items
    return question


def test_a_question_has_its_answers_conflicts_and_passages(tmp_path: Path) -> None:
    question = read_one(tmp_path)
    assert question.id == "lamp.1"
    assert question.answers == ("1871", "1874", "1875")
    assert question.conflicts == ((0, 1), (0, 2))
    assert question.passages == PASSAGES


def test_yes_and_no_are_the_answers_of_a_yes_no_question(tmp_path: Path) -> None:
    question = read_one(
        tmp_path, question_type="boolean", answers=[YES, NO], conflicting_answer_pairs=[[0, 1]]
    )
    assert question.answers == ("Yes", "No")
    assert question.subset is Subset.YES_NO


@pytest.mark.parametrize(
    ("pairs", "subset"),
    [([[0, 1], [0, 2], [1, 2]], Subset.WH_ALL), ([[0, 1], [1, 0]], Subset.WH_MIX)],
)
def test_the_subset_follows_from_how_many_pairs_are_in_conflict(
    tmp_path: Path, pairs: list[list[int]], subset: Subset
) -> None:
    assert read_one(tmp_path, conflicting_answer_pairs=pairs).subset is subset


def test_questions_without_conflict_and_without_answer_are_subsets_of_their_own(
    tmp_path: Path,
) -> None:
    support = read_one(tmp_path, answer_type="Support", conflicting_answer_pairs=[])
    neutral = read_one(tmp_path, answer_type="Neutral", conflicting_answer_pairs=[], answers=[])
    assert (support.subset, neutral.subset) == (Subset.NO_CONFLICT, Subset.NO_ANSWER)


def test_a_conflict_without_a_pair_is_left_out_and_named(tmp_path: Path) -> None:
    rows = [row(), row(question_id="lamp.2", conflicting_answer_pairs=[])]
    data = read_natconfqa(write_jsonl(tmp_path / "q.jsonl", rows))
    assert [question.id for question in data.items] == ["lamp.1"]
    assert sum(data.left_out.values()) == 1


def test_the_harness_is_given_the_passages_as_documents(tmp_path: Path) -> None:
    question = benchmark_question(read_one(tmp_path))
    assert question.id == "lamp.1"
    assert question.documents == tuple({"text": text} for text in PASSAGES)
    assert question.correct == ("1871", "1874", "1875")
    assert question.category == "wh-mix"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"question_type": "why"}, "row 1, field question_type: Input should be 'boolean'"),
        ({"answers": [YES]}, "field answers: a yes/no question needs true or false"),
        ({"question_type": "boolean"}, "field answers: a yes/no question needs true"),
        (
            {"answers": [YES | {"answer": "In May"}, YES | {"answer": "in  may."}]},
            "field answers: items 1 and 2 are the same answer",
        ),
        ({"conflicting_answer_pairs": [[0, 1], [0, 3]]}, "pairs: 0, 3 are not two different"),
        ({"conflicting_answer_pairs": [[1, 1]]}, "pairs: 1, 1 are not two different indices"),
        ({"conflicting_answer_pairs": [[0, True]]}, "field conflicting_answer_pairs.0.1: Input"),
        ({"paragraphs": []}, "field paragraphs: List should have at least 1 item"),
        ({"answer_type": "Support"}, "field conflicting_answer_pairs: there are pairs"),
        (
            {"answer_type": "Neutral", "conflicting_answer_pairs": []},
            "field answers: there are answers, but answer_type is Neutral",
        ),
        (
            {"answers": [], "conflicting_answer_pairs": []},
            "field answers: there are no answers, but answer_type is Conflict",
        ),
    ],
)
def test_a_field_that_cannot_be_used_is_named_with_its_row(
    tmp_path: Path, fields: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError) as error:
        read_one(tmp_path, **fields)
    assert said in str(error.value)
    assert str(tmp_path / "q.jsonl") in str(error.value)


@pytest.mark.parametrize(
    ("one", "other"),
    [("Yes.", "true"), ("No", "FALSE"), ("“In May”", "in  may"), ("0.8°C", "(0.8°c)")],
)
def test_spelling_does_not_tell_answers_apart(one: str, other: str) -> None:
    assert answer_key(one) == answer_key(other)


@pytest.mark.parametrize(("one", "other"), [("-220", "220"), ("+82 Gt", "-82 Gt"), ("5%", "5")])
def test_a_sign_tells_answers_apart(one: str, other: str) -> None:
    assert answer_key(one) != answer_key(other)


@given(st.text(max_size=30))
def test_the_key_of_a_key_is_itself(text: str) -> None:
    assert answer_key(answer_key(text)) == answer_key(text)


@needs_real_data
def test_the_published_questions_are_read() -> None:
    data = read_natconfqa(REAL / "natconfqa" / "questions.jsonl")
    assert Counter(question.subset for question in data.items) == {
        Subset.YES_NO: 87,
        Subset.WH_ALL: 35,
        Subset.WH_MIX: 9,
        Subset.NO_CONFLICT: 170,
        Subset.NO_ANSWER: 76,
    }
    assert sum(data.left_out.values()) == 1
