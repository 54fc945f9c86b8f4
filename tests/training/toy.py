"""A vocabulary, a tiny model and pairs that follow an obvious rule, for tests of training."""

import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, Literal

import numpy as np
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from training.packed import PARTS, Packed
from training.packing import pack
from training.pairs import Label, Pair, Part, Row
from training.weights import HEADS, Weights

Family = Literal["bert", "mpnet"]

_SPOKEN = """
    yes no the lamp bell tower keeper was lit old new red white sea fog rock ship
"""
_WORDS = _SPOKEN.split()
_SIZE, _INNER, _ROWS = 2 * HEADS, 48, 160
_SIDES: dict[Label, str] = {"SUPPORTS": "yes", "CONTRADICTS": "no", "IRRELEVANT": "the"}


def toy_tokenizer(folder: Path, family: Family = "bert") -> Path:
    """A tokenizer of whole words with a model family's marks, and their numbers."""
    around: processors.BertProcessing | processors.RobertaProcessing
    if family == "bert":
        marks = {"[PAD]": 0, "[UNK]": 100, "[CLS]": 101, "[SEP]": 102}
        around = processors.BertProcessing(("[SEP]", 102), ("[CLS]", 101))
    else:
        marks = {"<s>": 0, "<pad>": 1, "</s>": 2, "[UNK]": 104}
        around = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    numbers = marks | {word: 110 + place for place, word in enumerate(_WORDS)}
    tokenizer = Tokenizer(models.WordLevel(numbers, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(list(marks))
    tokenizer.post_processor = around
    path = folder / "tokenizer.json"
    path.write_text(tokenizer.to_str(), "utf-8")
    return path


def toy_weights(seed: int = 0, *, head: bool = True, family: Family = "bert") -> Weights:
    """Random weights of one layer."""
    rng = np.random.default_rng(seed)

    def drawn(*shape: int) -> "np.typing.NDArray[np.float32]":
        return rng.normal(0, 0.3, shape).astype(np.float32)

    found: Weights = {"words": drawn(_ROWS, _SIZE), "positions": drawn(512, _SIZE) / 10}
    if family == "bert":
        found["sides"] = drawn(2, _SIZE)
    else:
        found["relative"] = 5 * drawn(32, HEADS)
    shapes = {"attention": (3 * _SIZE, _SIZE), "attended": (_SIZE, _SIZE)}
    shapes |= {"inner": (_INNER, _SIZE), "output": (_SIZE, _INNER)}
    for name, shape in shapes.items():
        found[f"layer.0.{name}.weight"] = drawn(*shape)
        found[f"layer.0.{name}.bias"] = drawn(shape[0])
    for name in ("norm", "layer.0.attended_norm", "layer.0.output_norm"):
        found[f"{name}.weight"] = 1 + drawn(_SIZE) / 3
        found[f"{name}.bias"] = drawn(_SIZE)
    if head:
        found["head.weight"], found["head.bias"] = drawn(3, _SIZE) * 3, drawn(3)
    return found


def toy_rows(count: int, part: Part, seed: int) -> list[Row]:
    """Documents of one to three windows: "yes" in one of them supports, "no" contradicts."""
    rng = Random(seed)
    rows = []
    for _ in range(count):
        label = rng.choice(list(_SIDES))
        words = rng.choices(_WORDS[2:], k=rng.choice((6, 60, 130)))
        words[rng.randrange(len(words))] = _SIDES[label]
        claim = " ".join(rng.choices(_WORDS[3:], k=4))
        rows.append(Row(part, Pair(claim, " ".join(words), label, f"toy{rng.randrange(2)}", "toy")))
    return rows


def pack_toy(
    folder: Path, family: Family = "bert", *, made: int = 600, human: int = 150, measured: int = 90
) -> Path:
    """Write a file of pairs with windows of 53 or 52 tokens."""
    rows = [
        *toy_rows(measured, "validation", 1),
        *toy_rows(human, "human", 2),
        *toy_rows(made, "synthetic", 3),
    ]
    pack(rows, folder / "pairs.npz", tokenizer=toy_tokenizer(folder, family), pair_tokens=96)
    return folder / "pairs.npz"


def as_taught(packed: Packed) -> Packed:
    """The pairs, with all training pairs marked as taught, by a teacher without probabilities."""
    measured = packed.part == PARTS.index("validation")
    part = np.where(measured, packed.part, PARTS.index("taught"))
    return packed._replace(part=part, taught=np.zeros((len(packed.windows.ends), 3), np.float32))


def write_lines(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """Write rows as JSON lines, compressed if the name ends in .gz."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path
