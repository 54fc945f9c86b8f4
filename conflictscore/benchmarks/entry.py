"""The entry of a benchmark: all that the command line and other tools need to know of it.

The command line makes its commands and their help of this, so nothing heavy is imported before a
benchmark is opened: what runs is named as ``folder.module:name``.
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
    """Its line of help."""
    data: str
    """The file that it needs, and where its owners publish it; the first word is the file's
    name."""
    forms: "tuple[Form, ...]"
    """The first is the default."""
    searches: bool
    """Whether documents must be found; otherwise its questions bring their own."""
    open: "Callable[..., Benchmark]"
    """From data file, form and seed to the whole benchmark, with ``flags`` by name."""
    judged_by: str = ""
    """The first measure by which a model judges its free-form answers; empty where none does."""
    methods: tuple[str, ...] = COMMON_METHODS
    """The values of ``Benchmark.offered``, for the help."""
    several: bool = False
    """Whether its data may be of several sources; it is then opened with a list of texts, of which
    some name a format before the file."""
    flags: Mapping[str, str] = {}
    """Options of its own by name, each with its help; false where they are not given."""
    docs: str = "docs/guide/benchmarks.md"
    """The page that says more."""
    examples: tuple[str, ...] = ()
    """Commands for the end of its help, without the program's name; one is made where there are
    none."""
    write_topics: "Callable[..., None] | None" = None
    """Has a model name what each question is about, into a file to be used as its data."""
    tables: "Callable[[Figures], Sequence[Card]] | None" = None
    """Tables of its own, of the figures of a run; none where the run is of another benchmark."""
    result_tables: "Callable[[Sequence[QuestionResult]], Sequence[Card]] | None" = None
    """The same, of the results question by question."""


def lazily(name: str) -> Callable[..., Any]:
    """Calls what is named ``folder.module:name`` in this package, imported when it is called."""

    def called(*args: Any, **settings: Any) -> Any:
        return resolve_name(f"conflictscore.benchmarks.{name}")(*args, **settings)

    return called
