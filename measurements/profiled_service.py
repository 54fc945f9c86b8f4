"""The service under a profiler that samples: what each part of a request takes of the processor.

Takes the arguments of ``conflictscore``. SIGUSR1 starts the profiler and SIGUSR2 ends it; then the
samples of each stage stand on standard output, as JSON on one line. A sample is taken every
millisecond of processor time, so the service is hardly slower for it, and waiting does not count.
"""

import json
import signal
import sys
from collections import Counter
from functools import cache
from types import FrameType

from conflictscore.cli import main

__all__ = ["OTHER", "STAGES", "stage_of"]

_SECONDS = 0.001
STAGES = {
    "judge's calls: aiohttp": ("/aiohttp/",),
    "judge's calls: from prompt to reply": ("/conflictscore/models/", "/conflictscore/threads"),
    "prompts, texts made safe": (
        *("/conflictscore/prompts/", "/conflictscore/labelers/prompting"),
        "/conflictscore/models/fitting",
    ),
    "verdicts read and shown": ("/conflictscore/labelers/",),
    "LangChain's model and OpenAI's client": (
        *("/langchain_openai/", "/openai/", "/httpx2/", "/httpcore2/"),
        *("/langchain_core/language_models/", "/langchain_core/messages/", "/langsmith/"),
    ),
    "LangGraph and LangChain's runnables": ("/langgraph/", "/langchain_core/"),
    "steps of the loop, scores, search": (
        *("/conflictscore/nodes/", "/conflictscore/graph/"),
        *("/conflictscore/metric", "/conflictscore/retrieval/"),
    ),
    "requests in, runs kept": (
        *("/conflictscore/middleware/", "/conflictscore/storage/", "/uvicorn/", "/fastapi/"),
        "/starlette/",
    ),
}
"""Each stage by parts of the paths of its code; what lies deepest in a stack decides."""
OTHER = "event loop, and the rest"


@cache
def stage_of(path: str) -> str | None:
    """The stage of code in a file; None where that is its caller's."""
    found = [
        (len(part), stage) for stage, parts in STAGES.items() for part in parts if part in path
    ]
    return max(found)[1] if found else None


_samples: Counter[str] = Counter()


def _sample(_: int, frame: FrameType | None) -> None:
    stage = None
    while frame is not None and (stage := stage_of(frame.f_code.co_filename)) is None:
        frame = frame.f_back
    _samples[stage or OTHER] += 1


def _start(_: int, __: FrameType | None) -> None:
    signal.setitimer(signal.ITIMER_PROF, _SECONDS, _SECONDS)


def _end(_: int, __: FrameType | None) -> None:
    signal.setitimer(signal.ITIMER_PROF, 0)
    sys.stdout.write(json.dumps(_samples) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    for number, handle in (
        (signal.SIGPROF, _sample),
        (signal.SIGUSR1, _start),
        (signal.SIGUSR2, _end),
    ):
        signal.signal(number, handle)
    main()
