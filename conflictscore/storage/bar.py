"""A progress bar for fetching a model file, on standard error."""

from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from conflictscore.storage.fetching import fetch_weights
from conflictscore.storage.weights import Weights

__all__ = ["fetch_with_bar"]

_LINES = 10


def fetch_with_bar(weights: Weights) -> Path:
    """Fetch the model's file and show how far it is; where no terminal is, by a line at times.

    Raises:
        ProviderError: As for `fetch_weights`.
        ConfigurationError: As for `fetch_weights`.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        return fetch_weights(weights, progress=_Lines(console, weights.title))
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, TransferSpeedColumn(), console=console, transient=True) as bar:
        task = bar.add_task(weights.title, total=weights.size)

        def show(stage: str, done: int, total: int) -> None:
            bar.update(task, description=f"{weights.name}: {stage}", completed=done, total=total)

        return fetch_weights(weights, progress=show)


class _Lines:
    """Prints a line at the start of a stage and at each tenth of it."""

    def __init__(self, console: Console, title: str) -> None:
        self._console = console
        self._title = title
        self._last = ("", -1)

    def __call__(self, stage: str, done: int, total: int) -> None:
        tenth = done * _LINES // total
        if (stage, tenth) != self._last:
            self._last = (stage, tenth)
            self._console.print(
                f"{self._title}: {stage}, {done / 1e6:.0f} of {total / 1e6:.0f} MB",
                highlight=False,
                soft_wrap=True,
            )
