"""The benchmarks as tasks of Inspect (``inspect eval conflictscore/truthfulqa``).

The steps, results and figures are those of the harness. The models are Inspect's: ``--model``
answers, the role ``judge`` takes answers apart and labels, and the role ``answer_judge`` judges
free-form answers. A role that is not given falls to the one before it.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any, Literal

from langchain_core.retrievers import BaseRetriever

from conflictscore.benchmarks.entry import Entry
from conflictscore.benchmarks.harness.answerable import with_documents
from conflictscore.benchmarks.harness.definition import Benchmark, Form
from conflictscore.benchmarks.harness.listening import Silent
from conflictscore.benchmarks.harness.manifest import Manifest, found_in, versions
from conflictscore.benchmarks.harness.methods.asker import Asker, UsageScope
from conflictscore.benchmarks.harness.records import Question
from conflictscore.benchmarks.harness.session import MemoryStore, Session, now
from conflictscore.benchmarks.harness.setup import (
    Ready,
    RunSettings,
    Setup,
    chosen_methods,
    refuse_methods,
)
from conflictscore.benchmarks.harness.shortening import shortened
from conflictscore.benchmarks.harness.statistics import require_statistics
from conflictscore.benchmarks.registry import BENCHMARKS, open_benchmark, usual_methods
from conflictscore.errors import ConfigurationError, ProviderError, install_hint
from conflictscore.graph.settings import LoopSettings
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.ledger import Ledger, attach
from conflictscore.nodes.state import RunContext
from conflictscore.prompts import PromptSet
from conflictscore.records import Duplicates
from conflictscore.retrieval.opening import PASSAGE_TOKENS, open_retrieval
from conflictscore.storage.cache import ContentCache

try:
    from inspect_ai import Task, task
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import (
        ChatMessageAssistant,
        Model,
        ModelOutput,
        get_model,
        get_model_info,
        model_roles,
    )
    from inspect_ai.solver import Generate, Solver, TaskState, solver
except ModuleNotFoundError:
    raise ConfigurationError(
        f"Inspect tasks need the package inspect-ai: {install_hint('inspect')}"
    ) from None

from conflictscore.benchmarks.inspect_model import SampleStoppedError, language_model
from conflictscore.benchmarks.inspect_scores import RESULT, Kept, Measured, metrics_of, verdicts

__all__ = ["TASKS"]

_Texts = str | list[str]
"""One, or several: ``-T methods=rag,control-rag`` comes as a list."""


def _task(
    entry: Entry,
    data: str,
    form: Form | None = None,
    search: _Texts | None = None,
    docs: _Texts | None = None,
    methods: _Texts = "all",
    sample: int | None = None,
    seed: int = 0,
    missing: Literal["fail", "skip"] = "fail",
    top_k: int = 10,
    passage_tokens: int = 0,
    labeler: Literal["json", "choice"] = "json",
    max_rounds: int = 1,
    max_claims: int | None = None,
    duplicates: Duplicates = "vote",
    resample_temperature: float = 0.7,
    context_window: int | None = None,
    prompts: str | None = None,
) -> Task:
    """Documents, methods and figures are those of ``conflictscore bench``.

    Args:
        entry: The benchmark.
        data: Its official file.
        form: How questions are asked.
        search: Where to search, such as ``recorded:FILE`` or ``serper``.
        docs: Files and folders to search.
        methods: Some of those above, or ``all``; ``rag`` is always run.
        sample: Only so many questions, drawn by seed.
        seed: Decides the order of options, the sample, the placebos' donors and the second sample.
        missing: Whether questions that a recording does not have end the run or are left out.
        top_k: Documents a question.
        passage_tokens: Tokens of a passage that longer documents are cut to; 0 leaves them whole.
        labeler: ``json``, or ``choice`` where the judge gives log-probabilities.
        max_rounds: The most regenerations, 1 to 20.
        max_claims: The most claims of an answer to label; None for all.
        duplicates: Whether near-duplicate documents count each, or ``once`` on each side; with
            ``domain``, so do all documents of a registrable domain.
        resample_temperature: The sampling temperature of ``resample``.
        context_window: Tokens of prompt and reply; by default what Inspect knows of the model.
        prompts: A folder of templates that override the default ones.

    Raises:
        InputError: The data or a setting cannot be used; says which and why.
        ConfigurationError: A key, an extra or the prompt folder is missing or wrong.
    """
    opened = open_benchmark(entry.name, data, form=form, seed=seed)
    retriever, sources = None, ",".join(_several(search)) or None
    if entry.searches:
        retriever = open_retrieval(
            sources,
            docs=_several(docs),
            top_k=top_k,
            passage_tokens=passage_tokens,
        )
    elif passage_tokens:
        opened = shortened(opened, passage_tokens)
    names = _several(methods)
    settings = RunSettings(
        methods=chosen_methods(opened.offered if "all" in names else names),
        resample_temperature=resample_temperature,
        seed=seed,
    )
    benchmark, _ = opened.selected(sample=sample, seed=seed)
    require_statistics()
    refuse_methods(benchmark, settings.methods)
    questions, left_out = with_documents(benchmark.questions, retriever, missing)
    benchmark = replace(benchmark, questions=questions)
    loaded = PromptSet.open(prompts or None, base=benchmark.prompt_set)
    templates = loaded.worded(benchmark.wording)
    found, told = found_in(sources, _several(docs))
    manifest = Manifest(
        benchmark=benchmark.name,
        created=now(),
        configuration={
            "form": benchmark.form,
            "measures": list(benchmark.measures),
            "prompts": {"set": templates.name, "sha256": templates.sha256},
            "left_out_without_recording": len(left_out),
            **({"retrieval": told} if told else {}),
        },
        hashes={**benchmark.hashes, **found},
        versions=versions(),
    )
    loop = LoopSettings(
        labeler=labeler,
        context_window=context_window,
        prompts=templates,
        max_rounds=max_rounds,
        max_claims=max_claims,
        duplicates=duplicates,
    )
    bench = _Bench(benchmark, settings, loop, retriever)
    measured = Measured(
        methods=settings.methods,
        measures=benchmark.measures,
        graded=tuple(sorted(benchmark.graded)),
    )
    return Task(
        name=benchmark.name,
        dataset=MemoryDataset([_sample(q) for q in questions], name=benchmark.name),
        solver=_methods(bench, measured),
        scorer=verdicts(),
        metrics=metrics_of(measured),
        metadata={**manifest.to_json(), "notes": list(benchmark.notes)},
    )


_BROUGHT: Mapping[str, Any] = {"search": None, "docs": None, "missing": "fail", "top_k": 10}
"""The settings that a benchmark does not have whose questions bring their documents."""


def _task_of(entry: Entry) -> Callable[..., Task]:
    """The task of a benchmark, with the settings that make sense for it in its signature."""
    hidden = {"entry": entry} if entry.searches else {"entry": entry, **_BROUGHT}
    own: dict[str, Any] = {
        "form": entry.forms[0],
        "methods": usual_methods(entry.methods),  # a list, since Inspect logs it
        "passage_tokens": PASSAGE_TOKENS if entry.searches else 0,
    }
    whole = inspect.signature(_task)
    shown = whole.replace(
        parameters=[
            one.replace(default=own.get(name, one.default))
            for name, one in whole.parameters.items()
            if name not in hidden
        ]
    )

    def made(*args: Any, **given: Any) -> Task:
        bound = shown.bind(*args, **given)
        bound.apply_defaults()
        return _task(**hidden, **bound.arguments)

    made.__signature__ = shown  # type: ignore[attr-defined]
    made.__name__ = made.__qualname__ = entry.name
    made.__doc__ = f"""{entry.name}: {entry.summary}.

    Data: {entry.data}. Forms: {", ".join(entry.forms)}. Methods: {", ".join(entry.methods)}.

    {_task.__doc__}"""
    return task(made)


def _several(given: _Texts | None) -> list[str]:
    return [given] if isinstance(given, str) else list(given or ())


def _sample(question: Question) -> Sample:
    return Sample(
        id=question.id,
        input=question.question,
        choices=list(question.options) or None,
        target=list(question.correct) if question.gold is None else "AB"[question.gold],
        metadata={
            "options": list(question.options),
            "gold": question.gold,
            "category": question.category,
            "correct": list(question.correct),
            "incorrect": list(question.incorrect),
        },
    )


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


class _Bench:
    """What the samples of a task share."""

    def __init__(
        self,
        benchmark: Benchmark,
        settings: RunSettings,
        loop: LoopSettings,
        retriever: BaseRetriever | None,
    ) -> None:
        self.settings, self._loop = settings, loop
        self.questions = {question.id: question for question in benchmark.questions}
        self._benchmark, self._retriever = benchmark, retriever
        self._found = _Found()

    def session(self, on_failure: Callable[[Exception], None], cache: ContentCache) -> Session:
        """The work on one sample, by the models of the evaluation that is under way."""
        ledger = Ledger()

        def opened(model: Model) -> LanguageModel:
            known = language_model(
                model, on_failure=on_failure, context_window=self._loop.context_window
            )
            return attach(known, ledger)

        roles, generator = model_roles(), opened(get_model())
        judge = opened(get_model(role="judge")) if "judge" in roles else None
        setup = Setup.open(
            self.settings,
            replace(self._loop, judge=judge, cache=cache),
            model=generator,
            retriever=self._retriever,
            answer_judge=opened(get_model(role="answer_judge"))
            if "answer_judge" in roles
            else None,
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


def _methods(bench: _Bench, measured: Measured) -> Solver:
    @solver(name="conflictscore_methods")
    def methods() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            question, failures = bench.questions[str(state.sample_id)], list[Exception]()
            with closing(ContentCache(":memory:")) as verdicts_so_far:
                session = bench.session(failures.append, verdicts_so_far)
                try:
                    await session.question(question)
                except SampleStoppedError as stop:
                    raise stop.cause from None
                finally:
                    # also where a limit ends the sample: what ended before it is scored
                    kept = Kept(measured=measured, result=session.result(question))
                    _keep(kept, state)
            unanswered = any(ended.answer is None for ended in kept.result.methods.values())
            if failures and unanswered:
                # to Inspect, a provider that failed is an error of the sample, to be tried again
                raise failures[0]
            return state

        return solve

    return methods()


def _keep(kept: Kept, state: TaskState) -> None:
    state.store.set(RESULT, kept.model_dump(mode="json"))
    if kept.answer is not None:
        state.messages.append(ChatMessageAssistant(content=kept.answer))
        state.output = ModelOutput.from_content(str(state.model), kept.answer)


TASKS: Mapping[str, Callable[..., Task]] = {
    name: _task_of(entry) for name, entry in BENCHMARKS.items() if not entry.several
}
"""By name, one for each benchmark that is run from one file."""


def __getattr__(name: str) -> Callable[..., Task]:
    """A task by the name of its benchmark, as in ``from … import truthfulqa``."""
    try:
        return TASKS[name]
    except KeyError:
        raise AttributeError(f"there is no task {name!r}; one of {', '.join(TASKS)}") from None
