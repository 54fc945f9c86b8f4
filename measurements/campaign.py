"""Runs random attacks and failures, and prints in one table how many of them broke something.

Each part of the campaign makes cases from a seed until its share of the time is used up. The part's
row is printed when the part ends. On SIGTERM or Ctrl-C, the campaign finishes the case in progress
and prints the table so far. Nothing leaves this machine: the service, its upstream and the
addresses that must never be reached all listen on the loopback interface. The exit code is 1 if
anything broke; otherwise, if a signal ended the campaign, it is 128 plus the signal's number. The
same seed reproduces most failures.

The sizes of hostile texts, the share of hostile cases and the pauses between attacks are drawn at
random. The ranges of the random draws were chosen by hand.
"""

import logging
import random
import signal
import tempfile
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from functools import partial
from math import inf
from pathlib import Path

import click

from measurements.campaign_hosts import HAS_BROWSER, killed_commands, mcp_over_http, pages
from measurements.campaign_machine import NGINX, clocks, crowds, folders, killed_model
from measurements.campaign_service import floods, fuzz, homes, long_texts, tricks, with_nginx
from measurements.campaign_storage import failover, faults, kills
from measurements.campaign_texts import STEERED, bombs, steered
from measurements.campaign_voices import dates, neighbours, provenance
from tests.postgres_server import FOUND

Case = str | None
"""A description of the failure; None if the case passed."""
Part = Callable[[random.Random, Path], Generator[Case]]
"""Runs random cases in an empty folder, and yields the outcome of each."""

_SHOWN = 5  # failures of each part that are printed in full


@dataclass
class Outcome:
    """The outcome of one part of the campaign."""

    cases: int = 0
    broken: list[str] = field(default_factory=list)
    seconds: float = 0.0


PARTS: dict[str, Part] = {
    "kills": kills,
    "faults": faults,
    "floods": floods,
    "tricks": tricks,
    "fuzz": fuzz,
    "texts": long_texts,
    **{kind: partial(lambda kind, chance, folder: steered(chance, kind), kind) for kind in STEERED},
    "provenance": provenance,
    "dates": dates,
    "neighbours": neighbours,
    "bombs": lambda chance, folder: bombs(chance),
    "folders": folders,
    "clocks": clocks,
    "homes": homes,
    "crowds": crowds,
    "model": killed_model,
    **({"nginx": with_nginx} if NGINX else {}),
    **({"failover": failover} if FOUND else {}),
    "mcp": mcp_over_http,
    "commands": killed_commands,
    **({"pages": pages} if HAS_BROWSER else {}),
}


def campaign(
    parts: Mapping[str, Part],
    *,
    seconds: float = inf,
    cases: int | None = None,
    seed: int,
    stopped: Callable[[], bool] = lambda: False,
    ended: Callable[[str, Outcome], None] = lambda name, outcome: None,
) -> dict[str, Outcome]:
    """Run each part for its share of the time or for a number of cases, but at least one case.

    Args:
        parts: The parts to run, by name.
        seconds: Time for all parts together.
        cases: Maximum number of cases of each part. With None, only the time limits it.
        seed: Seed of the first part. The seed of each further part is one higher.
        stopped: Called before each part and after each case; returns whether to end the campaign
            now.
        ended: Called with the outcome of each part when it ends.
    """
    outcomes = {}
    for number, (name, part) in enumerate(parts.items()):
        if stopped():
            break
        outcome = outcomes[name] = Outcome()
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            made = part(random.Random(seed + number), Path(folder))  # noqa: S311 - no secret
            try:
                for failure in made:
                    outcome.cases += 1
                    outcome.broken += [failure] if failure else []
                    out_of_time = time.monotonic() - began >= seconds / len(parts)
                    if stopped() or out_of_time or outcome.cases == cases:
                        break
            except Exception as error:  # noqa: BLE001 - an unexpected error is a finding
                outcome.broken.append(f"{type(error).__name__}: {error}")
            finally:
                made.close()
        outcome.seconds = time.monotonic() - began
        ended(name, outcome)
    return outcomes


@click.command(help=__doc__)
@click.option("--seconds", default=60.0, show_default=True, help="Time for all parts together.")
@click.option(
    "--cases", type=click.IntRange(min=1), help="Cases of each part; replaces the time limit."
)
@click.option("--seed", default=0, show_default=True)
@click.option(
    "--only",
    multiple=True,
    type=click.Choice([*PARTS]),
    help="Run only this part; repeat it for several.",
)
def main(seconds: float, cases: int | None, seed: int, only: tuple[str, ...]) -> None:
    """Run the campaign, and print its table and the failures."""
    logging.disable()  # the cases cause many refusals, which the service logs
    chosen = {name: part for name, part in PARTS.items() if not only or name in only}
    signals: list[int] = []

    def stop(number: int, frame: object) -> None:
        signals.append(number)
        signal.signal(number, signal.SIG_DFL)  # a second signal ends it at once

    def row(name: str, outcome: Outcome) -> None:
        cut = "  cut short" if signals else ""
        told = f"{outcome.cases:>8} {len(outcome.broken):>6} {outcome.seconds:>8.1f}{cut}"
        click.echo(f"{name:<10} {told}")

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    click.echo(f"{'':<10} {'cases':>8} {'broke':>6} {'seconds':>8}   seed {seed}")
    outcomes = campaign(
        chosen,
        seconds=inf if cases else seconds,
        cases=cases,
        seed=seed,
        stopped=lambda: bool(signals),
        ended=row,
    )
    for name in [one for one in chosen if one not in outcomes]:
        click.echo(f"{name:<10} not begun")
    for name, outcome in outcomes.items():
        for broke in outcome.broken[:_SHOWN]:
            click.echo(f"{name}: {broke}")
    if any(outcome.broken for outcome in outcomes.values()):
        raise SystemExit(1)
    if signals:
        raise SystemExit(128 + signals[0])


if __name__ == "__main__":
    main()
