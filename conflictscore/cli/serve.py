"""conflictscore serve."""

import logging
import os
import signal
import socket
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from conflictscore.cli.options import (
    ManyDocs,
    with_model_choice,
    with_passage_options,
    with_scoring_options,
    with_search_options,
)
from conflictscore.cli.running import open_context, open_retriever
from conflictscore.errors import InputError

if TYPE_CHECKING:
    from fastapi import FastAPI

__all__ = ["serve"]

_KEYS = "CONFLICTSCORE_SERVE_KEYS"
_CALLS = 64
_BACKLOG = 2048

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


@click.command(cls=ManyDocs, epilog=_SERVE_EXAMPLES)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    metavar="NAME",
    help="Where to listen; any address but this machine's own needs a key.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8400,
    show_default=True,
    metavar="N",
    help="The port; 0 takes any free one.",
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
    "--regeneration",
    type=click.Choice(["paper", "typed"]),
    default="paper",
    show_default=True,
    help="How an answer is corrected: with both sides in view (paper), or as the type of the"
    " conflict calls for (typed: outdated, opinions and so on; one call more).",
)
@click.option(
    "--first-answer",
    type=click.Choice(["rag", "upstream"]),
    default="rag",
    show_default=True,
    help="rag: written from the documents. upstream: the model's own, to the request as it is.",
)
@click.option(
    "--answer-early",
    is_flag=True,
    help="Reply as soon as an answer is final: a changed answer's own scores and the reason for the"
    " change are then in its run only. Streams always do so.",
)
@click.option(
    "--key-file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help=f"Bearer keys, one a line; callers need one of them. Or set {_KEYS}, separated by commas.",
)
@click.option("--no-auth", is_flag=True, help="Listen on any address without a key.")
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
@click.option(
    "--runs-kept",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    metavar="N",
    help="Runs that /v1/runs/ID can still give.",
)
@click.option(
    "--runs-file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Keep runs in this file across restarts; it holds what was asked. Default: in memory.",
)
@with_search_options
@with_passage_options
@with_scoring_options
@with_model_choice
def serve(
    host: str, port: int, key_file: Path | None, max_calls: int, regeneration: Any, **options: Any
) -> None:
    """Serve checked answers over HTTP, with OpenAI's API.

    POST /v1/chat/completions takes what any OpenAI client sends, streamed or not. The header
    x-conflictscore-run-id names each answer's run, and GET /v1/runs/ID gives all its evidence.
    There are /v1/models, /healthz and /metrics as well.

    Callers' keys are checked here and go no further; the model gets the key in OPENAI_API_KEY.
    """
    from conflictscore.middleware.service import ServiceSettings, create_app
    from conflictscore.middleware.service.admission import is_this_machine

    keys = _keys(key_file)
    if not keys and not options["no_auth"] and not is_this_machine(host):
        raise InputError(
            f"--host {host} can be reached from other machines: give --key-file FILE, or say"
            " --no-auth to let everybody in"
        )
    mode = options["mode"]
    if regeneration == "typed" and mode != "correct":
        raise InputError(
            f"--regeneration typed is for --mode correct: mode {mode} regenerates no answer"
        )
    known = {option.name for option in fields(ServiceSettings)}
    given = {name: value for name, value in options.items() if name in known}
    settings = ServiceSettings(**given, keys=keys)
    retriever = open_retriever(options)
    context = open_context(
        options, retriever=retriever, max_calls=max_calls, regeneration=regeneration
    )
    app = create_app(context, settings)
    logging.basicConfig(format="%(levelname)s: %(message)s")

    def listening(address: str) -> None:
        model = context.generator
        guard = f"{len(keys)} keys" if keys else "no key needed"
        click.echo(
            f"{address} in front of {model.name} at {model.endpoint}, mode {mode}, {guard}; Ctrl-C"
            " stops it",
            err=True,
        )

    _serve_until_stopped(app, host, port, settings.grace, listening)
    click.echo("stopped", err=True)


def _serve_until_stopped(
    app: "FastAPI", host: str, port: int, grace: float, listening: Callable[[str], None]
) -> None:
    """Serve until SIGTERM or Ctrl-C; a second Ctrl-C does not wait for running requests."""
    import asyncio

    import uvicorn

    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
        both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
        listener = socket.create_server(
            address, family=family, backlog=_BACKLOG, dualstack_ipv6=both
        )
    except (OSError, OverflowError) as error:
        raise InputError(f"--host {host} --port {port}: cannot be listened on ({error})") from error
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=max(1, round(grace)),
    )
    server = uvicorn.Server(config)

    def end(number: int, stack: FrameType | None) -> None:
        server.should_exit = True

    # uvicorn raises a signal once more when all is over
    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with listener:
            shown = f"[{host}]" if ":" in host else host
            listening(f"http://{shown}:{listener.getsockname()[1]}")
            asyncio.run(server.serve([listener]))
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _keys(path: Path | None) -> tuple[str, ...]:
    """The keys of the file, or else of the environment."""
    if path is None:
        given = os.environ.get(_KEYS, "").split(",")
        return tuple(key.strip() for key in given if key.strip())
    try:
        lines = [line.strip() for line in path.read_text("utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise InputError(f"--key-file {path}: cannot be read ({reason})") from error
    keys = tuple(line for line in lines if line and not line.startswith("#"))
    if not keys:
        raise InputError(f"--key-file {path}: there is no key in it")
    return keys
