"""The benchmark TruthfulQA (Lin et al., 2022), as in the paper's case study (section 6)."""

from conflictscore.benchmarks.entry import Entry, lazily

ENTRY = Entry(
    name="truthfulqa",
    summary="questions that many people answer with a common misconception (paper, section 6)",
    data="TruthfulQA.csv of January 2025 from github.com/sylinrl/TruthfulQA (earlier versions of "
    "this file support only free form), or mc_task.json for mc1 and mc2",
    forms=("multiple-choice", "mc1", "mc2", "free-form"),
    searches=True,
    open=lazily("truthfulqa.benchmark:truthfulqa"),
    judged_by="truthful",
    examples=(
        "record --questions TruthfulQA.csv --search serper --out truthfulqa.jsonl",
        "bench truthfulqa --data TruthfulQA.csv --search recorded:truthfulqa.jsonl --dry-run",
        "bench truthfulqa --data TruthfulQA.csv --search recorded:truthfulqa.jsonl",
        "bench truthfulqa --data TruthfulQA.csv --docs pages/ --sample 30 --methods all",
        "bench truthfulqa --data mc_task.json --form mc2 --search recorded:truthfulqa.jsonl",
    ),
)
