"""The methods of benchmark runs by name, in the order of tables.

A method is an object in a module of this package, and a line here. The line has everything that
help and records need, so ``method_opening`` imports the module only if the method is run or
reported. Installed packages add methods through entry points in the group
``conflictscore.methods``.
"""

from importlib.metadata import entry_points
from typing import NamedTuple

DOCUMENTS, LOOP, GRADE, MEANING = "documents", "loop", "grade", "meaning"
"""The steps that belong to no single method.

They are: finding the documents, the loop with its first answer, judging an answer, and determining
whether two answers make the same claims.
"""

BASELINE = "rag"
"""The method with which the others are paired."""


class MethodEntry(NamedTuple):
    """A method, before its module is imported."""

    summary: str
    """The method's one-line help text."""
    place: str
    """Its module, with a leading dot for a module of this package.

    The object's name may follow after a colon; by default it is the method's name in capitals.
    """
    step: str = ""
    """The step that it shares with others; empty if it has its own step with the method's name."""


_WIKI = "conflictscore.benchmarks.wikicontradict.methods"
_REPORTS = "conflictscore.benchmarks.reports.benchmark"

_LOOP_METHODS = {
    "rag": MethodEntry("answers from the documents, without mentioning conflicts", ".loop", LOOP),
    "control-rag": MethodEntry("answers once, with a prompt to watch for conflicts", ".loop"),
    "regenerated-rag": MethodEntry(
        "rag, asked again if a claim has evidence on both sides (the paper's)",
        ".loop",
        LOOP,
    ),
    "guarded-rag": MethodEntry(
        "regenerated-rag, but a flip counts only if the loop's guard accepts it (ours)",
        ".loop",
        LOOP,
    ),
}
_CONTROLS = {
    "resample": MethodEntry(
        "rag, asked again unchanged if a claim is disputed: the effect of asking twice", ".controls"
    ),
    "placebo": MethodEntry(
        "regenerated-rag without the evidence: the effect of its prompt alone", ".controls"
    ),
}
_OURS = {
    **_LOOP_METHODS,
    **_CONTROLS,
    "pipeline": MethodEntry(
        "names the type of the conflict, then answers accordingly", ".conflict_aware"
    ),
    "taxonomy-aware": MethodEntry("names the type and answers in one call", ".conflict_aware"),
    "oracle": MethodEntry(
        "answers knowing the type that people gave: an upper bound for the two above",
        ".conflict_aware",
    ),
    "no-documents": MethodEntry("answers the question without documents", _WIKI),
    "first-document": MethodEntry("answers from only the first document", _WIKI),
    "second-document": MethodEntry("answers from only the second document", _WIKI),
    "swapped-order": MethodEntry("control-rag with the documents in the other order", _WIKI),
    "asked-conflict": MethodEntry("says whether the documents conflict over the question", _WIKI),
    "agreeing-pair": MethodEntry("control-rag with two documents that agree", _WIKI),
    "asked-agreeing": MethodEntry("says whether two documents that agree conflict", _WIKI),
    "revised-rag": MethodEntry(
        "rag, corrected in place where documents dispute it, with a guard (ours)",
        ".loop",
    ),
    "madam-rag": MethodEntry(
        "a debate of readers, one per document, with a summary (MADAM-RAG)",
        ".debate",
    ),
    "balanced": MethodEntry(
        "writes a careful report that covers all sides (the paper's)", _REPORTS
    ),
    "super-balanced": MethodEntry(
        "writes a report by rules: hedge, attribute, name every view (the paper's)",
        _REPORTS,
    ),
}
USUAL_METHODS = (*_LOOP_METHODS, "balanced", "super-balanced")
"""The methods that are run by default if the benchmark offers them."""

_installed = {
    point.name: MethodEntry(
        f"a method of {point.dist.name if point.dist else point.module}", point.value
    )
    for point in entry_points(group="conflictscore.methods")
    if point.name not in _OURS
}
METHODS: dict[str, MethodEntry] = {**_OURS, **_installed}

COMMON_METHODS = (*_LOOP_METHODS, *_CONTROLS, *_installed)
"""The methods with which every benchmark can be run."""

COMPARED = (
    ("regenerated-rag", "control-rag"),
    ("regenerated-rag", "resample"),
    ("regenerated-rag", "placebo"),
)
"""Comparisons made in addition to those with ``rag``, if both methods are run.

They are the paper's own (Tables 4 and 5), and the second look with its controls.
"""

LOOP_METHODS = tuple(_LOOP_METHODS)
"""The methods that are run by default."""

OPEN_METHODS = ("revised-rag", "madam-rag")
"""Methods for free-form questions whose documents disagree."""


def steps() -> tuple[str, ...]:
    """The steps in the order of tables; each is recorded and paid for as a unit."""
    own = (name for name, method in METHODS.items() if not method.step)
    return (DOCUMENTS, LOOP, *own, GRADE, MEANING)
