"""TruthfulQA (Lin et al., 2022) as the paper's case study runs it (section 6)."""

from conflictscore.benchmarks.entry import Entry, lazily

__all__ = ["ENTRY"]

ENTRY = Entry(
    name="truthfulqa",
    summary="questions that people answer with common misconceptions (paper, section 6)",
    data="TruthfulQA.csv of January 2025, github.com/sylinrl/TruthfulQA; the first version"
    " for free form only",
    forms=("multiple-choice", "free-form"),
    searches=True,
    open=lazily("truthfulqa.benchmark:truthfulqa"),
    judged_by="truthful",
    examples=(
        "record --questions TruthfulQA.csv --search serper --out truthfulqa.jsonl",
        "bench truthfulqa --data TruthfulQA.csv --search recorded:truthfulqa.jsonl --dry-run",
        "bench truthfulqa --data TruthfulQA.csv --search recorded:truthfulqa.jsonl",
        "bench truthfulqa --data TruthfulQA.csv --docs pages/ --sample 30 --methods all",
    ),
    published=lazily("truthfulqa.published:PUBLISHED.get"),
)
