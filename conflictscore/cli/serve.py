"""conflictscore serve."""

import os
import sys
from dataclasses import fields
from functools import partial
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

import click

from conflictscore.cli import service_log
from conflictscore.cli.common import open_context, open_retriever
from conflictscore.cli.options import (
    with_correction_options,
    with_model_choice,
    with_passage_options,
    with_scoring_options,
    with_search_options,
)
from conflictscore.cli.serving import keys_of_callers, with_door_options, with_runs_options
from conflictscore.cli.short_help import ManyDocs
from conflictscore.cli.workers import (
    Worker,
    divided,
    opened_listener,
    refuse_models_of_their_own,
    run_workers,
    serve_until_stopped,
)
from conflictscore.storage.cache import STORE

if TYPE_CHECKING:
    from fastapi import FastAPI

    from conflictscore.middleware.service.service import Service

__all__ = ["serve"]

_CALLS = 64

_SERVE_EXAMPLES = """\b
Examples:
  conflictscore serve --docs notes/
  conflictscore serve --model my-model --base-url http://localhost:8000/v1 --search searxng
  conflictscore serve --mode observe --docs notes/ --runs-file runs.sqlite
  conflictscore serve --host 0.0.0.0 --key-file keys.txt --on-failure refuse --docs notes/

\b
Then, with any OpenAI client:
  curl http://127.0.0.1:8400/v1/chat/completions -H 'content-type: application/json' \\
    -d '{"model": "conflictscore", "messages": [{"role": "user", "content": "When?"}]}'
"""


@click.command(
    cls=ManyDocs,
    epilog=_SERVE_EXAMPLES,
    everyday=(
        "host",
        "port",
        "mode",
        "on_failure",
        "key_file",
        "runs_file",
        "docs",
        "search",
        "effort",
        "model",
        "base_url",
        "judge",
        "labeler",
    ),
)
@with_door_options
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    metavar="N",
    help="Processes that serve the port, for models at endpoints. The limits --max-… are divided"
    " among them; budgets, runs and /metrics are of all. SIGHUP renews them one by one.",
)
@click.option(
    "--mode",
    type=click.Choice(["correct", "annotate", "observe"]),
    default="correct",
    show_default=True,
    help="correct: answer again where the sources disagree. annotate: give the first answer, with a"
    " note about the disagreement. observe: give the model's own answer untouched and score it"
    " afterwards.",
)
@click.option(
    "--on-failure",
    type=click.Choice(["pass_through", "annotate", "refuse"]),
    default="pass_through",
    show_default=True,
    help="What to send when an answer could not be checked: the answer as it is, the answer with a"
    " note, or an error.",
)
@click.option(
    "--first-answer",
    type=click.Choice(["rag", "upstream"]),
    default="rag",
    show_default=True,
    help="rag: written from the documents. upstream: the model's own, to the request as it is.",
)
@click.option(
    "--fallback",
    multiple=True,
    metavar="MODEL",
    help="What stands in where the model cannot answer or its judge cannot check, as --model names"
    " it, or NAME@URL at another endpoint. May be given more than once.",
)
@click.option(
    "--answer-early",
    is_flag=True,
    help="Reply as soon as an answer is final: a changed answer's own scores and the reason for the"
    " change are then in its run only. Streams always do so.",
)
@click.option(
    "--requests-per-day",
    type=click.IntRange(min=0),
    metavar="N",
    help="With one key; days are in UTC, here and below. Default: no limit.",
)
@click.option(
    "--tokens-per-day",
    type=click.IntRange(min=0),
    metavar="N",
    help="In and out, with one key.",
)
@click.option(
    "--usd-per-day",
    type=click.FloatRange(min=0),
    metavar="X",
    help="US dollars, with one key.",
)
@click.option(
    "--prices",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Your own prices (TOML), in place of the published ones.",
)
@click.option(
    "--spent-file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Keep what was spent across restarts (SQLite). Default: in memory.",
)
@click.option(
    "--audit-log",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Add a JSON line for every run: the key's name, what it cost, what was decided.",
)
@click.option("--audit-content", is_flag=True, help="Put questions and answers into it too.")
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="What goes to stderr while it serves: lines of text, or of JSON.",
)
@click.option(
    "--example",
    "examples",
    multiple=True,
    metavar="QUESTION",
    help="A question that the chat page offers to who comes first. May be given more than once.",
)
@click.option(
    "--max-body",
    type=click.IntRange(min=1),
    default=1 << 20,
    show_default=True,
    metavar="BYTES",
    help="The largest request.",
)
@click.option(
    "--max-concurrent",
    type=click.IntRange(min=1),
    default=32,
    show_default=True,
    metavar="N",
    help="Requests served at once; as many again wait, and more get HTTP 429.",
)
@click.option(
    "--max-concurrent-per-key",
    type=click.IntRange(min=1),
    metavar="N",
    help="Of these, with one key. Default: half of them where there are several keys.",
)
@click.option(
    "--max-connections",
    type=click.IntRange(min=1),
    default=512,
    show_default=True,
    metavar="N",
    help="Open connections, at most half of the files that the process may open; beyond that, the"
    " one that has waited longest without a whole request is closed.",
)
@click.option(
    "--max-calls",
    type=click.IntRange(min=1),
    default=_CALLS,
    show_default=True,
    metavar="N",
    help="Calls in flight at an endpoint, for all requests together.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=300.0,
    show_default=True,
    metavar="S",
    help="Seconds that a request may take.",
)
@click.option(
    "--grace",
    type=click.FloatRange(min=1),
    default=30.0,
    show_default=True,
    metavar="S",
    help="Seconds for running requests to finish when the service is told to stop.",
)
@with_runs_options
@with_search_options
@with_passage_options
@with_correction_options
@with_scoring_options
@with_model_choice
@click.pass_obj
def serve(
    worker: Worker | None,
    /,
    host: str,
    port: int,
    workers: int,
    fallback: tuple[str, ...],
    log_format: service_log.LogFormat,
    max_calls: int,
    max_connections: int,
    **options: Any,
) -> None:
    """Serve checked answers over HTTP, with OpenAI's API.

    POST /v1/chat/completions and /v1/responses take what any OpenAI client sends, streamed or not.
    The header x-conflictscore-run-id names each answer's run, and GET /v1/runs/ID gives all its
    evidence. There are /v1/models, /healthz and /metrics as well. The chat page is at /, and at
    /runs is the page where runs are looked through and reviewed.

    Callers' keys are checked here and go no further; the model gets the key in OPENAI_API_KEY.
    """
    say = partial(service_log.say, form=log_format)
    limits: dict[str, int | None] = {"max_calls": max_calls, "max_connections": max_connections}
    limits |= {name: options[name] for name in ("max_concurrent", "max_concurrent_per_key")}
    if workers > 1:
        limits = divided(limits, workers)
    if workers > 1 and worker is None:
        refuse_models_of_their_own({**options, "fallback": fallback}, workers)
        listener = opened_listener(host, port)
        if code := run_workers(workers, listener, _work, grace=options["grace"], say=say):
            sys.exit(code)
        say("stopped")
        return

    from conflictscore.middleware.service.connections import Server, most_connections
    from conflictscore.reporting.figure_text import counted

    if worker and not options["store"]:
        options |= worker.files(options)
    app = _app(host, fallback, limits.pop("max_calls"), options | limits)
    service_log.log_to_stderr(log_format)
    listener = worker.listener if worker else opened_listener(host, port)
    service: Service = app.state.service
    if worker is None or worker.first:
        model = service.context.generator
        count = len(service.access.holders)
        guard = counted(count, "key") if count else "no key needed"
        shown = f"[{host}]" if ":" in host else host
        many = f", {workers} workers" if worker else ""
        say(
            f"http://{shown}:{listener.getsockname()[1]} in front of {model.name} at"
            f" {model.endpoint}, mode {service.settings.mode}, {guard}{many}; Ctrl-C stops it"
        )
        service_log.tell_where_dead(model.endpoint, say)
    most = most_connections(limits["max_connections"] or 1)
    beat = worker.beat if worker else None
    serve_until_stopped(
        Server(app, connections=most, grace=service.settings.grace, beat=beat), listener
    )
    if worker is None:
        say("stopped")


