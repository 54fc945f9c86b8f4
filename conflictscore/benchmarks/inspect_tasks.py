"""The benchmarks as tasks of Inspect (``inspect eval conflictscore/truthfulqa``).

The steps, results and figures are those of the harness. The models are Inspect's: ``--model``
answers, the role ``judge`` takes answers apart and labels, and the role ``answer_judge`` judges
free-form answers. A role that is not given falls to the one before it.
"""

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Literal

from langchain_core.retrievers import BaseRetriever

from conflictscore.benchmarks.harness.answerable import with_documents
from conflictscore.benchmarks.harness.benchmark import Benchmark, Form
from conflictscore.benchmarks.harness.manifest import Manifest, versions
from conflictscore.benchmarks.harness.records import Question
from conflictscore.benchmarks.harness.session import now
from conflictscore.benchmarks.harness.setup import RunSettings, chosen_methods, refuse_methods
from conflictscore.benchmarks.harness.shortening import shortened
from conflictscore.benchmarks.harness.statistics import require_statistics
from conflictscore.benchmarks.registry import BENCHMARKS, open_benchmark, usual_methods
from conflictscore.errors import ConfigurationError
from conflictscore.prompts import PromptSet
from conflictscore.retrieval.opening import PASSAGE_TOKENS, open_retrieval
from conflictscore.retrieval.ranking import Ranking
from conflictscore.storage.cache import ContentCache

try:
    from inspect_ai import Task, task
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ChatMessageAssistant, ModelOutput
    from inspect_ai.solver import Generate, Solver, TaskState, solver
except ModuleNotFoundError:
    raise ConfigurationError(
        "Inspect tasks need the package inspect-ai: pip install 'conflictscore[inspect]'"
    ) from None

from conflictscore.benchmarks.inspect_model import SampleStoppedError
from conflictscore.benchmarks.inspect_samples import Bench
from conflictscore.benchmarks.inspect_scores import RESULT, Kept, Measured, metrics_of, verdicts

__all__ = ["conflicts", "natconfqa", "ramdocs", "truthfulqa", "wikicontradict"]

_METHODS = usual_methods(BENCHMARKS["truthfulqa"].methods)
"""A list, since Inspect logs it; all tasks have these."""
_Texts = str | list[str]
"""One, or several: ``-T methods=rag,control-rag`` comes as a list."""


@task
def truthfulqa(
    data: str,
    form: Form = "multiple-choice",
    search: _Texts | None = None,
    docs: _Texts | None = None,
    methods: _Texts = _METHODS,
    sample: int | None = None,
    seed: int = 0,
    missing: Literal["fail", "skip"] = "fail",
    top_k: int = 10,
    passage_tokens: int = PASSAGE_TOKENS,
    ranking: Ranking = "bm25",
    labeler: Literal["json", "choice"] = "json",
    max_rounds: int = 1,
    max_claims: int | None = None,
    duplicates: Literal["vote", "once"] = "vote",
    guard_margin: float = 0.0,
    resample_temperature: float = 0.7,
    context_window: int | None = None,
    prompts: str | None = None,
) -> Task:
    """TruthfulQA: RAG, Control-RAG, Regenerated-RAG and their controls over the same documents.

    Args:
        data: The official CSV.
        form: ``multiple-choice`` or ``free-form``.
        search: Where to search, such as ``recorded:FILE`` or ``serper``.
        docs: Files and folders to search.
        methods: Of ``rag``, ``control-rag``, ``regenerated-rag``, ``guarded-rag``, ``resample``,
            ``placebo`` and ``typed-rag``, or ``all``; ``rag`` is always run.
        sample: Only so many questions, drawn by seed.
        seed: Decides the order of options, the sample, the placebos' donors and the second sample.
        missing: Whether questions that a recording does not have end the run or are left out.
        top_k: Documents a question.
        passage_tokens: Tokens of a passage that longer documents are cut to; 0 leaves them whole.
        ranking: How one's own documents and passages are ranked.
        labeler: ``json``, or ``choice`` where the judge gives log-probabilities.
        max_rounds: The most regenerations, 1 to 20.
        max_claims: The most claims of an answer to label; None for all.
        duplicates: Whether near-duplicate documents count each, or ``once`` on each side.
        guard_margin: By how much more support a flip must have to stand in ``guarded-rag``.
        resample_temperature: The sampling temperature of ``resample``.
        context_window: Tokens of prompt and reply; by default what Inspect knows of the model.
        prompts: A folder of templates that override the default ones.

    Raises:
        InputError: The data or a setting cannot be used; says which and why.
        ConfigurationError: A key, an extra or the prompt folder is missing or wrong.
    """
    benchmark = open_benchmark("truthfulqa", data, form=form, seed=seed)
    retriever = open_retrieval(
        ",".join(_several(search)) or None,
        docs=_several(docs),
        top_k=top_k,
        passage_tokens=passage_tokens,
        ranking=ranking,
    )
    settings = RunSettings(
        methods=_chosen(methods, benchmark),
        max_rounds=max_rounds,
        max_claims=max_claims,
        duplicates=duplicates,
        guard_margin=guard_margin,
        resample_temperature=resample_temperature,
        seed=seed,
    )
    return _task(
        benchmark.selected(sample=sample, seed=seed)[0],
        settings,
        retriever=retriever,
        missing=missing,
        labeler=labeler,
        context_window=context_window,
        prompts=prompts,
    )


