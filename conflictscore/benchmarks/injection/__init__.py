"""Prompt injection: documents that carry instructions, among real ones."""

from conflictscore.benchmarks.entry import Entry, lazily

__all__ = ["ENTRY"]

ENTRY = Entry(
    name="injection",
    summary="how often a document that carries instructions has its way: with the answer, with the"
    " labels, with a flip; beside what a harmless sentence changes",
    data="instructions:FILE (BIPIA's text_attack_train.json, github.com/microsoft/BIPIA), and"
    " at least one of ramdocs:FILE, natconfqa:FILE and wikicontradict:FILE",
    forms=("multiple-choice",),
    searches=False,
    open=lazily("injection.benchmark:injection"),
    several=True,
    docs="docs/findings/injection.md",
    examples=(
        "bench injection --data instructions:text_attack_train.json"
        " --data ramdocs:RAMDocs_test.jsonl --limit 140 --labeler nli",
    ),
    result_tables=lazily("injection.success:success_tables"),
)
