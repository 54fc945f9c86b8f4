"""Builds a run's models, labeler and retriever from a user's settings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

from langchain_core.language_models import BaseChatModel
from langchain_core.retrievers import BaseRetriever

from conflictscore.benchmarks.harness.definition import Benchmark
from conflictscore.benchmarks.harness.methods.method_opening import method_of
from conflictscore.benchmarks.harness.methods.registry import (
    BASELINE,
    COMMON_METHODS,
    LOOP,
    METHODS,
)
from conflictscore.benchmarks.harness.transcripts import Transcriber, TranscriptWriter
from conflictscore.errors import InputError
from conflictscore.graph.create import open_run
from conflictscore.graph.keywords import Model, ModelOptions
from conflictscore.loop.state import Reconsider, RunContext
from conflictscore.models.callbacks import with_handler
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.ledger import Ledger, attach
from conflictscore.models.spec import require_effort
from conflictscore.prompts import PromptSet
from conflictscore.setting_keywords import CorrectionSettings
from conflictscore.settings import Settings
from conflictscore.storage.cache import ContentCache

_REPLICATE_SEEDS = 1000
"""The number that is added to the run's seed to get a model's seed in a repetition of the run.

The large offset keeps these seeds from coinciding with small seeds that a user gives to a model.
"""


@dataclass(frozen=True)
class RunSettings:
    """The settings that affect the figures of a run, apart from its questions and models.

    The run's manifest contains all these settings, and a run can be resumed only with the same
    settings.
    """

    methods: tuple[str, ...] = COMMON_METHODS
    """The methods to run, as returned by :func:`chosen_methods`."""
    seed: int = 0
    replicate: int = 0
    """The number of this repetition in a study of several runs.

    If the number is 1 or more, answers and verdicts are sampled again, with a new seed if the model
    accepts one.
    """
    temperature: float | None = None
    """The temperature at which questions are answered.

    If the temperature is None, the answering model keeps the temperature with which it was opened.
    Models that are named by a spec are opened with temperature 0. The temperature does not affect
    claims, labels or verdicts.
    """
    reconsider: Reconsider = "worst"
    """How the paper's loop chooses the claim to reconsider; see ``RunContext``."""


def chosen_methods(names: Sequence[str], benchmark: Benchmark) -> tuple[str, ...]:
    """Return the methods with these names and the baseline, in table order, each only once."""
    if isinstance(names, str):
        raise InputError(f"methods is the string {names!r}; give a list of names")
    fits = {name: benchmark.form in method_of(name).forms for name in METHODS}
    names_offered = ", ".join(name for name in benchmark.offered if fits[name])
    if not names:
        raise InputError(f"no method is named; choose from {names_offered}")
    for name in names:
        if name not in METHODS:
            raise InputError(f"unknown method {name!r}; choose from {', '.join(METHODS)}")
        if not fits[name]:
            raise InputError(
                f"{name} answers only in free form; in multiple choice, choose from {names_offered}"
            )
        if name not in benchmark.offered and name != BASELINE:
            raise InputError(f"{benchmark.name} does not offer {name}; choose from {names_offered}")
    return tuple(m for m in METHODS if m in names or m == BASELINE)


class BenchmarkModels(ModelOptions, total=False):
    """Options for opening the models of a benchmark."""

    judge: Model | None


