"""Which templates the models of a run read, and so which decide its figures."""

from collections.abc import Collection, Mapping

from conflictscore.benchmarks.harness.benchmark import Benchmark, Form
from conflictscore.benchmarks.harness.records import BenchmarkMethod
from conflictscore.nodes.behaviour import behaviour_template
from conflictscore.records import ConflictType

__all__ = ["REPORTS", "UNAIDED", "templates_read"]

UNAIDED = "wikicontradict_no_passage"
"""The template of ``no-documents``, the only one with nothing but the question."""

REPORTS: Mapping[BenchmarkMethod, str] = {
    BenchmarkMethod.BALANCED: "report_balanced",
    BenchmarkMethod.SUPER_BALANCED: "report_super_balanced",
}
"""The templates that stand in for ``free_form_rag`` where these methods answer."""

_COMMON = ("document", "cut", "evidence", "evidence_line", "justify", "retry")
_BASE: Mapping[Form, tuple[str, ...]] = {
    "multiple-choice": (
        *_COMMON,
        "multiple_choice_rag",
        "multiple_choice_control_rag",
        "multiple_choice_regenerate",
    ),
    "free-form": (
        *_COMMON,
        "decompose",
        "free_form_rag",
        "free_form_control_rag",
        "free_form_regenerate",
    ),
}
"""Counted to every run, also to one without ``control-rag`` or a second look."""

_TYPED_REGENERATION: Mapping[Form, str] = {
    "multiple-choice": "multiple_choice_regenerate_typed",
    "free-form": "free_form_regenerate_typed",
}
_BEHAVIOURS = tuple(behaviour_template(kind) for kind in ConflictType)
_CLASSIFY = ("classify_conflict", "conflict_types", *_BEHAVIOURS)
_MORE: Mapping[BenchmarkMethod, tuple[str, ...]] = {
    BenchmarkMethod.TYPED_RAG: _CLASSIFY,
    BenchmarkMethod.PIPELINE: (*_CLASSIFY, "cited_typed", "cited_rag"),
    BenchmarkMethod.TAXONOMY_AWARE: ("conflict_types", *_BEHAVIOURS, "cited_taxonomy_aware"),
    BenchmarkMethod.ORACLE: (*_BEHAVIOURS, "cited_typed"),
    BenchmarkMethod.NO_DOCUMENTS: (UNAIDED,),
    **{method: (template,) for method, template in REPORTS.items()},
}


def templates_read(benchmark: Benchmark, methods: Collection[BenchmarkMethod]) -> set[str]:
    """The templates that these methods and the judge read.

    The labeler's own are not among them: they are part of its identity.
    """
    read = {*_BASE[benchmark.form], *benchmark.templates}
    for method in methods:
        read.update(_MORE.get(method, ()))
    if BenchmarkMethod.TYPED_RAG in methods:
        read.add(_TYPED_REGENERATION[benchmark.form])
    return read
