"""Pairs that people labelled, and the replies about them that were stored."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from conflictscore.benchmarks.conflict_detection.detect import content_of
from conflictscore.benchmarks.conflict_detection.groups import ClaimGroup
from conflictscore.errors import InputError
from conflictscore.labelers.nli.model import NliModel, TokenPair
from conflictscore.records import Label
from conflictscore.storage.cache import ContentCache, content_key
from measurements.judge_replies import Reply
from training.pairs import LABELS

__all__ = ["KeptNliModel", "Numbers", "Pairs", "asked_of", "kept_replies"]

Numbers = NDArray[Any]


class Pairs(NamedTuple):
    """Labelled pairs, a row each.

    Attributes:
        places: Each pair's claim, and the number of its document.
        gold: People's labels.
        sets: The set of each.
        claims: A number for each claim.
    """

    places: tuple[tuple[ClaimGroup, int], ...]
    gold: Numbers
    sets: Numbers
    claims: Numbers

    @classmethod
    def of(cls, places: Iterable[tuple[ClaimGroup, int]]) -> "Pairs":
        """Pairs of claims and numbers of documents that people labelled."""
        kept = tuple(places)
        labels = [group.documents[number - 1].label for group, number in kept]
        names = [(group.set, group.id) for group, _ in kept]
        first = {name: place for place, name in enumerate(dict.fromkeys(names))}
        return cls(
            kept,
            np.array([LABELS.index(label.value) for label in labels if label is not None]),
            np.array([group.set for group, _ in kept]),
            np.array([first[name] for name in names]),
        )

    def where(self, rows: Numbers) -> "Pairs":
        """The pairs for which it is true."""
        kept = tuple(place for place, wanted in zip(self.places, rows, strict=True) if wanted)
        return Pairs(kept, self.gold[rows], self.sets[rows], self.claims[rows])


def kept_replies(path: Path, pairs: Pairs) -> tuple[Numbers, list[Reply | None]]:
    """Log-probabilities that the judge gave each pair; NaN where it was not asked.

    Raises:
        InputError: The file cannot be read, or holds something else.
    """
    try:
        lines = path.read_text("utf-8").splitlines()[1:]
        rows = [Reply.model_validate_json(line) for line in lines]
    except (OSError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"{path}: no replies of measurements.judge_replies ({reason})") from None
    known = {(row.set, row.content): row for row in rows}
    found = [known.get((group.set, content_of(group, number))) for group, number in pairs.places]
    nothing = [np.nan] * len(LABELS)
    said = [nothing if one is None else [one.logprobs[Label(x)] for x in LABELS] for one in found]
    return np.array(said), found


def asked_of(logprobs: Numbers) -> Numbers:
    """Whether the judge was asked about each pair."""
    found: Numbers = np.isfinite(logprobs[:, 0])
    return found


class KeptNliModel(NliModel):
    """An NLI model whose outputs for each window are kept, so that any rule on them costs nothing.

    Verdicts would not do: they hold what the rule of their day made of all windows.
    """

    def __init__(self, folder: Path, cache: ContentCache) -> None:
        """Load the model; outputs are kept by its digest and the tokens of the pair."""
        super().__init__(folder)
        self._cache = cache

    def logits(self, pairs: Sequence[TokenPair]) -> list[dict[Label, float]]:
        """As of :class:`~conflictscore.labelers.nli.model.NliModel`."""
        if not hasattr(self, "_cache"):  # while it is tried out
            return super().logits(pairs)
        keys = [content_key({"logits": self.sha256, "ids": pair.ids}) for pair in pairs]
        known = self._cache.find(keys)
        missing = {key: p for key, p in zip(keys, pairs, strict=True) if key not in known}
        for key, said in zip(missing, super().logits([*missing.values()]), strict=True):
            known[key] = {label.value: value for label, value in said.items()}
            self._cache.keep(key, known[key])
        return [{Label(label): value for label, value in known[key].items()} for key in keys]
