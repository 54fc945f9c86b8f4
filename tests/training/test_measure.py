"""Weights are measured on all pairs before they are exported: set by set, conflicts included."""

import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from tests.training.toy import toy_rows, toy_tokenizer, toy_weights
from training.packed import Numbers, Packed, load_packed
from training.packing import pack
from training.pairs import LABELS, Label, Pair, Row
from training.weights import save

pytest.importorskip("torch", reason="the extra train is not installed")

from training import asking, measure
from training.batches import Batch, assemble
from training.measure import set_rows

SETS = ("toy0", "toy1", "ramdocs_questions", "snli.dev")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Pairs of four sets and random weights."""
    rows = [
        *toy_rows(60, "validation", 1),
        *(
            Row("validation", row.pair._replace(source=source))
            for source in SETS[2:]
            for row in toy_rows(30, "validation", 2)
        ),
        *toy_rows(10, "human", 3),
    ]
    pack(rows, tmp_path / "pairs.npz", tokenizer=toy_tokenizer(tmp_path), pair_tokens=96)
    save(toy_weights(1, head=True), tmp_path / "best.npz", pooling="mean")
    return tmp_path


def measured(folder: Path) -> dict[str, list[str]]:
    given = {"--pairs": "pairs.npz", "--weights": "best.npz", "--out": "windows.npz"}
    options = [part for name, file in given.items() for part in (name, str(folder / file))]
    ran = CliRunner().invoke(measure.main, [*options, "--batch-tokens", "600"])
    assert ran.exit_code == 0, ran.output
    lines = [line for line in ran.output.splitlines() if re.match(r"\| [a-z]", line)]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0]: row for row in rows[1:]}


def test_every_set_has_a_row_and_people_s_sets_one_together(folder: Path) -> None:
    rows = measured(folder)
    assert {*rows} == {*SETS, "people's sets"}
    confusion = {
        name: np.array([row.split() for row in cells[-1].split("/")], int)
        for name, cells in rows.items()
    }
    np.testing.assert_array_equal(confusion["people's sets"], confusion["toy0"] + confusion["toy1"])
    assert confusion["people's sets"].sum() == 60
    right = confusion["ramdocs_questions"].trace() / 30
    assert float(rows["ramdocs_questions"][2]) == pytest.approx(right, abs=5e-4)


def test_the_windows_are_those_that_a_bias_is_chosen_by(folder: Path) -> None:
    measured(folder)
    packed = load_packed(folder / "pairs.npz")
    with np.load(folder / "windows.npz") as kept:
        owner, said = kept["owner"], kept["probabilities"]
    assert owner[-1] == 60 + 30 - 1, "general inference has no part in it"
    counts = packed.window_count[packed.of_part("validation")][:90]
    np.testing.assert_array_equal(np.bincount(owner), counts)
    np.testing.assert_allclose(said.sum(axis=1), 1, atol=2e-3)


def test_it_goes_on_where_it_was_stopped(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = measured(folder)
    (folder / "windows.said.npz").unlink()
    seen: list[int] = []

    def counting(packed: Packed, pairs: Numbers) -> Batch:
        seen.append(1)
        return assemble(packed, pairs)

    def stopping(packed: Packed, pairs: Numbers) -> Batch:
        if len(seen) == 3:
            raise KeyboardInterrupt
        return counting(packed, pairs)

    monkeypatch.setattr(asking, "assemble", stopping)
    with pytest.raises(AssertionError):
        measured(folder)
    monkeypatch.setattr(asking, "assemble", counting)
    assert measured(folder) == whole
    with np.load(folder / "windows.said.npz") as kept:
        assert len(seen) == int(kept["done"])


def test_conflicts_are_those_of_claims_with_both_sides(folder: Path) -> None:
    labels: list[Label] = ["SUPPORTS", "CONTRADICTS", "SUPPORTS", "IRRELEVANT"]
    claims = ("lamp", "lamp", "bell", "bell")
    pairs = [
        Pair(claim, f"{claim} {document}", label, "toy", "people")
        for claim, label, document in zip(claims, labels, "abcd", strict=True)
    ]
    rows = [Row("validation", pair) for pair in pairs]
    pack(rows, folder / "few.npz", tokenizer=folder / "tokenizer.json", pair_tokens=96)
    packed = load_packed(folder / "few.npz")
    right = np.array([LABELS.index(label) for label in labels])
    places = packed.of_part("validation")

    def cells(given: np.ndarray) -> list[str]:
        [of_set, _] = set_rows(packed, places, given)
        return [cell.strip() for cell in of_set.strip("|").split("|")][4:8]

    assert cells(right) == ["2", "1", "1.000 (0.667)", "1.000 (0.500, 0.500)"]
    assert cells(np.array([0, 0, 0, 1])) == ["2", "1", "0.000 (0.667)", "0.000 (0.500, 0.500)"]
