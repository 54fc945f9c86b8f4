"""What several commands share: from options to a run, and from a run to what is printed."""

import gc
import json
import time
from collections.abc import AsyncIterator, Coroutine, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import click

from conflictscore.errors import InputError
from conflictscore.graph.efforts import EFFORTS

if TYPE_CHECKING:
    from langchain_core.retrievers import BaseRetriever
    from langgraph.graph.state import CompiledStateGraph

    from conflictscore.graph.settings import LoopSettings
    from conflictscore.labelers.protocol import Labeler, LabelerFactory
    from conflictscore.labelers.registry import LabelerName
    from conflictscore.models.language_model import LanguageModel
    from conflictscore.nodes.state import RunContext
    from conflictscore.records import Run
    from conflictscore.storage.cache import ContentCache

__all__ = [
    "OpenLabeler",
    "chosen_labeler",
    "chosen_spec",
    "deliver",
    "judging",
    "loop_settings",
    "open_context",
    "open_labeler",
    "open_retriever",
    "run_async",
    "run_graph",
]

T = TypeVar("T")

_GARBAGE = (20_000, 10, 10)
"""Objects after which garbage is looked for, and how much more seldom among older ones. Python's
own 700 are fewer than one judge's call makes and frees again."""


def open_context(settings: Mapping[str, Any], **more: Any) -> "RunContext":
    """Open what a run needs, from the model options and further :class:`LoopSettings`."""
    from conflictscore.graph.create import run_context
    from conflictscore.models.ledger import Ledger

    calls, tokens = settings.get("max_calls"), settings.get("max_tokens")
    corrects = ("regeneration", "disputed", "unsettled", "look_further", "guard")
    more |= {name: settings[name] for name in corrects if name in settings}
    if effort := settings.get("effort"):
        unasked = {name: value for name, value in EFFORTS[effort].items() if name not in settings}
        more = unasked | {"effort": effort} | more
    retriever = more.pop("retriever", None)
    loop = loop_settings(
        settings,
        budget_seconds=settings["budget_seconds"],
        ledger=Ledger(max_calls=calls, max_tokens=tokens) if calls or tokens else None,
        min_coverage=settings.get("min_coverage"),
        **more,
    )
    return run_context(chosen_spec(settings), retriever, loop)


def loop_settings(settings: Mapping[str, Any], **more: Any) -> "LoopSettings":
    """What shapes a run, from the options of models and evidence, and further settings."""
    from conflictscore.graph.settings import LoopSettings

    return LoopSettings(
        labeler=chosen_labeler(settings),
        **_of_models(settings),
        duplicates=settings["duplicates"],
        max_claims=settings["max_claims"],
        trust=settings.get("trust"),
        **more,
    )