def _work(worker: Worker) -> None:
    """Run this command line again, as one of its workers."""
    from tqdm import tqdm  # type: ignore[import-untyped]

    from conflictscore.cli import main

    tqdm.set_lock(RLock())  # the system would complain of its own, which a kill leaves behind
    main(obj=worker)


def _app(
    host: str, fallback: tuple[str, ...], max_calls: int | None, options: dict[str, Any]
) -> "FastAPI":
    """The service that the options describe."""
    from conflictscore.middleware.service import ServiceSettings, create_app
    from conflictscore.reviewing import add_runs_page

    keys = keys_of_callers(host, options)
    if options["store"]:  # verdicts and replies are kept there too, wherever a cache is opened
        os.environ[STORE] = options["store"]
    known = {option.name for option in fields(ServiceSettings)}
    given = {name: value for name, value in options.items() if name in known}
    settings = ServiceSettings(**given, keys=keys)
    retriever = open_retriever(options)
    context = open_context(options, retriever=retriever, max_calls=max_calls)
    judge = context.decomposer if options["judge"] else None
    instead = [
        open_context(
            {**options, **_named(spec), "judge": judge}, retriever=retriever, max_calls=max_calls
        )
        for spec in fallback
    ]
    app = create_app(context, settings, fallbacks=instead)
    add_runs_page(app)
    return app


def _named(spec: str) -> dict[str, str | None]:
    """The options that name a fallback."""
    name, at, url = spec.partition("@http")
    if at:
        return {"model": name, "base_url": f"http{url}"}
    elsewhere = ":" in spec or spec == "local"
    return {"model": spec, **({"base_url": None} if elsewhere else {})}
