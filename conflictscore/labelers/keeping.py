"""Verdicts kept by content: what a labeler said of a pair once, it is not asked again."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from conflictscore.labelers.asking import judge_pairs
from conflictscore.labelers.protocol import Labeler, Pair, TableLabeler
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, Document, EvidenceLabel, Label
from conflictscore.storage.cache import ContentCache

__all__ = ["StagedLabeler", "content_of", "judge_kept", "keeper_of", "store", "stored"]

_FORMAT = 1
"""Goes up when a stored EvidenceLabel of an earlier version could no longer be read."""


@runtime_checkable
class StagedLabeler(TableLabeler, Protocol):
    """A labeler whose verdict on a pair depends on the other pairs of its claim.

    So its own verdicts cannot be kept by the pair's content. Those of its stages can.
    """

    def keeping(self, cache: ContentCache | None) -> TableLabeler:
        """The same labeler, with the verdicts of its stages kept there."""


def keeper_of(labeler: Labeler, cache: ContentCache | None) -> tuple[Labeler, ContentCache | None]:
    """The labeler to ask, and where what it says is to be kept; None where that is its own affair.

    Args:
        labeler: The judge.
        cache: Where verdicts are kept.
    """
    if isinstance(labeler, StagedLabeler):
        return labeler.keeping(cache), None
    return labeler, cache


async def judge_kept(
    labeler: Labeler,
    pairs: Sequence[Pair],
    meter: UsageMeter,
    tell: Callable[[EvidenceLabel], None],
    cache: ContentCache | None,
) -> None:
    """Judge pairs as ``judge_pairs`` does, but for those whose verdicts are kept.

    Args:
        labeler: The judge.
        pairs: What to judge, each with a claim and document number of its own.
        meter: Counts the calls, and the verdicts that came from the cache.
        tell: Called once for each pair.
        cache: Where verdicts are kept.

    Raises:
        ConfigurationError: A setting is wrong, so that no pair can be judged.
        BudgetError: The budget is used up; what was in flight then has been told, and is kept.
    """
    labeler, cache = keeper_of(labeler, cache)
    waiting: dict[tuple[int, int], Pair] = {}
    for pair in pairs:
        if (known := stored(labeler, pair, meter, cache)) is not None:
            tell(known)
        else:
            waiting[pair[0].number, pair[1].number] = pair

    def keep(verdict: EvidenceLabel) -> None:
        store(labeler, waiting[verdict.claim, verdict.document], verdict, cache)
        tell(verdict)

    await judge_pairs(labeler, list(waiting.values()), meter, keep)


def stored(
    labeler: Labeler, pair: Pair, meter: UsageMeter, cache: ContentCache | None
) -> EvidenceLabel | None:
    """The verdict that is kept, with the numbers of this pair."""
    claim, document = pair
    key = _cache_key(labeler.identity, claim, document)
    if cache is None or key is None or (found := cache.get(key)) is None:
        return None
    meter.cached()
    numbers = {"claim": claim.number, "document": document.number, "cached": True}
    return EvidenceLabel.model_validate(found | numbers)


def store(labeler: Labeler, pair: Pair, verdict: EvidenceLabel, cache: ContentCache | None) -> None:
    """Keep a verdict; a failure is none."""
    key = _cache_key(labeler.identity, *pair)
    if cache is not None and key is not None and verdict.label is not Label.UNLABELLED:
        cache.put(key, verdict.to_json())


def content_of(document: Document) -> str:
    """What the judge sees of a document, as a hash."""
    seen = f"{document.title}\0{document.text}"
    return hashlib.sha256(seen.encode("utf-8", "surrogatepass")).hexdigest()


def _cache_key(
    identity: Mapping[str, Any] | None, claim: Claim, document: Document
) -> dict[str, Any] | None:
    if identity is None:
        return None
    return {
        "verdict": _FORMAT,
        "claim": claim.text,
        "document": content_of(document),
        "judge": dict(identity),
    }
