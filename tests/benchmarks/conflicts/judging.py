"""A question about lamps, and a judge on a loopback server that reads its prompts."""

from collections.abc import Callable, Mapping
from typing import Any

from conflictscore.benchmarks.conflicts.judges import judge_answer
from conflictscore.benchmarks.harness.conflict_types import ConflictType
from conflictscore.benchmarks.harness.records import Question, Verdict
from conflictscore.models.spec import from_chat_model
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer
from tests.world import scripted_model

PROMPTS = PromptSet.load()
LAMP = Question(
    id="lamp",
    question="When was the lamp lit?",
    correct=("1874",),
    conflict_type=ConflictType.OUTDATED,
    documents=(
        {"text": "The lamp was lit in 1871.", "metadata": {"date": "1899-01-01"}},
        {"text": "The log says 1874.", "title": "Log", "metadata": {"date": "2020-05-04"}},
        {"text": "The tower is white."},
    ),
)
_WORDS = ("FOLLOWS", "GIVEN", "GROUNDING")

Said = str | Fault
GOOD: Mapping[str, Said] = {
    "FOLLOWS": "FOLLOWS: True\nEXPLANATION: It goes by the log.",
    "GIVEN": "GIVEN: True\nEXPLANATION: It says 1874.",
    "GROUNDING": "GROUNDING: [supported]\nEXPLANATION: The log says so.",
}


def first_prompt(request: ChatRequest) -> str:
    return str(next(m["content"] for m in request.messages if m["role"] == "user"))


def word_asked(prompt: str) -> str:
    """The first word of the reply's first line."""
    return next(word for word in _WORDS if f"\n{word}: [" in prompt)


def between(prompt: str, mark: str) -> str:
    return prompt.rpartition(f"\n</{mark}>")[0].rpartition(f"<{mark}>\n")[2]


def scripted(
    said: Mapping[str, Said] = {}, *, of_sentence: Callable[[str], Said] | None = None
) -> Callable[[ChatRequest], Said]:
    """A judge with fixed verdicts by word, and with a function's verdicts on sentences."""

    def reply(request: ChatRequest) -> Said:
        prompt = first_prompt(request)
        word = word_asked(prompt)
        if word == "GROUNDING" and of_sentence is not None:
            return of_sentence(between(prompt, "claim"))
        return {**GOOD, **said}[word]

    return reply


async def judged(
    server: OpenAIServer,
    answer: str,
    question: Question = LAMP,
    *,
    context_window: int = 8192,
    **more: Any,
) -> dict[str, Verdict]:
    return await judge_answer(
        question,
        answer,
        model=from_chat_model(scripted_model(server), context_window=context_window),
        prompts=PROMPTS,
        meter=more.pop("meter", None) or UsageMeter(),
    )
