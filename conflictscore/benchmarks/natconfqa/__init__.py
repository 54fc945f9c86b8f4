"""NatConfQA (Nachshoni et al., 2025): does an answer name all answers, and their conflicts?"""

from conflictscore.benchmarks.entry import CheckEntry, Entry, lazily
from conflictscore.benchmarks.harness.methods.registry import COMMON_METHODS, OPEN_METHODS

__all__ = ["ENTRY"]

ENTRY = Entry(
    name="natconfqa",
    summary="whether an answer names every answer of its passages, and which are at odds",
    data="questions.jsonl, as the authors of NatConfQA publish it",
    forms=("free-form",),
    searches=False,
    open=lazily("natconfqa.benchmark:natconfqa"),
    judged_by="conflicts recall",
    methods=(*COMMON_METHODS, *OPEN_METHODS),
    docs="docs/natconfqa.md",
    examples=("bench natconfqa --data questions.jsonl --sample 20 --methods all",),
    published=lazily("natconfqa.published:PUBLISHED.get"),
    check=CheckEntry(
        open=lazily("natconfqa.judge_check:NatConfQACheck"),
        answers="human_judgments.jsonl",
        references="questions.jsonl",
        template="natconfqa_decompose",
        examples=(
            "--benchmark natconfqa --answers human_judgments.jsonl \\\n"
            "      --references questions.jsonl",
        ),
    ),
)
