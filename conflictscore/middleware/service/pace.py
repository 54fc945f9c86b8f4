"""Labels one after the other, for work that may take its time."""

import asyncio
from collections.abc import Mapping
from typing import Any

from conflictscore.labelers.cascade import Cascade
from conflictscore.labelers.protocol import Labeler, TableLabeler
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, Document, EvidenceLabel

__all__ = ["PacedLabeler", "paced"]


def paced(labeler: Labeler, gap: float) -> Labeler:
    """The labeler, paced where it calls pair by pair; one that batches has few calls to make.

    Of a cascade it is each of its labelers that this goes for.
    """
    if isinstance(labeler, Cascade):
        return labeler.with_each(lambda one: paced(one, gap))
    return labeler if isinstance(labeler, TableLabeler) else PacedLabeler(labeler, gap)


class PacedLabeler:
    """Another labeler, whose calls begin no faster than so many seconds apart.

    Every call takes a moment of the processor before it goes out, and there are dozens a run. All
    at once they would hold up the requests that somebody is waiting for.
    """

    def __init__(self, labeler: Labeler, gap: float) -> None:
        self._labeler, self._gap = labeler, gap
        self._next = 0.0

    @property
    def name(self) -> str:
        """The other's."""
        return self._labeler.name

    @property
    def identity(self) -> Mapping[str, Any] | None:
        """The other's."""
        return self._labeler.identity

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        """Judge one pair when its turn has come."""
        now = asyncio.get_running_loop().time()
        turn = max(now, self._next)
        self._next = turn + self._gap
        await asyncio.sleep(turn - now)
        return await self._labeler.label(claim, document, meter)
