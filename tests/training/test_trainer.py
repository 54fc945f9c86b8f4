"""A model learns an obvious rule, and a stopped run resumes as if it had never stopped."""

import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.training.toy import as_taught, pack_toy, toy_tokenizer, toy_weights
from training.export import export
from training.packed import Packed, load_packed
from training.plan import Settings
from training.weights import buckets, load

torch = pytest.importorskip("torch", reason="the extra train is not installed")

from training.batches import Batch, assemble  # noqa: E402
from training.encoder import frozen_names, logits, parameters  # noqa: E402
from training.kept import KeptActivations  # noqa: E402
from training.learning import loss_of  # noqa: E402
from training.trainer import Trainer  # noqa: E402

SETTINGS = Settings(
    epochs=3, taught_share=0, rate=1e-2, batch_tokens=600, dropout=0.1, frozen=0, validated=0
)


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Packed:
    torch.set_num_threads(1)
    return as_taught(load_packed(pack_toy(tmp_path_factory.mktemp("toy"))))


def start(packed: Packed, folder: Path, settings: Settings = SETTINGS) -> Trainer:
    return Trainer(packed, toy_weights(), folder, settings, device="cpu")


def train(trainer: Trainer, minutes: float = 5) -> None:
    trainer.run(minutes=minutes, save_minutes=5, say=lambda text: None)


def tensors(batch: Batch) -> list[Any]:
    return [torch.from_numpy(values) for values in (batch.ids, batch.sides, batch.mask)]


def batch_of(owners: list[int], labels: list[int]) -> Batch:
    """Windows of one token each, with the document of each."""
    one = np.zeros((len(owners), 1))
    places = np.arange(len(owners))
    taught = np.zeros((len(owners), 3))
    return Batch(one, one, one + 1, places, np.array(owners), np.array(labels), taught)


def test_it_learns_which_window_of_a_document_decides(packed: Packed, tmp_path: Path) -> None:
    said: list[str] = []
    trainer = start(packed, tmp_path)
    trainer.run(minutes=5, save_minutes=5, say=said.append)
    assert trainer.finished
    assert trainer.best > 0.9, said
    assert set(load(tmp_path / "best.npz")) == {*toy_weights()}
    assert len((tmp_path / "log.jsonl").read_text("utf-8").splitlines()) == 3


def test_a_stopped_run_goes_on_at_the_same_step_and_comes_out_the_same(
    packed: Packed, tmp_path: Path
) -> None:
    settings = replace(SETTINGS, epochs=1, seed=3)
    whole = start(packed, tmp_path / "whole", settings)
    train(whole)

    stopped = start(packed, tmp_path / "stopped", settings)
    stopped.run(minutes=5, save_minutes=5, say=lambda text: os.kill(os.getpid(), signal.SIGINT))
    assert not stopped.finished
    assert stopped.step == 100
    again = start(packed, tmp_path / "stopped", settings)
    assert (again.epoch, again.step) == (0, 100)
    train(again)
    assert again.finished
    one, other = (load(tmp_path / name / "best.npz") for name in ("whole", "stopped"))
    for name, value in one.items():
        assert np.allclose(value, other[name], atol=1e-3), name


def test_frozen_layers_stay_as_they_are(packed: Packed, tmp_path: Path) -> None:
    settings = replace(SETTINGS, epochs=1, frozen=1)
    trainer = start(packed, tmp_path, settings)
    train(trainer)
    before, after = toy_weights(), load(tmp_path / "best.npz")
    kept = {name for name, value in before.items() if np.allclose(value, after[name], atol=2e-3)}
    assert {*before} - kept == {"head.weight", "head.bias"}, "the toy has one layer"
    again = start(packed, tmp_path, settings)
    assert again.finished, "a run with frozen layers is taken up"


def test_time_that_is_up_stops_a_run(packed: Packed, tmp_path: Path) -> None:
    trainer = start(packed, tmp_path)
    train(trainer, minutes=0)
    assert (trainer.finished, trainer.epoch, trainer.step) == (False, 0, 0)


