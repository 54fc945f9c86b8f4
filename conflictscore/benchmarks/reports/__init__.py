"""The report benchmark, which scores reports on conflicting documents (paper, section 5).

A model writes a report on a topic from the documents on this topic. Each of the benchmark's three
methods uses its own prompt.
"""

from conflictscore.benchmarks.entry import Entry, lazily

ENTRY = Entry(
    name="reports",
    summary="how much of a report of three paragraphs is disputed by its documents (paper, "
    "section 5); use it with data on controversial topics",
    data="conflicts.jsonl of CONFLICTS, a file of claims with labelled documents "
    "(*_groups.jsonl), or conflictingqa:FILE with the published file of ConflictingQA",
    forms=("free-form",),
    searches=False,
    open=lazily("reports.benchmark:reports"),
    methods=("rag", "balanced", "super-balanced"),
    several=True,
    docs="docs/findings/reports.md",
    examples=(
        "bench reports --data conflicts.jsonl --sample 3",
        "bench reports --data conflictingqa:pages.jsonl --sample 100 --model openai:gpt-4.1"
        " --write-topics topics.jsonl",
        "bench reports --data topics.jsonl --model openai:gpt-4.1",
    ),
    write_topics=lazily("reports.benchmark:write_topics"),
)
