"""A stage's trained tensors become the folder that comes with the package."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from conflictscore.labelers.nli.adapted import LEARNED, summed
from training.next_stage import narrowed, write_next_stage

PLACE, NORM = "layer.0.inner", "layer.0.output_norm.weight"
RNG = np.random.default_rng(0)
WIDE = RNG.normal(size=(12, 8))
UP, DOWN = RNG.normal(size=(12, 2)), RNG.normal(size=(2, 8))


@pytest.fixture
def shipped(tmp_path: Path) -> Path:
    folder = tmp_path / "shipped"
    folder.mkdir()
    before = narrowed(UP @ DOWN, 2)
    arrays = {f"{PLACE}.{name}": value for name, value in before._asdict().items()}
    np.savez(folder / LEARNED, order=np.array("{}"), **arrays)
    constants = [
        numpy_helper.from_array(np.ones(8, np.float32), NORM),
        numpy_helper.from_array(np.zeros((8, 3), np.float32), "head.weight"),
    ]
    shown = helper.make_tensor_value_info("x", TensorProto.FLOAT, [8])
    node = helper.make_node("Mul", ["x", NORM], ["y"])
    out = helper.make_tensor_value_info("y", TensorProto.FLOAT, [8])
    onnx.save(
        helper.make_model(helper.make_graph([node], "g", [shown], [out], constants)),
        folder / "model.onnx",
    )
    (folder / "config.json").write_text("{}", "utf-8")
    return folder


def matrix_of(folder: Path) -> NDArray[np.float32]:
    with np.load(folder / LEARNED) as arrays:
        found: NDArray[np.float32] = summed(PLACE, [WIDE], arrays)
    return found


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_products_of_all_stages_are_added_up(shipped: Path, tmp_path: Path, share: float) -> None:
    up, down = RNG.normal(size=(12, 3)), RNG.normal(size=(3, 8))
    head = RNG.normal(size=(3, 8)).astype(np.float32)
    learned = {
        f"{PLACE}.weight.up": up,
        f"{PLACE}.weight.down": down,
        NORM: np.full(8, 3.0),
        "head.weight": head,
    }
    folder = tmp_path / "next"
    write_next_stage(learned, shipped, folder, share)
    assert np.abs(matrix_of(folder) - (WIDE + UP @ DOWN + share * (up @ down))).max() < 0.15
    graph = onnx.load(folder / "model.onnx").graph
    constants = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    assert np.allclose(constants[NORM], 1 + 2 * share)
    assert np.allclose(constants["head.weight"], share * head.T)
    assert (folder / "config.json").exists()


def test_the_sum_of_the_products_keeps_to_the_largest_rank(shipped: Path, tmp_path: Path) -> None:
    learned = {
        f"{PLACE}.weight.up": RNG.normal(size=(12, 3)) * [1, 1, 0],
        f"{PLACE}.weight.down": RNG.normal(size=(3, 8)),
    }
    change = learned[f"{PLACE}.weight.up"] @ learned[f"{PLACE}.weight.down"]
    for most in (2, 4):  # the sum has rank 4
        folder = tmp_path / f"next{most}"
        write_next_stage(learned, shipped, folder, most_rank=most)
        with np.load(folder / LEARNED) as arrays:
            assert arrays[f"{PLACE}.down"].shape == (most, 8)
            assert arrays[f"{PLACE}.up"].shape == (12, most)
        missed = np.abs(matrix_of(folder) - (WIDE + UP @ DOWN + change)).max()
        assert (missed < 0.3) == (most == 4)


def test_what_the_graph_does_not_have_is_refused(shipped: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no_such"):
        write_next_stage({"layer.0.no_such.bias": np.zeros(3)}, shipped, tmp_path / "next")
