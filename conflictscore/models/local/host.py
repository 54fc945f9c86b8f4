"""The child process that runs llama.cpp; `server` starts this file and never imports it.

llama.cpp runs in a separate process for three reasons. The runtime can abort, or be killed when
memory runs out. Stopping the runtime during a computation blocks the Python interpreter. The OpenMP
setting that prevents idle threads from spinning is read only when a process starts.

The process reads one JSON line of settings, answers with one JSON line, and exits when its standard
input closes. So this process never outlives the process that started it.
"""

import json
import os
import sys
import threading
from typing import Any


def main() -> None:
    """Start the server, report its address or the error, and wait until stdin closes."""
    # the answer has its own copy of stdout, so nothing that llama.cpp prints is mixed with it
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    settings = json.loads(sys.stdin.readline())
    # Watch stdin from here on, since the owner may exit during the minutes that a large model takes
    # to load.
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
        os._exit(0)  # a normal exit would wait for a computation that is still running


def _end_with_owner() -> None:
    sys.stdin.read()
    os._exit(0)


def _start(settings: dict[str, Any]) -> Any:
    """Load the model and start its server, with as few features exposed as llama.cpp allows.

    ``settings`` is written to this process by ``server``. If ``threads`` is 0, llama.cpp chooses
    the number of threads.
    """
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = settings["path"]
    params.model_alias = {settings["model"]}
    params.api_keys = [settings["api_key"]]
    params.hostnames = ["127.0.0.1"]
    params.port = settings["port"]
    params.n_ctx = settings["context_window"]
    # Parallel requests are not faster on a few cores, since reading a prompt already uses every
    # core. Successive requests in one slot find more of their prompt in its cache.
    params.n_parallel = 1
    params.cache_prompt = True
    params.cache_ram_mib = settings["prompt_cache_mib"]
    params.use_jinja = True
    params.ui = False
    params.endpoint_slots = False
    params.endpoint_props = False
    params.endpoint_metrics = False
    params.verbosity = 1  # errors only; `server` reads the reason for a failure from stderr
    if settings["threads"]:
        params.cpuparams.n_threads = settings["threads"]
        params.cpuparams_batch.n_threads = settings["threads"]
    return xllamacpp.Server(params)


if __name__ == "__main__":
    main()
