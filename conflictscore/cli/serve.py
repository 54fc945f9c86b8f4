"""conflictscore serve, with the options and start-up code that ``mcp`` shares."""

import logging
import os
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from conflictscore.cli.common import open_context, open_retriever, run_async
from conflictscore.cli.options import (
    ManyDocs,
    with_model_options,
    with_run_settings,
    with_search_options,
)
from conflictscore.errors import InputError
from conflictscore.storage import STORE

if TYPE_CHECKING:
    from conflictscore.middleware.service.admission import Access

_KEYS = "CONFLICTSCORE_SERVE_KEYS"
_GRACE_S = 30.0
"""Seconds that running requests get to finish after the server is asked to stop."""


def with_address_options(command: Any, *, port: int = 8400) -> Any:
    """Add the options for the address and for callers' keys."""
    for option in (
        click.option(
            "--no-auth", is_flag=True, help="Allow requests without a key on any address."
        ),
        click.option(
            "--key-file",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            help="File of callers' bearer keys, one per line: KEY, NAME KEY or NAME "
            f"sha256:HEX. Or set {_KEYS} to keys separated by commas.",
        ),
        click.option(
            "--port",
            type=click.IntRange(0, 65535),
            default=port,
            show_default=True,
            metavar="N",
            help="The port; 0 picks any free one.",
        ),
        click.option(
            "--host",
            default="127.0.0.1",
            show_default=True,
            metavar="NAME",
            help="The address to listen on. An address that other machines can reach needs keys.",
        ),
    ):
        command = option(command)
    return command


def prepare(host: str, options: Mapping[str, Any], *, network: bool = True) -> tuple[str, ...]:
    """Set up logging on stderr and the shared store, and return the keys from the environment.

    If there is a key file, keys from the environment are ignored.

    Raises:
        InputError: Anybody on the network could call, and ``--no-auth`` was not given.
    """
    from conflictscore.middleware.service.admission import is_this_machine

    logging.basicConfig(format="%(levelname)s: %(message)s")
    if options.get("store"):  # read by every cache that is opened later
        os.environ[STORE] = options["store"]
    keys = tuple(key.strip() for key in os.environ.get(_KEYS, "").split(",") if key.strip())
    has_keys = bool(keys or options["key_file"] or options["no_auth"])
    if network and not has_keys and not is_this_machine(host):
        raise InputError(
            f"--host {host} can be reached from other machines; give --key-file FILE, "
            "or --no-auth to accept everybody"
        )
    return () if options["key_file"] else keys


def run_server(
    app: Any,
    access: "Access",
    address: tuple[str, int],
    about: str,
    *,
    grace: float = _GRACE_S,
) -> None:
    """Serve until SIGTERM or Ctrl-C, then stop within ``grace`` seconds (at most 30).

    A second Ctrl-C does not wait for running requests.
    """
    from conflictscore.middleware.service.http_server import Server, open_listener, raise_file_limit
    from conflictscore.reporting.figure_text import counted

    listener, host, count = open_listener(*address), address[0], len(access.holders)
    url = f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"
    guard = counted(count, "key") if count else "no key needed"
    click.echo(f"{url}{about}, {guard}; Ctrl-C stops it", err=True)
    raise_file_limit()
    run_async(Server(app, listener, grace=min(grace, _GRACE_S)).serve(signals=True))
    click.echo("stopped", err=True)


_CALLS = 64
"""Maximum calls in flight to an endpoint, over all requests."""

_SERVE_EXAMPLES = """\b
Examples:
  conflictscore serve --docs notes/
  conflictscore serve --model my-model --base-url http://localhost:8000/v1 --search searxng
  conflictscore serve --mode annotate --docs notes/ --runs-file runs.sqlite
  conflictscore serve --host 0.0.0.0 --key-file keys.txt --require partly --docs notes/

\b
Then, with any OpenAI client:
  curl http://127.0.0.1:8400/v1/chat/completions -H 'content-type: application/json' \\
    -d '{"model": "conflictscore", "messages": [{"role": "user", "content": "When?"}]}'
"""


@click.command(
    cls=ManyDocs,
    epilog=_SERVE_EXAMPLES,
)
@with_address_options
@click.option(
    "--mode",
    type=click.Choice(["correct", "annotate"]),
    default="correct",
    show_default=True,
    help="correct: correct the answer where sources disagree. annotate: keep the "
    "answer and add a note about the disagreement.",
)
@click.option(
    "--on-failure",
    type=click.Choice(["pass_through", "annotate", "refuse"]),
    default="pass_through",
    show_default=True,
    help="Reply if an answer could not be checked: the answer alone, the "
    "answer with a note, or an error (like --require partly).",
)
@click.option(
    "--require",
    type=click.Choice(["fully", "partly"]),
    help="How much of an answer must be checked before it is sent. If less was "
    "checked, or the check fails, the reply is HTTP 503. Greetings and tool "
    "calls always pass.",
)
@click.option(
    "--refusal",
    metavar="TEXT",
    help="Text to send in place of a refused answer, instead of HTTP 503.",
)
@click.option(
    "--first-answer",
    type=click.Choice(["rag", "upstream"]),
    default="rag",
    show_default=True,
    help="How the model answers first. rag: the documents found are put before the "
    "last message. upstream: the request is passed on unchanged.",
)
@click.option(
    "--cors-origin",
    "cors_origins",
    multiple=True,
    metavar="ORIGIN",
    help="An origin, such as https://chat.example, whose pages may call this service "
    "from a browser. Repeatable. Default: none.",
)
@click.option(
    "--any-model",
    is_flag=True,
    help="Answer requests for any model name with the served model, instead of HTTP 404.",
)
@click.option(
    "--max-concurrent",
    type=click.IntRange(min=1),
    default=32,
    show_default=True,
    metavar="N",
    help="Requests served at once. The same number may wait; further requests get "
    "HTTP 429. With several keys, one key can use at most half.",
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
    "--runs-file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Keep runs, including questions and answers, in this file across restarts. "
    "Default: in memory only.",
)
@click.option(
    "--store",
    metavar="URL",
    envvar=STORE,
    help="PostgreSQL database (postgresql://…) for runs, verdicts and replies "
    "instead of files, shared by all services that name it (extra [postgres]).",
)
@with_search_options
@with_run_settings
@with_model_options
def serve(host: str, port: int, **options: Any) -> None:
    """Serve checked answers over HTTP, through OpenAI's API.

    POST /v1/chat/completions and /v1/responses accept requests of any OpenAI client, streamed or
    not. The header x-conflictscore-run-id names each answer's run, and GET /v1/runs/ID returns its
    evidence. There are also /v1/models, /healthz and /metrics, a chat page at /, and a page at
    /runs to browse and review runs.

    Callers' keys are checked here and not passed on; the model gets the key in OPENAI_API_KEY.

    One process serves one port. For several processes behind nginx, and LiteLLM for budgets and
    fallbacks, see deploy/.
    """
    from conflictscore.middleware.service import ServiceSettings, create_app
    from conflictscore.reviewing import add_runs_page

    keys = prepare(host, options)
    setting_names = {option.name for option in fields(ServiceSettings)}
    service_options = {name: value for name, value in options.items() if name in setting_names}
    settings = ServiceSettings(**service_options, keys=keys)
    context = open_context(options, retriever=open_retriever(options), max_calls=_CALLS)
    app = create_app(context, settings)
    add_runs_page(app)
    model = context.generator
    about = f" in front of {model.name} at {model.endpoint}, mode {settings.mode}"
    run_server(app, app.state.service.access, (host, port), about, grace=settings.timeout)
