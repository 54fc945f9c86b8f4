"""Lists the methods of benchmark runs by name, in the order in which tables show them.

A method is an object in a module of this package, and an entry in this registry. The entry has
everything that help texts and records need, so ``method_opening`` imports the module only if the
method is run or reported. Other packages can add methods through entry points in the group
``conflictscore.methods``.
"""

from importlib.metadata import entry_points
from typing import NamedTuple

DOCUMENTS, LOOP, GRADE, MEANING = "documents", "loop", "grade", "meaning"
"""The steps that belong to no single method.

In order, the steps find the documents, run the loop with its first answer, grade an answer, and
determine whether two answers make the same claims.
"""

BASELINE = "rag"
"""The method with which all other methods are compared."""


class MethodEntry(NamedTuple):
    """The registry entry of a method; it can be read without importing the method's module."""

    summary: str
    """The method's one-line help text."""
    place: str
    """The method's module, with a leading dot for a module of this package.

    The name of the object may follow after a colon. By default, the object's name is the method's
    name in capital letters.
    """
    step: str = ""
    """The step that the method shares with others; empty if the method has a step of its own."""


_WIKI = "conflictscore.benchmarks.wikicontradict.methods"
_REPORTS = "conflictscore.benchmarks.reports.benchmark"

_LOOP_METHODS = {
    "rag": MethodEntry("answers from the documents, without mentioning conflicts", ".loop", LOOP),
    "control-rag": MethodEntry("answers once, with a prompt to watch for conflicts", ".loop"),
    "regenerated-rag": MethodEntry(
        "like rag, but asks again if a claim has evidence on both sides (the paper's method)",
        ".loop",
        LOOP,
    ),
    "guarded-rag": MethodEntry(
        "like regenerated-rag, but a guard must accept a changed answer (ours)",
        ".loop",
        LOOP,
    ),
}
_CONTROLS = {
    "resample": MethodEntry(
        "like rag, but sends the prompt again if a claim is disputed; shows the effect of asking"
        " twice",
        ".controls",
    ),
    "placebo": MethodEntry(
        "like regenerated-rag, but without evidence in the prompt; shows the effect of the prompt"
        " alone",
        ".controls",
    ),
}
_OURS = {
    **_LOOP_METHODS,
    **_CONTROLS,
    "pipeline": MethodEntry(
        "names the type of the conflict, then answers accordingly", ".conflict_aware"
    ),
    "taxonomy-aware": MethodEntry(
        "names the type of the conflict and answers in one call", ".conflict_aware"
    ),
    "oracle": MethodEntry(
        "answers according to the type that annotators assigned; an upper bound for pipeline and"
        " taxonomy-aware",
        ".conflict_aware",
    ),
    "no-documents": MethodEntry("answers the question without documents", _WIKI),
    "first-document": MethodEntry("answers from only the first document", _WIKI),
    "second-document": MethodEntry("answers from only the second document", _WIKI),
    "swapped-order": MethodEntry("like control-rag, with the documents in reverse order", _WIKI),
    "asked-conflict": MethodEntry("says whether the documents conflict on the question", _WIKI),
    "agreeing-pair": MethodEntry("like control-rag, but with two documents that agree", _WIKI),
    "asked-agreeing": MethodEntry("says whether two agreeing documents conflict", _WIKI),
    "revised-rag": MethodEntry(
        "like rag, but corrects disputed passages in place, if a guard accepts the change (ours)",
        ".loop",
    ),
    "madam-rag": MethodEntry(
        "lets readers, one per document, debate the answer, and summarises the debate (MADAM-RAG)",
        ".debate",
    ),
    "balanced": MethodEntry(
        "writes a careful report that covers all sides (the paper's method)", _REPORTS
    ),
    "super-balanced": MethodEntry(
        "writes a report; the prompt has rules: hedge, attribute, name every view (the paper's"
        " method)",
        _REPORTS,
    ),
}
USUAL_METHODS = (*_LOOP_METHODS, "balanced", "super-balanced")
"""The methods that are run by default, if the benchmark offers them."""

# a method of the same name in another package is ignored, so a name of ours keeps its meaning
_installed = {
    point.name: MethodEntry(
        f"a method of {point.dist.name if point.dist else point.module}", point.value
    )
    for point in entry_points(group="conflictscore.methods")
    if point.name not in _OURS
}
METHODS: dict[str, MethodEntry] = {**_OURS, **_installed}
"""All methods by name; a program may add its own at any time."""

COMMON_METHODS = (*_LOOP_METHODS, *_CONTROLS, *_installed)
"""The methods that every benchmark offers."""

COMPARED = (
    ("regenerated-rag", "control-rag"),
    ("regenerated-rag", "resample"),
    ("regenerated-rag", "placebo"),
)
"""Comparisons with methods other than ``rag``. Each is made if both of its methods were run. The
first comparison is the paper's (Tables 4 and 5). All pairs but the first compare
``regenerated-rag`` with its controls, to separate the effect of the evidence from the effect of
asking twice.
"""

OPEN_METHODS = ("revised-rag", "madam-rag")
"""The methods for free-form questions whose documents disagree."""


def steps() -> tuple[str, ...]:
    """Return the steps in the order of tables; each step is recorded and paid for as a unit."""
    own = (name for name, method in METHODS.items() if not method.step)
    return (DOCUMENTS, LOOP, *own, GRADE, MEANING)
