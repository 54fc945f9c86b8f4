"""What turns windows into a label: read as the labeler does, fitted on other sets than measured."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from conflictscore.labelers.nli.labeler import NliLabeler
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, Document
from training import decision
from training.decision import Windows, conflict_figures, held_out_labels, inputs, read
from training.figures import verdicts
from training.pairs import LABELS, Pair

_SUPPORTS, _CONTRADICTS, _IRRELEVANT = range(3)


@pytest.fixture(scope="module")
def labeler() -> NliLabeler:
    return NliLabeler.open()


def pairs() -> list[Pair]:
    story = "The lamp was lit in 1874 by two keepers. " * 3 + "Gulls nest on the roof. " * 60
    return [
        Pair("The lamp was lit in 1874.", story, "SUPPORTS", "toy", "people"),
        Pair("The lamp was lit in 1922.", story, "CONTRADICTS", "toy", "people", "The lamp"),
        Pair("Cats sleep all day.", story, "IRRELEVANT", "toy", "people"),
    ]


def as_windows(found: list[tuple[np.ndarray, np.ndarray]]) -> Windows:
    owner = np.repeat(np.arange(len(found)), [len(shared) for _, shared in found])
    said, shared = (np.concatenate(part) for part in zip(*found, strict=True))
    return Windows(said, shared, owner)


async def test_windows_are_read_as_the_labeler_reads_them(labeler: NliLabeler) -> None:
    windows = as_windows(list(read(labeler._model, pairs())))
    assert len(windows.owner) > len(pairs()), "the document has several windows"
    given = [LABELS[place] for place in verdicts(*windows[::2], len(pairs()))]
    for pair, label in zip(pairs(), given, strict=True):
        document = Document(number=1, title=pair.title, text=pair.document)
        said = await labeler.label(Claim(number=1, text=pair.claim), document, UsageMeter())
        assert said.label == label


def test_the_share_of_the_claims_words_is_that_of_each_window(labeler: NliLabeler) -> None:
    [(_, shared)] = read(labeler._model, pairs()[:1])
    assert shared[0] == 1.0
    assert shared[-1] < 0.5, "gulls only"


def test_inputs_have_a_row_for_each_pair_and_grow_with_what_is_seen() -> None:
    windows = Windows(
        np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]),
        np.array([1.0, 0.5, 0.0]),
        np.array([0, 0, 1]),
    )
    assert inputs(windows, 2, "deciding window").shape == (2, 2)
    assert inputs(windows, 2, "all windows").shape == (2, 7)
    words = inputs(windows, 2, "all windows and words")
    assert words.shape == (2, 11)
    assert np.allclose(words.mean(axis=0), 0), "centred"
    deciding = inputs(windows, 2, "deciding window")
    assert deciding[0, _CONTRADICTS] > deciding[1, _CONTRADICTS], "the second window decides"
    assert words[0, 7] > words[1, 7], "the first shares most with the claim, and supports it"


def test_a_rule_that_other_sets_show_is_learned() -> None:
    rng = np.random.default_rng(0)
    gold = rng.integers(0, 3, 300)
    seen = np.eye(3)[gold][:, :2] + rng.normal(0, 0.1, (300, 2))
    sets = np.array(["a", "b", "c"] * 100)
    assert (held_out_labels(seen, gold, sets) == gold).mean() > 0.95


def test_a_set_is_never_judged_by_its_own_labels() -> None:
    gold = np.array([_SUPPORTS, _CONTRADICTS] * 50 + [_CONTRADICTS, _SUPPORTS] * 50)
    seen = np.where(np.array([True, False] * 100), 1.0, -1.0)[:, None]
    sets = np.array(["a"] * 100 + ["b"] * 100)
    assert not (held_out_labels(seen, gold, sets) == gold).any(), "each learns the other's rule"


def test_a_conflict_needs_both_sides_of_one_claim() -> None:
    gold = np.array([_SUPPORTS, _CONTRADICTS, _SUPPORTS, _CONTRADICTS, _SUPPORTS, _IRRELEVANT])
    given = np.array([_SUPPORTS, _CONTRADICTS, _SUPPORTS, _IRRELEVANT, _SUPPORTS, _CONTRADICTS])
    claims = ["found", "found", "missed", "missed", "false", "false"]
    f1, accuracy = conflict_figures(gold, given, claims)
    assert f1 == 0.5
    assert accuracy == pytest.approx(1 / 3)
    assert conflict_figures(gold, gold, claims) == (1.0, 1.0)


def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: list[Pair]) -> str:
    monkeypatch.setattr(decision, "measured_on", lambda _: found)
    arguments = ["--data", str(tmp_path), "--out", str(tmp_path / "windows.npz")]
    result = CliRunner().invoke(decision.main, arguments)
    return result.output


def test_windows_are_kept_and_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [pair._replace(source="ramdocs_questions") for pair in pairs()]
    both = [*pairs(), *answers]
    first = measured(tmp_path, monkeypatch, both)
    rows = [line for line in first.splitlines() if line.startswith("| people's")]
    assert len(rows) == 4
    assert "reading" in first
    monkeypatch.setattr(decision, "read", None)
    again = measured(tmp_path, monkeypatch, both)
    assert again.splitlines()[-8:] == first.splitlines()[-8:]
    assert "other data" in measured(tmp_path, monkeypatch, pairs())
