"""Writes each call of a run, with prompt and raw reply, to a compressed file in its folder.

```
transcripts/session-1.jsonl.gz      one file per session, with JSON lines in UTF-8

{"text": "3f0c…", "is": "…"}        a text that later calls refer to by its hash
{"question": "tqa-…", "step": "loop", "key": "",
 "model": "openai:gpt-4.1-mini",    its name in the manifest
 "endpoint": "https://api.openai.com/v1",
 "served": "gpt-4.1-mini-2025-04-14", "fingerprint": "fp_…",    from the reply, or null
 "parameters": […],                 a JSON object, as text
 "messages": [{"role": "human", "content": […]}],
 "reply": […], "tool_calls": […], "logprobs": […],
 "finish": "stop", "usage": {…}, "seconds": 0.8, "time": "…",
 "cached": false,                   true if the reply was in a cache and cost nothing
 "error": null}                     why the call failed; it may have been repeated
```

In a call, a text is stored as a list of parts, which must be joined to restore it. Each part is a
string or ``{"ref": hash}``. Prompts share documents and rules, which are stored only once per
session. Each line is flushed to disk, so a kill damages at most the last line.
"""

import json
import threading
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any, Self
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult

from conflictscore.benchmarks.harness.manifest import now
from conflictscore.benchmarks.harness.records import StepKey
from conflictscore.benchmarks.harness.transcript_files import (
    FOLDER,
    GZIP,
    hash_of,
    session_files,
    session_number,
)
from conflictscore.errors import ConfigurationError, scrubbed
from conflictscore.storage.private_files import owner_only, private_folder, remedy_for

_SHARED_CHARS = 120
"""The minimum length, in characters, of a line that is stored once and then referred to by its
hash. A reference takes 27 characters itself, so a reference to a shorter line would save little."""
_PARAMETERS = frozenset(
    {
        "model",
        "model_name",
        "temperature",
        "top_p",
        "top_k",
        "seed",
        "stop",
        "n",
        "max_tokens",
        "max_completion_tokens",
        "logprobs",
        "top_logprobs",
        "response_format",
        "tools",
        "tool_choice",
        "reasoning",
        "reasoning_effort",
        "frequency_penalty",
        "presence_penalty",
        "extra_body",
    }
)
"""The call parameters that are recorded.

Other parameters are omitted, since a client may put anything into them, such as a key.
"""

_STEP: ContextVar[StepKey] = ContextVar("conflictscore_transcribed_step", default=("", "", ""))


@contextmanager
def transcribed_step(place: StepKey) -> Iterator[None]:
    """Attribute all calls made in this context to a step.

    The step also gets calls in tasks and threads that are started in the context.
    """
    token = _STEP.set(place)
    try:
        yield
    finally:
        _STEP.reset(token)


class TranscriptWriter:
    """A thread-safe context manager that writes the transcript of one session."""

    def __init__(self, folder: Path) -> None:
        """Set the run's folder; the session's file is created at the first call."""
        self._folder = folder / FOLDER
        self._file: IO[bytes] | None = None
        self._compress = zlib.compressobj(wbits=GZIP)
        self._hashes: set[str] = set()
        self._lock = threading.Lock()  # calls end in several threads, and lines must not mix

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            if self._file is not None:
                with self._file as file:
                    self._write(file, self._compress.flush(zlib.Z_FINISH))

    def _opened(self) -> IO[bytes]:
        """Return this session's file, which is created with the next free number."""
        if self._file is None:
            numbers = map(session_number, session_files(self._folder.parent))
            number = 1 + max(numbers, default=0)
            path = self._folder / f"session-{number}.jsonl.gz"
            try:
                private_folder(self._folder)
                # `__exit__` closes the file
                self._file = open(path, "xb", buffering=0, opener=owner_only)  # noqa: SIM115
            except OSError as error:
                raise ConfigurationError(f"{path}: cannot be written ({error.strerror})") from None
        return self._file

    def write(self, call: Mapping[str, Any]) -> None:
        """Write one call, whose ``key``, ``parameters``, message contents and ``reply`` are texts.

        Raises:
            ConfigurationError: The file cannot be written, for example because the disk is full;
                this ends the run.
        """
        with self._lock:
            lines: list[dict[str, Any]] = []
            shared_call = {
                **call,
                "key": self._parts(call["key"], lines),
                "parameters": self._parts(call["parameters"], lines),
                "messages": [
                    {**message, "content": self._parts(message["content"], lines)}
                    for message in call["messages"]
                ],
                "reply": self._parts(call["reply"], lines),
            }
            text = "".join(f"{json.dumps(line)}\n" for line in (*lines, shared_call))
            content = self._compress.compress(text.encode())
            # all compressed bytes of this call reach the file, so a kill cannot lose them
            content += self._compress.flush(zlib.Z_SYNC_FLUSH)
            self._write(self._opened(), content)

    def _write(self, file: IO[bytes], content: bytes) -> None:
        """Write all the bytes; an unbuffered file may accept only some of them at a time."""
        rest = memoryview(content)
        try:
            while rest:
                rest = rest[file.write(rest) :]
        except OSError as error:
            raise ConfigurationError(
                f"{self._folder}: cannot be written ({error.strerror}); {remedy_for(error)}, or"
                " give --no-transcripts"
            ) from None

    def _parts(self, text: str, lines: list[dict[str, Any]]) -> list[str | dict[str, str]]:
        """Split a text into strings and references; new texts are appended to ``lines``."""
        parts: list[str | dict[str, str]] = []
        for line in text.splitlines(keepends=True):
            if len(line) >= _SHARED_CHARS:
                name = hash_of(line)
                if name not in self._hashes:
                    self._hashes.add(name)
                    lines.append({"text": name, "is": line})
                parts.append({"ref": name})
            elif parts and isinstance(parts[-1], str):
                parts[-1] += line
            else:
                parts.append(line)
        return parts


