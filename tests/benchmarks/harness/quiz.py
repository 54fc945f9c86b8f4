"""A quiz about lamps, and a scripted model behind a real endpoint that answers it."""

import re
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel

from conflictscore.benchmarks.harness.conflict_types import ConflictType
from conflictscore.benchmarks.harness.definition import ACCURACY, Benchmark
from conflictscore.benchmarks.harness.methods.registry import COMMON_METHODS, METHODS
from conflictscore.benchmarks.harness.outcome import BenchmarkRun
from conflictscore.benchmarks.harness.records import Question
from conflictscore.benchmarks.harness.setup import RunSettings, Setup, paper_loop
from conflictscore.benchmarks.running import Limits, arun_benchmark
from conflictscore.benchmarks.truthfulqa.benchmark import REPLY_FORMS, judge_answer
from tests.fakes.openai_server import ChatRequest, Fault, Handler, OpenAIServer, Reply
from tests.typed_world import TypedWorld
from tests.world import rival_lines, scripted_model

RIGHT, WRONG = 1874, 1871
_THREE = Limits(concurrency=3)
_LAMP = re.compile(r"\blamp (\d+)\b", re.IGNORECASE)


def told(lamp: int, year: int) -> str:
    """A sentence that says when a lamp was lit."""
    return f"Lamp {lamp} was lit in {year}."


def lamps(count: int, *, free_form: bool = False, disagreeing: bool = True) -> Benchmark:
    """Questions with their own documents (people say "outdated"); option 0 is wrong."""
    return Benchmark(
        name="lamps",
        form="free-form" if free_form else "multiple-choice",
        questions=tuple(_question(n, free_form, disagreeing) for n in range(count)),
        measures=("truthful", "informative") if free_form else (ACCURACY,),
        judge=judge_answer if free_form else None,
        reply_forms=REPLY_FORMS if free_form else (),
        offered=tuple(METHODS) if free_form else COMMON_METHODS,
    )


def _question(lamp: int, free_form: bool, disagreeing: bool) -> Question:
    wrong, right = told(lamp, WRONG), told(lamp, RIGHT)
    texts = [wrong, right, right] if disagreeing else [right, right]
    kind = ConflictType.OUTDATED if disagreeing else ConflictType.NO_CONFLICT
    choice: dict[str, Any] = {"options": (wrong, right), "gold": 1}
    return Question(
        id=f"lamp-{lamp}",
        question=f"When was lamp {lamp} lit?",
        correct=(right,),
        incorrect=(wrong,),
        category="odd" if lamp % 2 else "even",
        documents=tuple({"text": f"The keeper of lamp {lamp} says: {text}"} for text in texts),
        **({"conflict_type": kind} if free_form else choice),
    )


def changed(benchmark: Benchmark, documents: Callable[[Any], Any]) -> Benchmark:
    """The benchmark, with each question's documents changed by this function."""
    every = [
        q.model_copy(update={"documents": documents(q.documents)}) for q in benchmark.questions
    ]
    return replace(benchmark, questions=tuple(every))


