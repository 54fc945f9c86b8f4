"""The registry entry of a benchmark: everything that the command line and other tools need.

The command line builds its commands and help from these entries. Entries refer to code as
``folder.module:name``, so no heavy module is imported before a benchmark is opened.
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
    """The benchmark's one-line help text."""
    data: str
    """The data file that the benchmark needs (the first word is its name), and where to get it."""
    forms: "tuple[Form, ...]"
    """The forms of the benchmark's questions, default first."""
    searches: bool
    """Whether documents must be searched for; otherwise the questions come with documents."""
    open: "Callable[..., Benchmark]"
    """A function that opens the benchmark, given its data file, form and seed, and ``flags`` as
    keyword arguments."""
    judged_by: str = ""
    """The first measure that a model judges in free form; empty if no measure needs a model."""
    methods: tuple[str, ...] = COMMON_METHODS
    """The same methods as ``Benchmark.offered``, for the help text."""
    several: bool = False
    """Whether the data may come from several sources.

    The benchmark is then opened with a list of texts, each of which may name a format before the
    file.
    """
    flags: Mapping[str, str] = {}
    """The benchmark's own options and their help texts, by name; each is false by default."""
    docs: str = "docs/guide/benchmarks.md"
    """The page that describes the benchmark in more detail."""
    examples: tuple[str, ...] = ()
    """Example commands for the end of the help text, without the program's name.

    By default, an example is generated.
    """
    write_topics: "Callable[..., None] | None" = None
    """A function that has a model name the topic of each question, and writes a new data file."""
    tables: "Callable[[Figures], Sequence[Card]] | None" = None
    """A function that makes the benchmark's own tables from a run's figures.

    It returns no tables for a run of another benchmark.
    """
    result_tables: "Callable[[Sequence[QuestionResult]], Sequence[Card]] | None" = None
    """A function that makes further tables from the results of each question."""


def lazily(name: str) -> Callable[..., Any]:
    """Return a function that, when called, imports and calls ``folder.module:name``.

    The name is relative to this package.
    """

    def called(*args: Any, **settings: Any) -> Any:
        return resolve_name(f"conflictscore.benchmarks.{name}")(*args, **settings)

    return called
