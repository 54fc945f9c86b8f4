"""Where the service spends its processor time in a request: by stage, on both paths of a judge.

The simulated upstream, the documents and the requests are those of ``service_latency``. The service
answers so many requests by way of LangChain's client and then directly, each in a process of its
own that looks every few milliseconds of processor time at the code it is in
(``profiled_service``). A stage is told by where that code lies, so the functions of a library count
for whoever calls them unless the library is a stage of its own.
"""

import asyncio
import json
import os
import signal
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import click

from measurements.profiled_service import OTHER, STAGES
from measurements.service_latency import CASES, write_documents
from measurements.service_load import all_finished, connected, metric, running, send, started

__all__ = ["main"]

_WARM_UP = 8
_PATHS = ("langchain", "direct")
_ROW = "{:<42} {:>17} {:>17}"


@click.command(help=__doc__)
@click.option("--case", default="correct", show_default=True, type=click.Choice([*CASES]))
@click.option("--labeler", default="json", show_default=True)
@click.option("--clients", default=8, show_default=True)
@click.option("--requests", default=32, show_default=True)
@click.option("--delay", default=0.2, show_default=True, help="Seconds of an upstream call.")
def main(case: str, labeler: str, clients: int, requests: int, delay: float) -> None:
    """See the module."""
    click.echo(f"load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        write_documents(Path(folder), 10)
        simulated = ["-m", "measurements.simulated_upstream", f"--delay={delay}"]
        upstream = stack.enter_context(started(simulated, "stdout"))
        serve = ["-m", "measurements.profiled_service", "serve", "--port=0", f"--docs={folder}"]
        serve += ["--no-cache", f"--base-url={upstream}", "--model=simulated", *CASES[case].options]
        serve += [f"--labeler={labeler}", f"--max-concurrent={max(32, clients)}"]
        columns = []
        for path in _PATHS:
            os.environ["CONFLICTSCORE_JUDGE_CLIENT"] = path
            with running(serve, "stderr", "stdout") as (service, address):
                spent = asyncio.run(_profiled(address, service.pid, requests, clients))
                os.kill(service.pid, signal.SIGUSR2)
                samples = json.loads(service.stdout.readline() if service.stdout else "{}")
                columns.append(_column(samples, spent))
    click.echo(_ROW.format("ms of CPU a request, and share", *_PATHS))
    for stage in (*STAGES, OTHER, "all"):
        click.echo(_ROW.format(stage, *(column[stage] for column in columns)))


async def _profiled(address: str, process: int, requests: int, clients: int) -> float:
    """Send requests under the profiler; the milliseconds of processor time of one."""
    async with connected(address) as http:
        await send(http, _WARM_UP, clients)
        await all_finished(http, _WARM_UP)
        before = await metric(http, "process_cpu_seconds_total")
        os.kill(process, signal.SIGUSR1)
        await send(http, requests, clients)
        await all_finished(http, _WARM_UP + requests)
        spent = await metric(http, "process_cpu_seconds_total") - before
    return spent / requests * 1e3


def _column(samples: Mapping[str, int], milliseconds: float) -> dict[str, str]:
    whole = sum(samples.values())
    shares = {stage: samples.get(stage, 0) / whole for stage in (*STAGES, OTHER)} | {"all": 1.0}
    return {stage: f"{share * milliseconds:.1f} ({share:4.0%})" for stage, share in shares.items()}


if __name__ == "__main__":
    main()
