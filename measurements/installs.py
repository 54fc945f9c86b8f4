"""Tries the package in fresh environments, with its oldest and newest dependencies.

uv resolves and installs the dependencies. (Run `pip install uv` first; --uv names it.) In each
environment, every module of the package is imported, and one question about a folder is asked with
a scripted endpoint. The table also shows the versions of a few packages. The oldest versions are
the lower bounds in pyproject.toml (uv's `lowest-direct`), or the next versions with a wheel for
that version of Python, since nothing is compiled. --imports instead measures in this environment
how long `from conflictscore import correct` takes, compared with importing langgraph.graph and
langchain_openai. Each import runs in a fresh process, one after another, and medians are shown.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import click

from tests.fakes.openai_server import OpenAIServer
from tests.middleware.service.serving import ChatWorld

_EXTRAS = "bench,docs,fetch,langchain,mcp,nli,offline-tokens,postgres,serve,socks"
_IMPORT_ALL = """
import importlib, pkgutil, sys, conflictscore
skipped = ("benchmarks.inspect", "__main__", "models.local")
names = [m.name for m in pkgutil.walk_packages(conflictscore.__path__, "conflictscore.")]
names = [n for n in names if not any(s in n for s in skipped)]
for name in names:
    importlib.import_module(name)
print(len(names))
"""
_VERSIONS = """
from importlib.metadata import version
print(" ".join(n + "=" + version(n) for n in
      "langgraph langchain-core openai pydantic fastapi mcp".split()))
"""
_PEERS = "import langgraph.graph, langchain_openai"
_OURS = "from conflictscore import correct"


@click.command(help=__doc__)
@click.option("--uv", default="uv", show_default=True, help="The command that runs uv.")
@click.option("--python", "pythons", multiple=True, default=["3.11", "3.13"], show_default=True)
@click.option("--imports", "rounds", default=0, help="Only measure imports, in this many rounds.")
def main(uv: str, pythons: Sequence[str], rounds: int) -> None:
    """See the module."""
    if rounds:
        _print_imports(rounds)
        return
    row = "{:<7} {:<14} {:>8} {:>9} {:<9} {}"
    click.echo(row.format("python", "versions", "modules", "s, install", "asked", "of them"))
    for python in pythons:
        for resolution in ("lowest-direct", "highest"):
            with tempfile.TemporaryDirectory() as folder:
                figures = _tried(uv, python, resolution, Path(folder))
            click.echo(row.format(python, resolution, *figures))


def _tried(uv: str, python: str, resolution: str, folder: Path) -> tuple[str, ...]:
    """Install the package and try it; return the cells of the table's row."""
    begun = time.perf_counter()
    environment = folder / "env"
    interpreter = environment / "bin" / "python"
    _run([uv, "venv", "-q", "--python", python, str(environment)])
    _run([uv, "build", "-q", "--wheel", f"--out-dir={folder}"])
    [wheel] = folder.glob("*.whl")
    install = [uv, "pip", "install", "-q", "--only-binary=:all:", "--python", str(interpreter)]
    _run([*install, f"--resolution={resolution}", f"{wheel}[{_EXTRAS}]"])
    seconds = f"{time.perf_counter() - begun:.0f}"
    modules = _run([str(interpreter), "-c", _IMPORT_ALL], cwd=folder)
    (folder / "docs").mkdir()
    for name, year in (("gazette", 1871), ("log", 1874), ("walks", 1874)):
        (folder / "docs" / f"{name}.md").write_text(f"The lamp was lit in {year}.\n", "utf-8")
    with OpenAIServer(ChatWorld()) as server:
        asked = [str(interpreter), "-m", "conflictscore", "ask", "When was the lamp lit?"]
        options = [f"--docs={folder / 'docs'}", f"--base-url={server.base_url}", "--model=m"]
        run = json.loads(_run([*asked, *options, "--no-cache", "--json"], cwd=folder))
    versions = _run([str(interpreter), "-c", _VERSIONS], cwd=folder)
    return modules, seconds, run["checked"], versions


def _run(command: Sequence[str], cwd: Path | None = None) -> str:
    """Return a command's output; if it fails, raise an error with the end of its error output."""
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    environment["OPENAI_API_KEY"] = "none"
    process = subprocess.run(  # noqa: S603 - the commands above
        command, capture_output=True, text=True, cwd=cwd, env=environment, check=False
    )
    if process.returncode:
        raise click.ClickException(f"{command[:4]}: {process.stderr[-1500:]}")
    return process.stdout.strip()


def _print_imports(rounds: int) -> None:
    seconds: dict[str, list[float]] = {_PEERS: [], _OURS: []}
    for _ in range(rounds):
        for statement, measured in seconds.items():
            begun = os.times()
            subprocess.run([sys.executable, "-c", statement], check=True)  # noqa: S603
            ended = os.times()
            measured.append(
                ended.children_user
                + ended.children_system
                - begun.children_user
                - begun.children_system
            )
    for statement, measured in seconds.items():
        click.echo(f"{statement}: {statistics.median(measured):.2f} s of processor time")
    ratio = statistics.median(seconds[_OURS]) / statistics.median(seconds[_PEERS])
    click.echo(f"ratio of medians: {ratio:.2f}")


if __name__ == "__main__":
    main()
