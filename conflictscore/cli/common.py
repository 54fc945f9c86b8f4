"""Code that commands share: it turns options into a run, and a run into output."""

import gc
import json
import os
import time
from collections.abc import AsyncIterator, Coroutine, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from conflictscore.cli.options import settings_in
from conflictscore.errors import InputError

if TYPE_CHECKING:
    from langchain_core.retrievers import BaseRetriever
    from langgraph.graph.state import CompiledStateGraph
    from rich.console import Console

    from conflictscore.labelers.protocol import Labeler
    from conflictscore.loop.state import RunContext
    from conflictscore.models.language_model import LanguageModel
    from conflictscore.records import Run
    from conflictscore.settings import Settings
    from conflictscore.storage.cache import ContentCache

T = TypeVar("T")

COLLECT_AFTER = (5000, 20, 10)
"""The thresholds of Python's garbage collection while a command runs.

Python's own thresholds are lower, and a command would spend more processor time on searching for
garbage, of which there is little. With higher thresholds, more garbage would wait in memory. Chosen
by hand.
"""


def open_context(
    options: Mapping[str, Any],
    *,
    retriever: "BaseRetriever | None" = None,
    at_once: int | None = None,
    **settings: Any,
) -> "RunContext":
    """Open the models and labeler of a run.

    ``settings`` may contain defaults for options that the user did not give. ``at_once`` limits the
    calls in flight to an endpoint (None: 16). The option ``--max-calls`` limits all calls of the
    run.
    """
    from conflictscore.graph.create import open_run
    from conflictscore.models.ledger import Ledger

    budget = options.get("max_calls")  # some commands lack this option
    ledger = Ledger(max_calls=budget) if budget else None
    loop_settings, models = run_settings(options, **settings)
    return open_run(
        chosen_spec(options), retriever, loop_settings, **models, max_calls=at_once, ledger=ledger
    )


def load_early(options: Mapping[str, Any]) -> None:
    """Begin to load the embedded model, if the options name it, before heavy modules are imported.

    Loading takes one core, and so do the imports. A model that is not downloaded is left alone.
    """
    spec = options["model"]
    if spec is None and not (options["base_url"] or os.environ.get("OPENAI_API_KEY")):
        spec = "local"
    provider, _, name = (spec or "").partition("?")[0].partition(":")
    if provider != "local":
        return
    from conflictscore.models.local import resolve
    from conflictscore.models.local.server import CONTEXT_WINDOW, start_in_background
    from conflictscore.storage.fetching import fetched

    weights, window = resolve(name), settings_in(options).get("context_window")
    if path := weights if isinstance(weights, Path) else fetched(weights):
        start_in_background(path, context_window=window or CONTEXT_WINDOW)


def run_settings(options: Mapping[str, Any], **more: Any) -> "tuple[Settings, dict[str, Any]]":
    """Return the settings from the options, and the keyword arguments for the run's models."""
    from conflictscore.graph.keywords import split_options

    keywords = {**more, **settings_in(options)}
    keywords |= {"judge": options["judge"], "base_url": options["base_url"]}
    return split_options({**keywords, "cache": not options["no_cache"]})


def chosen_spec(settings: Mapping[str, Any]) -> str:
    """Return the answering model named by the options, or the default model."""
    from conflictscore.models.spec import default_spec

    spec: str | None = settings["model"]
    if spec is not None:
        return spec
    if settings["base_url"]:
        raise InputError("--base-url needs --model NAME, where NAME is a model at that endpoint")
    spec = default_spec()
    if spec == "local":
        click.echo("OPENAI_API_KEY is not set: using the embedded local model.", err=True)
    return spec


def open_single_model(spec: str, settings: Mapping[str, Any]) -> "LanguageModel":
    """Open a model with the endpoint, window, effort and cache from the options."""
    from conflictscore.models.spec import open_model
    from conflictscore.storage.cache import ContentCache

    return open_model(
        spec,
        base_url=settings["base_url"],
        context_window=settings["context_window"],
        cache=None if settings["no_cache"] else ContentCache.default(),
        reasoning_effort=settings["reasoning_effort"],
    )


