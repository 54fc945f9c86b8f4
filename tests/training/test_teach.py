"""A smaller model learns a larger one's verdicts on pairs, including unlabelled ones."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from tests.training.toy import as_taught, pack_toy, toy_rows, toy_tokenizer, toy_weights
from training.packed import Numbers, Packed, load_packed
from training.packing import pack
from training.pairs import Row
from training.plan import Settings
from training.taught_pairs import UNLABELLED, Drawn, pairs_to_teach
from training.weights import load, save

torch = pytest.importorskip("torch", reason="the extra train is not installed")

from training import teach  # noqa: E402
from training.batches import Batch, assemble  # noqa: E402
from training.encoder import parameters  # noqa: E402
from training.learning import measure, on  # noqa: E402
from training.trainer import Trainer  # noqa: E402

SETTINGS = Settings(rate=1e-2, batch_tokens=600, dropout=0.1, frozen=0, validated=0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pairs of a BERT, the tokenizer of an MPNet, and an MPNet that knows the toy's rule."""
    torch.set_num_threads(1)
    made = tmp_path_factory.mktemp("teach")
    rows = [
        *toy_rows(60, "validation", 1),
        *toy_rows(200, "human", 2),
        *toy_rows(180, "synthetic", 3),
        *(Row("general", row.pair._replace(source="snli_18k")) for row in toy_rows(60, "human", 4)),
    ]
    pack(rows, made / "pairs.npz", tokenizer=toy_tokenizer(made), pair_tokens=96)
    (made / "mpnet").mkdir()
    path = pack_toy(made / "mpnet", "mpnet")
    settings = replace(SETTINGS, epochs=4, taught_share=0)
    start = toy_weights(family="mpnet")
    teacher = Trainer(as_taught(load_packed(path)), start, made / "teacher", settings, device="cpu")
    teacher.run(minutes=5, save_minutes=5, say=lambda text: None)
    assert teacher.best > 0.8
    return made


def drawn(packed: Packed, crossed: int = 80, made: int = 0) -> Packed:
    sizes = Drawn(human=100, questions=10, general=30, neutral=0, made=made, crossed=crossed)
    return pairs_to_teach(packed, sizes, seed=0)


def asked(folder: Path, out: Path, *more: str) -> str:
    given = {
        "--pairs": folder / "pairs.npz",
        "--tokenizer": folder / "tokenizer.json",
        "--teacher": folder / "teacher" / "best.npz",
        "--teacher-tokenizer": folder / "mpnet" / "tokenizer.json",
        "--out": out,
    }
    options = [str(part) for pair in given.items() for part in pair]
    run = CliRunner().invoke(teach.main, [*options, "--batch-tokens", "600", *more])
    return run.output


def test_what_is_measured_stays_and_what_is_taught_has_windows_of_its_own(folder: Path) -> None:
    whole = load_packed(folder / "pairs.npz")
    pairs = drawn(whole)
    before, after = whole.of_part("validation"), pairs.of_part("validation")
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(assemble(whole, [one]).ids, assemble(pairs, [other]).ids)
        assert whole.label[one] == pairs.label[other]
    spans = [
        (int(pairs.first_window[pair]), int(pairs.window_count[pair]))
        for pair in pairs.of_part("taught")
    ]
    windows = [first + turn for first, count in spans for turn in range(count)]
    assert len(windows) == len(set(windows))
    assert {count for _, count in spans} == {1, 2}


def test_claims_are_crossed_with_passages_of_their_set_that_they_were_not_judged_by(
    folder: Path,
) -> None:
    whole = load_packed(folder / "pairs.npz")
    pairs = drawn(whole)
    judged: dict[bytes, set[bytes]] = {}
    for pair in whole.of_part("human"):
        claim = whole.claims.text(int(whole.claim[pair])).tobytes()
        first, count = int(whole.first_window[pair]), int(whole.window_count[pair])
        texts = {whole.windows.text(first + turn).tobytes() for turn in range(count)}
        judged.setdefault(claim, set()).update(texts)
    unlabelled = np.flatnonzero(pairs.label == UNLABELLED)
    names = np.array(pairs.sources)[pairs.source[unlabelled]]
    assert np.count_nonzero(names == "snli_18k") == 30, "a set that labels otherwise"
    crossed = unlabelled[names != "snli_18k"]
    assert 70 <= len(crossed) <= 80
    for pair in crossed:
        claim = pairs.claims.text(int(pairs.claim[pair])).tobytes()
        window = pairs.windows.text(int(pairs.first_window[pair])).tobytes()
        assert claim in judged
        assert window not in judged[claim]
    labels = pairs.label[np.setdiff1d(pairs.of_part("taught"), unlabelled)]
    assert set(labels) == {0, 1, 2}