def test_pairs_of_another_encoders_tokenizer_are_refused(packed: Packed, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="the tokenizer of another encoder"):
        Trainer(packed, toy_weights(family="mpnet"), tmp_path, Settings(), device="cpu")


def test_other_settings_or_pairs_are_refused_by_name(packed: Packed, tmp_path: Path) -> None:
    train(start(packed, tmp_path), minutes=0)
    with pytest.raises(ValueError, match="another dropout, seed"):
        start(packed, tmp_path, replace(SETTINGS, dropout=0.3, seed=1))
    label = packed.label.copy()
    label[0] = (label[0] + 1) % 3
    with pytest.raises(ValueError, match="another --pairs: give another --out"):
        start(packed._replace(label=label), tmp_path)


def test_weights_of_another_shape_are_refused_and_later_ones_are_not(
    packed: Packed, tmp_path: Path
) -> None:
    train(start(packed, tmp_path), minutes=0)
    later = toy_weights(seed=1)
    Trainer(packed, later, tmp_path, SETTINGS, device="cpu")
    later["layer.1.attention.weight"] = later["layer.0.attention.weight"]
    with pytest.raises(ValueError, match="another --start: give another --out"):
        Trainer(packed, later, tmp_path, SETTINGS, device="cpu")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_the_chances_of_a_gpu_go_on_too(packed: Packed, tmp_path: Path) -> None:
    torch.cuda.manual_seed(5)
    trainer = Trainer(packed, toy_weights(), tmp_path, SETTINGS, device="cuda")
    torch.rand(7, device="cuda")
    train(trainer, minutes=0)
    expected = torch.rand(4, device="cuda").tolist()
    Trainer(packed, toy_weights(), tmp_path, SETTINGS, device="cuda")
    assert torch.rand(4, device="cuda").tolist() == expected


def test_the_exported_model_says_what_the_trained_one_says(tmp_path: Path) -> None:
    import onnxruntime

    packed = load_packed(pack_toy(tmp_path, made=0, human=0, measured=20))
    trained = toy_weights()
    tokenizer = toy_tokenizer(tmp_path)
    export(trained, tmp_path / "model", tokenizer=tokenizer, pair_tokens=96)
    batch = assemble(packed, packed.of_part("validation"))
    assert not batch.mask.all(), "some are padded"
    p = parameters(trained, device="cpu")
    with torch.no_grad():
        expected = logits(p, *tensors(batch)).numpy()
    session = onnxruntime.InferenceSession(tmp_path / "model" / "float" / "model.onnx")
    feed = {"input_ids": batch.ids, "attention_mask": batch.mask.astype(np.int64)}
    feed["token_type_ids"] = batch.sides
    assert np.allclose(session.run(None, feed)[0], expected, atol=1e-4)


def test_what_heads_add_for_a_distance_is_learned(tmp_path: Path) -> None:
    packed = load_packed(pack_toy(tmp_path, "mpnet", made=0, human=0, measured=4))
    batch = assemble(packed, [0, 1, 2, 3])
    p = parameters(toy_weights(family="mpnet"), device="cpu")
    said = logits(p, *tensors(batch), dropout=0.1)
    loss_of(said, batch, smoothing=0.0).backward()  # type: ignore[no-untyped-call,unused-ignore]
    slope = p["relative"].grad
    assert slope is not None
    longest = batch.ids.shape[1]
    there = np.unique(buckets(np.arange(1 - longest, longest)))
    assert np.flatnonzero(slope.abs().sum(1).numpy()).tolist() == there.tolist()


