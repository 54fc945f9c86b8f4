"""Pairs that people labelled: reading them, sampling them, and agreement with them."""

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conflictscore.benchmarks.labelled_pairs import (
    LabelledPair,
    balanced_sample,
    read_pairs,
    scores,
)
from conflictscore.errors import InputError
from conflictscore.records import Label

YEARS = {"SUPPORTS": "It was 1871.", "CONTRADICTS": "It was 1874.", "IRRELEVANT": "It is white."}


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    """Four groups of three documents each, one a label."""
    file = tmp_path / "groups.jsonl"
    group = {"claim": "1871.", "docs": [{"text": t, "label": k} for k, t in YEARS.items()]}
    file.write_text("".join(json.dumps(group | {"id": n}) + "\n" for n in range(4)))
    return file


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("not json", "row 2: not JSON"),
        ('{"docs": []}', "row 2, field claim"),
        ('{"claim": "c", "docs": [{"text": "t", "label": "MAYBE"}]}', "field label: 'MAYBE'"),
        (
            '{"claim": "c", "docs": [{"text": " ", "label": "SUPPORTS"}]}',
            "row 2, document 1, field text",
        ),
        ('{"claim": "c", "docs": [{"text": "t"}]}', "row 2, document 1, field label"),
        ('{"claim": "c", "label": "SUPPORTS"}', "row 2, field document"),
        ('{"claim": "c", "docs": []}', "row 2, field docs: a list of documents is needed"),
        ('{"claim": "c", "docs": "t"}', "row 2, field docs: a list of documents is needed"),
        ('{"claim": "c", "docs": ["t"]}', "row 2, document 1, field text"),
        ('{"claim": "c", "docs": [{"text": "t", "label": ["SUPPORTS"]}]}', "field label: "),
        ('{"claim": "c", "docs": [{"text": "t", "title": 7}]}', "document 1, field title"),
        ("[" * 100_000, "row 2: not JSON"),
        ('{"claim": ' + "1" * 5000 + "}", "row 2: not JSON"),
    ],
)
def test_a_bad_line_is_named(pairs: Path, line: str, message: str) -> None:
    pairs.write_text(pairs.read_text().splitlines()[0] + "\n" + line + "\n")

    with pytest.raises(InputError, match=message) as caught:
        read_pairs(pairs)
    assert str(pairs) in str(caught.value)


def test_an_id_stands_once_in_a_file(pairs: Path) -> None:
    line = json.dumps({"id": "a", "claim": "c", "document": "d", "label": "SUPPORTS"})
    pairs.write_text(f"{line}\n{line}\n")
    with pytest.raises(InputError, match=r"row 2, field id: 'a' is also the id of .*, row 1"):
        read_pairs(pairs)


def test_a_document_is_judged_with_its_title_and_cleaned(tmp_path: Path) -> None:
    file = tmp_path / "pairs.jsonl"
    docs = [{"text": " It was\x00 lit. ", "title": " Gazette ", "label": "SUPPORTS"}]
    file.write_text(json.dumps({"claim": "c", "docs": docs}))
    [pair] = read_pairs(file)
    assert (pair.document, pair.title) == ("It was lit.", "Gazette")


def test_partial_support_is_support_and_undecided_pairs_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "pairs.jsonl"
    labels = ["PARTIAL", "MIXED", "UNLABELLED", "CONTRADICTS"]
    file.write_text(
        "".join(json.dumps({"claim": "c", "document": "d", "label": k}) + "\n" for k in labels)
    )

    assert [pair.label for pair in read_pairs(file)] == [Label.SUPPORTS, Label.CONTRADICTS]


@given(st.lists(st.sampled_from(list(Label)[:3])), st.integers(0, 30), st.integers())
def test_a_sample_is_balanced_reproducible_and_drawn_once(
    labels: list[Label], size: int, seed: int
) -> None:
    pairs = [LabelledPair(str(n), "c", "d", label) for n, label in enumerate(labels)]

    drawn = balanced_sample(pairs, size, seed)

    assert drawn == balanced_sample(pairs, size, seed)
    assert len({pair.id for pair in drawn}) == len(drawn) <= size
    counts, available = Counter(p.label for p in drawn), Counter(labels)
    share = size // len(available) if available else 0
    assert all(counts[label] == min(share, available[label]) for label in available)


def test_scores_of_a_known_confusion() -> None:
    yes, no, none = Label.SUPPORTS, Label.CONTRADICTS, Label.UNLABELLED

    result = scores([(yes, yes), (yes, no), (no, no), (no, none)])

    assert result.accuracy == 0.5
    assert result.macro_f1 == pytest.approx((2 / 3 + 1 / 2) / 2)
    with pytest.raises(ValueError, match="no verdicts"):
        scores([])
