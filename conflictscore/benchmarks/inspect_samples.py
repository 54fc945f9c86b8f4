"""The work on the samples of an Inspect task: the harness's own, on Inspect's models."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, Literal

from inspect_ai.model import Model, get_model, get_model_info, model_roles
from langchain_core.retrievers import BaseRetriever

from conflictscore.benchmarks.harness.benchmark import Benchmark
from conflictscore.benchmarks.harness.listening import Silent
from conflictscore.benchmarks.harness.methods.asker import Asker, UsageScope
from conflictscore.benchmarks.harness.records import Question
from conflictscore.benchmarks.harness.session import MemoryStore, Session
from conflictscore.benchmarks.harness.setup import Ready, RunSettings, Setup
from conflictscore.benchmarks.inspect_model import language_model
from conflictscore.errors import ProviderError
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.ledger import Ledger, attach
from conflictscore.nodes.state import RunContext
from conflictscore.prompts import PromptSet
from conflictscore.storage.cache import ContentCache

__all__ = ["Bench"]


class _Found:
    """The documents of a task's questions, each found once for all samples, epochs and models."""

    def __init__(self) -> None:
        self._values: dict[str, dict[str, Any]] = {}
        self._finding: dict[str, asyncio.Lock] = {}

    async def once(
        self, question: Question, find: Callable[[Question], Awaitable[dict[str, Any]]]
    ) -> dict[str, Any]:
        """Find them, or wait for whoever finds them already; a failure is not kept."""
        if question.id not in self._values:
            async with self._finding.setdefault(question.id, asyncio.Lock()):
                if question.id not in self._values:
                    self._values[question.id] = await find(question)
        return self._values[question.id]


class _SampleAsker(Asker):
    """Asks for a sample, whose documents may have been found for another."""

    def __init__(
        self,
        context: RunContext,
        resampler: LanguageModel,
        counting: UsageScope,
        *,
        found: _Found,
        on_failure: Callable[[Exception], None],
    ) -> None:
        super().__init__(context, resampler, counting)
        self._found, self._on_failure = found, on_failure

    async def documents(self, question: Question) -> dict[str, Any]:
        try:
            return await self._found.once(question, super().documents)
        except ProviderError as error:
            self._on_failure(error)
            raise


class Bench:
    """What the samples of a task share."""

    def __init__(
        self,
        benchmark: Benchmark,
        settings: RunSettings,
        retriever: BaseRetriever | None,
        labeler: Literal["json", "choice"],
        context_window: int | None,
        prompts: PromptSet,
    ) -> None:
        self.settings = settings
        self.questions = {question.id: question for question in benchmark.questions}
        self._benchmark, self._retriever, self._labeler = benchmark, retriever, labeler
        self._context_window, self._prompts = context_window, prompts
        self._found = _Found()

    def session(self, on_failure: Callable[[Exception], None], cache: ContentCache) -> Session:
        """The work on one sample, by the models of the evaluation that is under way."""
        ledger = Ledger()

        def opened(model: Model) -> LanguageModel:
            known = language_model(
                model, on_failure=on_failure, context_window=self._context_window
            )
            return attach(known, ledger)

        roles, generator = model_roles(), opened(get_model())
        judge = opened(get_model(role="judge")) if "judge" in roles else None
        setup = Setup.open(
            self.settings,
            model=generator,
            retriever=self._retriever,
            labeler=self._labeler,
            judge=judge,
            answer_judge=opened(get_model(role="answer_judge"))
            if "answer_judge" in roles
            else None,
            prompts=self._prompts,
            cache=cache,
        )
        resampler = _resampler(generator, self.settings)
        return Session(
            store=MemoryStore(self._benchmark.questions),
            ready=Ready(setup.context, resampler, setup.answer_judge),
            benchmark=self._benchmark,
            settings=self.settings,
            ledger=ledger,
            listener=Silent(),
            asker=_SampleAsker(
                setup.context, resampler, ledger.step, found=self._found, on_failure=on_failure
            ),
        )


def _resampler(model: LanguageModel, settings: RunSettings) -> LanguageModel:
    """The model as it is asked for a second sample; the seed tells it apart in Inspect's cache."""
    sampling: dict[str, Any] = {"seed": settings.seed + 1}
    known = get_model_info(get_model())
    if not (known and known.reasoning):  # those take no temperature
        sampling["temperature"] = settings.resample_temperature
    return replace(model, chat=model.chat.model_copy(update=sampling))
