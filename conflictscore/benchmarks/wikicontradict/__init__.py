"""WikiContradict (Hou et al., 2024): questions that two passages of Wikipedia answer differently.

``data.py`` reads the questions and the rated answers, ``benchmark.py`` is what the harness runs,
``methods.py`` are the methods that it alone offers, ``judge.py`` rates the answers, and
``judge_check.py`` compares that judge with people.
"""

from conflictscore.benchmarks.entry import CheckEntry, Entry, lazily
from conflictscore.benchmarks.harness.methods.registry import COMMON_METHODS, OPEN_METHODS

__all__ = ["ENTRY"]

ENTRY = Entry(
    name="wikicontradict",
    summary="whether an answer leaves two contradicting Wikipedia passages both standing",
    data="questions.jsonl, the flat file of WikiContradict",
    forms=("free-form",),
    searches=False,
    open=lazily("wikicontradict.benchmark:wikicontradict"),
    judged_by="correct",
    methods=(
        *COMMON_METHODS,
        *("no-documents", "first-document", "second-document"),
        *("swapped-order", "asked-conflict", "agreeing-pair", "asked-agreeing"),
        *OPEN_METHODS,
    ),
    flags={
        "nli_judge": "Rate answers with the bundled NLI model instead of a language"
        " model; needs the extra [nli]."
    },
    docs="docs/findings/wikicontradict.md",
    examples=(
        "bench wikicontradict --data questions.jsonl --sample 40 --methods all",
        "bench wikicontradict --data questions.jsonl --methods asked-conflict,asked-agreeing",
    ),
    published=lazily("wikicontradict.ratings:PUBLISHED.get"),
    tables=lazily("wikicontradict.ratings:rating_tables"),
    check=CheckEntry(
        open=lazily("wikicontradict.judge_check:WikiContradictCheck"),
        answers="human_eval.jsonl",
        references="questions.jsonl, which says the type of each contradiction; may be left out",
        template="wikicontradict_judge",
        flags={
            "nli_judge": "check the rating by the bundled NLI model, in place of a language model;"
            " needs the extra [nli]"
        },
        examples=(
            "--benchmark wikicontradict --answers human_eval.jsonl --sample 100",
            "--benchmark wikicontradict --answers human_eval.jsonl --nli-judge",
        ),
    ),
)
