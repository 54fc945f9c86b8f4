"""Prompt injection: documents that carry instructions, among real ones.

``attacks.py`` makes the texts, ``benchmark.py`` the questions that the harness runs and the prompts
with other defences, and ``success.py`` counts what the attacks achieved.
"""

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
    flags={
        "no_marks": "Take the marks' digits away, and let control tokens stand as they are.",
        "data_marking": "Join the words of documents by ^, and say so to the model.",
        "attacked_first": "Put the changed document first; otherwise a draw decides which it is.",
        "attacked_last": "Put the changed document last.",
    },
    docs="docs/findings/injection.md",
    examples=(
        "bench injection --data instructions:text_attack_train.json"
        " --data ramdocs:RAMDocs_test.jsonl --limit 140 --labeler nli",
        "bench injection --data instructions:text_attack_train.json"
        " --data ramdocs:RAMDocs_test.jsonl --limit 140 --no-marks --out runs/no-marks",
    ),
    result_tables=lazily("injection.success:success_tables"),
)
