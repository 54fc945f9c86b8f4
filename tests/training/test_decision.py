"""Windows are read as the labeler reads them, and stored once."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from conflictscore.labelers.nli.labeler import NliLabeler
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, Document
from training import decision
from training.decision import Windows, conflict_figures, read
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
    assert len(rows) == 1
    assert "reading" in first
    monkeypatch.setattr(decision, "read", None)
    again = measured(tmp_path, monkeypatch, both)
    assert again.splitlines()[-2:] == first.splitlines()[-2:]
    assert "other data" in measured(tmp_path, monkeypatch, pairs())
