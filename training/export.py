"""Write a trained model as a folder that ``--nli-model`` reads, as int8 ONNX.

The folder gets ``model.onnx``, ``tokenizer.json`` and ``config.json``; ``float/model.onnx`` beside
them holds the same model in single precision, for comparison.
"""

import json
from pathlib import Path

import click
import onnx

from conflictscore.labelers.nli.adapted import limited
from training.graph import onnx_graph
from training.packed import load_packed
from training.pairs import LABELS
from training.weights import Weights, layers_of, load

__all__ = ["export", "main"]

_NAMES = {"SUPPORTS": "entailment", "CONTRADICTS": "contradiction", "IRRELEVANT": "neutral"}


def export(weights: Weights, folder: Path, *, tokenizer: Path, pair_tokens: int) -> None:
    """Write the folder.

    Args:
        weights: Trained.
        folder: Need not exist.
        tokenizer: The ``tokenizer.json`` that the pairs were made with.
        pair_tokens: The length of pairs that the model was trained on, which the labeler will use.
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
