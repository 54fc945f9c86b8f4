"""Dry runs as tests make them: models that are known by name only, and what a judge would ask."""

from collections.abc import Mapping
from typing import Any

from langchain_core.language_models import FakeListChatModel

from conflictscore.benchmarks.harness.definition import AnswerJudge
from conflictscore.benchmarks.harness.estimate import Assumptions
from conflictscore.benchmarks.harness.methods.registry import GRADE
from conflictscore.benchmarks.harness.play import CountingModel, NotedPrompts, Play
from conflictscore.benchmarks.harness.records import Question
from conflictscore.benchmarks.harness.stand_ins import StandIn
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.limits import ConcurrencyLimit
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet

__all__ = ["judge_prompts", "named"]


def named(name: str = "test-model", **fields: Any) -> LanguageModel:
    """A model that nobody is to call."""
    known: dict[str, Any] = {
        "chat": FakeListChatModel(responses=["I was called."]),
        "name": name,
        "endpoint": "http://127.0.0.1:9/v1",
        "context_window": 8192,
        "limit": ConcurrencyLimit(4),
    }
    return LanguageModel(**{**known, **fields})


class _Heard(Play):
    prompts: list[str]

    def reply(self, model: LanguageModel, prompt: str) -> str:
        self.prompts.append(prompt)
        return super().reply(model, prompt)


async def judge_prompts(
    judge: AnswerJudge | None,
    stand_ins: Mapping[str, StandIn],
    question: Question,
    answer: str,
) -> list[str]:
    """What a judge asks in a dry run about an answer."""
    prompts = NotedPrompts(PromptSet.load())
    play = _Heard(
        "expected",
        Assumptions(),
        prompts,
        lambda call, of: None,
        questions=[question],
        recorded=(),
        max_rounds=1,
        stand_ins=stand_ins,
    )
    play.prompts = []
    play.started(question.id, GRADE)
    assert judge is not None
    model = CountingModel.of(named(), play)
    await judge(question, answer, model=model, prompts=prompts, meter=UsageMeter())
    return play.prompts
