"""What it takes to start: processor and wall time until a command, or the loop in Python, answers.

``ask`` is asked the same again with everything in the cache; ``serve`` is started and asked whether
it is ready; ``import`` loads what the loop needs in Python; ``libraries`` loads LangGraph and
LangChain's client alone, which is the least that the others can take. In turns, each in a process
of its own; shown are medians.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import click
import httpx2

from measurements.service_load import started

__all__ = ["main"]

_ROW = "{:<12} {:>8} {:>8}"
_SERVE = ("-m", "conflictscore", "serve", "--port", "0", "--search", "ddgs")


@click.command(help=__doc__)
@click.option("--rounds", default=5, show_default=True)
def main(rounds: int) -> None:
    """See the module."""
    upstream = ["-m", "measurements.simulated_upstream", "--delay=0"]
    with tempfile.TemporaryDirectory() as folder, started(upstream, "stdout") as address:
        os.environ |= {"CONFLICTSCORE_CACHE_DIR": folder, "OPENAI_API_KEY": "none"}
        (Path(folder) / "ledger.md").write_text("Ledger number 1. The lamp was first lit in 1871.")
        model = ["--model", "simulated", "--base-url", address]
        ask = ["-m", "conflictscore", "ask", "When was it lit?", "--docs", f"{folder}/ledger.md"]

        def serve() -> None:
            with started([*_SERVE, *model], "stderr") as service:
                httpx2.get(f"{service}/healthz", trust_env=False).raise_for_status()

        ways: dict[str, Callable[[], None]] = {
            "ask": lambda: _run(*ask, *model),
            "serve": serve,
            "import": lambda: _run("-c", "import conflictscore.graph.create"),
            "libraries": lambda: _run("-c", "import langchain_openai, langgraph.graph"),
        }
        ways["ask"]()  # which fills the cache
        took: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
        for _ in range(rounds):
            for name, way in ways.items():
                took[name].append(_measured(way))
    click.echo(_ROW.format("", "CPU s", "wall s"))
    for name, times in took.items():
        cpu, wall = map(statistics.median, zip(*times, strict=True))
        click.echo(_ROW.format(name, f"{cpu:.2f}", f"{wall:.2f}"))


def _run(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)  # noqa: S603


def _measured(way: Callable[[], None]) -> tuple[float, float]:
    cpu, begun = _children(), time.perf_counter()
    way()
    return _children() - cpu, time.perf_counter() - begun


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
