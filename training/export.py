"""Write a trained model as a folder that ``--nli-model`` reads: int8 ONNX, checked against float.

The folder gets ``model.onnx``, ``tokenizer.json`` and ``config.json``; ``float/model.onnx`` beside
them holds the same model in single precision, for comparison.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
import onnx
from numpy.typing import NDArray

from conflictscore.labelers.nli.adapted import limited
from training.batches import Batch, assemble, batched
from training.figures import verdicts
from training.graph import RELATIVE, onnx_graph
from training.packed import Packed, load_packed
from training.pairs import LABELS
from training.plan import Pooling
from training.weights import MPNET_FIRST_POSITION, Weights, layers_of, load, pooling_of

__all__ = ["Agreement", "agreement", "export", "main", "write_config"]

_NAMES = {"SUPPORTS": "entailment", "CONTRADICTS": "contradiction", "IRRELEVANT": "neutral"}
_TOKENS = 4096


class Agreement(NamedTuple):
    """How the small model compares with the float one.

    Attributes:
        pairs: How many were compared.
        same: How many got the same label.
        most: The largest difference of a probability.
    """

    pairs: int
    same: int
    most: float


def export(
    weights: Weights, folder: Path, *, tokenizer: Path, pair_tokens: int, pooling: Pooling
) -> None:
    """Write the folder.

    Args:
        weights: Trained.
        folder: Need not exist.
        tokenizer: The ``tokenizer.json`` that the pairs were made with.
        pair_tokens: The length of pairs that the model was trained on, which the labeler will use.
        pooling: What the head reads.
    """
    from onnxruntime.quantization import QuantType, quantize_dynamic

    (folder / "float").mkdir(parents=True, exist_ok=True)
    exact = folder / "float" / "model.onnx"
    onnx.save(onnx_graph(weights, pooling=pooling), exact)
    quantize_dynamic(
        exact,
        folder / "model.onnx",
        weight_type=QuantType.QInt8,
        per_channel=True,
        reduce_range=True,
        nodes_to_exclude=["head/product", RELATIVE],
        extra_options={"MatMulConstBOnly": True},
    )
    said = limited(tokenizer.read_text("utf-8"), pair_tokens)
    (folder / "tokenizer.json").write_text(said, "utf-8")
    write_config(weights, folder)


def write_config(weights: Weights, folder: Path) -> None:
    """Write the ``config.json`` of a model's folder."""
    # A folder of the MPNet family counts the positions that no text is at, up to padding's number.
    unused = MPNET_FIRST_POSITION if "relative" in weights else 0
    config = {
        "model_type": "mpnet" if unused else "bert",
        "id2label": {str(place): _NAMES[label] for place, label in enumerate(LABELS)},
        "num_hidden_layers": layers_of(weights),
        "max_position_embeddings": unused + int(weights["positions"].shape[0]),
        "vocab_size": int(weights["words"].shape[0]),
        "pad_token_id": unused - 1 if unused else 0,
    }
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", "utf-8")


def agreement(folder: Path, packed: Packed, size: int, seed: int = 0) -> Agreement:
    """Run both models of a folder over some validation pairs."""
    places = packed.of_part("validation")
    chosen = np.random.default_rng(seed).permutation(places)[:size]
    exact, small = (
        _session(path) for path in (folder / "float" / "model.onnx", folder / "model.onnx")
    )
    same, most = 0, 0.0
    for pairs in batched(packed, chosen, _TOKENS, None):
        batch = assemble(packed, pairs)
        one, other = (
            _softmax(session.run(None, _fed(session, batch))[0]) for session in (exact, small)
        )
        labels = [verdicts(p, batch.owner, len(pairs)) for p in (one, other)]
        same += int((labels[0] == labels[1]).sum())
        most = max(most, float(np.abs(one - other).max()))
    return Agreement(len(chosen), same, most)


def _session(path: Path) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _fed(session: Any, batch: Batch) -> dict[str, NDArray[Any]]:
    """Inputs of a graph for a batch."""
    there = {
        "input_ids": batch.ids,
        "attention_mask": batch.mask.astype(np.int64),
        "token_type_ids": batch.sides,
    }
    return {node.name: there[node.name] for node in session.get_inputs()}


def _softmax(x: NDArray[Any]) -> NDArray[Any]:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    found: NDArray[Any] = e / e.sum(axis=1, keepdims=True)
    return found


@click.command(help=__doc__)
@click.option("--weights", "trained", required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--tokenizer", required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--pairs", required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path))
@click.option("--compare", default=500, show_default=True, help="Validation pairs to compare on.")
def main(trained: Path, tokenizer: Path, pairs: Path, out: Path, compare: int) -> None:
    """Write the folder and print how the small model compares."""
    packed = load_packed(pairs)
    export(
        load(trained),
        out,
        tokenizer=tokenizer,
        pair_tokens=packed.pair_tokens,
        pooling=pooling_of(trained),
    )
    found = agreement(out, packed, compare)
    size = (out / "model.onnx").stat().st_size
    click.echo(
        f"{out / 'model.onnx'} has {size / 1e6:.1f} MB and gives the float model's label on"
        f" {found.same} of {found.pairs} pairs; probabilities differ by {found.most:.3f} at most"
    )


if __name__ == "__main__":
    main()
