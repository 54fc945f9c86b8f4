"""Provides published figures for comparison with a run, and each benchmark's own tables.

The published figures are in the file ``published.toml``.
"""

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
    """The paper's counts of answers with a conflict, by ``regenerated-rag`` (section 6.4).

    In the paper, every revised answer was either a correction or a harm. So ``rag`` and
    ``regenerated-rag`` differ on exactly the questions whose answer was revised.
    """

    conflict: int
    retained: int
    revised: int
    corrections: int
    harms: int
    p_value: float
    """The p-value of the exact two-sided McNemar test on corrections and harms.

    We computed this p-value; the paper does not report one.
    """


@dataclass(frozen=True)
class PaperFigures:
    """A paper's figures for one form of a benchmark."""

    source: str
    """The location of the figures in the paper, for use in a caption."""
    model: str
    questions: int
    """The number of questions asked; ``note`` says which measures are based on fewer of them."""
    measures: Mapping[str, Mapping[str, float]]
    """The figures, by method and then measure, in [0, 1]."""
    transitions: PaperTransitions | None = None
    """The counts of section 6.4, or None if the paper does not report them."""
    whose: str = "the published"
    """The words that come before a figure in a sentence, such as “the published 1.0 points”."""
    note: str = ""
    """A short note on how the paper's figures differ from the figures of a run."""
    types: tuple[tuple[str, float], ...] = ()
    """Pairs of a model's name and its accuracy in naming the conflict type, in [0, 1]."""
    types_source: str = ""
    smaller: Mapping[str, Mapping[str, Mapping[str, float]]] = field(default_factory=dict)
    """The figures for other, smaller answering models, by model name, each structured like
    ``measures``."""
    tables: tuple[Card, ...] = ()
    """Tables of published figures that cannot be compared cell by cell with those of a run."""

    def of(self, model: str) -> "PaperFigures":
        """Return the figures for this model, or for the paper's first model if there are none.

        ``model`` is a name as users write it, such as ``openai:gpt-4.1-nano``, so it only has to
        contain the paper's name of the model. Only ``model`` and ``measures`` change: the other
        fields describe the paper's experiment, which was the same for all its models.
        """
        names = [name for name in self.smaller if name.casefold() in model.casefold()]
        return replace(self, model=names[0], measures=self.smaller[names[0]]) if names else self

    def value(self, method: str, measure: str) -> float | None:
        """Return the paper's figure, in [0, 1], or None if the paper does not report it."""
        return self.measures.get(method, {}).get(measure)

    def difference(self, method: str, measure: str, against: str = BASELINE) -> float | None:
        """Return the figure for ``method`` minus the figure for ``against``, in [-1, 1].

        Returns None if a figure is missing.
        """
        level, baseline = self.value(method, measure), self.value(against, measure)
        return None if level is None or baseline is None else level - baseline


def paper_figures(benchmark: str, form: str, model: str = "") -> PaperFigures | None:
    """Return the published figures for a form of a benchmark, or None if there are none."""
    paper = _published().get(benchmark, {}).get(form)
    return paper and paper.of(model)


@cache
def _published() -> Mapping[str, Mapping[str, PaperFigures]]:
    text = Path(__file__).with_name("published.toml").read_text("utf-8")
    return TypeAdapter(dict[str, dict[str, PaperFigures]]).validate_python(tomllib.loads(text))


def own_tables(figures: Figures, question_results: Sequence[QuestionResult] = ()) -> list[Card]:
    """Return all additional tables that the benchmarks make from this run."""
    benchmarks = BENCHMARKS.values()  # a function makes no table for a run of a different benchmark
    makers = [benchmark.tables for benchmark in benchmarks if benchmark.tables]
    of_results = [benchmark.result_tables for benchmark in benchmarks if benchmark.result_tables]
    table_lists = [make(figures) for make in makers] + [
        make(question_results) for make in of_results
    ]
    return [table for tables in table_lists for table in tables]


def published_types(paper: PaperFigures | None) -> str:
    """Describe each model's published accuracy in naming the conflict type.

    The text is empty if the paper reports no such accuracy.
    """
    if paper is None or not paper.types:
        return ""
    models = ", ".join(f"{model} {percent(accuracy)} %" for model, accuracy in paper.types)
    return f"published: {models} ({paper.types_source})"