@dataclass(frozen=True)
class Setup:
    """The settings, models and retriever of a run. The models are open, but not called yet."""

    settings: RunSettings
    loop: Settings
    """The settings of the paper's loop, with the user's changes.

    ``context`` has the same settings, but with the benchmark's wording of the prompts.
    """
    context: RunContext
    answer_judge: LanguageModel

    @classmethod
    def open(
        cls,
        settings: RunSettings,
        loop: Settings,
        *,
        model: Model | None = None,
        retriever: BaseRetriever | None = None,
        answer_judge: Model | None = None,
        **models: Unpack[BenchmarkModels],
    ) -> "Setup":
        """Open the models and the labeler of a run."""
        if loop.max_rounds < 1:
            raise InputError(f"max_rounds is {loop.max_rounds}; give 1 to 20")
        methods = map(method_of, settings.methods)
        if settings.temperature is not None and not 0 <= settings.temperature <= 2:
            raise InputError(f"temperature is {settings.temperature}; give 0 to 2")
        # ``rag`` needs only the loop's first answer, so without another of its methods the loop
        # gives, and pays for, no second answer
        looks_again = any(method.step == LOOP and method.looks_again for method in methods)
        rounds = loop if looks_again else loop.replace(max_rounds=0)
        context = open_run(model, retriever, rounds, effort_needed=False, **models)
        if settings.temperature is not None and not takes_temperature(context.generator):
            raise InputError(f"{context.generator.name} takes no temperature; leave it out")
        grader = context.decomposer
        if answer_judge is not None:
            # only the model of this setup is used, so the run's labeler need not be opened again
            alone = loop.replace(labeler=None)
            others: dict[str, Any] = {**models, "judge": None}
            grader = open_run(answer_judge, None, alone, effort_needed=False, **others).generator
        # checked only now, since it suffices that one of the three models accepts the effort
        effort = models.get("reasoning_effort")
        require_effort(effort, context.generator, context.decomposer, grader)
        return cls(settings, loop, context, grader)

    def fitted(self, benchmark: Benchmark) -> "Setup":
        """Check the methods, and return the setup with the benchmark's prompts."""
        methods = chosen_methods(self.settings.methods, benchmark)
        context = replace(self.context, option_probabilities=benchmark.form == "mc2")
        setup = replace(self, settings=replace(self.settings, methods=methods), context=context)
        if not benchmark.wording:
            return setup
        prompts = context.prompts.worded(benchmark.wording)
        worded_context = setup._context(
            context.generator, context.decomposer, prompts, context.cache
        )
        return replace(setup, context=worded_context)

    @property
    def answering(self) -> LanguageModel:
        """The answering model, at the run's temperature."""
        return _sampled(self.context.generator, self.settings.temperature)

    @property
    def checks_last(self) -> bool:
        """Whether the loop's last answer is scored and, if it gives no reason, explained.

        As in the paper, the last answer is not scored, unless a method of the run needs the score.
        The first answer is always scored.
        """
        return "guarded-rag" in self.settings.methods

    def configuration(self, benchmark: Benchmark) -> dict[str, Any]:
        """Describe everything that affects the figures, as plain JSON for the manifest."""
        context, settings, labeler = self.context, self.settings, self.context.labeler
        return {
            "form": benchmark.form,
            "measures": list(benchmark.measures),
            **({"graded": sorted(benchmark.graded)} if benchmark.graded else {}),
            **({"falling": sorted(benchmark.falling)} if benchmark.falling else {}),
            "methods": list(settings.methods),
            "model": _described(self.answering),
            "judge": _described(context.decomposer),
            "answer_judge": _described(self.answer_judge) if benchmark.judge else None,
            "labeler": {
                "name": labeler.name,
                "identity": None if labeler.identity is None else dict(labeler.identity),
            },
            "prompts": {"set": context.prompts.name, "sha256": context.prompts.sha256},
            "max_rounds": self.loop.max_rounds,
            "max_claims": self.loop.max_claims,
            "duplicates": self.loop.duplicates,
            "seed": settings.seed,
            **({} if settings.temperature is None else {"temperature": settings.temperature}),
            **({"replicate": settings.replicate} if settings.replicate else {}),
            **({"reconsider": settings.reconsider} if settings.reconsider != "worst" else {}),
        }

    def counted(
        self, ledger: Ledger, own: ContentCache, transcript: TranscriptWriter | None = None
    ) -> tuple[RunContext, LanguageModel]:
        """Return the context and the answer judge; their calls are counted, transcribed and cached.

        Replies of deterministic models go to the user's cache. If a model is not deterministic or
        cannot be identified, all replies go to the run's own cache.
        """
        context, settings, answering = self.context, self.settings, self.answering
        models = (answering, context.decomposer, self.answer_judge)
        # one cache serves all models of a run, so a single model decides for all of them
        steady = all(m.deterministic and m.identity is not None for m in models)
        cache = context.cache if context.cache is not None and steady else own

        def counted(model: LanguageModel) -> LanguageModel:
            # None would forbid caching, so a model with unknown settings has none here
            parameters = model.parameters or {}
            # "deterministic" makes the model store its replies; the run's own cache stores all
            # replies, so that no call is paid for twice
            cached_model = replace(model, cache=cache, deterministic=True, parameters=parameters)
            return _transcribed(attach(cached_model, ledger), transcript)

        # The decomposer is not sampled again in repetitions, so equal answers have the same claims
        # and labels in all of them.
        decomposer = counted(context.decomposer)
        generator, grader = (
            decomposer
            if model is context.decomposer and not settings.replicate
            else counted(_repeated(model, settings))
            for model in (answering, self.answer_judge)
        )
        counted_context = self._context(generator, decomposer, context.prompts, cache)
        return (
            replace(counted_context, reconsider=settings.reconsider, check_last=self.checks_last),
            grader,
        )

    def _context(
        self,
        generator: LanguageModel,
        decomposer: LanguageModel,
        prompts: PromptSet,
        cache: ContentCache | None,
    ) -> RunContext:
        context = open_run(
            generator,
            self.context.retriever,
            self.context.settings.replace(prompts=prompts),
            judge=decomposer,
            cache=False if cache is None else cache,
            effort_needed=False,
        )
        return replace(context, option_probabilities=self.context.option_probabilities)


