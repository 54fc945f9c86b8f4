"""Runs a benchmark from Python, with any chat model and any retriever."""

from collections.abc import Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Unpack

from langchain_core.retrievers import BaseRetriever

from conflictscore.benchmarks.harness.definition import Benchmark, Form
from conflictscore.benchmarks.harness.failed_steps import failures
from conflictscore.benchmarks.harness.listener import Listener
from conflictscore.benchmarks.harness.manifest import Manifest, now, versions
from conflictscore.benchmarks.harness.methods.registry import DOCUMENTS
from conflictscore.benchmarks.harness.outcome import BenchmarkRun, summarised, write_figures
from conflictscore.benchmarks.harness.question_documents import with_documents
from conflictscore.benchmarks.harness.retriever_identity import (
    retrieved_hashes,
    retriever_identity,
)
from conflictscore.benchmarks.harness.session import Session
from conflictscore.benchmarks.harness.setup import (
    BenchmarkModels,
    RunSettings,
    Setup,
    chosen_methods,
    paper_loop,
)
from conflictscore.benchmarks.harness.statistics import require_statistics
from conflictscore.benchmarks.harness.store import RunStore
from conflictscore.benchmarks.harness.transcripts import TranscriptWriter
from conflictscore.benchmarks.registry import open_benchmark, usual_methods
from conflictscore.errors import InputError
from conflictscore.graph.binding import run_for_sync_caller
from conflictscore.graph.keywords import Model, explicit_kwargs, split_options
from conflictscore.labelers import Labeler, LabelerFactory
from conflictscore.models.ledger import Ledger
from conflictscore.models.prices import PriceTable
from conflictscore.prompts import PromptSet
from conflictscore.records import Duplicates, Usage
from conflictscore.settings import Settings
from conflictscore.storage.cache import ContentCache


@dataclass(frozen=True)
class Limits:
    """Limits on the speed and the token usage of a run, which do not affect the figures."""

    concurrency: int = 4
    """The number of questions that are processed at the same time. Each question may have several
    calls in flight.

    The default was chosen by hand. A higher number is faster until the endpoint limits the rate of
    calls; a lower one never changes an answer.
    """
    max_tokens: int | None = None
    """The maximum number of tokens, input and output together, over all sessions of the run."""

    def __post_init__(self) -> None:
        for name, limit in asdict(self).items():
            if limit is not None and limit <= 0:
                raise InputError(f"{name} is {limit}; it must be above 0")


