"""Settings that go together, under the name of how much an answer is worth checking."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from conflictscore.graph.settings import LoopOptions

__all__ = ["EFFORTS", "Effort"]

Effort = Literal["fast", "standard", "thorough", "paper"]

EFFORTS: Mapping[Effort, "LoopOptions"] = {
    "fast": {"effort": "fast", "labeler": "nli", "max_claims": 8},
    "standard": {"effort": "standard"},
    "thorough": {"effort": "thorough", "labeler": "json", "max_rounds": 3},
    "paper": {
        "effort": "paper",
        "labeler": "json",
        "prompts": "paper",
        "max_rounds": 1,
        "regeneration": "paper",
        "disputed": ("conflict",),
        "guard": False,
        "duplicates": "vote",
    },
}
"""What each effort sets; all else keeps its default.

``fast`` labels with the bundled NLI model, which calls no language model, and the eight claims at
most that the documents say most of. ``standard`` is every default. ``thorough`` asks the judge
about every pair with its reasoning, and looks again up to three times. ``paper`` is the loop of the
paper (section 5), with the prompts of its tables and without a rule of ours. They are keyword
arguments of every door: ``create_self_correcting_rag(model, retriever, **EFFORTS["fast"])``.
"""
