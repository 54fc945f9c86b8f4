"""The benchmarks by name, each with what it needs.

The command line makes its commands and their help of this, so nothing heavy is imported before a
benchmark is opened.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from conflictscore.errors import InputError

if TYPE_CHECKING:
    from conflictscore.benchmarks.harness.benchmark import Benchmark, Form

__all__ = ["BENCHMARKS", "Entry", "open_benchmark"]

_COMMON = (
    "rag",
    "control-rag",
    "regenerated-rag",
    "guarded-rag",
    "resample",
    "placebo",
    "typed-rag",
)
"""The values of ``harness.benchmark.COMMON_METHODS``."""


class Entry(NamedTuple):
    """A benchmark that can be run."""

    name: str
    summary: str
    """What it asks, in one line."""
    data: str
    """The file that it needs, and where its owners publish it; the first word is the file's
    name."""
    forms: "tuple[Form, ...]"
    """The first is the default."""
    searches: bool
    """Whether documents must be found; otherwise its questions bring their own."""
    open: "Callable[[Path, Form, int], Benchmark]"
    """From data file, form and seed to the whole benchmark."""
    judged: bool = False
    """Whether a model judges its free-form answers."""
    methods: tuple[str, ...] = _COMMON
    """The values of ``Benchmark.offered``, for the help."""
    docs: str = "docs/running-benchmarks.md"
    """The page that says more."""
    examples: tuple[str, ...] = ()
    """Commands for the end of its help, without the program's name; one is made where there are
    none."""


def _lazily(module: str, function: str) -> "Callable[[Path, Form, int], Benchmark]":
    """Opens a benchmark by a function of a module of this package, imported when it is called."""

    def opened(data: Path, form: "Form", seed: int) -> "Benchmark":
        benchmark: Benchmark = getattr(
            import_module(f"conflictscore.benchmarks.{module}"), function
        )(data, form, seed)
        return benchmark

    return opened


BENCHMARKS: Mapping[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry(
            name="truthfulqa",
            summary="questions that people answer with common misconceptions (paper, section 6)",
            data="TruthfulQA.csv of January 2025, github.com/sylinrl/TruthfulQA; the first version"
            " for free form only",
            forms=("multiple-choice", "free-form"),
            searches=True,
            open=_lazily("truthfulqa.benchmark", "truthfulqa"),
            judged=True,
            examples=(
                "record --questions TruthfulQA.csv --search serper --out truthfulqa.jsonl",
                "bench truthfulqa --data TruthfulQA.csv --search recorded:truthfulqa.jsonl"
                " --dry-run",
                "bench truthfulqa --data TruthfulQA.csv --search recorded:truthfulqa.jsonl",
                "bench truthfulqa --data TruthfulQA.csv --docs pages/ --sample 30 --methods all",
            ),
        ),
        Entry(
            name="ramdocs",
            summary="ambiguous names, and documents of which some misinform; in free form by exact"
            " match with all right answers and no wrong one",
            data="RAMDocs_test.jsonl, github.com/HanNight/RAMDocs",
            forms=("multiple-choice", "free-form"),
            searches=False,
            open=_lazily("ramdocs", "ramdocs"),
            docs="docs/ramdocs.md",
            examples=(
                "bench ramdocs --data RAMDocs_test.jsonl --sample 60 --methods all",
                "bench ramdocs --data RAMDocs_test.jsonl --form free-form --sample 40",
            ),
        ),
        Entry(
            name="conflicts",
            summary="whether an answer deals with conflicts as their type asks, with citations"
            ' ("DRAGged into Conflicts")',
            data="conflicts.jsonl, github.com/google-research-datasets/rag_conflicts",
            forms=("free-form",),
            searches=False,
            open=_lazily("conflicts.benchmark", "conflicts"),
            judged=True,
            methods=(*_COMMON, "pipeline", "taxonomy-aware", "oracle"),
            docs="docs/conflicts.md",
            examples=("bench conflicts --data conflicts.jsonl --sample 20 --methods all",),
        ),
        Entry(
            name="natconfqa",
            summary="whether an answer names every answer of its passages, and which are at odds",
            data="questions.jsonl, as the authors of NatConfQA publish it",
            forms=("free-form",),
            searches=False,
            open=_lazily("natconfqa.benchmark", "natconfqa"),
            judged=True,
            docs="docs/natconfqa.md",
            examples=("bench natconfqa --data questions.jsonl --sample 20 --methods all",),
        ),
        Entry(
            name="wikicontradict",
            summary="whether an answer leaves two contradicting Wikipedia passages both standing",
            data="questions.jsonl, the flat file of WikiContradict",
            forms=("free-form",),
            searches=False,
            open=_lazily("wikicontradict.benchmark", "wikicontradict"),
            judged=True,
            methods=(*_COMMON, "no-documents", "first-document", "second-document"),
            docs="docs/wikicontradict.md",
            examples=("bench wikicontradict --data questions.jsonl --sample 40 --methods all",),
        ),
    )
}


def open_benchmark(
    name: str, data: str | Path, *, form: "Form | None" = None, seed: int = 0
) -> "Benchmark":
    """Read a benchmark's questions.

    Args:
        name: One of :data:`BENCHMARKS`.
        data: Its official file.
        form: ``multiple-choice`` or ``free-form``; by default the benchmark's first.
        seed: Decides the order in which the options of each question are shown.

    Raises:
        InputError: There is no such benchmark or form, or the file cannot be used.
    """
    entry = BENCHMARKS.get(name)
    if entry is None:
        raise InputError(f"unknown benchmark {name!r}; one of {', '.join(BENCHMARKS)}")
    if form is not None and form not in entry.forms:
        raise InputError(f"{name} is no {form}; it is run as {' or '.join(entry.forms)}")
    return entry.open(Path(data), form or entry.forms[0], seed)
