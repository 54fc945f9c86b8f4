"""Pairs that people labelled, and the replies about them that were stored."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from conflictscore.benchmarks.conflict_detection.detect import content_of
from conflictscore.benchmarks.conflict_detection.groups import ClaimGroup
from conflictscore.errors import InputError
from conflictscore.records import Label
from measurements.judge_replies import Reply
from training.pairs import LABELS

__all__ = ["Numbers", "Pairs", "asked_of", "kept_replies"]

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
