"""conflictscore serve, and the options and the start that it shares with ``mcp``."""

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
"""The most seconds that running requests may take after the server is asked to stop."""


def with_address_options(command: Any, *, port: int = 8400) -> Any:
    """Add the options of the address and of the callers."""
    for option in (
        click.option("--no-auth", is_flag=True, help="Listen on any address without a key."),
        click.option(
            "--key-file",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            help="Bearer keys of callers, one a line: KEY, NAME KEY or NAME sha256:HEX. Or"
            f" set {_KEYS}, separated by commas.",
        ),
        click.option(
            "--port",
            type=click.IntRange(0, 65535),
            default=port,
            show_default=True,
            metavar="N",
            help="The port; 0 takes any free one.",
        ),
        click.option(
            "--host",
            default="127.0.0.1",
            show_default=True,
            metavar="NAME",
            help="The address to listen on; any but this machine's own needs a key.",
        ),
    ):
        command = option(command)
    return command


def prepare(host: str, options: Mapping[str, Any], *, network: bool = True) -> tuple[str, ...]:
    """Log to stderr, have caches use the store, and give the environment's keys.

    Beside a key file those count for nothing.

    Raises:
        InputError: Anybody could call over the network, without ``--no-auth``.
    """
    from conflictscore.middleware.service.admission import is_this_machine

    logging.basicConfig(format="%(levelname)s: %(message)s")
    if options.get("store"):  # every cache that is opened later reads this
        os.environ[STORE] = options["store"]
    keys = tuple(key.strip() for key in os.environ.get(_KEYS, "").split(",") if key.strip())
    has_keys = bool(keys or options["key_file"] or options["no_auth"])
    if network and not has_keys and not is_this_machine(host):
        raise InputError(
            f"--host {host} can be reached from other machines: give --key-file FILE, or say"
            " --no-auth to let everybody in"
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
    """Serve until SIGTERM or Ctrl-C, and end within ``grace`` seconds (half a minute at most).

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
"""The most calls in flight at an endpoint, for all requests together."""

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
    help="correct: correct the answer where the sources disagree. annotate: give the first answer,"
    " with a note about the disagreement.",
)
@click.option(
    "--on-failure",
    type=click.Choice(["pass_through", "annotate", "refuse"]),
    default="pass_through",
    show_default=True,
    help="Reply when an answer could not be checked: the answer as it is, the answer with a"
    " note, or an error (as --require partly).",
)
@click.option(
    "--require",
    type=click.Choice(["fully", "partly"]),
    help="How far an answer has to be checked before it is sent; one that is less is refused by"
    " HTTP 503, also if the check fails. Greetings and tool calls pass.",
)
@click.option(
    "--refusal",
    metavar="TEXT",
    help="Send this text in place of an answer that is refused, not HTTP 503.",
)
@click.option(
    "--first-answer",
    type=click.Choice(["rag", "upstream"]),
    default="rag",
    show_default=True,
    help="The model's own answer to the request: rag, with the documents that were found before its"
    " last message; upstream, to the unchanged request.",
)
@click.option(
    "--cors-origin",
    "cors_origins",
    multiple=True,
    metavar="ORIGIN",
    help="An origin, such as https://chat.example, whose pages may call this service from a"
    " browser. Repeat for each. Default: none.",
)
@click.option(
    "--any-model",
    is_flag=True,
    help="Answer requests for any model name by the served model, in place of HTTP 404.",
)
@click.option(
    "--max-concurrent",
    type=click.IntRange(min=1),
    default=32,
    show_default=True,
    metavar="N",
    help="Requests served at once; as many again wait, and more get HTTP 429. With several keys,"
    " each may have half of them.",
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
    help="Keep runs, with their questions and answers, in this file across restarts."
    " Default: in memory.",
)
@click.option(
    "--store",
    metavar="URL",
    envvar=STORE,
    help="A PostgreSQL database, postgresql://…, that keeps runs, verdicts and replies for"
    " every service that names it (extra [postgres]), in place of the files.",
)
@with_search_options
@with_run_settings
@with_model_options
def serve(host: str, port: int, **options: Any) -> None:
    """Serve checked answers over HTTP, with OpenAI's API.

    POST /v1/chat/completions and /v1/responses take what any OpenAI client sends, streamed or not.
    The header x-conflictscore-run-id names each answer's run, and GET /v1/runs/ID gives all its
    evidence. There are /v1/models, /healthz and /metrics as well. The chat page is at /, and at
    /runs is the page where runs are looked through and reviewed.

    Callers' keys are checked here and go no further; the model gets the key in OPENAI_API_KEY.

    One process serves one port. deploy/ has nginx in front of several, and LiteLLM for budgets and
    fallbacks.
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
