"""What the commands that serve share: where they listen, whom they let in, what they keep."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from conflictscore.errors import InputError
from conflictscore.storage.cache import STORE

__all__ = ["keys_of_callers", "with_door_options", "with_runs_options"]

_KEYS = "CONFLICTSCORE_SERVE_KEYS"


def with_door_options(command: Any, *, port: int = 8400) -> Any:
    """Add the options that say where a command listens, and whom it lets in.

    Args:
        command: Gets the options.
        port: The default one.
    """
    for option in (
        click.option("--no-auth", is_flag=True, help="Listen on any address without a key."),
        click.option(
            "--key-file",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            help="Bearer keys, one a line, which callers need: KEY, NAME KEY or NAME sha256:HEX,"
            " and after it requests=N, tokens=N or usd=N a day. Read again whenever it changes. Or"
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
            help="Where to listen; any address but this machine's own needs a key.",
        ),
    ):
        command = option(command)
    return command


def with_runs_options(command: Any) -> Any:
    """Add the options that say where runs are kept."""
    for option in (
        click.option(
            "--store",
            metavar="URL",
            envvar=STORE,
            help="A PostgreSQL database, postgresql://…, that keeps runs, what was spent, verdicts"
            " and replies for every service that names it (extra [postgres]), in place of the"
            " files.",
        ),
        click.option(
            "--runs-file",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            help="Keep runs in this file across restarts; it holds what was asked. Default: in"
            " memory.",
        ),
        click.option(
            "--runs-kept",
            type=click.IntRange(min=1),
            default=1000,
            show_default=True,
            metavar="N",
            help="Runs that can still be asked for by their ids.",
        ),
    ):
        command = option(command)
    return command


def keys_of_callers(host: str, options: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys of the environment; none where there is a file of them.

    Raises:
        InputError: Everybody could call, and nobody said so.
    """
    from conflictscore.middleware.service.admission import is_this_machine

    keys = tuple(key.strip() for key in os.environ.get(_KEYS, "").split(",") if key.strip())
    has_keys = bool(keys or options["key_file"])
    if not has_keys and not options["no_auth"] and not is_this_machine(host):
        raise InputError(
            f"--host {host} can be reached from other machines: give --key-file FILE, or say"
            " --no-auth to let everybody in"
        )
    return () if options["key_file"] else keys
