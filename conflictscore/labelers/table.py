"""Every claim against every document, each distinct pair judged once."""

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from conflictscore.errors import ConfigurationError, ContextWindowError, ProviderError
from conflictscore.labelers.protocol import Labeler
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, ClaimEvidence, Document, EvidenceLabel, Label
from conflictscore.storage.cache import ContentCache

__all__ = ["label_table"]

_Pair = tuple[Claim, Document]

_FORMAT = 1
"""Goes up when a stored EvidenceLabel of an earlier version could no longer be read."""


async def label_table(
    labeler: Labeler,
    claims: Sequence[Claim],
    documents: Sequence[Document],
    *,
    meter: UsageMeter,
    cache: ContentCache | None = None,
    on_label: Callable[[EvidenceLabel], None] = lambda label: None,
) -> tuple[ClaimEvidence, ...]:
    """Label each claim against each document (paper, section 3, step 2).

    Pairs go out document by document, so that a judge's prompt prefix is found in its server's
    cache; how many are in flight is bounded by the model. Pairs with the same content are judged
    once. A verdict is stored in the cache the moment it is there; a failure never is.

    Args:
        labeler: The judge.
        claims: The claims of one answer.
        documents: The documents of one question.
        meter: Counts the calls, and the verdicts that came from the cache.
        cache: Where verdicts are kept by content.
        on_label: Called for each pair as soon as its label is there.

    Returns:
        One entry a claim, in order, with one label a document, in order. A pair whose judge failed
        is UNLABELLED, with the error.

    Raises:
        ConfigurationError: A setting is wrong, so that no pair can be judged.
    """
    alike: dict[tuple[str, str], list[_Pair]] = {}
    for document in documents:
        for claim in claims:
            alike.setdefault((claim.text, _content(document)), []).append((claim, document))
    labels: dict[tuple[int, int], EvidenceLabel] = {}

    async def judge_all(pairs: Sequence[_Pair]) -> None:
        verdict = await _verdict(labeler, pairs[0], meter, cache)
        for claim, document in pairs:
            numbers = {"claim": claim.number, "document": document.number}
            label = verdict.model_copy(update=numbers)
            labels[claim.number, document.number] = label
            on_label(label)

    try:
        async with asyncio.TaskGroup() as tasks:
            for pairs in alike.values():
                tasks.create_task(judge_all(pairs))
    except* ConfigurationError as errors:
        raise errors.exceptions[0] from None
    return tuple(
        ClaimEvidence(
            claim=claim,
            labels=tuple(labels[claim.number, document.number] for document in documents),
        )
        for claim in claims
    )


async def _verdict(
    labeler: Labeler, pair: _Pair, meter: UsageMeter, cache: ContentCache | None
) -> EvidenceLabel:
    claim, document = pair
    key = _cache_key(labeler.identity, claim, document)
    if cache is not None and key is not None and (stored := cache.get(key)) is not None:
        meter.cached()
        numbers = {"claim": claim.number, "document": document.number, "cached": True}
        return EvidenceLabel.model_validate(stored | numbers)
    try:
        verdict = await labeler.label(claim, document, meter)
    except (ProviderError, ContextWindowError) as error:
        return EvidenceLabel(
            claim=claim.number,
            document=document.number,
            label=Label.UNLABELLED,
            error=str(error),
        )
    if cache is not None and key is not None:
        cache.put(key, verdict.to_json())
    return verdict


def _content(document: Document) -> str:
    """What the judge sees of a document."""
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
        "document": _content(document),
        "judge": dict(identity),
    }
