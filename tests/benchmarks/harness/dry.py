"""Models known only by name, and the prompts that a judge sends to a counting model."""

from typing import Any

from langchain_core.language_models import FakeListChatModel

from conflictscore.benchmarks.harness.definition import Benchmark
from conflictscore.benchmarks.harness.dry_run import CountingModel
from conflictscore.benchmarks.harness.records import Question
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.ledger import Ledger
from conflictscore.models.limits import ConcurrencyLimit
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet


def named(name: str = "test-model", **fields: Any) -> LanguageModel:
    """A model that must not be called."""
    known: dict[str, Any] = {
        "chat": FakeListChatModel(responses=["I was called."]),
        "name": name,
        "endpoint": "http://127.0.0.1:9/v1",
        "context_window": 8192,
        "limit": ConcurrencyLimit(4),
    }
    return LanguageModel(**{**known, **fields})


async def judge_prompts(benchmark: Benchmark, question: Question, answer: str) -> list[str]:
    """The prompts that a benchmark's judge would send about an answer in a dry run."""
    prompts: list[str] = []

    class Listening(CountingModel):
        def count(self, prompt: str, reply_tokens: int) -> None:
            prompts.append(prompt)
            super().count(prompt, reply_tokens)

    assert benchmark.judge is not None
    model = Listening.of(named(), ledger=Ledger(), replies=benchmark.reply_forms)
    await benchmark.judge(
        question, answer, model=model, prompts=PromptSet.load(), meter=UsageMeter()
    )
    return prompts
