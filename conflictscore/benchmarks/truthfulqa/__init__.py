"""TruthfulQA (Lin et al., 2022) as the paper's case study runs it (section 6)."""

from conflictscore.benchmarks.entry import CheckEntry, Entry, lazily

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
    check=CheckEntry(
        open=lazily("truthfulqa.judge_check:TruthfulQACheck"),
        answers="judge_truth.jsonl for the judge of truthfulness, or judge_info.jsonl for that of"
        " informativeness; answers that are labelled both ways, or are one of the references, are"
        " left out",
        references="TruthfulQA.csv or TruthfulQA-v1.csv, with the reference answers that the judge"
        " is shown",
        template="judge_truthful",
        prompt_set="paper",
        sample="half of each label",
        examples=(
            "--answers judge_truth.jsonl --references TruthfulQA.csv --sample 200",
            "--answers judge_info.jsonl --references TruthfulQA-v1.csv \\\n"
            "      --model openai:gpt-4.1-mini --sample 400 --seed 7 --out verdicts.jsonl --json",
        ),
    ),
)
