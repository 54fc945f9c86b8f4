"""CONFLICTS, a benchmark of how an answer handles different types of conflict between documents.

The data set comes from "DRAGged into Conflicts: Detecting and Addressing Conflicting Sources in
Search-Augmented LLMs". The set has 458 questions with search results. Annotators assigned one of
five conflict types to each question. Three measures judge whether an answer behaves as the conflict
type requires, whether it contains the correct answer, and whether the documents it cites support
it.
"""

from conflictscore.benchmarks.entry import Entry, lazily
from conflictscore.benchmarks.harness.methods.registry import COMMON_METHODS

ENTRY = Entry(
    name="conflicts",
    summary="whether an answer handles each type of conflict as it should, with citations"
    ' ("DRAGged into Conflicts")',
    data="conflicts.jsonl from github.com/google-research-datasets/rag_conflicts",
    forms=("free-form",),
    searches=False,
    open=lazily("conflicts.benchmark:conflicts"),
    judged_by="expected behaviour",
    methods=(*COMMON_METHODS, "pipeline", "taxonomy-aware", "oracle"),
    docs="docs/findings/conflicts.md",
    examples=("bench conflicts --data conflicts.jsonl --sample 20 --methods all",),
    result_tables=lazily("conflicts.benchmark:merged_tables"),
)