async def arun_benchmark(
    benchmark: Benchmark,
    folder: Path,
    setup: Setup,
    *,
    limits: Limits,
    retrieval: Mapping[str, Any],
    hashes: Mapping[str, str],
    selection: Mapping[str, Any],
    missing: Literal["fail", "skip"] = "fail",
    retry_failed: bool = False,
    prices: PriceTable | None = None,
    listener: Listener | None = None,
    compare: Sequence[tuple[str, str]] = (),
    study: Sequence[Path] = (),
    transcripts: bool = True,
) -> BenchmarkRun:
    """Run a benchmark, or resume it if its folder already contains part of the run.

    Every step is recorded as soon as it is finished, and every reply within a step is cached when
    it arrives. So if a run is interrupted, only the calls in flight are lost.

    Args:
        benchmark: The benchmark with the questions to ask, which may be a sample.
        folder: The folder of the run.
        setup: The models, prompts and settings of the run.
        limits: The speed and the token budget.
        retrieval: What the manifest says about the search, besides the retriever's description.
        hashes: Hashes of further files that the run depends on, such as a recording.
        selection: What the manifest says about the sample.
        missing: What happens if a question is missing from a recording; see
            :func:`run_benchmark`.
        retry_failed: Whether to repeat steps that failed in an earlier session.
        prices: The prices of calls. The default is the providers' published prices.
        listener: An object that is notified of the run's progress.
        compare: Pairs of methods to compare, besides the usual comparisons.
        study: The folders of the other runs of a study. These runs share their documents, their
            cached replies and the token budget.
        transcripts: Whether to save the prompt and reply of each call.
    """
    require_statistics()  # a missing package ends the run here, before any call is paid for
    setup = setup.fitted(benchmark)
    questions, left_out = with_documents(benchmark.questions, setup.context.retriever, missing)
    if not questions:
        raise InputError(f"{benchmark.name}: there are no questions left to run")
    configuration = {
        **setup.configuration(benchmark),
        "retrieval": _retrieval(retrieval, benchmark, setup),
        "selection": {**selection, "left_out_without_recording": len(left_out)},
    }
    manifest = Manifest(
        benchmark=benchmark.name,
        created=now(),
        configuration=configuration,
        hashes={
            **benchmark.hashes,
            **retrieved_hashes(_searched(benchmark, setup)),
            **hashes,
        },
        versions=versions(),
        compare=tuple(compare),
    )
    templates = setup.context.prompts.texts
    with RunStore.open(folder, manifest, questions, templates) as store:
        prices = PriceTable.load() if prices is None else prices
        # the runs of a study that have not started yet have no manifest
        study_runs = [RunStore.read(other) for other in study if _has_started(other)]
        for study_run in study_runs:
            _share_documents(study_run, store)
        # the runs of a study share their cached replies
        cache_folder = store.folder.parent if study else store.folder
        with (
            closing(ContentCache(cache_folder / "calls.sqlite")) as own,
            TranscriptWriter(store.folder) if transcripts else nullcontext() as transcript,
        ):
            ledger = Ledger(
                prices=prices,
                max_tokens=limits.max_tokens,
                spent=_usage_so_far(store, *study_runs),
            )
            session = Session(
                store,
                *setup.counted(ledger, own, transcript),
                benchmark,
                setup.settings.methods,
                ledger,
                listener or Listener(),
                failures(store.done.values()) if retry_failed else set(),
            )
            budget_error = await session.run(limits.concurrency)
        notes = [*benchmark.notes, *store.notes]
        if left_out:
            notes.append(
                f"questions left out because they are not in the recording: {len(left_out)}"
            )
        run = summarised(store, prices, budget_error=budget_error, notes=notes, compare=compare)
        write_figures(run)
        return run


def _has_started(folder: Path) -> bool:
    return (folder / "manifest.json").exists()


def _usage_so_far(*paid_runs: RunStore) -> dict[str, Usage]:
    """Add up the usage of all earlier sessions, by model; it counts towards the budget."""
    usage_by_model: dict[str, Usage] = {}
    for paid_run in paid_runs:
        for record in paid_run.records():
            for name, usage in record.usage.items():
                usage_by_model[name] = usage_by_model.get(name, Usage()) + usage
    return usage_by_model


def _searched(benchmark: Benchmark, setup: Setup) -> BaseRetriever | None:
    """Return the retriever if at least one question has no documents, otherwise None."""
    needs_search = any(not question.documents for question in benchmark.questions)
    return setup.context.retriever if needs_search else None


def _retrieval(retrieval: Mapping[str, Any], benchmark: Benchmark, setup: Setup) -> dict[str, Any]:
    """Add a description of the retriever to the caller's ``retrieval`` entries in the manifest.

    The retriever is described here for every run, whether it was started from Python or a command.
    So no run can be resumed with a different retriever.
    """
    identity = retriever_identity(_searched(benchmark, setup))
    return {**retrieval, **({"retriever": identity} if identity else {})}


def _share_documents(study_run: RunStore, store: RunStore) -> None:
    """Copy the documents that another run of the study has already retrieved and paid for.

    The copies have no usage, since the usage of all runs of a study is added up.
    """
    question_ids = {question.id for question in store.questions}
    for place, record in study_run.done.items():
        has_documents = record.step == DOCUMENTS and record.error is None
        if has_documents and record.question in question_ids and place not in store.done:
            store.append(record.model_copy(update={"usage": {}, "seconds": 0.0}))


class BenchmarkOptions(BenchmarkModels, total=False):
    """The loop settings that a benchmark accepts, and the options for opening its models."""

    labeler: Labeler | LabelerFactory | str | None
    prompts: PromptSet | str | Path | None
    max_claims: int | None
    duplicates: Duplicates
    max_rounds: int


