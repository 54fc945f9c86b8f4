"""Options of the commands that serve: the address and the callers."""

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from conflictscore.cli.common import run_async
from conflictscore.errors import InputError
from conflictscore.storage import STORE

if TYPE_CHECKING:
    from conflictscore.middleware.service.admission import Access

_KEYS = "CONFLICTSCORE_SERVE_KEYS"


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


def run_server(app: Any, access: "Access", address: tuple[str, int], about: str) -> None:
    """Serve until SIGTERM or Ctrl-C; a second Ctrl-C does not wait for running requests."""
    from conflictscore.middleware.service.http_server import Server, open_listener, raise_file_limit
    from conflictscore.reporting.figure_text import counted

    listener, host, count = open_listener(*address), address[0], len(access.holders)
    url = f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"
    guard = counted(count, "key") if count else "no key needed"
    click.echo(f"{url}{about}, {guard}; Ctrl-C stops it", err=True)
    raise_file_limit()
    run_async(Server(app, listener).serve(signals=True))
    click.echo("stopped", err=True)
