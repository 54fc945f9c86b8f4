"""The process in which llama.cpp lives; started by `server`, never imported.

A process of its own, because the runtime can abort or be killed for memory, because stopping it
while it still computes blocks the interpreter it is loaded in, and because the OpenMP setting that
keeps it from burning idle cores is read only when a process starts.

It reads one JSON line of settings, answers with one JSON line, and ends when its standard input
closes. So it never outlives the process that started it, however that one ends.
"""

import json
import os
import signal
import sys
from typing import Any


def main() -> None:
    """Start the server, say where it listens or why it does not, and wait for the end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    try:
        server = _start(json.loads(sys.stdin.readline()))
    except (ImportError, RuntimeError) as error:
        answer = {"error": str(error), "missing": isinstance(error, ImportError)}
    else:
        answer = {"address": server.listening_address}
    print(json.dumps(answer), file=answers, flush=True)
    if "address" in answer:
        sys.stdin.read()
    os._exit(0)


def _start(settings: dict[str, Any]) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = settings["path"]
    params.model_alias = {settings["model"]}
    params.api_keys = [settings["api_key"]]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    # Each slot gets its own share of n_ctx, so a long request cannot starve the one beside it.
    params.n_ctx = settings["context_window"] * settings["parallel"]
    params.n_parallel = settings["parallel"]
    params.cache_prompt = True
    params.cache_ram_mib = settings["prompt_cache_mib"]
    params.use_jinja = True
    params.ui = False
    params.endpoint_slots = False
    params.endpoint_props = False
    params.endpoint_metrics = False
    params.verbosity = 1  # errors only; they go to the file that `server` reads the reason from
    if settings["threads"]:
        params.cpuparams.n_threads = settings["threads"]
        params.cpuparams_batch.n_threads = settings["threads"]
    return xllamacpp.Server(params)


if __name__ == "__main__":
    main()