def _over_own_documents(name: str) -> Callable[..., Task]:
    """The task of a benchmark whose questions bring their documents."""
    entry = BENCHMARKS[name]

    def made(
        data: str,
        form: Form | None = None,
        methods: _Texts = _METHODS,
        sample: int | None = None,
        seed: int = 0,
        passage_tokens: int = 0,
        ranking: Ranking = "bm25",
        labeler: Literal["json", "choice"] = "json",
        max_rounds: int = 1,
        max_claims: int | None = None,
        duplicates: Literal["vote", "once"] = "vote",
        guard_margin: float = 0.0,
        resample_temperature: float = 0.7,
        context_window: int | None = None,
        prompts: str | None = None,
    ) -> Task:
        opened = open_benchmark(name, data, form=form, seed=seed)
        benchmark, _ = opened.selected(sample=sample, seed=seed)
        if passage_tokens:
            benchmark = shortened(benchmark, passage_tokens, ranking=ranking)
        settings = RunSettings(
            methods=_chosen(methods, benchmark),
            max_rounds=max_rounds,
            max_claims=max_claims,
            duplicates=duplicates,
            guard_margin=guard_margin,
            resample_temperature=resample_temperature,
            seed=seed,
        )
        return _task(
            benchmark,
            settings,
            retriever=None,
            missing="fail",
            labeler=labeler,
            context_window=context_window,
            prompts=prompts,
        )

    made.__name__ = made.__qualname__ = name
    made.__doc__ = f"""{name}: {entry.summary}.

    The arguments are those of :func:`truthfulqa`, less those that say where to search.

    Args:
        data: {entry.data}.
        form: {" or ".join(entry.forms)}; by default the first.
        methods: Of {", ".join(entry.methods)}, or all; rag is always run.
        passage_tokens: Tokens of a passage that longer documents are cut to; 0 leaves them whole.
    """
    return task(made)


ramdocs = _over_own_documents("ramdocs")
conflicts = _over_own_documents("conflicts")
natconfqa = _over_own_documents("natconfqa")
wikicontradict = _over_own_documents("wikicontradict")


def _several(given: _Texts | None) -> list[str]:
    return [given] if isinstance(given, str) else list(given or ())


def _chosen(methods: _Texts, benchmark: Benchmark) -> tuple[str, ...]:
    names = _several(methods)
    return chosen_methods(benchmark.offered if "all" in names else names)


def _task(
    benchmark: Benchmark,
    settings: RunSettings,
    *,
    retriever: BaseRetriever | None,
    missing: Literal["fail", "skip"],
    labeler: Literal["json", "choice"],
    context_window: int | None,
    prompts: str | None,
) -> Task:
    require_statistics()
    refuse_methods(benchmark, settings.methods)
    questions, left_out = with_documents(benchmark.questions, retriever, missing)
    benchmark = replace(benchmark, questions=questions)
    loaded = PromptSet.load(folder=Path(prompts) if prompts else None)
    templates = loaded.worded(benchmark.wording)
    manifest = Manifest(
        benchmark=benchmark.name,
        created=now(),
        configuration={
            "form": benchmark.form,
            "measures": list(benchmark.measures),
            "prompts": {"set": templates.name, "sha256": templates.sha256},
            "left_out_without_recording": len(left_out),
        },
        hashes=dict(benchmark.hashes),
        versions=versions(),
    )
    bench = Bench(benchmark, settings, retriever, labeler, context_window, templates)
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


def _methods(bench: Bench, measured: Measured) -> Solver:
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