def test_a_window_for_the_other_side_is_pushed_away_and_a_silent_one_is_not() -> None:
    batch = batch_of([0, 0, 1, 1], [0, 2])
    # The first document's second window takes the other side; the second's first window a side.
    said = torch.tensor(
        [[3.0, 0.0, 0.0], [0.0, 3.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 2.0]], requires_grad=True
    )
    loss_of(said, batch, smoothing=0.0).backward()  # type: ignore[no-untyped-call,unused-ignore]
    slope = said.grad
    assert slope is not None
    assert slope[0, 0] < 0, "the window that answers is drawn to its label"
    assert slope[1, 1] > 0, "and the other side is pushed away"
    assert slope[2, 2] < 0, "what is nearest to a side is drawn to none"
    assert slope[3].abs().sum() == 0, "what says nothing already is left alone"


@pytest.mark.parametrize("short", [False, True])
def test_a_window_that_is_sure_of_the_other_side_is_pushed_hardest(short: bool) -> None:
    batch = batch_of([0, 0], [0])
    said = torch.tensor([[3.0, 0.0, 0.0], [0.0, 30.0, 0.0]], requires_grad=True)
    read = said.bfloat16() if short else said
    loss = loss_of(read, batch, smoothing=0.0)
    loss.backward()  # type: ignore[no-untyped-call,unused-ignore]
    assert loss.item() == pytest.approx(30 - np.log(2) + np.log(1 + 2 * np.exp(-3)), rel=0.01)
    slope = said.grad
    assert slope is not None
    assert slope[1].tolist() == pytest.approx([-0.5, 1.0, -0.5], abs=1e-3)


def test_kept_activations_say_what_the_frozen_layers_say(
    packed: Packed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("training.encoder._has_short_products", lambda: False)
    p = parameters(toy_weights(), device="cpu")
    frozen = frozen_names(p, 1)
    for name in frozen:
        p[name].requires_grad_(False)
    path = tmp_path / "activations.f16"
    said: list[str] = []
    kept = KeptActivations(packed, p, 1, path, say=said.append)
    batch = assemble(packed, packed.of_part("taught")[:7])
    expected = logits(p, *tensors(batch))
    torch.testing.assert_close(kept.logits(batch, 0.0), expected, atol=5e-3, rtol=0)
    KeptActivations(packed, p, 1, path, say=said.append)
    assert len(said) == 1, "the file is read the second time"

    with torch.no_grad():
        p["words"] += 1
    KeptActivations(packed, p, 1, path, say=said.append)
    assert len(said) == 2, "other layers are asked anew"


def test_a_run_on_kept_activations_learns_the_upper_layers_alone(
    packed: Packed, tmp_path: Path
) -> None:
    settings = replace(SETTINGS, frozen=1, keep_from=1, dropout=0)
    trainer = start(packed, tmp_path, settings)
    train(trainer)
    learned, begun = load(tmp_path / "best.npz"), toy_weights()
    assert not np.array_equal(learned["head.weight"], begun["head.weight"].astype(np.float16))
    np.testing.assert_array_equal(learned["words"], begun["words"].astype(np.float16))


def test_narrow_products_are_learned_and_matrices_stay(packed: Packed, tmp_path: Path) -> None:
    settings = replace(SETTINGS, epochs=1, rank=2, averaged=0.9, seed=3)
    whole = start(packed, tmp_path / "whole", settings)
    train(whole)
    begun, trained = toy_weights(), load(tmp_path / "whole" / "best.npz")
    wide = "layer.0.inner.weight"
    assert np.allclose(trained[wide], begun[wide], atol=1e-3)
    learned = load(tmp_path / "whole" / "learned.npz")
    assert learned[f"{wide}.down"].shape == (2, begun[wide].shape[1])
    assert np.abs(learned[f"{wide}.up"]).max() > 0
    assert wide not in learned

    stopped = start(packed, tmp_path / "stopped", settings)
    stopped.run(minutes=5, save_minutes=5, say=lambda text: os.kill(os.getpid(), signal.SIGINT))
    assert not stopped.finished
    train(start(packed, tmp_path / "stopped", settings))
    again = load(tmp_path / "stopped" / "learned.npz")
    assert all(np.allclose(again[name], learned[name], atol=1e-3) for name in learned)
