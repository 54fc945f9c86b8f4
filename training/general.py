"""Pairs of public inference sets, so that a model keeps what holds for any sentence."""

import gzip
import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from training.human import lot
from training.pairs import Label, Pair

__all__ = ["general_files", "general_measured", "general_pairs"]

_TAKEN = {
    "cad_snli": 2000,
    "conflictqa_strategyqa": 3000,
    "fever_nli.dev": 4000,
    "fever_nli.test": 4000,
    "fm2_passage.dev": 2000,
    "mnli_ni": 4000,
    "newprotocols_wiki": 4000,
    "snli_18k": 4000,
    "wanli_15k": 4000,
}
"""Sets to learn from and how many pairs of each at most. Two sets without IRRELEVANT are among
them, for what they have of long passages."""
_MEASURED, _MEASURED_PAIRS = "snli.dev", 600
_MOST_WORDS = 400


def general_files(folders: list[Path]) -> list[Path]:
    """The compressed files under folders, in a fixed order."""
    return sorted(path for one in folders if one.is_dir() for path in one.rglob("*.jsonl.gz"))


def general_pairs(files: Sequence[Path]) -> Iterator[Pair]:
    """What is learned from, at most so many pairs of a set, drawn by the hash of their words."""
    for path in files:
        name = path.name.removesuffix(".jsonl.gz")
        if name in _TAKEN:
            yield from _drawn(path, name, _TAKEN[name])


def general_measured(files: Sequence[Path]) -> Iterator[Pair]:
    """Pairs that tell whether general inference is forgotten: a part of SNLI's development set."""
    for path in files:
        if path.name == f"{_MEASURED}.jsonl.gz":
            yield from _drawn(path, _MEASURED, _MEASURED_PAIRS)


def _drawn(path: Path, name: str, most: int) -> Iterator[Pair]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        chosen = sorted(lines, key=lot)
    found = (_pair(line, name) for line in chosen)
    yield from islice((pair for pair in found if pair is not None), most)


def _pair(line: str, name: str) -> Pair | None:
    record = json.loads(line)
    claim, document = record["claim"].strip(), record["document"].strip()
    label: Label = record["label"]
    if not claim or not document or len(document.split()) > _MOST_WORDS:
        return None
    return Pair(claim, document, label, name, "people")
