"""What a peer's faithfulness takes on the questions and the endpoint of ``scheduler_overhead``.

Peers are no dependencies and need environments of their own, whose Python is given with
``--python``. RAGAS puts all documents of a question into one call, two calls a question, and gives
a share of the answer's statements and no label for a document. RAGChecker gives a label for each
claim and document, with up to five claims in a call. What is paid is compared here, and not what it
is paid for. Beside the peer, in the same process and in turns, a bare loop makes the same calls on
the same client. Then the endpoint fails, and every result is compared with that of a run without
faults.
"""

import json
import re
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import click

from conflictscore.tokens import count_tokens
from measurements.scheduler_overhead import FAULTS, Work
from measurements.service_load import started

__all__ = ["main"]

_ROW = "{:>9} {:>8} {:>8} {:>8} {:>7} {:>10} {:>10} {:>8} {:>7}"
_COLUMNS = (
    *("questions", "bound s", "bare s", "peer s", "x bare", "bare CPU", "peer CPU", "added"),
    "calls",
)
_MODEL = "gpt-4.1-mini"
"""Whose tokens are counted."""


@click.command(help=__doc__)
@click.option("--peer", type=click.Choice(["ragas", "ragchecker"]), required=True)
@click.option(
    "--python",
    default=sys.executable,
    metavar="FILE",
    help="The Python of the environment that the peer is installed in; by default this one.",
)
@click.option(
    "--questions", "sizes", multiple=True, type=int, default=(1, 20, 200), show_default=True
)
@click.option("--claims", default=6, show_default=True)
@click.option("--documents", default=10, show_default=True)
@click.option("--delay", default=0.1, show_default=True, help="Seconds of a call.")
@click.option("--places", default=64, show_default=True, help="Calls at a time.")
@click.option("--rounds", default=3, show_default=True, help="The medians of so many are shown.")
@click.option("--faults/--no-faults", default=True, show_default=True)
def main(
    peer: str,
    python: str,
    sizes: tuple[int, ...],
    claims: int,
    documents: int,
    delay: float,
    places: int,
    rounds: int,
    faults: bool,
) -> None:
    """See the module."""
    work = Work(claims, documents, places, "json")
    endpoint = ["-m", "measurements.simulated_upstream", f"--claims={claims}"]
    endpoint += [f"--delay={delay}", f"--places={places}"]
    asked = {
        "peer": peer,
        "places": places,
        "rounds": rounds,
        "samples": [_sample(work, number) for number in range(max(sizes))],
    }
    with started(endpoint, "stdout") as address:
        found = _run(python, {**asked, "address": address, "sizes": sizes})
    if None in found["results"]:
        raise click.ClickException(f"{peer} {found['version']} gave a question no result")
    tokens = sum(count_tokens(prompt, _MODEL).n for prompt in found["prompts"])
    click.echo(
        f"{peer} {found['version']}: {len(found['prompts'])} calls and {tokens:,} input tokens a"
        " question of so many claims and documents"
    )
    click.echo(_ROW.format(*_COLUMNS) + "   (CPU: seconds per 1,000 calls)")
    for size in sizes:
        bound = delay * sum(-(-size * calls // places) for calls in found["waves"])
        click.echo(_row(size, [row for row in found["rows"] if row[0] == size], bound))
    if faults:
        with started([*endpoint, *FAULTS], "stdout") as address:
            broken = _run(python, {**asked, "address": address, "sizes": []})
        calls = len(found["prompts"]) * max(sizes)
        click.echo(
            "\nwith 20 % malformed replies, 5 % HTTP 500 and 5 % HTTP 429:"
            f" {broken['calls']} requests for {calls} calls;"
            f" {_compared(found['results'], broken['results'])}"
        )


def _sample(work: Work, number: int) -> dict[str, Any]:
    made = work.question(number)
    return {
        "question": "What is known of the lamp?",
        "answer": made["answer"],
        "documents": [document["text"] for document in made["documents"]],
    }


def _run(python: str, given: Mapping[str, Any]) -> Any:
    """What the peer's own process found.

    Raises:
        ClickException: It failed, such as for want of the peer.
    """
    script = Path(__file__).with_name("peer_process.py")
    given = {**given, "stats": re.sub("/v1$", "/stats", str(given["address"]))}
    try:
        ended = subprocess.run(  # noqa: S603 - the user's own Python
            [python, "-P", str(script)], input=json.dumps(given), capture_output=True, text=True
        )
    except OSError as error:
        raise click.ClickException(f"--python {python}: {error.strerror}") from None
    if ended.returncode:
        said = ended.stderr.strip().splitlines() or ["it says nothing"]
        raise click.ClickException(f"{given['peer']}: {said[-1]}")
    return json.loads(ended.stdout.splitlines()[-1])


def _row(size: int, rows: Sequence[Any], bound: float) -> str:
    """The medians of the rounds."""

    def middle(index: int, what: str) -> float:
        return float(statistics.median(row[index][what] for row in rows))

    ratio = statistics.median(row[2]["seconds"] / row[1]["seconds"] for row in rows)
    bare, own = (
        statistics.median(row[index]["cpu"] / row[index]["calls"] * 1000 for row in rows)
        for index in (1, 2)
    )
    cells = [f"{bound:.2f}", f"{middle(1, 'seconds'):.2f}", f"{middle(2, 'seconds'):.2f}"]
    cells += [f"{ratio:.2f}", f"{bare:.2f}", f"{own:.2f}", f"{own - bare:.2f}"]
    return _ROW.format(size, *cells, int(middle(2, "calls")))


def _compared(clean: Sequence[Any], broken: Sequence[Any]) -> str:
    none = sum(result is None for result in broken)
    same = sum(one == other for one, other in zip(clean, broken, strict=True))
    return (
        f"of {len(broken)} questions {same} have the result of the run without faults,"
        f" {len(broken) - same - none} another one and {none} none{_labels(clean, broken)}"
    )


def _labels(clean: Sequence[Any], broken: Sequence[Any]) -> str:
    """How many of the labels are others, where a result is labels."""
    if not isinstance(clean[0], list):
        return ""
    pairs = [
        (one, other)
        for whole, part in zip(clean, broken, strict=True)
        for row, found in zip_longest(whole, part or [], fillvalue=())
        for one, other in zip_longest(row, found)
    ]
    wrong = sum(one != other for one, other in pairs)
    return f"; {wrong} of {len(pairs)} labels are others or missing"


if __name__ == "__main__":
    main()
