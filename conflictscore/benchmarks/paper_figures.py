"""Figures of papers beside those of a run, and tables of single benchmarks."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter

from conflictscore.benchmarks.harness.figures import Figures
from conflictscore.benchmarks.harness.methods.registry import BASELINE
from conflictscore.benchmarks.harness.records import QuestionResult
from conflictscore.benchmarks.registry import BENCHMARKS
from conflictscore.reporting.figure_text import percent
from conflictscore.reporting.plain_table import Card


@dataclass(frozen=True)
class PaperTransitions:
    """Outcomes of the answers with conflict under ``regenerated-rag`` (section 6.4).

    Every revised answer was a correction or a harm, so these are also all questions on which
    ``rag`` and ``regenerated-rag`` differ.
    """

    conflict: int
    retained: int
    revised: int
    corrections: int
    harms: int
    p_value: float
    """P-value of corrections against harms by the exact two-sided McNemar test. Ours: the paper
    gives none."""


@dataclass(frozen=True)
class PaperFigures:
    """A paper's figures for one form of a benchmark."""

    source: str
    """Where they stand, for a caption."""
    model: str
    questions: int
    """The number of questions that all measures are over."""
    measures: Mapping[str, Mapping[str, float]]
    """By method and measure, in [0, 1]."""
    transitions: PaperTransitions | None = None
    """None where the paper does not count them."""
    whose: str = "the published"
    """Before a figure in a sentence."""
    note: str = ""
    """A difference to a run's figures, in a few words."""
    types: tuple[tuple[str, float], ...] = ()
    """Models with their accuracy, in [0, 1], in telling the type of the conflict."""
    types_source: str = ""
    smaller: Mapping[str, Mapping[str, Mapping[str, float]]] = field(default_factory=dict)
    """The same measures of other answering models, by the name of the model."""
    tables: tuple[Card, ...] = ()
    """Figures of the paper that no run can be compared with cell by cell."""

    def of(self, model: str) -> "PaperFigures":
        """The figures of the paper's model that this one is; its first where it is none of them."""
        names = [name for name in self.smaller if name.casefold() in model.casefold()]
        return replace(self, model=names[0], measures=self.smaller[names[0]]) if names else self

    def value(self, method: str, measure: str) -> float | None:
        """A figure in [0, 1]; None where the paper has none."""
        return self.measures.get(method, {}).get(measure)

    def difference(self, method: str, measure: str, against: str = BASELINE) -> float | None:
        """Method less another, in [-1, 1]; None where the paper lacks one of them."""
        level, baseline = self.value(method, measure), self.value(against, measure)
        return None if level is None or baseline is None else level - baseline


def paper_figures(benchmark: str, form: str, model: str = "") -> PaperFigures | None:
    """A paper's figures for a benchmark."""
    paper = _published().get(benchmark, {}).get(form)
    return paper and paper.of(model)


@cache
def _published() -> Mapping[str, Mapping[str, PaperFigures]]:
    text = Path(__file__).with_name("published.toml").read_text("utf-8")
    return TypeAdapter(dict[str, dict[str, PaperFigures]]).validate_python(tomllib.loads(text))


def own_tables(figures: Figures, question_results: Sequence[QuestionResult] = ()) -> list[Card]:
    """The tables that benchmarks make of a run."""
    benchmarks = BENCHMARKS.values()
    makers = [benchmark.tables for benchmark in benchmarks if benchmark.tables]
    of_results = [benchmark.result_tables for benchmark in benchmarks if benchmark.result_tables]
    table_lists = [make(figures) for make in makers] + [
        make(question_results) for make in of_results
    ]
    return [table for tables in table_lists for table in tables]


def published_types(paper: PaperFigures | None) -> str:
    """A paper's accuracies in telling the type of a conflict, in one line; empty without any."""
    if paper is None or not paper.types:
        return ""
    models = ", ".join(f"{model} {percent(accuracy)} %" for model, accuracy in paper.types)
    return f"published: {models} ({paper.types_source})"
