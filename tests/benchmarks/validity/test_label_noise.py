"""What wrong labels do to the score."""

import numpy as np
import pytest

from conflictscore.benchmarks.validity.label_noise import (
    noise_figures,
    shares,
    table_of,
    with_label_noise,
)
from conflictscore.errors import InputError
from tests.benchmarks.conflict_detection.claims import C, N, S, U, claim_group, judged

RATES = np.array([[0.8, 0.05, 0.15], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])


def test_labels_are_changed_as_often_as_the_rates_say() -> None:
    rng = np.random.default_rng(1)
    gold = rng.choice(3, size=(6_000, 4), p=[0.4, 0.1, 0.5])
    gold[:2_000, 3] = 3  # no fourth document
    given = with_label_noise(gold, RATES, rng)
    assert (given[:2_000, 3] == 3).all()
    counted = table_of(gold, given)
    assert counted / counted.sum(axis=1, keepdims=True) == pytest.approx(RATES, abs=0.03)
    in_conflict, ratio = shares(np.array([[0, 1, 3], [0, 0, 2], [1, 1, 0], [2, 3, 3]]))
    assert in_conflict.tolist() == [1, 0, 1, 0]
    assert ratio.tolist() == pytest.approx([1 / 2, 0, 2 / 3, 0])


def test_more_errors_keep_less_of_a_difference_and_need_more_questions() -> None:
    kinds = [(S, C), (S, S), (S, N), (C, N), (S, C, N)]
    groups = [claim_group(str(number), kinds[number % 5]) for number in range(100)]
    given = [list(kinds[number % 5]) for number in range(100)]
    given[1] = [S, U]  # a pair without a verdict counts nowhere
    figures = noise_figures(
        "lamps", [judged(group, said) for group, said in zip(groups, given, strict=True)]
    )
    assert (figures.claims, figures.documents, figures.accuracy.value) == (100, 219, 1.0)
    ways = {one.name: one for one in figures.conditions}
    right, labeler = ways["people"], ways["the labeler"]
    assert right.cs_c.value == pytest.approx(0.4)
    assert labeler.model_copy(update={"name": "people"}) == right, "it made no error"
    # Two proportions, 30 and 40 % of five claims an answer: textbook n a group is 71.
    assert right.by_cs_c.questions["0.1"] == 71
    kept = [ways[name].by_cs_c.kept.value or 0 for name in ("people", "10 % wrong", "30 % wrong")]
    needed = [
        ways[name].by_cs_c.questions["0.1"] or 0 for name in ("people", "10 % wrong", "30 % wrong")
    ]
    assert kept == sorted(kept, reverse=True)
    assert len({*kept}) == 3
    assert needed == sorted(needed)
    assert needed[-1] > 3 * needed[0]


def test_claims_of_one_kind_tell_nothing() -> None:
    groups = [judged(claim_group(str(number), (S, C)), (S, C)) for number in range(8)]
    with pytest.raises(InputError, match="--groups lamps: 8 of 8 claims"):
        noise_figures("lamps", groups)
