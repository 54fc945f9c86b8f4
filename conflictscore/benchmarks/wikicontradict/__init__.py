"""WikiContradict (Hou et al., 2024), whose questions have two contradicting Wikipedia passages."""

from conflictscore.benchmarks.entry import Entry, lazily
from conflictscore.benchmarks.harness.methods.registry import COMMON_METHODS, OPEN_METHODS

ENTRY = Entry(
    name="wikicontradict",
    summary="whether an answer presents both views when two Wikipedia passages disagree",
    data="questions.jsonl, the file of WikiContradict with one question per line",
    forms=("free-form",),
    searches=False,
    open=lazily("wikicontradict.benchmark:wikicontradict"),
    judged_by="correct",
    methods=(
        *COMMON_METHODS,
        "no-documents",
        "first-document",
        "second-document",
        "swapped-order",
        "asked-conflict",
        "agreeing-pair",
        "asked-agreeing",
        *OPEN_METHODS,
    ),
    docs="docs/findings/wikicontradict.md",
    examples=(
        "bench wikicontradict --data questions.jsonl --sample 40 --methods all",
        "bench wikicontradict --data questions.jsonl --methods asked-conflict,asked-agreeing",
    ),
    tables=lazily("wikicontradict.benchmark:rating_tables"),
)
