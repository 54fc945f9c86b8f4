"""A question about a lamp, in the published format and as a record, and a scripted judge."""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from conflictscore.benchmarks.harness.records import Verdict
from conflictscore.benchmarks.natconfqa.data import AnswerPair, NatConfQuestion
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.spec import from_chat_model
from tests.benchmarks.conflicts.judging import first_prompt
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer, Reply
from tests.world import World, scripted_model

PASSAGES = ("The log says that the lamp was lit in 1871.", "It was first lit in 1874, or in 1875.")


def row(**fields: Any) -> dict[str, Any]:
    """A line of the published questions; ``question_type="boolean"`` changes a field."""
    return {
        "question_id": "lamp.1",
        "question": "When was the lamp lit?",
        "question_type": "wh-function",
        "answer_type": "Conflict",
        "answers": [
            {"answer": "1871", "evidence_ids": [0]},
            {"answer": "1874", "evidence_ids": [1]},
            {"answer": "1875", "evidence_ids": [7]},
        ],
        "conflicting_answer_pairs": [[0, 1], [2, 0]],
        "paragraphs": list(PASSAGES),
        "evidences": [],
        "claim": "The lamp was lit in 1871.",
    } | fields


def people_row(**fields: Any) -> dict[str, Any]:
    """A line with people's judgements of an answer to that question."""
    return {
        "question_id": "lamp.1",
        "Model Answers Decomposed": "0: in 1871\n1: in 1874",
        "Found Reference Answers in Model Answer (Recall Answer)": "[0,1]",
        "Conflicting Reference Answer Pairs Found (Recall Conflict)": "(0, 1)",
        "Found Model Sub-Answers in Reference Answers/Passages (Precision Answer)": "[0]",
        "Found Conflicting Model's Sub-Answers (Conflict Precision)": "[(0, 1) :1]",
        "reference_answers": "1871\n1874\n1875",
        "conflicting_answer_pairs": "(0, 1),(0, 2)",
        "model": "o3",
        "prompt_template": "Normal",
        "model_answer.1": "In 1871, but others say in 1874.",
    } | fields


def asked(
    *answers: str, conflicts: Iterable[AnswerPair] = (), passages: tuple[str, ...] = PASSAGES
) -> NatConfQuestion:
    return NatConfQuestion(
        id="lamp.1",
        question="When was the lamp lit?",
        question_type="wh-function",
        answers=answers,
        conflicts=tuple(conflicts),
        passages=passages,
    )


WH = asked("1871", "1874", "1875", conflicts=[(0, 1), (0, 2)])
SUPPORT = row(question_id="b", answer_type="Support", conflicting_answer_pairs=[])


def decided(values: Sequence[bool | None]) -> tuple[Verdict, ...]:
    return tuple(Verdict(value=v, error="ill" if v is None else None) for v in values)


def opened(server: OpenAIServer, context_window: int = 8192) -> LanguageModel:
    return from_chat_model(scripted_model(server), context_window=context_window)


@dataclass
class Lamp(World):
    """Answers ``careful`` if told to watch for conflicts, and judges answers by their years."""

    careful: str = ""

    def __call__(self, request: ChatRequest) -> Reply | str | Fault:
        prompt = first_prompt(request)
        if "ERROR: [" in prompt:
            return "WHY: Two fires.\nERROR: resolves"
        if any(mark in prompt for mark in ("ANSWERS:", "FOUND: [", "CONFLICT: [")):
            answer = prompt.partition("<answer>")[2]
            apart = "1. 1871\n2. 1874" if "1874" in answer else "1. 1871"
            pairs = "1 - 2" if "at odds" in answer else "none"
            reply = f"ANSWERS:\n{apart}\nCONFLICTS:\n{pairs}"
            return Judge(reply, lambda step, short: False)(request)
        if "say plainly which ones are at odds" in prompt:
            return self.careful
        return super().__call__(request)


class Judge:
    """A judge that splits every answer the same way, and says yes to set parts."""

    def __init__(
        self,
        apart: str | Fault = "ANSWERS:\nnone\nCONFLICTS:\nnone",
        says_yes: Callable[[str, tuple[str, ...]], bool] = lambda step, short: True,
        fails: str = "",
    ) -> None:
        self.asked: Counter[str] = Counter()
        self.prompts: list[str] = []
        self._apart, self._says_yes, self._fails = apart, says_yes, fails
        self._lock = threading.Lock()

    def __call__(self, request: ChatRequest) -> str | Fault:
        prompt = first_prompt(request)
        step = self._step(prompt)
        with self._lock:
            self.asked[step] += 1
            self.prompts.append(prompt)
        if step == self._fails:
            return Fault(400, message="the judge is ill")
        if step == "decompose":
            return self._apart
        word = "FOUND" if "FOUND: [" in prompt else "CONFLICT"
        return f"{word}: {self._says_yes(step, self._short_answers(prompt))}\nEXPLANATION: So."

    @staticmethod
    def _step(prompt: str) -> str:
        if "ANSWERS:" in prompt:
            return "decompose"
        kind = "found" if "FOUND: [" in prompt else "conflict"
        return f"{kind} in {'passages' if '<document' in prompt else 'answer'}"

    @staticmethod
    def _short_answers(prompt: str) -> tuple[str, ...]:
        marks = ("The short answer: ", "The first short answer: ", "The second short answer: ")
        return tuple(
            line.removeprefix(mark)
            for line in prompt.splitlines()
            for mark in marks
            if line.startswith(mark)
        )
