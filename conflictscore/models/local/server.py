"""An OpenAI-compatible server on this machine that serves a local model file.

llama.cpp's own HTTP server runs in a child process, bound to the loopback address and protected by
a random key. So a local model is called like any other endpoint.

Limits without a stated reason were chosen by hand.
"""

import atexit
import contextlib
import json
import logging
import os
import re
import secrets
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

import httpx2

from conflictscore.errors import ConfigurationError, ConflictScoreError, ProviderError, install_hint
from conflictscore.threads import usable_cores

_log = logging.getLogger(__name__)

CONTEXT_WINDOW = 8192
"""Default number of tokens in prompt and reply together."""

# The instructions of this package's prompts alone take more tokens.
_LEAST_WINDOW = 256
_HOST = Path(__file__).with_name("host.py")
# Size of the cache of earlier prompts. A prompt that begins like one of them is read faster. A
# larger cache would take memory that other programs need.
_PROMPT_CACHE_MIB = 512
# A short limit, since the model is loaded by then, so a working server answers at once.
_REPLY_TIMEOUT_S = 60.0
_REASON_CHARS = 300  # maximum characters of llama.cpp's reason that are shown
# A line of llama.cpp's log that reports an error: a time, the level "E" and the message.
_LOGGED_ERROR = re.compile(r"^\S+ E (.*)$", re.MULTILINE)