@explicit_kwargs(BenchmarkOptions)
def run_benchmark(
    benchmark: str | Benchmark,
    folder: str | Path,
    *,
    data: str | Path | Sequence[str | Path] | None = None,
    form: Form | None = None,
    model: Model | None = None,
    retriever: BaseRetriever | None = None,
    methods: Sequence[str] | None = None,
    answer_judge: Model | None = None,
    sample: int | None = None,
    seed: int = 0,
    temperature: float | None = None,
    concurrency: int = Limits.concurrency,
    max_tokens: int | None = None,
    prices: PriceTable | None = None,
    missing: Literal["fail", "skip"] = "fail",
    retry_failed: bool = False,
    transcripts: bool = True,
    **settings: Unpack[BenchmarkOptions],
) -> BenchmarkRun:
    """Run a benchmark, or resume the run in ``folder``; no call is paid for twice.

    ```
    run = run_benchmark("truthfulqa", "runs/mc", data="TruthfulQA.csv", model=chat, retriever=mine)
    print(run.figures.paired)
    ```

    Args:
        benchmark: A name in ``BENCHMARKS``, or your own benchmark.
        folder: The folder of the run. To resume the run, repeat the call with the same folder.
        data: The benchmark's official file, or a list of files if the benchmark accepts several.
            This argument is required if ``benchmark`` is a name. Your own benchmark comes with its
            questions.
        form: The form of the questions, if ``benchmark`` is a name. The default is the benchmark's
            first form.
        model: The answering model, as a spec or as any LangChain chat model.
        retriever: Any LangChain retriever. No retriever is needed if the questions come with
            documents.
        methods: Names from ``METHODS`` that the benchmark offers; ``rag`` is always run. The
            default is the papers' methods and ``guarded-rag``.
        answer_judge: The model that judges free-form answers. The default is ``judge``.
        sample: The number of questions in a random sample. By default, all questions are asked.
        seed: The seed that determines the sample and the order of options.
        temperature: The temperature of the answers, from 0 to 2. By default, a model object keeps
            its own temperature, and a model named by a spec answers at temperature 0.
        concurrency: The number of questions that are processed at the same time.
        max_tokens: The number of tokens after which the run stops.
        prices: The prices of calls. The default is the providers' published prices.
        missing: What happens if a question is missing from a recording: ``fail`` ends the run, and
            ``skip`` leaves the question out.
        retry_failed: Whether to repeat steps that failed in an earlier session.
        transcripts: Whether to save each call's prompt and reply in the folder, in compressed form.
        **settings: The keywords listed below. All other settings are those of the paper's loop
            (``effort="paper"``). Calls that your own labeler makes are not counted. The default
            prompt set is the one that produced the benchmark's published figures.

    Raises:
        InputError: The data, the folder or a setting cannot be used. The message says why.
        ConfigurationError: A model, key, extra or prompt folder is missing or wrong.
    """
    if missing not in ("fail", "skip"):
        raise InputError(f"the argument missing is {missing!r}; give fail or skip")
    if isinstance(benchmark, str):
        if data is None:
            raise InputError(f"the benchmark {benchmark} needs data, its official file")
        benchmark = open_benchmark(benchmark, data, form=form, seed=seed)
    elif data is not None or form is not None:
        raise InputError("data and form apply only to a benchmark given by name")
    selected_benchmark, selection = benchmark.selected(sample, seed)
    method_names = usual_methods(selected_benchmark.offered) if methods is None else methods
    run_choices = RunSettings(
        chosen_methods(method_names, selected_benchmark), seed, temperature=temperature
    )
    prompt_set = PromptSet.open(settings.get("prompts"), base=selected_benchmark.prompt_set)
    # ``paper_loop`` gets only the caller's own settings, since the defaults of ``loop`` would
    # replace the paper's
    loop, models = split_options(settings)
    own = {name: getattr(loop, name) for name in settings.keys() & {*Settings.names()}}
    setup = Setup.open(
        run_choices,
        paper_loop(**{**own, "prompts": prompt_set}),
        model=model,
        retriever=retriever,
        answer_judge=answer_judge,
        **models,
    )
    return run_for_sync_caller(
        arun_benchmark(
            selected_benchmark,
            Path(folder),
            setup,
            limits=Limits(concurrency, max_tokens),
            retrieval={} if retriever else {"documents": "of the questions"},
            hashes={},
            selection=selection,
            missing=missing,
            retry_failed=retry_failed,
            prices=prices,
            transcripts=transcripts,
        )
    )
