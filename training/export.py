"""Writes a trained model as a folder for ``--labeler nli:model=FOLDER``, in int8 ONNX.

The folder gets ``model.onnx``, ``tokenizer.json`` and ``config.json``. For comparison, the folder
also gets ``float/model.onnx``, the same model in single precision.
"""

import json
from pathlib import Path
from typing import Any

import click
import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from conflictscore.labelers.nli.adapted import limited
from training.packed import load_packed
from training.pairs import LABELS
from training.weights import EPSILON, HEADS, Weights, layers_of, load

# Versions of ONNX's operators and file format. They are fixed, since a newer onnx package would
# write newer versions, which older releases of onnxruntime refuse.
_OPSET, _IR = 20, 10
_OUTPUTS = 3  # one output for each label
_NAMES = {"SUPPORTS": "entailment", "CONTRADICTS": "contradiction", "IRRELEVANT": "neutral"}


def export(weights: Weights, folder: Path, *, tokenizer: Path, pair_tokens: int) -> None:
    """Write the folder.

    Args:
        weights: The trained weights.
        folder: The folder to write; need not exist.
        tokenizer: The ``tokenizer.json`` with which the pairs were made.
        pair_tokens: The pair length that the model was trained on, which the labeler will use.
    """
    from onnxruntime.quantization import QuantType, quantize_dynamic

    (folder / "float").mkdir(parents=True, exist_ok=True)
    exact = folder / "float" / "model.onnx"
    onnx.save(onnx_graph(weights), exact)
    quantize_dynamic(
        exact,
        folder / "model.onnx",
        weight_type=QuantType.QInt8,
        per_channel=True,
        reduce_range=True,
        nodes_to_exclude=["head/product"],
        extra_options={"MatMulConstBOnly": True},
    )
    said = limited(tokenizer.read_text("utf-8"), pair_tokens)
    (folder / "tokenizer.json").write_text(said, "utf-8")
    config = {
        "model_type": "bert",
        "id2label": {str(place): _NAMES[label] for place, label in enumerate(LABELS)},
        "num_hidden_layers": layers_of(weights),
        "max_position_embeddings": int(weights["positions"].shape[0]),
        "vocab_size": int(weights["words"].shape[0]),
        "pad_token_id": 0,
    }
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", "utf-8")


