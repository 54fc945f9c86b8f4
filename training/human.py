"""Reads pairs that people labelled, and divides them into pairs for training and for measuring.

All pairs of a claim are for the same purpose, whichever sets contain the claim. NatConfQA, for
example, is built from HealthVer and Climate-FEVER, so a NatConfQA claim that is measured on is not
trained on in any set.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from conflictscore.benchmarks.json_lines import read_json_lines
from conflictscore.errors import InputError
from training.pairs import Label, Pair, claim_key

_LABELS: dict[str, Label] = {
    "SUPPORTS": "SUPPORTS",
    "PARTIAL": "SUPPORTS",  # a partly supported claim counts as supported (paper, section 3)
    "CONTRADICTS": "CONTRADICTS",
    "IRRELEVANT": "IRRELEVANT",
}
_HELD_OUT = 5
"""In a set that has no part for measuring, one claim in this many is for measuring."""
_HALVED = "wikicontradict"
"""A set without a training part; half of its questions are used for training nevertheless."""
_ALIKE = 0.8  # minimum Jaccard index of the words of two claims that count as one
_QUESTIONS_ONLY = "truthfulqa"
"""A folder that is never read, since it has the questions of a benchmark."""


class Labelled(NamedTuple):
    """A pair, and the facts that decide whether it is for training or for measuring.

    Attributes:
        pair: The pair.
        split: The part of its set, as published.
        group: The claim's question, or the claim; all pairs of a group are for the same purpose.
    """

    pair: Pair
    split: str
    group: str


def data_files(folders: list[Path]) -> list[Path]:
    """Return the JSON-lines files in folders, and single files, in a fixed order.

    Raises:
        InputError: There is no such file.
    """
    found: list[Path] = []
    for folder in folders:
        found += sorted(folder.rglob("*.jsonl")) if folder.is_dir() else [folder]
    files = [path for path in found if _QUESTIONS_ONLY not in path.parent.name]
    if not files:
        raise InputError("--data: there is no .jsonl file in " + ", ".join(map(str, folders)))
    return files


def label_files(files: list[Path]) -> list[Path]:
    """Return the files of a data folder that contain people's labels."""
    return [path for path in files if path.parent.name == "labels"]


def read_labelled(path: Path) -> Iterator[Labelled]:
    """Read a file of groups or of pairs; MIXED and UNLABELLED documents are left out.

    Raises:
        InputError: The file cannot be read.
    """
    source = path.stem.removesuffix("_groups").removesuffix("_pairs")
    for _, record in read_json_lines(path):
        documents = record.get("docs") or [{"text": record["document"], "label": record["label"]}]
        for document in documents:
            label = _LABELS.get(document["label"])
            if label is not None and document["text"].strip():
                pair = Pair(
                    record["claim"].strip(),
                    document["text"].strip(),
                    label,
                    source,
                    "people",
                    (document.get("title") or "").strip(),
                )
                yield Labelled(pair, record.get("split", ""), _group(record))


def balanced_sample(pairs: Sequence[Pair], size: int, seed: int) -> list[Pair]:
    """Draw the same number of pairs of each label that occurs, in an order set by the seed.

    At most ``size`` pairs are drawn, or fewer if a label has too few pairs.
    """
    rng = random.Random(seed)  # noqa: S311 - a sample, not a secret
    labels = sorted({pair.label for pair in pairs})
    by_label = [[pair for pair in pairs if pair.label == label] for label in labels]
    share = size // len(labels) if labels else 0
    drawn = [one for found in by_label for one in rng.sample(found, min(share, len(found)))]
    rng.shuffle(drawn)
    return drawn


def labelled_pairs(files: list[Path]) -> tuple[list[Pair], list[Pair]]:
    """Divide the pairs of several files into training and validation pairs.

    Returns:
        Training and validation pairs; no claim is in both.
    """
    rows = [row for path in files for row in read_labelled(path)]
    own_part = {row.pair.source for row in rows if row.split != "train"}
    training: list[Pair] = []
    validation: list[Pair] = []
    for row in rows:
        (validation if _measures(row, own_part) else training).append(row.pair)
    return list(split_apart(training, validation)), validation


def split_apart(training: Iterable[Pair], validation: list[Pair]) -> Iterator[Pair]:
    """Yield the training pairs whose claims are not (nearly) the same as validation claims."""
    measured = [frozenset(key.split()) for key in {claim_key(pair.claim) for pair in validation}]
    holding: dict[str, list[frozenset[str]]] = {}
    for words in measured:
        for word in words:
            holding.setdefault(word, []).append(words)

    @cache
    def leaks(claim: str) -> bool:
        words = frozenset(claim_key(claim).split())
        rarest = sorted(words, key=lambda word: len(holding.get(word, ())))
        # If two claims share 80 % of their words, they share at least one of the rarest words of
        # either claim (its rarest fifth, plus one word).
        few = rarest[: len(words) // 5 + 1]
        near = (other for word in few for other in holding.get(word, ()))
        return any(len(words & o) >= _ALIKE * len(words | o) for o in near)

    return (pair for pair in training if not leaks(pair.claim))


def measures_wikicontradict(group: str) -> bool:
    """Return whether a question of WikiContradict (its ``claim_key``) is measured on."""
    return lot(group) % 2 == 0


def lot(text: str) -> int:
    """Return a number derived from a text; it is the same on every machine."""
    # Python's own hash differs in every process
    return int.from_bytes(sha256(text.encode()).digest()[:8], "big")


def _measures(row: Labelled, own_part: set[str]) -> bool:
    if row.pair.source == _HALVED:
        return measures_wikicontradict(row.group)
    if row.pair.source in own_part:
        return row.split != "train"
    return lot(row.group) % _HELD_OUT == 0


def _group(record: dict[str, Any]) -> str:
    return claim_key(record.get("question") or record["claim"])
