"""Minutes from a fresh clone to the first reviewed answer: what a newcomer waits for, step by step.

    python -m measurements.first_review --work FOLDER

clones the repository into a new folder, installs it there as ``make chat`` does, fetches the local
model into a cache of its own (over a gigabyte), serves the example documents, asks the demo's
question, opens the run and sends a review of it. FOLDER is left as it is, to look at.
"""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import httpx2

from measurements.screens import QUESTION, ROOT

__all__ = ["main"]

_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")
_ANSWERS_WITHIN_S = 3000.0
_SERVE = (
    "serve",
    "--docs",
    "examples/lighthouse",
    "--model",
    "local",
    "--runs-file",
    "runs.sqlite",
)


@click.command(help=__doc__)
@click.option("--work", type=click.Path(path_type=Path, exists=False), required=True)
def main(work: Path) -> None:
    """See the module."""
    work = work.absolute()
    os.environ["CONFLICTSCORE_CACHE_DIR"] = str(work / "cache")
    clone, begun = work / "clone", time.monotonic()
    ours = clone / ".venv" / "bin"
    with _step("clone"):
        _run(ROOT, "git", "clone", "--quiet", str(ROOT), str(clone))
    with _step("install"):
        _run(clone, "make", "--silent", ".venv/.demo")
        _run(clone, str(ours / "python"), "-m", "pip", "install", "-q", "-e", ".[local,serve]")
    with _step("fetch the model"):
        _run(clone, str(ours / "conflictscore"), "model", "fetch")
    command = [str(ours / "conflictscore"), *_SERVE, "--port", "0", "--timeout", "3000"]
    with subprocess.Popen(command, cwd=clone, text=True, stderr=subprocess.PIPE) as service:  # noqa: S603 - our own
        try:
            with _step("start the service"):
                address = _address(service)
            with httpx2.Client(
                base_url=address, trust_env=False, timeout=_ANSWERS_WITHIN_S
            ) as http:
                _ask_and_review(http)
        finally:
            service.terminate()
            service.communicate()
    click.echo(f"{'all':<20} {time.monotonic() - begun:6.0f} s")


def _ask_and_review(http: httpx2.Client) -> None:
    asked = {"model": "conflictscore", "messages": [{"role": "user", "content": QUESTION}]}
    with _step("answer, checked"):
        http.post("/v1/chat/completions", json=asked).raise_for_status()
    with _step("review"):
        run = http.get("/v1/runs").raise_for_status().json()["data"][0]["run_id"]
        reviews = f"/v1/runs/{run}/reviews"
        verdict = http.get(reviews).raise_for_status().json()["verdicts"][0]
        given = {"reviewer": "newcomer", "verdict": verdict}
        http.post(reviews, json=given).raise_for_status()
        counted = http.get("/v1/reviews").raise_for_status().json()
    click.echo(f"counted: {counted}")


def _address(service: subprocess.Popen[str]) -> str:
    for line in service.stderr or ():
        if found := _ADDRESS.search(line):
            return found[0]
    sys.exit("the service did not start")


def _run(folder: Path, *command: str) -> None:
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)  # noqa: S603


@contextmanager
def _step(name: str) -> Iterator[None]:
    begun = time.monotonic()
    yield
    click.echo(f"{name:<20} {time.monotonic() - begun:6.0f} s")


if __name__ == "__main__":
    main()
