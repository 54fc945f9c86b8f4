"""Lists the benchmarks by name. To add a benchmark, create its folder and list the folder here."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING

from conflictscore.benchmarks.entry import Entry
from conflictscore.benchmarks.harness.methods.registry import USUAL_METHODS
from conflictscore.errors import InputError

if TYPE_CHECKING:
    from conflictscore.benchmarks.harness.definition import Benchmark, Form

_log = logging.getLogger(__name__)

_FOLDERS = ("truthfulqa", "ramdocs", "conflicts", "natconfqa", "wikicontradict", "reports")
"""The folders of the built-in benchmarks.

Each folder defines ``ENTRY`` or ``ENTRIES``, which can be imported without heavy dependencies.
"""


def _entries(folder: str) -> tuple[Entry, ...]:
    module = import_module(f"conflictscore.benchmarks.{folder}")
    return getattr(module, "ENTRIES", None) or (module.ENTRY,)


def _installed() -> Iterator[Entry]:
    """Yield benchmarks of other packages, from the entry point group ``conflictscore.benchmarks``.

    A benchmark that cannot be used is skipped with a warning, so that all other benchmarks can
    still be run.
    """
    for point in entry_points(group="conflictscore.benchmarks"):
        try:
            entry = point.load()
        except Exception as error:  # noqa: BLE001 - another package may raise any exception
            _log.warning(
                "the benchmark %s cannot be imported (%s): %s", point.name, point.value, error
            )
            continue
        if not isinstance(entry, Entry):
            _log.warning("skipped the benchmark %s: %s is not an Entry", point.name, point.value)
        elif entry.name in _own:
            _log.warning(
                "the benchmark %s is left out: %r is the name of a built-in benchmark",
                point.value,
                entry.name,
            )
        else:
            yield entry


_own = {entry.name: entry for folder in _FOLDERS for entry in _entries(folder)}
BENCHMARKS: Mapping[str, Entry] = {**{entry.name: entry for entry in _installed()}, **_own}
"""All benchmarks by name, those of other packages first."""


def usual_methods(method_names: Sequence[str]) -> list[str]:
    """Return the given methods that are run by default.

    The default methods are the papers' methods and ``guarded-rag``.
    """
    return [name for name in USUAL_METHODS if name in method_names]


def open_benchmark(
    name: str,
    data: str | Path | Sequence[str | Path],
    *,
    form: "Form | None" = None,
    seed: int = 0,
    **flags: bool,
) -> "Benchmark":
    """Read a benchmark's questions.

    ``data`` is the benchmark's official file, or several files if the benchmark's entry allows
    that. ``form`` is one of the benchmark's forms; the default is the first form. ``seed``
    determines the order of each question's options. ``flags`` sets options that the benchmark's
    entry declares.

    Raises:
        InputError: The benchmark or form does not exist, or the file cannot be used.
    """
    benchmark = BENCHMARKS.get(name)
    if benchmark is None:
        raise InputError(f"unknown benchmark {name!r}; choose from {', '.join(BENCHMARKS)}")
    if form is not None and form not in benchmark.forms:
        raise InputError(f"{name} has no form {form}; choose from {', '.join(benchmark.forms)}")
    if unknown := flags.keys() - benchmark.flags.keys():
        raise InputError(f"{name} has no option {min(unknown)!r}")
    sources = [str(data)] if isinstance(data, str | Path) else list(map(str, data))
    if not sources:
        raise InputError(f"{name} needs data, but no file was given")
    if len(sources) > 1 and not benchmark.several:
        raise InputError(f"{name} takes one file, but {len(sources)} were given")
    source = sources if benchmark.several else Path(sources[0])
    return benchmark.open(source, form or benchmark.forms[0], seed, **flags)
