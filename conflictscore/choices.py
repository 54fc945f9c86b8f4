"""Names shared by records and settings. Importing this module loads nothing else."""

from typing import Literal

Disputed = Literal["conflict", "refuted", "contradicted", "unsupported"]
"""Why a claim gets a second look: documents support and contradict it (the paper's reason); at
least two independent documents, or just one, contradict it and none supports it; or no document
mentions it."""
CONFLICT: tuple[Disputed, ...] = ("conflict",)
"""The paper's own policy."""
Duplicates = Literal["vote", "once", "domain"]
"""How documents that are not independent count: each by itself (as in the paper), near-copies once
on each side, or near-copies and all documents of a registrable domain once on each side."""
Regeneration = Literal["paper", "revise"]
"""How an answer is corrected: rewritten as a whole (the paper's way) or edited in place (ours)."""