def judging(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options with the judge as the only model, for commands that generate no answer."""
    return {**settings, "model": settings["judge"] or settings["model"], "judge": None}


def open_retriever(settings: Mapping[str, Any]) -> "BaseRetriever":
    """Open the search that the options describe. Without passage options, documents are not cut."""
    from conflictscore.retrieval.opening import open_retrieval

    return open_retrieval(
        settings["search"],
        docs=settings["docs"],
        top_k=settings["top_k"],
        read_pages=settings["read_pages"],
        passage_tokens=settings.get("passage_tokens", 0),
        references=settings.get("references"),
    )


def run_graph(
    graph: "CompiledStateGraph[Any, Any, Any, Any]",
    start: Mapping[str, Any],
    context: "RunContext",
    options: Mapping[str, Any],
    notes: Iterable[str] = (),
) -> "Run":
    """Run a graph and show its steps on stderr; then log and print the run as the options say.

    The run is printed even if it cannot be logged. ``notes`` come before the run's own notes.
    """
    from rich.console import Console

    from conflictscore.nodes.record import run_of
    from conflictscore.reporting import run_log, terminal
    from conflictscore.reporting.displays import RunProgress

    console = Console(stderr=True, highlight=False)
    shows_progress = not options["quiet"] and console.is_terminal

    async def go() -> dict[str, Any]:
        state: dict[str, Any] = {}
        # LangGraph's types do not say that several modes yield pairs of mode and update
        events = cast(
            "AsyncIterator[tuple[str, dict[str, Any]]]",
            graph.astream(start, stream_mode=["custom", "values"]),
        )
        with RunProgress(console, visible=shows_progress) as progress:
            async for kind, update in events:
                if kind == "custom":
                    progress.show(update)
                else:
                    state = update
        return state

    start_seconds = time.perf_counter()
    state = run_async(go())
    seconds = time.perf_counter() - start_seconds
    state["notes"] = [*notes, *state["notes"]]
    run = run_of(state)
    try:
        if log := options["log"]:
            run_log.append_log(log, run_log.log_object(run, context, seconds))
    finally:
        if options["as_json"]:
            click.echo(json.dumps(run.summary(texts=False), ensure_ascii=False, indent=2))
        else:
            terminal.print_run(run, plain_console(), details=options["details"])
    return run


def plain_console() -> "Console":
    """Return a console for tables, which prints untrusted text as it is, without markup."""
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False)


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run a command's coroutine with garbage collection on.

    The collection is off until then, which makes the start faster (``cli/__init__.py``). Modules
    loaded so far are exempt from collection, since they stay loaded. The collection runs less often
    than by default, since it would take a tenth of the time of a call.
    """
    import asyncio

    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)
    gc.enable()
    return asyncio.run(work)


def open_labeler_of(options: Mapping[str, Any]) -> "tuple[Labeler, ContentCache | None, bool]":
    """Open the labeler that the options name, and a language model if the labeler needs one.

    Returns:
        The labeler, its cache, and whether it runs on this machine, where parallel calls would gain
        nothing.
    """
    from conflictscore.graph.create import open_run
    from conflictscore.labelers.registry import LABELERS, open_labeler, parse_labeler
    from conflictscore.storage.cache import ContentCache

    spec = options["labeler"]
    if spec and LABELERS[parse_labeler(spec)[0]].needs == "nothing":
        cache = None if options["no_cache"] else ContentCache.default()
        # without a judging model, `open_labeler` returns no factory
        return cast("Labeler", open_labeler(spec)), cache, True
    # commands that measure labels default to the paper's labeler: one call per pair (Table 7)
    settings, models = run_settings(options, effort="paper")
    context = open_run(chosen_spec(options), None, settings, **models)
    return context.labeler, context.cache, context.decomposer.is_local