def test_constructed_pairs_are_labelled_by_the_rule_not_by_the_teacher(folder: Path) -> None:
    whole = load_packed(folder / "pairs.npz")
    pairs = drawn(whole, crossed=0, made=30)
    assert pairs.taught is not None
    taught = pairs.of_part("taught")
    assert len(taught) == 160
    of_rule = taught[pairs.taught[pairs.first_window[taught]].any(axis=1)]
    assert set(pairs.window_count[of_rule]) == {1}
    said = pairs.taught[pairs.first_window[of_rule]]
    np.testing.assert_array_equal(said, np.eye(3)[pairs.label[of_rule]])
    np.testing.assert_array_equal(np.bincount(pairs.label[of_rule]), [10, 10, 10])

    texts = {assemble(pairs, [pair]).ids.tobytes() for pair in of_rule}
    rows = whole.of_part("synthetic")
    assert texts <= {assemble(whole, [pair]).ids.tobytes() for pair in rows}


def test_a_student_learns_what_the_teacher_says(folder: Path, tmp_path: Path) -> None:
    said = asked(folder, tmp_path / "taught.npz")
    assert "pairs, in" in said, said
    packed = load_packed(tmp_path / "taught.npz")
    assert packed.taught is not None
    assert set(packed.label) == {0, 1, 2}

    # The teacher gives the same verdicts on the pairs as in its own tokens.
    shown = teach.renumbered(
        packed, np.arange(256), load_packed(folder / "mpnet" / "pairs.npz").marks
    )
    run = on(parameters(load(folder / "teacher" / "best.npz"), device="cpu"), device="cpu")
    taught = packed.of_part("taught")
    of_rule = (packed.taught[packed.first_window[taught]] > 0).sum(axis=1) == 1
    assert of_rule.any()
    rows = taught[of_rule]
    said_by_rule = packed.taught[packed.first_window[rows]]
    np.testing.assert_array_equal(said_by_rule, np.eye(3)[packed.label[rows]])
    taught = taught[~of_rule]
    with torch.no_grad():
        expected = run(assemble(shown, taught[:20]), 0.0).softmax(1).numpy()
    kept = assemble(packed, taught[:20]).taught
    assert kept is not None
    np.testing.assert_allclose(kept, expected, atol=0.02)

    # A teacher that confuses the sides is followed, rather than the labels.
    contrary = packed._replace(taught=packed.taught[:, [1, 0, 2]])
    settings = replace(SETTINGS, epochs=4, taught_share=1)
    student = Trainer(contrary, toy_weights(), tmp_path / "student", settings, device="cpu")
    student.run(minutes=5, save_minutes=5, say=lambda text: None)
    found = measure(on(student._p, device="cpu"), packed, packed.of_part("validation"), tokens=600)
    sides = np.sum([one.confusion for one in found.values()], axis=0)[:2, :2]
    assert sides[0, 1] + sides[1, 0] > 3 * (sides[0, 0] + sides[1, 1])


def test_stopped_asking_resumes(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, again = tmp_path / "whole.npz", tmp_path / "again.npz"
    seen: list[int] = []

    def counting(packed: Packed, pairs: Numbers) -> Batch:
        seen.append(len(pairs))
        return assemble(packed, pairs)

    monkeypatch.setattr(teach, "assemble", counting)
    asked(folder, whole)
    batches = len(seen)
    seen.clear()

    def stopping(packed: Packed, pairs: Numbers) -> Batch:
        if len(seen) == 3:
            raise KeyboardInterrupt
        return counting(packed, pairs)

    monkeypatch.setattr(teach, "assemble", stopping)
    asked(folder, again)
    assert not again.exists()
    kept = tmp_path / "again.said.npz"
    with np.load(kept) as file:
        assert int(file["done"]) == 3

    other = tmp_path / "other.npz"
    save(toy_weights(1, family="mpnet"), other)
    assert "move it away" in asked(folder, again, "--teacher", str(other))

    seen.clear()
    monkeypatch.setattr(teach, "assemble", counting)
    asked(folder, again)
    one, two = load_packed(whole), load_packed(again)
    assert one.taught is not None
    assert two.taught is not None
    np.testing.assert_array_equal(one.taught, two.taught)
    assert one.sha256() == two.sha256()
    assert len(seen) == batches - 3


def test_a_tokenizer_that_lacks_words_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text(
        (folder / "mpnet" / "tokenizer.json").read_text("utf-8").replace('"lamp"', '"lump"'),
        "utf-8",
    )
    said = asked(
        folder, tmp_path / "taught.npz", "--teacher-tokenizer", str(tmp_path / "tokenizer.json")
    )
    assert "lacks" in said


def test_a_run_without_a_teacher_says_where_one_comes_from(folder: Path, tmp_path: Path) -> None:
    packed = load_packed(folder / "pairs.npz")
    with pytest.raises(ValueError, match=r"training\.teach"):
        Trainer(packed, toy_weights(), tmp_path, SETTINGS, device="cpu")