class LocalServer:
    """A model server that runs until `close` is called.

    If the process dies, for example because memory runs out, it is restarted at the same address
    (``base_url``). ``model`` is the file name without suffix. ``context_window`` counts the tokens
    of prompt and reply together. The window is the requested one, or the model's own if that is
    smaller.
    """

    def __init__(self, path: str | Path, *, context_window: int = CONTEXT_WINDOW) -> None:
        """Load a GGUF file and start listening. Loading takes from a second to a minute.

        Raises:
            ConfigurationError: The runtime is not installed, llama.cpp cannot load the file, or the
                window has fewer than 256 tokens.
            ProviderError: The process cannot be started, or its server does not answer.
        """
        if context_window < _LEAST_WINDOW:
            message = f"context_window is {context_window}; give at least {_LEAST_WINDOW}"
            raise ConfigurationError(message)
        file = Path(path).resolve()
        self.model, self.api_key = file.stem, secrets.token_urlsafe(32)
        self._file, self._asked_window = file, context_window
        self._owner, self._ended = os.getpid(), False
        self.base_url = f"{self._start(0)}/v1"
        try:
            self.context_window = min(context_window, self._trained_window())
        except BaseException:
            self.close()
            raise
        threading.Thread(target=self._keep_running, name="local model", daemon=True).start()

    @property
    def running(self) -> bool:
        """Whether the server process is alive or being restarted."""
        return not self._ended

    def close(self) -> None:
        """Stop at once and free the model; a second call does nothing.

        A call in a forked child also does nothing, since the server belongs to the parent.
        """
        if os.getpid() != self._owner:
            return
        self._ended = True
        _running.discard(self)
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def _start(self, port: int) -> str:
        """Start the process, and return the address of its server; port 0 means any free port."""
        with _log_file() as log:
            self._process = self._new_process(log)
            _running.add(self)
            try:
                return self._handshake(port, log)
            except BaseException:
                self.close()
                raise

    def _new_process(self, log: IO[bytes]) -> subprocess.Popen[bytes]:
        try:
            # "-P": a module next to the file must not be imported in place of another of its name
            return subprocess.Popen(  # noqa: S603 (this interpreter, our own file)
                [sys.executable, "-P", str(_HOST)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                # Spinning threads make two model servers on the same cores ten times slower.
                env={"OMP_WAIT_POLICY": "PASSIVE", **os.environ},
                # Signals from the terminal, such as Ctrl-C, are for the owner, who may be waiting
                # for calls in flight.
                start_new_session=True,
            )
        except OSError as error:  # for example because memory is short
            raise ProviderError(
                f"no process can be started for the local model {self.model}: {error.strerror}",
                provider="local",
            ) from error

    def _keep_running(self) -> None:
        while True:
            self._process.wait()
            if self._ended:
                return
            _log.warning("the local server for %s died and is being restarted", self.model)
            try:
                self._start(urlsplit(self.base_url).port or 0)
            # OSError: the new process died while its settings were written
            except (ConflictScoreError, OSError) as error:
                self._ended = True
                _log.error("the local server for %s cannot be restarted: %s", self.model, error)
            if self._ended:  # closed in the meantime
                self._process.kill()

    def _handshake(self, port: int, log: IO[bytes]) -> str:
        """Send the settings to the process, and return the address of its server.

        ``log`` receives the process's error stream, from which llama.cpp's reason for a failure is
        read.

        Raises:
            ConfigurationError: The package is missing, or the model cannot be loaded.
        """
        usable = usable_cores()
        settings = {
            "path": str(self._file),
            "model": self.model,
            "api_key": self.api_key,
            "port": port,
            "context_window": self._asked_window,
            "prompt_cache_mib": _PROMPT_CACHE_MIB,
        }
        # llama.cpp chooses the threads, unless some cores are not available to this process
        settings["threads"] = usable if usable < (os.cpu_count() or usable) else 0
        answer = _ask(self._process, settings)
        if address := answer.get("address"):
            return str(address)
        if answer.get("missing"):
            raise ConfigurationError(
                f"a local model needs the package xllamacpp ({answer['error']}):"
                f" {install_hint('local')}"
            )
        log.seek(0)
        # the reason is the last part of the message, after the names of llama.cpp's functions
        log_match = _LOGGED_ERROR.search(log.read().decode("utf-8", "replace"))
        reason = (
            log_match[1].rpartition(": ")[2] if log_match else "the process ended without a message"
        )
        raise ConfigurationError(
            f"llama.cpp cannot load {self._file}: {reason[:_REASON_CHARS]}; download "
            "the file again, choose another model, or use a smaller context window "
            "if memory is short"
        )

    def _trained_window(self) -> int:
        try:
            reply = httpx2.get(
                f"{self.base_url}/models",
                headers={"authorization": f"Bearer {self.api_key}"},
                timeout=_REPLY_TIMEOUT_S,
                trust_env=False,  # a proxy from the environment cannot reach the loopback address
            )
            return int(reply.raise_for_status().json()["data"][0]["meta"]["n_ctx_train"])
        except (httpx2.HTTPError, LookupError, TypeError, ValueError) as error:
            raise ProviderError(
                f"the local server for {self.model} does not answer: {error}", provider="local"
            ) from error


_running: set[LocalServer] = set()
"""The servers of this process that are being loaded or run."""
_shared: dict[tuple[Path, int], LocalServer] = {}
_shared_lock = threading.Lock()  # so that two threads do not start two servers for a model


def shared_server(path: str | Path, *, context_window: int = CONTEXT_WINDOW) -> LocalServer:
    """Return this process's server for a model file and context-window size.

    Raises the same errors as `LocalServer`.

    The server starts at the first call and stops when the interpreter exits. If the server was
    closed, the next call starts a new server.
    """
    key = (Path(path).resolve(), context_window)
    with _shared_lock:
        server = _shared.get(key)
        if server is None or not server.running:
            if server is not None:
                server.close()
            server = _shared[key] = LocalServer(path, context_window=context_window)
        return server


def start_in_background(path: str | Path, *, context_window: int = CONTEXT_WINDOW) -> None:
    """Start this process's server for a model file in a thread, while the caller goes on.

    The next call of `shared_server` waits for the server. If the start failed, that call tries
    again, and raises the error.
    """

    def start() -> None:
        # ValueError: the path cannot be the path of a file
        with contextlib.suppress(ConflictScoreError, OSError, ValueError):
            shared_server(path, context_window=context_window)

    threading.Thread(target=start, name="start of the local model", daemon=True).start()


@atexit.register
def _close_all() -> None:
    # A process that still loads a model would notice the end of its owner only once it has loaded.
    for server in [*_running]:
        server.close()


def _ask(process: subprocess.Popen[bytes], settings: dict[str, Any]) -> dict[str, Any]:
    """Send the settings and read the answer, which is empty if the process died."""
    assert process.stdin is not None  # noqa: S101 (both are pipes: see LocalServer._start)
    assert process.stdout is not None  # noqa: S101 (as above)
    try:
        process.stdin.write(json.dumps(settings).encode() + b"\n")
        process.stdin.flush()
    except BrokenPipeError:
        return {}
    line = process.stdout.readline()
    # without a line break, the process died while it wrote
    answer: dict[str, Any] = json.loads(line) if line.endswith(b"\n") else {}
    return answer


def _log_file() -> IO[bytes]:
    """Return a file for the server's error stream; if no file can be made, discard the stream."""
    try:
        return tempfile.TemporaryFile()
    except OSError:  # the disk is full or read-only
        return Path(os.devnull).open("r+b")
