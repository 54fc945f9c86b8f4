"""What ask and score share: from options to a run, and from a run to what is printed."""

import json
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from conflictscore.errors import InputError

if TYPE_CHECKING:
    from langchain_core.retrievers import BaseRetriever
    from langgraph.graph.state import CompiledStateGraph

    from conflictscore.graph.settings import LoopSettings
    from conflictscore.nodes.state import RunContext

__all__ = [
    "chosen_spec",
    "deliver",
    "loop_settings",
    "open_context",
    "open_retriever",
    "run_graph",
]


def open_context(settings: Mapping[str, Any], **more: Any) -> "RunContext":
    """Open what a run needs, from the model options and further :class:`LoopSettings`."""
    from conflictscore.graph.create import run_context
    from conflictscore.models.ledger import Ledger

    calls, tokens = settings.get("max_calls"), settings.get("max_tokens")
    retriever = more.pop("retriever", None)
    loop = loop_settings(
        settings,
        budget_seconds=settings["budget_seconds"],
        ledger=Ledger(max_calls=calls, max_tokens=tokens) if calls or tokens else None,
        **more,
    )
    return run_context(chosen_spec(settings), retriever, loop)


def loop_settings(settings: Mapping[str, Any], **more: Any) -> "LoopSettings":
    """What shapes a run, from the options of models and evidence, and further settings."""
    from conflictscore.cli.labeling import chosen_labeler
    from conflictscore.graph.settings import LoopSettings

    return LoopSettings(
        labeler=chosen_labeler(settings),
        judge=settings["judge"],
        base_url=settings["base_url"],
        context_window=settings["context_window"],
        prompts=settings["prompts"],
        cache=not settings["no_cache"],
        duplicates=settings["duplicates"],
        max_claims=settings["max_claims"],
        **more,
    )


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
        ranking=settings.get("ranking", "bm25"),
        cache=not settings.get("no_cache", False),
    )


def run_graph(
    graph: "CompiledStateGraph[Any, Any, Any, Any]",
    start: Mapping[str, Any],
    *,
    verbose: bool,
    quiet: bool,
) -> tuple[dict[str, Any], float]:
    """Run a graph with its steps on stderr; the final state, and the seconds it took."""
    import asyncio

    from rich.console import Console

    from conflictscore.reporting.progress import RunProgress

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
    state = asyncio.run(go())
    return state, time.perf_counter() - started


def deliver(
    state: Mapping[str, Any],
    context: "RunContext",
    seconds: float,
    *,
    as_json: bool,
    log: Path | None,
) -> None:
    """Print what a run resulted in, and log it where that is wanted."""
    from rich.console import Console

    from conflictscore.nodes.state import run_of
    from conflictscore.reporting import run_log, terminal

    run = run_of(state)
    if as_json:
        click.echo(json.dumps(run.summary(texts=False), ensure_ascii=False, indent=2))
    else:
        terminal.print_run(run, Console(highlight=False, markup=False, emoji=False))
    if log:
        run_log.append_log(log, run_log.log_object(run, context, seconds))