class Transcriber(BaseCallbackHandler):
    """Writes each call of a model, as LangChain reports it, and each reply from its cache."""

    run_inline = True
    """Whether LangChain calls the handler in the context of the call, where the step is named."""
    raise_error = True
    """If writing fails, the step fails too, which is better than a transcript with silent gaps."""

    def __init__(self, writer: TranscriptWriter, model: str, endpoint: str) -> None:
        self._writer = writer
        self._about = {"model": model, "endpoint": endpoint}
        self._begun: dict[UUID, tuple[float, dict[str, Any]]] = {}

    def on_chat_model_start(
        self,
        serialized: Mapping[str, Any],
        messages: Sequence[Sequence[BaseMessage]],
        *,
        run_id: UUID,
        **kwargs: Any,
    ) -> None:
        """Remember the messages and parameters that are sent."""
        # LangChain passes a batch of message lists, but reports each list as a run of its own
        call = self._sent(messages[0], kwargs.get("invocation_params") or {})
        self._begun[run_id] = time.perf_counter(), call

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """Write the finished call with its reply."""
        # a call whose start was not reported is recorded without its messages
        start, call = self._begun.pop(run_id, (time.perf_counter(), self._sent((), {})))
        generation = response.generations[0][0] if response.generations[0] else None
        message = generation.message if isinstance(generation, ChatGeneration) else None
        seconds = round(time.perf_counter() - start, 3)
        self._writer.write({**call, **_reply_of(message), "seconds": seconds})

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Write the failed call with its error."""
        start, call = self._begun.pop(run_id, (time.perf_counter(), self._sent((), {})))
        reason = f"{type(error).__name__}: {scrubbed(str(error))}"
        seconds = round(time.perf_counter() - start, 3)
        self._writer.write({**call, "error": reason, "seconds": seconds})

    def kept(
        self, messages: Sequence[BaseMessage], max_tokens: int, cached_reply: Mapping[str, Any]
    ) -> None:
        """Write a cached reply as a call, with the served model if the cache names it."""
        call = self._sent(messages, {"max_tokens": max_tokens})
        served_model = cached_reply.get("served") or {}
        self._writer.write(
            {
                **call,
                "served": served_model.get("model"),
                "fingerprint": served_model.get("fingerprint"),
                "reply": str(cached_reply["text"]),
                "cached": True,
            }
        )

    def _sent(
        self, messages: Sequence[BaseMessage], parameters: Mapping[str, Any]
    ) -> dict[str, Any]:
        question, step, key = _STEP.get()
        parameters_sent = {
            name: parameters[name] for name in sorted(_PARAMETERS & parameters.keys())
        }
        return {
            "question": question,
            "step": step,
            "key": key,
            **self._about,
            "served": None,
            "fingerprint": None,
            # a parameter may be a class, such as a schema of the reply
            "parameters": json.dumps(parameters_sent, default=str),
            "messages": [{"role": m.type, "content": _text_of(m.content)} for m in messages],
            "reply": "",
            "time": now(),
            "cached": False,
            "error": None,
        }


def _reply_of(message: Any) -> dict[str, Any]:
    if not isinstance(message, AIMessage):
        return {}
    about = message.response_metadata
    reply: dict[str, Any] = {
        "served": about.get("model_name") or about.get("model"),
        "fingerprint": about.get("system_fingerprint"),
        "reply": _text_of(message.content),
        "finish": about.get("finish_reason") or about.get("stop_reason"),
        "usage": dict(message.usage_metadata or {}),
    }
    if message.tool_calls:
        reply["tool_calls"] = [
            {"name": tool["name"], "args": tool["args"]} for tool in message.tool_calls
        ]
    if logprobs := _logprobs_of(about.get("logprobs")):
        reply["logprobs"] = logprobs
    return reply


def _logprobs_of(logprobs: Any) -> list[list[Any]]:
    """Return the candidates for the reply's first token, each with its log-probability.

    No other token's candidates are ever used. The list is empty if the reply has none.
    """
    try:
        return [[top["token"], top["logprob"]] for top in logprobs["content"][0]["top_logprobs"]]
    except (TypeError, KeyError, IndexError):
        return []


def _text_of(content: Any) -> str:
    return content if isinstance(content, str) else json.dumps(content, default=str)
