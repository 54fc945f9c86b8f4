"""Encoders to start from: what is read of a checkpoint, and by which names."""

import json
from pathlib import Path
from zipfile import ZipFile

import numpy as np

from tests.training.toy import toy_weights
from training import weights
from training.adapted import checkpoint
from training.distances import buckets
from training.weights import Weights

_SIZE, _LAYERS = 24, 2


def mpnet_checkpoint() -> Weights:
    rng = np.random.default_rng(0)
    linear = [f"attention.attn.{part}" for part in "qkvo"] + ["intermediate.dense", "output.dense"]
    names = [*linear, "attention.LayerNorm", "output.LayerNorm"]
    found: Weights = {}
    for layer in range(_LAYERS):
        for name in names:
            found[f"encoder.layer.{layer}.{name}.weight"] = rng.random((_SIZE, _SIZE), np.float32)
            found[f"encoder.layer.{layer}.{name}.bias"] = rng.random(_SIZE, np.float32)
    for kind in ("weight", "bias"):
        found[f"embeddings.LayerNorm.{kind}"] = rng.random(_SIZE, np.float32)
    found["embeddings.word_embeddings.weight"] = rng.random((50, _SIZE), np.float32)
    found["embeddings.position_embeddings.weight"] = rng.random((18, _SIZE), np.float32)
    found["encoder.relative_attention_bias.weight"] = rng.random((32, 12), np.float32)
    found["pooler.dense.weight"] = rng.random((_SIZE, _SIZE), np.float32)
    return found


def test_an_mpnet_checkpoint_gets_the_names_of_a_bert_but_for_distances_and_sides() -> None:
    tensors = mpnet_checkpoint()
    found = weights.from_mpnet(tensors)
    assert weights.layers_of(found) == _LAYERS
    assert {name.replace("layer.1.", "layer.0.") for name in found} == set(
        toy_weights(family="mpnet")
    )
    key = tensors["encoder.layer.1.attention.attn.k.weight"]
    assert (found["layer.1.attention.weight"][_SIZE : 2 * _SIZE] == key).all()
    positions = tensors["embeddings.position_embeddings.weight"]
    assert (found["positions"] == positions[2:]).all(), "text begins at the third"
    assert found["relative"].shape == (32, 12)


def test_an_mpnet_is_read_out_of_the_zip_that_the_packages_carry(tmp_path: Path) -> None:
    tensors = mpnet_checkpoint()
    header, place = {}, 0
    for name, value in tensors.items():
        offsets = [place, place + value.nbytes]
        header[name] = {"dtype": "F32", "shape": value.shape, "data_offsets": offsets}
        place += value.nbytes
    said = json.dumps(header).encode()
    data = b"".join(value.tobytes() for value in tensors.values())
    with ZipFile(tmp_path / "all.zip", "w") as archive:
        content = len(said).to_bytes(8, "little") + said + data
        archive.writestr("all-mpnet-base-v2/model.safetensors", content)
        archive.writestr("all-mpnet-base-v2/tokenizer.json", "{}")
    found = checkpoint(tmp_path / "all.zip")
    assert set(found) == set(tensors)
    assert all((found[name] == value).all() for name, value in tensors.items())


def test_distances_are_told_apart_one_by_one_up_to_8_and_then_ever_more_coarsely() -> None:
    # From 8 on the bucket is 8 + floor(8 * log(distance / 8) / log(16)), at most 15.
    by_hand = {0: 0, 1: 1, 7: 7, 8: 8, 11: 8, 12: 9, 15: 9, 16: 10, 22: 10, 23: 11, 31: 11}
    by_hand |= {32: 12, 45: 12, 46: 13, 63: 13, 64: 14, 90: 14, 91: 15, 128: 15, 511: 15}
    distances = np.array(list(by_hand))
    assert buckets(-distances).tolist() == list(by_hand.values())
    assert buckets(distances[1:]).tolist() == [16 + one for one in list(by_hand.values())[1:]]
