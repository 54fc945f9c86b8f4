"""Workers that load nothing: each tells everybody who connects its number."""

import os
import signal
import sys
import time
from pathlib import Path

import click

from conflictscore.cli.workers import Worker, opened_listener, run_workers


def work(worker: Worker) -> None:
    """Serve, unless a file says that it cannot."""
    if Path("broken").exists():
        sys.exit(2)
    leaving: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, stack: leaving.append(number))
    worker.listener.settimeout(0.02)
    worker.beat()
    while not leaving:
        try:
            connection, _ = worker.listener.accept()
        except TimeoutError:
            continue
        with connection:
            connection.sendall(f"{os.getpid()}".encode())
            time.sleep(0.01)


if __name__ == "__main__":
    listener = opened_listener("127.0.0.1", 0)
    click.echo(listener.getsockname()[1])
    sys.exit(run_workers(2, listener, work, grace=1, say=click.echo))
