"""The entry of a benchmark: everything that the command line and other tools need to know about it.

The command line builds its commands and help from entries. They name code as
``folder.module:name``, so nothing heavy is imported before a benchmark is opened.
"""

from collections.abc import Callable, Mapping, Sequence
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple

from conflictscore.benchmarks.harness.methods.registry import COMMON_METHODS

if TYPE_CHECKING:
    from conflictscore.benchmarks.harness.definition import Benchmark, Form
    from conflictscore.benchmarks.harness.figures import Figures
    from conflictscore.benchmarks.harness.records import QuestionResult
    from conflictscore.reporting.plain_table import Card


class Entry(NamedTuple):
    """A benchmark that can be run."""

    name: str
    summary: str
    """The benchmark's line of help."""
    data: str
    """The file that it needs, and where to get it; the first word is the file's name."""
    forms: "tuple[Form, ...]"
    """The forms of its questions; the first is the default."""
    searches: bool
    """Whether documents must be searched for; otherwise its questions come with their own."""
    open: "Callable[..., Benchmark]"
    """Opens the benchmark from data file, form and seed, with ``flags`` as keywords."""
    judged_by: str = ""
    """The first measure by which a model judges free-form answers; empty if no model does."""
    methods: tuple[str, ...] = COMMON_METHODS
    """The methods of ``Benchmark.offered``, for the help."""
    several: bool = False
    """Whether its data may come from several sources.

    It is then opened with a list of texts, which may name a format before the file.
    """
    flags: Mapping[str, str] = {}
    """The benchmark's own options with their help, by name; false unless given."""
    docs: str = "docs/guide/benchmarks.md"
    """The page with more about it."""
    examples: tuple[str, ...] = ()
    """Example commands for the end of its help, without the program's name.

    By default one is generated.
    """
    write_topics: "Callable[..., None] | None" = None
    """Has a model name the topic of each question, and writes a file to be used as data."""
    tables: "Callable[[Figures], Sequence[Card]] | None" = None
    """The benchmark's own tables from a run's figures; empty if the run belongs to another
    benchmark."""
    result_tables: "Callable[[Sequence[QuestionResult]], Sequence[Card]] | None" = None
    """The same, from the results of each question."""


def lazily(name: str) -> Callable[..., Any]:
    """A function that imports ``folder.module:name`` of this package, and calls it, when called."""

    def called(*args: Any, **settings: Any) -> Any:
        return resolve_name(f"conflictscore.benchmarks.{name}")(*args, **settings)

    return called
