"""Defines a benchmark's registry entry, which the command line and other tools read.

The command line builds its commands and their help texts from these entries. Entries name code
as ``folder.module:name``, so no heavy module is imported before a benchmark is opened: the command
line imports every entry, even to print its help.
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
    """The registry entry of one benchmark."""

    name: str
    summary: str
    """The benchmark's one-line help text."""
    data: str
    """The name of the data file that the benchmark needs, and where to get the file.

    The first word of this text is the file name, which the generated example shows.
    """
    forms: "tuple[Form, ...]"
    """The forms in which the benchmark can ask its questions; the first one is the default."""
    searches: bool
    """Whether a search must find the documents; otherwise the questions come with documents."""
    open: "Callable[..., Benchmark]"
    """A function that opens the benchmark.

    The function's arguments are the data file, the form and the seed. The ``flags`` follow as
    keyword arguments.
    """
    judged_by: str = ""
    """The first free-form measure that a model judges; empty if no measure needs a model."""
    methods: tuple[str, ...] = COMMON_METHODS
    """The names of the methods for the help text.

    The names equal ``Benchmark.offered``, which cannot be read before the benchmark's data is
    available.
    """
    several: bool = False
    """Whether the data may come from several sources.

    If several sources are allowed, the benchmark is opened with a list of strings. Each string is a
    file path, optionally preceded by a format name.
    """
    flags: Mapping[str, str] = {}
    """The help text of each option that only this benchmark has, by the name of the option.

    All options are false by default.
    """
    docs: str = "docs/guide/benchmarks.md"
    """The page that describes the benchmark in more detail."""
    examples: tuple[str, ...] = ()
    """Example commands for the end of the help text, without the program's name.

    If the list is empty, an example is generated.
    """
    write_topics: "Callable[..., None] | None" = None
    """A function that asks a model for each question's topic and writes a new data file."""
    tables: "Callable[[Figures], Sequence[Card]] | None" = None
    """A function that makes the benchmark's own tables from the figures of a run.

    The function returns no tables if the run belongs to a different benchmark.
    """
    result_tables: "Callable[[Sequence[QuestionResult]], Sequence[Card]] | None" = None
    """A function that makes additional tables from the results of the individual questions."""


def lazily(name: str) -> Callable[..., Any]:
    """Return a function that imports ``folder.module:name`` when it is called, and calls it.

    The name is relative to this package.
    """

    def called(*args: Any, **settings: Any) -> Any:
        return resolve_name(f"conflictscore.benchmarks.{name}")(*args, **settings)

    return called
