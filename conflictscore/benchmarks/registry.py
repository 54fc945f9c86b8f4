"""The benchmarks by name, each with what it needs.

The command line makes its commands and their help of this, so nothing heavy is imported before a
benchmark is opened.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from conflictscore.errors import InputError

if TYPE_CHECKING:
    from conflictscore.benchmarks.harness.benchmark import Benchmark, Form

__all__ = ["BENCHMARKS", "Entry", "open_benchmark", "usual_methods"]

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

_USUAL = ("rag", "control-rag", "regenerated-rag", "guarded-rag", "balanced", "super-balanced")


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
    open: "Callable[..., Benchmark]"
    """From data file, form and seed to the whole benchmark, with ``flags`` by name."""
    judged: bool = False
    """Whether a model judges its free-form answers."""
    methods: tuple[str, ...] = _COMMON
    """The values of ``Benchmark.offered``, for the help."""
    several: bool = False
    """Whether its data may be of several sources; it is then opened with a list of texts, of which
    some name a format before the file."""
    flags: Mapping[str, str] = {}
    """Options of its own by name, each with its help; false where they are not given."""
    docs: str = "docs/running-benchmarks.md"
    """The page that says more."""
    examples: tuple[str, ...] = ()
    """Commands for the end of its help, without the program's name; one is made where there are
    none."""


def _lazily(module: str, function: str) -> "Callable[..., Benchmark]":
    """Opens a benchmark by a function of a module of this package, imported when it is called."""

    def opened(data: "Path | Sequence[str]", form: "Form", seed: int, **flags: bool) -> "Benchmark":
        benchmark: Benchmark = getattr(
            import_module(f"conflictscore.benchmarks.{module}"), function
        )(data, form, seed, **flags)
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
            flags={
                "nli_judge": "Rate answers by the NLI model that comes along, and not by a language"
                " model; needs the extra [nli]."
            },
            docs="docs/wikicontradict.md",
            examples=("bench wikicontradict --data questions.jsonl --sample 40 --methods all",),
        ),
        Entry(
            name="reports",
            summary="how much of what documents disagree on a report of three paragraphs states"
            " (paper, section 5); sets on matters with several sides fit",
            data="conflicts.jsonl of CONFLICTS, claims with labelled documents (*_groups.jsonl) or"
            " conflictingqa:FILE as it is published",
            forms=("free-form",),
            searches=False,
            open=_lazily("reports.benchmark", "reports"),
            methods=("rag", "resample", "balanced", "super-balanced"),
            several=True,
            flags={"any_topic": "Also take topics whose documents do not disagree."},
            docs="docs/reports.md",
            examples=(
                "bench reports --data conflicts.jsonl --sample 3",
                "bench reports --data conflictingqa:train.csv --sample 100 --model openai:gpt-4.1",
            ),
        ),
    )
}


def usual_methods(offered: Sequence[str]) -> list[str]:
    """Those offered that are run where none are named: the papers' and the guard."""
    return [method for method in _USUAL if method in offered]


def open_benchmark(
    name: str,
    data: str | Path | Sequence[str | Path],
    *,
    form: "Form | None" = None,
    seed: int = 0,
    **flags: bool,
) -> "Benchmark":
    """Read a benchmark's questions.

    Args:
        name: One of :data:`BENCHMARKS`.
        data: Its official file, or several where its entry says so.
        form: ``multiple-choice`` or ``free-form``; by default the benchmark's first.
        seed: Decides the order in which the options of each question are shown.
        flags: Options of its own, by the names of its entry.

    Raises:
        InputError: There is no such benchmark or form, or the file cannot be used.
    """
    entry = BENCHMARKS.get(name)
    if entry is None:
        raise InputError(f"unknown benchmark {name!r}; one of {', '.join(BENCHMARKS)}")
    if form is not None and form not in entry.forms:
        raise InputError(f"{name} is no {form}; it is run as {' or '.join(entry.forms)}")
    if unknown := flags.keys() - entry.flags.keys():
        raise InputError(f"{name} has no option {min(unknown)!r}")
    sources = [str(data)] if isinstance(data, str | Path) else list(map(str, data))
    if not sources or (len(sources) > 1 and not entry.several):
        raise InputError(f"{name} is run from one file, and {len(sources)} were given")
    given = sources if entry.several else Path(sources[0])
    return entry.open(given, form or entry.forms[0], seed, **flags)
