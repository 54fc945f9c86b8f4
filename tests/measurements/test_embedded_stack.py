"""Stacks of local labelers, run with the package's classes."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from conflictscore.benchmarks.conflict_detection.groups import ClaimGroup, GroupDocument
from conflictscore.records import Label
from measurements import embedded_stack
from measurements.embedded_stack import Pairs, constants, gain
from tests.scoring_files.files import write_lines

_LABELS = (Label.SUPPORTS, Label.CONTRADICTS, Label.IRRELEVANT)


def group(number: int, *labels: int) -> ClaimGroup:
    documents = tuple(
        GroupDocument(text=f"Lamp {number}, book {place}.", label=_LABELS[label])
        for place, label in enumerate(labels)
    )
    claim = f"Lamp {number} was lit in 1871."
    both = {0, 1} <= {*labels}
    return ClaimGroup(
        set="one", id=str(number), claim=claim, documents=documents, has_conflict=both
    )


@pytest.fixture
def pairs() -> Pairs:
    groups = [group(n, 0, 1, n % 3) for n in range(12)] + [group(20, 0, 2), group(21, 0)]
    return Pairs.of(groups)


def test_constants_say_conflict_of_every_claim_of_none_or_of_each_with_two_documents(
    pairs: Pairs,
) -> None:
    f1, right = zip(*constants(pairs).values(), strict=True)
    assert f1 == pytest.approx((2 * 12 / (12 + 14), 0, 2 * 12 / (12 + 13)))
    assert right == pytest.approx((12 / 14, 2 / 14, 13 / 14))


def test_a_gain_is_that_of_the_same_claims_and_none_where_nothing_changed(pairs: Pairs) -> None:
    worse = pairs.gold.copy()
    worse[pairs.claims < 6] = 2
    value, low, high = gain(pairs, worse, pairs.gold)
    assert value[0] == pytest.approx((worse != pairs.gold).mean())
    assert (low < value).all()
    assert (value < high).all()
    assert not np.any(gain(pairs, worse, worse))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "labels"
    folder.mkdir()
    rows = []
    for number in range(8):
        docs = [
            {"text": f"Lamp {number} is white. Lit in 1871.", "label": "SUPPORTS"},
            {"text": f"Lamp {number} was not lit in 1871, but in 1874.", "label": "CONTRADICTS"},
        ]
        claim = f"Lamp {number} was lit in 1871, as the books of harbour {number} tell."
        split = ("test", "train")[number > 5]
        row = {"id": str(number), "split": split, "claim": claim, "docs": docs[: 1 + number % 2]}
        rows.append(row)
    return write_lines(folder / "lamps_groups.jsonl", rows).parent


def test_the_command_resumes_and_marks_what_a_constant_beats(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONFLICTSCORE_CACHE_DIR", str(tmp_path / "cache"))  # without nli-mpnet
    command = ["--data", str(data), "--cache", str(tmp_path / "kept")]
    tables = [CliRunner().invoke(embedded_stack.main, command) for _ in "12"]
    assert tables[0].exit_code == 0, tables[0].output
    assert tables[0].stdout == tables[1].stdout
    assert tables[0].stdout.count("| nli(minilm), by claim |") == 4  # all, the halves, the set
    assert "All sets: 9 pairs of 6 claims" in tables[0].stdout


def test_data_without_labels_is_refused(data: Path, tmp_path: Path) -> None:
    (tmp_path / "others").mkdir()
    (data / "lamps_groups.jsonl").rename(tmp_path / "others" / "lamps_groups.jsonl")
    command = ["--data", str(tmp_path), "--cache", str(tmp_path / "kept")]
    refused = CliRunner().invoke(embedded_stack.main, command)
    assert refused.exit_code == 1
    assert "labels/" in refused.stderr
