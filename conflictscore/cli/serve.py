"""conflictscore serve."""

import ipaddress
import logging
import os
from pathlib import Path
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
    from conflictscore.nodes.state import RunContext

__all__ = ["serve"]

_KEYS = "CONFLICTSCORE_SERVE_KEYS"
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


@click.command(cls=ManyDocs, epilog=_SERVE_EXAMPLES)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    metavar="NAME",
    help="Where to listen; another address than this machine's own needs a key.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8400,
    show_default=True,
    metavar="N",
    help="0 takes any free one.",
)
@click.option(
    "--mode",
    type=click.Choice(["correct", "annotate", "observe"]),
    default="correct",
    show_default=True,
    help="correct: answer again where the sources disagree. annotate: the first answer, with a note"
    " about the disagreement. observe: the model's own answer untouched, scored afterwards.",
)
@click.option(
    "--on-failure",
    type=click.Choice(["pass_through", "annotate", "refuse"]),
    default="pass_through",
    show_default=True,
    help="What an answer that could not be checked comes to: the answer as it is, the answer with a"
    " note, or an error.",
)
@click.option(
    "--regeneration",
    type=click.Choice(["paper", "typed"]),
    default="paper",
    show_default=True,
    help="How an answer is corrected: with both sides in view (paper), or as the type of the"
    " conflict asks (typed: outdated, opinions and so on; one call more).",
)
@click.option(
    "--first-answer",
    type=click.Choice(["rag", "upstream"]),
    default="rag",
    show_default=True,
    help="rag: answered from the documents. upstream: the request goes to the model as it is.",
)
@click.option(
    "--answer-early",
    is_flag=True,
    help="Reply the moment an answer stands: a changed answer's own scores and the reason for it"
    " are then in its run only. Streams do so always.",
)
@click.option(
    "--key-file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help=f"Bearer keys that callers need, one a line. Or set {_KEYS}, with commas between them.",
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
    help="Requests worked on at once; as many again wait, and more get HTTP 429.",
)
@click.option(
    "--max-calls",
    type=click.IntRange(min=1),
    default=_CALLS,
    show_default=True,
    metavar="N",
    help="Calls in flight at an endpoint, of all requests together.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=300.0,
    show_default=True,
    metavar="S",
    help="Seconds for a request.",
)
@click.option(
    "--grace",
    type=click.FloatRange(min=1),
    default=30.0,
    show_default=True,
    metavar="S",
    help="Seconds for what runs to finish when the service is told to stop.",
)
@click.option(
    "--runs-kept",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    metavar="N",
    help="Runs that /v1/runs/ID still knows.",
)
@click.option(
    "--runs-file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Keep runs in this file, over restarts; it holds what was asked. Default: in memory.",
)
@with_search_options
@with_passage_options
@with_scoring_options
@with_model_choice
def serve(
    host: str,
    port: int,
    mode: Any,
    on_failure: Any,
    regeneration: Any,
    first_answer: Any,
    answer_early: bool,
    key_file: Path | None,
    no_auth: bool,
    max_body: int,
    max_concurrent: int,
    max_calls: int,
    timeout: float,
    grace: float,
    runs_kept: int,
    runs_file: Path | None,
    **settings: Any,
) -> None:
    """Serve checked answers over HTTP, as OpenAI's API does.

    POST /v1/chat/completions takes what any OpenAI client sends, streamed or not. Each answer has
    its run in the header x-conflictscore-run-id, and GET /v1/runs/ID all the evidence. There are
    /v1/models, /healthz and /metrics as well.

    Callers' keys are checked here and go no further; the model gets the key in OPENAI_API_KEY.
    """
    from conflictscore.middleware.service import ServiceSettings, create_app
    from conflictscore.middleware.service.server import serve as serve_app

    keys = _keys(key_file)
    if not keys and not no_auth and not _loopback(host):
        raise InputError(
            f"--host {host} can be reached from other machines: give --key-file FILE, or say"
            " --no-auth to let everybody in"
        )
    if regeneration == "typed" and mode != "correct":
        raise InputError(
            f"--regeneration typed is for --mode correct: in mode {mode} no answer is given again"
        )
    chosen = ServiceSettings(
        mode=mode,
        on_failure=on_failure,
        first_answer=first_answer,
        answer_early=answer_early,
        keys=keys,
        no_auth=no_auth,
        max_body=max_body,
        max_concurrent=max_concurrent,
        timeout=timeout,
        grace=grace,
        runs_kept=runs_kept,
        runs_file=runs_file,
    )
    retriever = open_retriever(settings)
    context = open_context(
        settings, retriever=retriever, max_calls=max_calls, regeneration=regeneration
    )
    app = create_app(context, chosen)
    logging.basicConfig(format="%(levelname)s: %(message)s")

    def listening(address: str) -> None:
        click.echo(f"{address} {_what_it_is(context, chosen.mode, keys)}", err=True)

    serve_app(app, host=host, port=port, grace=grace, listening=listening)
    click.echo("stopped", err=True)


def _what_it_is(context: "RunContext", mode: str, keys: tuple[str, ...]) -> str:
    guard = f"{len(keys)} keys" if keys else "no key needed"
    model = context.generator
    return f"in front of {model.name} at {model.endpoint}, mode {mode}, {guard}; Ctrl-C stops it"


def _keys(path: Path | None) -> tuple[str, ...]:
    """The keys of the file, or else of the environment."""
    if path is None:
        given = os.environ.get(_KEYS, "").split(",")
        return tuple(key.strip() for key in given if key.strip())
    try:
        lines = [line.strip() for line in path.read_text("utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise InputError(f"--key-file {path}: cannot be read ({reason})") from error
    keys = tuple(line for line in lines if line and not line.startswith("#"))
    if not keys:
        raise InputError(f"--key-file {path}: there is no key in it")
    return keys


def _loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
