"""Names that records and settings share; importing them loads nothing else."""

from typing import Literal

Disputed = Literal["conflict", "refuted", "contradicted", "unsupported"]
"""Why a claim is looked at again: it has evidence on both sides (the paper's); none supports it,
and at least two independent documents contradict it, or one alone; or none speaks to it."""
CONFLICT: tuple[Disputed, ...] = ("conflict",)
"""The paper's own policy."""
Duplicates = Literal["vote", "once", "domain"]
"""Weight of documents that are not independent: each counts (the paper's), near-copies count once
on each side, or these and all documents of a registrable domain count once on each side."""
Regeneration = Literal["paper", "revise"]
"""How an answer is corrected: anew, as in the paper, or in place, where it is disputed (ours)."""
