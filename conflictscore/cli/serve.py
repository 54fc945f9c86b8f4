"""The command ``serve``, and the options and start-up code that it shares with ``mcp``."""

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
"""Seconds that requests in progress may take to finish after the server is asked to stop; chosen
by hand.
"""


def with_address_options(command: Any, *, port: int = 8400) -> Any:
    """Add the options for the address and for callers' keys.

    The default ports of ``serve`` and ``mcp`` differ, so that both can run on one machine.
    """
    for option in (
        click.option(
            "--no-auth",
            is_flag=True,
            help="Accept requests without a key, even if other machines can reach --host.",
        ),
        click.option(
            "--key-file",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            help="A file with the bearer keys of callers, one per line: KEY, NAME KEY or NAME "
            f"sha256:HEX. Without a file, set the variable {_KEYS} to keys separated by commas.",
        ),
        click.option(
            "--port",
            type=click.IntRange(0, 65535),
            default=port,
            show_default=True,
            metavar="N",
            help="The port to listen on; 0 picks a free port.",
        ),
        click.option(
            "--host",
            default="127.0.0.1",
            show_default=True,
            metavar="NAME",
            help="The address to listen on. If other machines can reach this address, callers "
            "need keys.",
        ),
    ):
        command = option(command)
    return command


def prepare(host: str, options: Mapping[str, Any], *, network: bool = True) -> tuple[str, ...]:
    """Set up the shared store and logging to stderr; return the keys from the environment.

    If there is a key file, keys from the environment are ignored. ``network`` says whether the
    command listens on ``host`` at all, which ``mcp`` over stdio does not.

    Raises:
        InputError: Other machines could call without a key, and ``--no-auth`` was not given.
    """
    from conflictscore.middleware.service.admission import is_this_machine

    logging.basicConfig(format="%(levelname)s: %(message)s")
    if options.get("store"):  # every cache that is opened later reads this variable
        os.environ[STORE] = options["store"]
    keys = tuple(key.strip() for key in os.environ.get(_KEYS, "").split(",") if key.strip())
    has_keys = bool(keys or options["key_file"] or options["no_auth"])
    if network and not has_keys and not is_this_machine(host):
        raise InputError(
            f"--host {host} can be reached from other machines; give --key-file FILE, "
            "or --no-auth to accept requests without a key"
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

    After a second Ctrl-C, the server stops without waiting for running requests.
    """
    from conflictscore.middleware.service.http_server import Server, open_listener, raise_file_limit
    from conflictscore.reporting.figure_text import counted

    listener, host, count = open_listener(*address), address[0], len(access.holders)
    url = f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"
    guard = counted(count, "key") if count else "no key needed"
    click.echo(f"{url}{about}, {guard}; Ctrl-C stops it", err=True)
    raise_file_limit()  # every connection takes a file handle
    run_async(Server(app, listener, grace=min(grace, _GRACE_S)).serve(signals=True))
    click.echo("stopped", err=True)


_CALLS = 256
"""Maximum number of model calls in flight to an endpoint, for all requests together.

With 64, requests of 32 clients took 1.8 times as long (docs/findings/speed.md). The limit adapts:
it halves whenever the endpoint refuses a call or times out.
"""

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
    help="How a disputed answer is sent. correct: with its disputed passages corrected. "
    "annotate: unchanged, followed by a note about the disagreement.",
)
@click.option(
    "--on-failure",
    type=click.Choice(["pass_through", "annotate", "refuse"]),
    default="pass_through",
    show_default=True,
    help="Which reply is sent if an answer could not be checked. pass_through: the answer alone. "
    "annotate: the answer with a note. refuse: an error, as with --require partly.",
)
@click.option(
    "--require",
    type=click.Choice(["fully", "partly"]),
    help="How thoroughly an answer must be checked before it is sent. If it was checked less "
    "thoroughly, or the check failed, the reply is HTTP 503. Greetings and tool calls are always "
    "sent.",
)
@click.option(
    "--refusal",
    metavar="TEXT",
    help="Text to send if --require refuses an answer. Default: no text is sent, and the "
    "reply is HTTP 503.",
)
@click.option(
    "--first-answer",
    type=click.Choice(["rag", "upstream"]),
    default="rag",
    show_default=True,
    help="How the model gives its first answer. rag: the service searches, and puts the "
    "documents before the last message. upstream: the model gets the request unchanged.",
)
@click.option(
    "--cors-origin",
    "cors_origins",
    multiple=True,
    metavar="ORIGIN",
    help="Let pages of this origin, such as https://chat.example, call the service from a "
    "browser. Repeatable. Default: none.",
)
@click.option(
    "--any-model",
    is_flag=True,
    help="Accept any model name in requests, and answer with the served model. Without this "
    "option, other names get HTTP 404.",
)
@click.option(
    "--max-concurrent",
    type=click.IntRange(min=1),
    default=32,
    show_default=True,
    metavar="N",
    help="Serve at most N requests at the same time. Up to N more requests wait, and all others "
    "get HTTP 429. If there are several keys, each key can use at most half of these slots.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=300.0,
    show_default=True,
    metavar="S",
    help="Time limit of a request in seconds.",
)
@click.option(
    "--runs-file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Store runs, including questions and answers, in this SQLite file, so that they "
    "survive restarts. Default: in memory only.",
)
@click.option(
    "--store",
    metavar="URL",
    envvar=STORE,
    help="A PostgreSQL database (postgresql://…) in which runs, reviews, verdicts and replies "
    "are stored. Default: --runs-file decides where runs and reviews are stored; verdicts and "
    "replies are stored in files on this machine. Several services can use the same database, and "
    "then share its contents (extra [postgres]).",
)
@with_search_options
@with_run_settings
@with_model_options
def serve(host: str, port: int, **options: Any) -> None:
    """Serve checked answers over HTTP, with the same API as OpenAI.

    POST /v1/chat/completions and POST /v1/responses accept the requests of any OpenAI client,
    streamed or not. The header x-conflictscore-run-id of a reply names its run, and GET /v1/runs/ID
    returns the evidence of that run. /v1/models, /healthz and /metrics are also available. Open /
    in a browser to chat, and /runs to browse and review runs.

    The service checks its callers' keys and does not pass them on. The service calls the model with
    the key in OPENAI_API_KEY.

    One process serves one port. The folder deploy/ shows how to run several processes behind nginx,
    and how to add budgets and fallbacks with LiteLLM.
    """
    from conflictscore.middleware.service import ServiceSettings, create_app
    from conflictscore.reviewing import add_runs_page

    keys = prepare(host, options)
    setting_names = {option.name for option in fields(ServiceSettings)}
    service_options = {name: value for name, value in options.items() if name in setting_names}
    settings = ServiceSettings(**service_options, keys=keys)
    context = open_context(options, retriever=open_retriever(options), at_once=_CALLS)
    app = create_app(context, settings)
    add_runs_page(app)
    model = context.generator
    about = f" in front of {model.name} at {model.endpoint}, mode {settings.mode}"
    # no request takes longer than its time limit, so a longer grace would be of no use
    run_server(app, app.state.service.access, (host, port), about, grace=settings.timeout)
