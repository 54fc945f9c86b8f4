"""A small NLI model for tests: a real ONNX graph and a real tokenizer, in a real folder.

Its rules: a premise that has all words of the claim entails it; a premise that also has the word
``not`` contradicts it; a premise that lacks a third of the words or more is neutral. Its logits are
simple numbers:

    x = 12 * (share of the claim's known words that the premise has) - 10
    entailment = x without ``not``, x - 8 with it
    contradiction = the other way round
    neutral = 0

The graph looks up every token's position in a table, like a BERT: a pair longer than the table
makes onnxruntime fail.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

MARKS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
_SPOKEN = """
    the lamp lighthouse tower keeper log harbour ship fog bell was is are not lit built white red
    tall old new in on by at 1871 1874 1900 1902 great small stone says sep : . , ! ? [ ]
"""
WORDS = tuple(_SPOKEN.split())
_SILENT = frozenset({"not", ".", ",", "!", "?", ":"})
"""Words that do not count as part of a claim."""
ORDER = ("entailment", "contradiction", "neutral")


def make_nli_model(
    folder: Path,
    *,
    order: Sequence[str] = ORDER,
    positions: int = 512,
    integers: int = TensorProto.INT64,
    config: Mapping[str, Any] | None = None,
    tokenizer: Mapping[str, Any] | None = None,
) -> Path:
    """Write a model into a folder.

    Args:
        folder: A folder that need not exist.
        order: The meaning of the outputs, in the graph and in ``id2label``.
        positions: Number of rows in the position table.
        integers: The type of the inputs.
        config: Fields of ``config.json`` to replace.
        tokenizer: Fields of ``tokenizer.json`` to replace.
    """
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = [*MARKS, *WORDS]
    graph = _graph(order, positions, integers)
    opsets = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, folder / "model.onnx")
    said = json.loads(_tokenizer(vocabulary).to_str())
    (folder / "tokenizer.json").write_text(json.dumps({**said, **(tokenizer or {})}), "utf-8")
    fields = {
        "model_type": "bert",
        "id2label": {str(place): name for place, name in enumerate(order)},
        "max_position_embeddings": positions,
        "vocab_size": len(vocabulary),
        "pad_token_id": 0,
    }
    (folder / "config.json").write_text(json.dumps({**fields, **(config or {})}), "utf-8")
    return folder


def _tokenizer(vocabulary: Sequence[str]) -> Tokenizer:
    numbers = {word: number for number, word in enumerate(vocabulary)}
    tokenizer = Tokenizer(models.WordLevel(numbers, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(list(MARKS))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(mark, numbers[mark]) for mark in ("[CLS]", "[SEP]")],
    )
    return tokenizer


def _graph(order: Sequence[str], positions: int, integers: int) -> onnx.GraphProto:
    """One-hot rows, summed per side, and a few sums of these; padding is masked."""
    words = len(WORDS)
    table = np.eye(len(MARKS) + words, words, -len(MARKS), dtype=np.float32)
    heard = np.array([[word not in _SILENT] for word in WORDS], np.float32)
    denies = np.array([[word == "not"] for word in WORDS], np.float32)
    # (x, not, 1) to the model's outputs
    columns = {"entailment": (1, -8, 0), "contradiction": (1, 8, -8), "neutral": (0, 0, 0)}
    head = np.array([columns.get(name, (0, 0, 0)) for name in order], np.float32).T
    constants = {
        "table": table,
        "places": np.zeros((positions, words), np.float32),
        "heard": heard,
        "denies": denies,
        "head": head,
        "zero": np.int64(0),
        "one": np.int64(1),
        "last": np.array([-1], np.int64),
        "middle": np.array([1], np.int64),
        "nothing": np.float32(0),
        "once": np.float32(1),
        "slope": np.float32(12),
        "offset": np.float32(-10),
    }
    n = helper.make_node
    nodes = [
        n("Cast", ["input_ids"], ["ids"], to=TensorProto.INT64),
        n("Gather", ["table", "ids"], ["words"]),
        n("Shape", ["input_ids"], ["shape"]),
        n("Gather", ["shape", "one"], ["length"]),
        n("Range", ["zero", "length", "one"], ["range"]),
        n("Gather", ["places", "range"], ["placed"]),
        n("Add", ["words", "placed"], ["embedded"]),
        n("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        n("Cast", ["token_type_ids"], ["side"], to=TensorProto.FLOAT),
        n("Mul", ["mask", "side"], ["is_claim"]),
        n("Sub", ["mask", "is_claim"], ["is_premise"]),
        *_clipped_sum(n, "is_premise", "premise"),
        *_clipped_sum(n, "is_claim", "claim"),
        n("Mul", ["premise", "claim"], ["both"]),
        n("MatMul", ["both", "heard"], ["shared"]),
        n("MatMul", ["claim", "heard"], ["said"]),
        n("Max", ["said", "once"], ["said_or_one"]),
        n("Div", ["shared", "said_or_one"], ["share"]),
        n("Mul", ["share", "slope"], ["steep"]),
        n("Add", ["steep", "offset"], ["x"]),
        n("MatMul", ["premise", "denies"], ["denied"]),
        n("Mul", ["x", "nothing"], ["none"]),
        n("Add", ["none", "once"], ["constant"]),
        n("Concat", ["x", "denied", "constant"], ["features"], axis=1),
        n("MatMul", ["features", "head"], ["logits"]),
    ]
    names = ("input_ids", "attention_mask", "token_type_ids")
    inputs = [helper.make_tensor_value_info(name, integers, ["batch", "length"]) for name in names]
    output = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", len(order)])
    initializers = [
        numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()
    ]
    return helper.make_graph(nodes, "small_nli", inputs, [output], initializers)


def _clipped_sum(n: Any, mask: str, name: str) -> list[onnx.NodeProto]:
    """Which words a side has: 0 or 1 for each, of shape (batch, words)."""
    return [
        n("Unsqueeze", [mask, "last"], [f"{name}_mask"]),
        n("Mul", ["embedded", f"{name}_mask"], [f"{name}_words"]),
        n("ReduceSum", [f"{name}_words", "middle"], [f"{name}_counts"], keepdims=0),
        n("Clip", [f"{name}_counts", "nothing", "once"], [name]),
    ]
