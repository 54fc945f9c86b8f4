"""RAMDocs, a benchmark of questions with ambiguous names, where some documents misinform."""

from conflictscore.benchmarks.entry import Entry, lazily
from conflictscore.benchmarks.harness.methods.registry import COMMON_METHODS, OPEN_METHODS

ENTRY = Entry(
    name="ramdocs",
    summary="questions with ambiguous names, for which some documents misinform; a reply must "
    "contain all correct answers and no wrong one",
    data="RAMDocs_test.jsonl from github.com/HanNight/RAMDocs",
    forms=("free-form",),
    searches=False,
    open=lazily("ramdocs.benchmark:ramdocs"),
    methods=(*COMMON_METHODS, *OPEN_METHODS),
    docs="docs/findings/ramdocs.md",
    examples=("bench ramdocs --data RAMDocs_test.jsonl --sample 60 --methods all",),
)
