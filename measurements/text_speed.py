"""CPU a kilobyte of every function that takes a text, for the worst of many hostile texts.

The functions are those that ``tests/test_linear_text.py`` finds. Each is tried with all of that
test's texts of 1 KB, and with the worst of them at the greater lengths. A linear function has about
the same figure in every column. A function is not tried at a length that would take it more than
three seconds of CPU by the length before. The slowest at their greatest length are printed.
"""

import logging
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from unittest import mock

import click

from tests.made_up import calls_with_text
from tests.test_linear_text import NOT_TRIED, PARTS, UNITS, modules

__all__ = ["costs", "functions", "main"]

Function = Callable[[str], object]

_SIZES = (1_000, 10_000, 100_000, 1_000_000)
_MOST_S = 3.0


def functions() -> Iterator[tuple[str, Function]]:
    """Every function and method that the test tries, by its name below the package."""
    for part in PARTS:
        for module in modules(part):
            for name, function in calls_with_text(module):
                full = f"{module.__name__}.{name}".removeprefix("conflictscore.")
                if not NOT_TRIED.search(full):
                    yield full, function


def _seconds(function: Function, text: str) -> float:
    began = time.thread_time()
    with suppress(Exception, SystemExit):
        function(text)
    return time.thread_time() - began


def costs(function: Function, sizes: tuple[int, ...]) -> list[tuple[float, str]]:
    """Microseconds for a kilobyte at each size, and the piece that the worst text repeats."""
    _seconds(function, "The first call loads libraries.")
    pieces, found = [*UNITS], list[tuple[float, str]]()
    for size in sizes:
        if found and found[-1][0] * size / 1e9 > _MOST_S:
            break
        rows = []
        for piece in pieces:
            text = piece * (size // len(piece)) + "x"
            rows.append((_seconds(function, text) * 1e9 / len(text), piece))
        found.append(max(rows))
        pieces = [found[-1][1]]
    return found


@click.command(help=__doc__)
@click.option("--most", default=_SIZES[-1], show_default=True, help="Characters of the longest.")
@click.option("--only", default="", help="Of the functions whose name contains this.")
@click.option("--shown", default=15, show_default=True, help="Rows.")
def main(most: int, only: str, shown: int) -> None:
    """See the module."""
    sizes = tuple(size for size in _SIZES if size <= most)
    logging.disable()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        os.chdir(folder)
        names = ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "CONFLICTSCORE_CACHE_DIR", "TMPDIR")
        stack.enter_context(mock.patch.dict(os.environ, dict.fromkeys(names, folder)))
        for blocked in ("socket.socket.connect", "subprocess.Popen.__init__", "time.sleep"):
            stack.enter_context(mock.patch(blocked, side_effect=OSError("not here")))
        sink = stack.enter_context(Path(os.devnull).open("w"))
        rows = []
        for name, function in functions():
            if only in name:
                with mock.patch("sys.stdout", sink), mock.patch("sys.stderr", sink):
                    rows.append((name, costs(function, sizes)))
        os.chdir("/")
    rows.sort(key=lambda row: -row[1][-1][0])
    grown = [(cost[-1][0] / max(cost[0][0], cost[1][0]), name) for name, cost in rows if cost[2:]]
    times, steepest = max(grown, default=(1.0, "none"))
    click.echo(f"{len(rows)} functions; {steepest} grows most, to {times:.1f} x a KB")
    click.echo(f"{'µs a KB at':<58}" + "".join(f"{size // 1000:>8} KB" for size in sizes))
    for name, found in rows[:shown]:
        row = "".join(f"{cost:>11,.0f}" for cost, _ in found)
        click.echo(f"{name[-57:]:<58}{row}   {found[-1][1]!r}")


if __name__ == "__main__":
    main()
