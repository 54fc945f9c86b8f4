"""CONFLICTS: the kind of conflict between a question's documents, and how an answer deals with it.

From "DRAGged into Conflicts: Detecting and Addressing Conflicting Sources in Search-Augmented
LLMs": 458 questions with search results, each labelled by people with one of five conflict types.
Answers are judged by the behaviour that their type requires, by the right answer, and by their
citations.
"""

from conflictscore.benchmarks.entry import Entry, lazily
from conflictscore.benchmarks.harness.methods.registry import COMMON_METHODS

ENTRY = Entry(
    name="conflicts",
    summary="whether an answer deals with conflicts as their type requires, with citations"
    ' ("DRAGged into Conflicts")',
    data="conflicts.jsonl, github.com/google-research-datasets/rag_conflicts",
    forms=("free-form",),
    searches=False,
    open=lazily("conflicts.benchmark:conflicts"),
    judged_by="expected behaviour",
    methods=(*COMMON_METHODS, "pipeline", "taxonomy-aware", "oracle"),
    docs="docs/findings/conflicts.md",
    examples=("bench conflicts --data conflicts.jsonl --sample 20 --methods all",),
    result_tables=lazily("conflicts.benchmark:merged_tables"),
)