def _of_models(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What the model options say, by the names of the loop's settings."""
    alike = ("judge", "base_url", "context_window", "reasoning_effort", "prompts")
    return {**{name: settings[name] for name in alike}, "cache": not settings["no_cache"]}


def chosen_spec(settings: Mapping[str, Any]) -> str:
    """The answering model that the model options name, or else the default one."""
    from conflictscore.models.spec import default_spec

    named: str | None = settings["model"]
    if named is not None:
        return named
    if settings["base_url"]:
        raise InputError("--base-url needs --model NAME, a model of that endpoint")
    spec = default_spec()
    if spec == "local":
        click.echo("No OPENAI_API_KEY is set: using the embedded local model.", err=True)
    return spec


def judging(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a command in which nothing answers: its one model is the judge."""
    return {**settings, "model": settings["judge"] or settings["model"], "judge": None}


def open_retriever(settings: Mapping[str, Any]) -> "BaseRetriever":
    """Open what the search options describe; without passage options, documents stay whole."""
    from conflictscore.retrieval.opening import open_retrieval

    return open_retrieval(
        settings["search"],
        docs=settings["docs"],
        top_k=settings["top_k"],
        read_pages=settings["read_pages"],
        passage_tokens=settings.get("passage_tokens", 0),
        passages=settings.get("passages", 1),
        exclude_sites=settings.get("exclude_sites", ()),
        references=settings.get("references"),
    )


def run_graph(
    graph: "CompiledStateGraph[Any, Any, Any, Any]",
    start: Mapping[str, Any],
    *,
    verbose: bool,
    quiet: bool,
) -> tuple[dict[str, Any], float]:
    """Run a graph with its steps on stderr; the final state, and the seconds it took."""
    from rich.console import Console

    from conflictscore.reporting.displays import RunProgress

    console = Console(stderr=True, highlight=False)
    enabled = not quiet and (verbose or console.is_terminal)

    async def go() -> dict[str, Any]:
        state: dict[str, Any] = {}
        events = cast(
            "AsyncIterator[tuple[str, dict[str, Any]]]",
            graph.astream(start, stream_mode=["custom", "values"]),
        )
        with RunProgress(console, enabled=enabled) as progress:
            async for kind, item in events:
                if kind == "custom":
                    progress.show(item)
                else:
                    state = item
        return state

    started = time.perf_counter()
    state = run_async(go())
    return state, time.perf_counter() - started


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run a command's coroutine, now that all it needs is loaded.

    Garbage collection is on from here, more seldom than usual, and told not to walk what is loaded
    each time, of which every judge's call would bear a part.
    """
    import asyncio

    gc.freeze()
    gc.set_threshold(*_GARBAGE)
    gc.enable()
    return asyncio.run(work)


def deliver(
    state: Mapping[str, Any],
    context: "RunContext",
    seconds: float,
    *,
    as_json: bool,
    log: Path | None,
) -> "Run":
    """Log a run, where that is wanted, and print it; a failure of the one does not stop the other.

    Returns:
        The run.
    """
    from rich.console import Console

    from conflictscore.nodes.outcome import run_of
    from conflictscore.reporting import run_log, terminal

    run = run_of(state)
    try:
        if log:
            run_log.append_log(log, run_log.log_object(run, context, seconds))
    finally:
        if as_json:
            click.echo(json.dumps(run.summary(texts=False), ensure_ascii=False, indent=2))
        else:
            terminal.print_run(run, Console(highlight=False, markup=False, emoji=False))
    return run


_OPTIONS = ("nli_model", "certain", "calibration", "unquoted")
"""The options that are for some labelers only."""


class OpenLabeler(NamedTuple):
    """A labeler with the model and the cache that it uses."""

    labeler: "Labeler"
    cache: "ContentCache | None"
    model: "LanguageModel | None"
    """The language model that it asks; None where it asks none."""

    @property
    def local(self) -> bool:
        """Whether it runs on this machine, where more at a time gains nothing."""
        return self.model is None or self.model.is_local


def chosen_labeler(
    settings: Mapping[str, Any], *, calibrated: bool = True
) -> "Labeler | LabelerName | LabelerFactory | None":
    """The labeler that the model options name; None for the default one.

    What needs no language model is opened here, so that a wrong folder is found before one is.

    Args:
        settings: The options.
        calibrated: Whether an NLI model is used with the calibration in its folder.

    Raises:
        InputError: An option is given that belongs to other labelers.
        ConfigurationError: What the labeler needs is missing or wrong.
    """
    from conflictscore.labelers.calibration import UNCALIBRATED
    from conflictscore.labelers.registry import LABELERS, takers

    named: LabelerName | None = settings["labeler"]
    given = {option: settings[option] for option in _OPTIONS if settings[option] is not None}
    for option in given:
        if named not in takers(option):
            known = " or ".join(f"--labeler {name}" for name in takers(option))
            raise InputError(f"--{option.replace('_', '-')} needs {known}")
    if named is None:
        return None
    kind = LABELERS[named]
    if not calibrated and kind.needs == "nothing" and "calibration" in kind.options:
        given.setdefault("calibration", UNCALIBRATED)
    return kind.open(**given) if given or kind.needs != "model" else named


def open_labeler(settings: Mapping[str, Any], *, calibrated: bool = True) -> OpenLabeler:
    """Open the labeler that the model options name; no language model where it needs none.

    Args:
        settings: The options.
        calibrated: Whether an NLI model is used with the calibration in its folder.
    """
    from conflictscore.graph.create import run_context
    from conflictscore.graph.settings import LoopSettings
    from conflictscore.labelers.registry import LABELERS
    from conflictscore.storage.cache import ContentCache

    kind = LABELERS.get(settings["labeler"])
    chosen = chosen_labeler(settings, calibrated=calibrated)
    if kind and kind.needs == "nothing":
        cache = None if settings["no_cache"] else ContentCache.default()
        return OpenLabeler(cast("Labeler", chosen), cache, None)
    loop = LoopSettings(labeler=chosen, **_of_models(settings))
    context = run_context(chosen_spec(settings), None, loop)
    return OpenLabeler(context.labeler, context.cache, context.decomposer)