def paper_loop(**settings: Unpack[CorrectionSettings]) -> Settings:
    """Return the settings of the paper's loop, with changes.

    If no labeler is set, the default labeler is chosen when the run is opened; it depends on the
    judge.
    """
    loop_settings: dict[str, Any] = {"effort": "paper", "labeler": None, **settings}
    return Settings(**loop_settings)


def _described(model: LanguageModel) -> dict[str, Any]:
    parameters: Mapping[str, Any] | None = model.parameters
    return {
        "name": model.name,
        "endpoint": model.endpoint,
        "parameters": dict(parameters) if parameters is not None else None,
        "context_window": model.context_window,
    }


def _transcribed(model: LanguageModel, transcript: TranscriptWriter | None) -> LanguageModel:
    if transcript is None:
        return model
    transcriber = Transcriber(transcript, model.name, model.endpoint)
    callbacks = with_handler(model.chat.callbacks, transcriber)
    chat = model.chat.model_copy(update={"callbacks": callbacks})
    return replace(model, chat=chat, on_kept=transcriber.kept)


def takes_temperature(model: LanguageModel) -> bool:
    """Return whether a temperature can be set; reasoning models and some others accept none."""
    return not model.thinking_tokens and "temperature" in type(model.chat).model_fields


def _sampled(model: LanguageModel, temperature: float | None) -> LanguageModel:
    """Return the model at this temperature; above 0, replies are cached only for this run."""
    if temperature is None or temperature == getattr(model.chat, "temperature", None):
        return model
    chat = model.chat.model_copy(update={"temperature": temperature})
    parameters = {**(model.parameters or {}), "temperature": temperature}
    return replace(model, chat=chat, parameters=parameters, deterministic=temperature == 0)


def _repeated(model: LanguageModel, settings: RunSettings) -> LanguageModel:
    """Return the model for one repetition; its replies are cached separately from all others."""
    if not settings.replicate:
        return model
    chat: BaseChatModel = model.chat
    seed = {"seed": _REPLICATE_SEEDS + settings.seed} if "seed" in type(chat).model_fields else {}
    # use odd numbers, since earlier versions cached second samples under even ones; a run that is
    # resumed with this version must not find these samples
    apart = {**(model.parameters or {}), **seed, "sample": 1 + 2 * settings.replicate}
    return replace(model, chat=chat.model_copy(update=seed), parameters=apart)