class _Writer:
    """Collects nodes and constants, in the order of the calculation."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}

    def add(self, kind: str, inputs: list[str], name: str, **settings: Any) -> str:
        """Add one operation, and return the name of its output."""
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **settings))
        return name

    def constant(self, name: str, value: NDArray[Any]) -> str:
        """Add a constant tensor."""
        self.constants[name] = numpy_helper.from_array(np.asarray(value, order="C"), name)
        return name

    def trained(self, name: str) -> str:
        """Add a tensor of the weights, unchanged."""
        return self.constant(name, self.weights[name].astype(np.float32))

    def rows(self, name: str, places: str) -> str:
        """Look up rows of a table."""
        return self.add("Gather", [self.trained(name), places], f"{name}/out")

    def linear(self, name: str, x: str) -> str:
        """Add a matrix product and a bias."""
        matrix = self.constant(f"{name}.weight", self.weights[f"{name}.weight"].astype("f4").T)
        product = self.add("MatMul", [x, matrix], f"{name}/product")
        return self.add("Add", [product, self.trained(f"{name}.bias")], f"{name}/out")

    def norm(self, name: str, x: str) -> str:
        """Add layer normalisation over the last axis."""
        inputs = [x, self.trained(f"{name}.weight"), self.trained(f"{name}.bias")]
        return self.add("LayerNormalization", inputs, f"{name}/out", axis=-1, epsilon=EPSILON)


def onnx_graph(weights: Weights) -> onnx.ModelProto:
    """Write a model with inputs ``input_ids``, ``attention_mask`` and ``token_type_ids``.

    Args:
        weights: A trained BERT, by the names of ``training.weights``.

    Returns:
        A model with one output ``logits`` of shape (batch, 3), checked.
    """
    w = _Writer(weights)
    size = int(weights["words"].shape[1])
    per_head = size // HEADS
    heads = w.constant("shape/heads", np.array([0, 0, 3, HEADS, per_head], np.int64))
    merged = w.constant("shape/joined", np.array([0, 0, size], np.int64))
    scale = w.constant("scale", np.array(per_head**-0.5, np.float32))
    mask = w.add("Cast", ["attention_mask"], "mask", to=TensorProto.FLOAT)
    added = _hidden(w, mask)
    x = w.norm("norm", _embedded(w))
    for number in range(layers_of(weights)):
        name = f"layer.{number}"
        split = w.add("Reshape", [w.linear(f"{name}.attention", x), heads], f"{name}/split")
        by_part = w.add("Transpose", [split], f"{name}/by_part", perm=[2, 0, 3, 1, 4])
        q, k, v = (
            w.add(
                "Gather",
                [by_part, w.constant(f"part/{p}", np.array(p, np.int64))],
                f"{name}/{p}",
                axis=0,
            )
            for p in range(3)
        )
        scaled = w.add("Mul", [q, scale], f"{name}/scaled")
        keys = w.add("Transpose", [k], f"{name}/keys", perm=[0, 1, 3, 2])
        scores = w.add("MatMul", [scaled, keys], f"{name}/scores")
        masked = w.add("Add", [scores, added], f"{name}/masked")
        shares = w.add("Softmax", [masked], f"{name}/shares", axis=-1)
        mixed = w.add("MatMul", [shares, v], f"{name}/mixed")
        mixed = w.add("Transpose", [mixed], f"{name}/tokens", perm=[0, 2, 1, 3])
        mixed = w.add("Reshape", [mixed, merged], f"{name}/joined")
        attended = w.add("Add", [w.linear(f"{name}.attended", mixed), x], f"{name}/attended")
        x = w.norm(f"{name}.attended_norm", attended)
        inner = w.add("Gelu", [w.linear(f"{name}.inner", x)], f"{name}/gelu")
        output = w.add("Add", [w.linear(f"{name}.output", inner), x], f"{name}/sum")
        x = w.norm(f"{name}.output_norm", output)
    said = w.linear("head", _pooled(w, x, mask))
    w.add("Identity", [said], "logits")
    names = ["input_ids", "attention_mask", "token_type_ids"]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"])
        for name in names
    ]
    output = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", _OUTPUTS])
    graph = helper.make_graph(w.nodes, "pairs", inputs, [output], list(w.constants.values()))
    opsets = [helper.make_opsetid("", _OPSET)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=_IR)
    onnx.checker.check_model(model, full_check=True)
    return model


def _embedded(w: _Writer) -> str:
    shape = w.add("Shape", ["input_ids"], "input_shape")
    length = w.add("Gather", [shape, w.constant("one", np.array(1, np.int64))], "length")
    places = w.add("Range", [w.constant("zero", np.array(0, np.int64)), length, "one"], "places")
    words, positions = w.rows("words", "input_ids"), w.rows("positions", places)
    sides = w.rows("sides", "token_type_ids")
    return w.add("Add", [w.add("Add", [words, sides], "words+sides"), positions], "embedded")


def _hidden(w: _Writer, mask: str) -> str:
    """Return the value to add to tokens' scores, so that padding is far below all others."""
    axes = w.constant("axes", np.array([1, 2], np.int64))
    wide = w.add("Unsqueeze", [mask, axes], "mask/wide")
    away = w.add("Sub", [w.constant("unit", np.array(1, np.float32)), wide], "mask/away")
    # so low that the softmax gives 0 in single precision
    return w.add("Mul", [away, w.constant("far", np.array(-1e9, np.float32))], "mask/hidden")


def _pooled(w: _Writer, x: str, mask: str) -> str:
    """Return the mean of all tokens except padding."""
    middle = w.constant("axis/1", np.array([1], np.int64))
    last = w.add("Unsqueeze", [mask, w.constant("axis/-1", np.array([-1], np.int64))], "mask/last")
    kept = w.add("Mul", [x, last], "kept")
    total = w.add("ReduceSum", [kept, middle], "kept/sum", keepdims=0)
    count = w.add("ReduceSum", [last, middle], "kept/count", keepdims=0)
    return w.add("Div", [total, count], "pooled")


@click.command(help=__doc__)
@click.option("--weights", "trained", required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--tokenizer", required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--pairs", required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path))
def main(trained: Path, tokenizer: Path, pairs: Path, out: Path) -> None:
    """Write the folder."""
    pair_tokens = load_packed(pairs).pair_tokens
    export(load(trained), out, tokenizer=tokenizer, pair_tokens=pair_tokens)
    click.echo(f"{out / 'model.onnx'}: {(out / 'model.onnx').stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
