"""Training and measurement are separated by claim, across all sets."""

from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.training.toy import write_lines
from training.human import balanced_sample, labelled_pairs, read_labelled, split_apart
from training.pairs import LABELS, Label, Pair


def pair(claim: str, document: str = "A document.") -> Pair:
    return Pair(claim, document, "SUPPORTS", "some", "people")


def group(split: str, claim: str, **more: Any) -> dict[str, Any]:
    docs = [{"text": f"About {claim}", "label": "SUPPORTS"}]
    return {"id": claim, "split": split, "claim": claim, "docs": docs, **more}


def test_groups_and_pairs_are_read_with_partial_support_as_support(tmp_path: Path) -> None:
    docs = [
        {"text": "One.", "label": "PARTIAL", "title": "Title"},
        {"text": "Two.", "label": "MIXED"},
        {"text": " ", "label": "SUPPORTS"},
    ]
    path = write_lines(
        tmp_path / "lamps_groups.jsonl",
        [
            {"split": "dev", "claim": " A lamp. ", "docs": docs},
            {"split": "train", "claim": "A bell.", "document": "Bells.", "label": "CONTRADICTS"},
        ],
    )
    first, second = read_labelled(path)
    assert first.pair == Pair("A lamp.", "One.", "SUPPORTS", "lamps", "people", "Title")
    assert (first.split, second.split) == ("dev", "train")
    assert second.pair.label == "CONTRADICTS"


def test_a_claim_that_is_measured_on_in_one_set_is_learned_from_in_none(tmp_path: Path) -> None:
    lamp = "The lamp of the tower was lit in 1871."
    learned = write_lines(
        tmp_path / "one_groups.jsonl",
        [
            group("train", lamp.upper()),
            group("train", "Bells are loud, as all of us know."),
            group("dev", "Another claim."),
        ],
    )
    measured = write_lines(tmp_path / "two_groups.jsonl", [group("test", lamp)])
    training, validation = labelled_pairs([learned, measured])
    assert [one.claim for one in training] == ["Bells are loud, as all of us know."]
    assert {one.claim for one in validation} == {lamp, "Another claim."}


def test_a_claim_that_differs_in_a_word_leaks_too() -> None:
    measured = [pair("the old lamp of the tower was first lit in spring 1871 by Holt")]
    near = pair("the old lamp of the tower was first lit in spring 1872 by Holt")
    far = pair("the new bell of the tower was first rung in spring 1902 by Grant")
    assert list(split_apart([near, far], measured)) == [far]


def test_a_set_without_a_part_to_measure_on_gives_one_claim_in_five(tmp_path: Path) -> None:
    rows = [group("train", f"{word} lamps are number {n}.") for n, word in enumerate(WORDS)]
    training, validation = labelled_pairs([write_lines(tmp_path / "all_pairs.jsonl", rows)])
    assert len(training) + len(validation) == len(rows)
    assert 0.1 < len(validation) / len(rows) < 0.3
    again = labelled_pairs([write_lines(tmp_path / "all_pairs.jsonl", rows[::-1])])
    assert set(again[1]) == set(validation), "whatever the order"


def test_both_claims_of_a_wikicontradict_question_are_on_one_side(tmp_path: Path) -> None:
    rows = [
        group("test", f"{answer}, {word} it is {n}.", question=f"Is it {word} {n}?")
        for n, word in enumerate(WORDS)
        for answer in ("Yes", "No")
    ]
    path = write_lines(tmp_path / "wikicontradict_groups.jsonl", rows)
    training, validation = labelled_pairs([path])
    assert training
    questions = [{one.claim.split(", ")[1] for one in side} for side in (training, validation)]
    assert not questions[0] & questions[1]


WORDS = [
    first + second
    for first in ("amber", "birch", "cedar", "dusky", "ember", "fern", "grey", "hazel")
    for second in ("ton", "wick", "ford", "ham", "by", "dale")
]


@given(st.lists(st.sampled_from(LABELS)), st.integers(0, 30), st.integers())
def test_a_sample_is_balanced_reproducible_and_drawn_once(
    labels: list[Label], size: int, seed: int
) -> None:
    pairs = [Pair(str(n), "d", label, "lamps", "people") for n, label in enumerate(labels)]

    drawn = balanced_sample(pairs, size, seed)

    assert drawn == balanced_sample(pairs, size, seed)
    assert len({pair.claim for pair in drawn}) == len(drawn) <= size
    counts, available = Counter(p.label for p in drawn), Counter(labels)
    share = size // len(available) if available else 0
    assert all(counts[label] == min(share, available[label]) for label in available)