@dataclass
class Quiz(TypedWorld):
    """Wrong at first and right at the second look, also by type, unless stated otherwise."""

    first: dict[int, int] = field(default_factory=dict)
    """The year of the first answer, by lamp."""
    second: dict[int, int] = field(default_factory=dict)
    """The year of the regenerated answer, by lamp."""
    kinds: dict[int, str] = field(default_factory=dict)
    """The type of conflict that it names, by lamp; otherwise ``outdated``."""
    failing: dict[tuple[str, int], Fault | Reply | str] = field(default_factory=dict)
    """The reply to send instead, by step and lamp."""
    by_lamp: Counter[tuple[str, int]] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, request: ChatRequest) -> Reply | str | Fault:
        prompt = next(m["content"] for m in request.messages if m["role"] == "user")
        with self.lock:
            before = self.asked.copy()
            said = super().__call__(request)
            step = next(iter(self.asked - before), "generate")
        step = _named(step, prompt)
        asked = re.findall(r"When was lamp (\d+) lit", prompt) or _LAMP.findall(prompt)
        lamp = int(asked[0])
        with self.lock:
            self.by_lamp[step, lamp] += 1
        if (step, lamp) in self.failing:
            return self.failing[step, lamp]
        return self._answer(step, lamp, prompt) or self._other(step, lamp, prompt) or said

    def _answer(self, step: str, lamp: int, prompt: str) -> str | None:
        choice = "\n(A) " in prompt
        match step:
            case "generate":
                year = self.first.get(lamp, WRONG)
                return f"({_letter(prompt, year)})" if choice else told(lamp, year)
            case "alone":
                year = WRONG if str(WRONG) in prompt.partition("\n(A) ")[0] else RIGHT
                return f"({_letter(prompt, year)})" if choice else told(lamp, year)
            case "cite":
                return f"{told(lamp, WRONG)} [1]"
            case "typed cite":
                return f"{told(lamp, RIGHT)} [2]"
            case "regenerate":
                year = self.second.get(lamp, RIGHT)
                if not choice:
                    return told(lamp, year)
                chosen = f"{_letter(prompt, year)} – {told(lamp, year)}"
                return f"{chosen}\nJustification: Most say so (Docs 2, 3)."
        return None

    def _other(self, step: str, lamp: int, prompt: str) -> str | None:
        kind = f"TYPE: {self.kinds.get(lamp, 'outdated')}\nREASON: One is newer."
        again = told(lamp, self.second.get(lamp, RIGHT))
        document = prompt.partition("<document ")[2].partition("</document")[0]
        shown_first = prompt.partition("Statement A:")[2].partition("Documents behind")[0]
        true = str(RIGHT) in prompt.partition("<answer>")[2].partition("</answer>")[0]
        return {
            "truthful": f"TRUTHFUL: {true}\nEXPLANATION: The years were compared.",
            "helpful": "HELPFUL: True\nEXPLANATION: It names a year.",
            "read again": "KEEP",
            "sum up": told(lamp, RIGHT),
            "read alone": told(lamp, RIGHT if str(RIGHT) in document else WRONG),
            "relation": rival_lines(prompt),
            "weigh": f"SIDE: {'A' if again in shown_first else 'B'}\nGROUND: PRIMARY\nREASON: So.",
            "unaided": "I do not know when it was lit.",
            "classify": kind,
            "classify_and_cite": f"{kind}\nANSWER: {told(lamp, RIGHT)} [2][3]",
        }.get(step)


def _named(step: str, prompt: str) -> str:
    """The step, distinguished more finely than by its world."""
    marks = {
        "TRUTHFUL:": "truthful",
        "HELPFUL:": "helpful",
        "How the documents relate: ": f"typed {step}",
        "nothing to look it up in": "unaided",
        "Sum up the discussion.": "sum up",
        "Reply with one short full sentence that repeats": "read alone",
        "A claim of an answer seems to be disputed": "relation",
        "Two statements answer the same question": "weigh",
    }
    if "the one word KEEP" in prompt:
        return "read again"
    if step == "generate" and prompt.count("<document ") == 1:
        return "alone"
    return next((name for mark, name in marks.items() if mark in prompt), step)


def _letter(prompt: str, year: int) -> str:
    """The letter of the option with this year."""
    first = prompt.partition("\n(A) ")[2].partition("\n")[0]
    return "A" if str(year) in first else "B"


async def run_quiz(
    folder: Path,
    model: OpenAIServer | BaseChatModel | Handler,
    benchmark: Benchmark,
    *,
    methods: tuple[str, ...] = ("rag", "control-rag", "regenerated-rag", "guarded-rag"),
    limits: Limits = _THREE,
    **more: Any,
) -> BenchmarkRun:
    """Run a quiz, with replies cached only in the run's folder; a handler gets its own server."""
    if not isinstance(model, OpenAIServer | BaseChatModel):
        with OpenAIServer(model) as server:
            model = scripted_model(server)
            return await run_quiz(folder, model, benchmark, methods=methods, limits=limits, **more)
    settings = RunSettings(methods=methods)
    chat = scripted_model(model) if isinstance(model, OpenAIServer) else model
    loop = paper_loop(labeler=more.pop("labeler", "choice"), prompts=more.pop("prompts", None))
    found = more.pop("retriever", None)
    setup = Setup.open(settings, loop, model=chat, retriever=found, cache=False)
    return await arun_benchmark(
        benchmark,
        folder,
        setup,
        limits=limits,
        retrieval={"documents": "of the questions"},
        hashes={},
        selection={},
        **more,
    )
