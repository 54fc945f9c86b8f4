"""Names that records and settings share. This module imports no other module of the package."""

from typing import Literal

Disputed = Literal["conflict", "refuted", "contradicted", "unsupported"]
"""The reasons why a claim counts as disputed. The documents are queried again about a disputed
claim.

- ``conflict``: some documents support it and others contradict it (the paper's reason).
- ``refuted``: at least two independent documents contradict it, and none supports it.
- ``contradicted``: at least one document contradicts it, and none supports it.
- ``unsupported``: no document mentions it.
"""
CONFLICT: tuple[Disputed, ...] = ("conflict",)
"""The paper's policy: only claims in conflict are disputed."""
Duplicates = Literal["vote", "once", "domain"]
"""How documents that are not independent of each other count.

- ``vote``: every document counts (as in the paper).
- ``once``: a group of near-copies counts once on each side.
- ``domain``: near-copies, and all documents of a registrable domain, count once on each side.
"""
Regeneration = Literal["paper", "revise"]
"""How an answer is corrected: ``paper`` rewrites all of it, and ``revise`` edits passages."""
