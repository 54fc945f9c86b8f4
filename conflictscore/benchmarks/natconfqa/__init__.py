"""NatConfQA (Nachshoni et al., 2025): a reply must give all answers and report all conflicts."""

from conflictscore.benchmarks.entry import Entry, lazily
from conflictscore.benchmarks.harness.methods.registry import COMMON_METHODS, OPEN_METHODS

ENTRY = Entry(
    name="natconfqa",
    summary="whether the answer lists every answer in its passages and says which of them conflict",
    data="questions.jsonl, as the authors of NatConfQA publish it",
    forms=("free-form",),
    searches=False,
    open=lazily("natconfqa.benchmark:natconfqa"),
    judged_by="conflicts recall",
    methods=(*COMMON_METHODS, *OPEN_METHODS),
    flags={
        "error_types": "If an answer does not report every conflict, also name its type of "
        "error, as defined in NatConfQA's paper. Some types are found by a rule, the others with "
        "one more call per answer."
    },
    docs="docs/findings/natconfqa.md",
    examples=(
        "bench natconfqa --data questions.jsonl --sample 20 --methods all",
        "bench natconfqa --data questions.jsonl --error-types --reasoning-effort high",
    ),
    result_tables=lazily("natconfqa.error_types:error_tables"),
)

NO_CONFLICT = Entry(
    name="natconfqa-no-conflict",
    summary="whether a reply gives all correct answers if its passages agree",
    data=ENTRY.data,
    forms=ENTRY.forms,
    searches=False,
    open=lazily("natconfqa.benchmark:natconfqa_without_conflict"),
    judged_by="answers recall",
    methods=ENTRY.methods,
    docs=ENTRY.docs,
    examples=("bench natconfqa-no-conflict --data questions.jsonl --methods rag,control-rag",),
)
"""The benchmark on questions without a conflict, from the same file (appendix F)."""

ENTRIES = (ENTRY, NO_CONFLICT)
