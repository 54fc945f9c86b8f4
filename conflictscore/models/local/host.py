"""The process in which llama.cpp lives; started by `server`, never imported.

A process of its own, because the runtime can abort or be killed for memory, because stopping it
while it still computes blocks the interpreter it is loaded in, and because the OpenMP setting that
keeps it from burning idle cores is read only when a process starts.

It reads one JSON line of settings, answers with one JSON line, and ends when its standard input
closes. So it never outlives the process that started it, however that one ends.

With a ``llama-server`` of the user's own it runs that one instead. Both, and whatever a script
around that program starts, are one process group, which ends as a whole.
"""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import IO, Any

_READY_EVERY_S = 0.1
_READY_TIMEOUT_S = 5.0
_READY_WITHIN_S = 1800.0
"""Large models are read from slow disks too."""
_LAST_WORDS_S = 1.0


def main() -> None:
    """Start the server, report its address or why it has none, and wait for the end."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    settings = json.loads(sys.stdin.readline())
    owner = threading.Thread(target=_end_with_owner, daemon=True)
    owner.start()
    try:
        server = None if settings["program"] else _start(settings)
        address = server.listening_address if server else _run(settings)
    except (ImportError, RuntimeError, OSError) as error:
        answer = {"error": str(error), "missing": isinstance(error, ImportError)}
    else:
        answer = {"address": address}
    try:
        print(json.dumps(answer), file=answers, flush=True)
        if "address" in answer:
            owner.join()
    finally:
        _end()


def _end_with_owner() -> None:
    sys.stdin.read()
    _end()


def _end() -> None:
    if _programs and hasattr(os, "killpg"):
        os.killpg(0, signal.SIGKILL)
    for program in _programs:
        program.kill()
    os._exit(0)


_programs: list[subprocess.Popen[bytes]] = []


def _run(settings: dict[str, Any]) -> str:
    """Run the user's ``llama-server``; its address, once it answers there."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    slots = settings["parallel"]
    command = [settings["program"], "--model", settings["path"], "--alias", settings["model"]]
    command += ["--host", "127.0.0.1", "--port", str(port), "--jinja"]
    command += ["--ctx-size", str(settings["context_window"] * slots), "--parallel", str(slots)]
    # What not every version knows is set so that one which does not, leaves it aside.
    environment = {
        "LLAMA_ARG_CACHE_RAM": str(settings["prompt_cache_mib"]),
        "LLAMA_ARG_UI": "0",
        "LLAMA_ARG_ENDPOINT_SLOTS": "0",
        **({"LLAMA_ARG_THREADS": str(settings["threads"])} if settings["threads"] else {}),
        **os.environ,
        "LLAMA_API_KEY": settings["api_key"],
    }
    program = subprocess.Popen(  # noqa: S603 (what the user named)
        command, env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    _programs.append(program)
    ready = threading.Event()
    words = threading.Thread(target=_pass_on, args=(program.stderr, ready), daemon=True)
    words.start()
    deadline = time.monotonic() + _READY_WITHIN_S
    while not _is_ready(port):
        if program.poll() is not None:
            words.join(_LAST_WORDS_S)
            raise RuntimeError
        if time.monotonic() > deadline:
            raise RuntimeError(f"it did not answer in {_READY_WITHIN_S / 60:.0f} minutes")
        time.sleep(_READY_EVERY_S)
    ready.set()
    threading.Thread(target=_end_with, args=(program,), daemon=True).start()
    return f"http://127.0.0.1:{port}"


def _pass_on(said: IO[bytes], ready: threading.Event) -> None:
    """Output of the program until it serves, in a file that `server` reads a failure's reason from.

    Later it is thrown away: many versions write lines for every request, and a run has millions.
    """
    for line in said:
        if not ready.is_set():
            sys.stderr.buffer.write(line)
            sys.stderr.flush()


def _end_with(program: subprocess.Popen[bytes]) -> None:
    program.wait()
    _end()


def _is_ready(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_READY_TIMEOUT_S)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


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
