"""The process in which llama.cpp lives; started by `server`, never imported.

A process of its own, because the runtime can abort or be killed for memory, because stopping it
while it still computes blocks the interpreter it is loaded in, and because the OpenMP setting that
keeps it from burning idle cores is read only when a process starts.

It reads one JSON line of settings, answers with one JSON line, and ends when its standard input
closes. So it never outlives the process that started it, however that one ends.
"""

import json
import os
import sys
import threading
from typing import Any


def main() -> None:
    """Start the server, report its address or why it has none, and wait for the end."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    settings = json.loads(sys.stdin.readline())
    # From here on, since a large model takes minutes to load and its owner may end meanwhile.
    owner = threading.Thread(target=_end_with_owner, daemon=True)
    owner.start()
    try:
        server = _start(settings)
    except (ImportError, RuntimeError, OSError) as error:
        answer = {"error": str(error), "missing": isinstance(error, ImportError)}
    else:
        answer = {"address": server.listening_address}
    try:
        print(json.dumps(answer), file=answers, flush=True)
        if "address" in answer:
            owner.join()
    finally:
        os._exit(0)


def _end_with_owner() -> None:
    sys.stdin.read()
    os._exit(0)


def _start(settings: dict[str, Any]) -> Any:
    """Load the model and start its server, with as few surfaces as llama.cpp allows.

    ``settings`` are those that ``server`` writes to this process. ``threads`` of 0 leaves their
    number to llama.cpp.
    """
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = settings["path"]
    params.model_alias = {settings["model"]}
    params.api_keys = [settings["api_key"]]
    params.hostnames = ["127.0.0.1"]
    params.port = settings["port"]
    params.n_ctx = settings["context_window"]
    # Two requests at once are no faster on a few cores: reading a prompt uses every core already,
    # and requests that follow each other in one slot find more of their prompt in its cache.
    params.n_parallel = 1
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
