"""Reads settings from ``conflictscore.toml`` or from the file that ``--config`` names.

Keys are the long names of options. Top-level keys apply to every command that has the option. Keys
in a table such as ``[ask]`` or ``[bench.truthfulqa]`` apply only to that command. The command line
overrides the environment, and the environment overrides the file.

A file found in the working folder may come from someone else. While an API key is set, such a file
can only set how output looks, how fast a command works, and which rows of a benchmark run. It
cannot set endpoints or models, name files other than a benchmark's own, choose evidence, or change
how an answer is checked. Name the file with ``--config`` to allow all settings.
"""

import os
import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from conflictscore.cli.options import SETTABLE
from conflictscore.errors import ConfigurationError
from conflictscore.storage.toml_file import read_toml

_FILE = Path("conflictscore.toml")
_OPTION = "config"
_SETTABLE = frozenset(name.replace("_", "-") for name in SETTABLE)
_NAMED_ONLY = frozenset({"mcp"})
"""Commands that use a settings file only if ``--config`` names it.

Such a command may start in a folder with files from someone else, and its stderr is usually not
read. A file found there must never choose the endpoint that receives the key.
"""
_KEY_VARIABLE = re.compile(r"[A-Z]_(?:API_)?KEYS?\Z")
"""Suffix of the names of environment variables that contain API keys, or keys of callers."""
_HARMLESS = frozenset(
    {
        "concurrency",
        "data",
        "details",
        "dry-run",
        "error-types",
        "exclude-benchmarks",
        "form",
        "json",
        "max-concurrent",
        "max-tokens",
        "methods",
        "missing",
        "natconfqa",
        "no-cache",
        "no-transcripts",
        "paper-counts",
        "port",
        "quiet",
        "reconsider",
        "retry-failed",
        "sample",
        "seed",
        "seeds",
        "temperature",
        "verbose",
        "workers",
    }
)
"""Options that any settings file may set: output, speed, and the rows of a benchmark.

All other options are refused, so a new option is refused until it is listed here.
"""
_SECRET = re.compile(r"\bsk-[\w-]{8}|\bAIza[\w-]{20}|\bBearer\s|://[^/\s@:]*:[^/\s@]+@")
"""Strings that look like an API key, a bearer token, or an address with a password."""


def with_config_file(group: click.Group) -> None:
    """Add the option ``--config``, which applies a settings file, to every command of a group."""
    for command in commands_of(group):
        default = "none." if command.name in _NAMED_ONLY else f"{_FILE} in this folder, if any."
        command.params.append(
            click.Option(
                [f"--{_OPTION}"],
                type=click.Path(path_type=Path, dir_okay=False),
                metavar="FILE",
                is_eager=True,
                expose_value=False,
                callback=_load,
                help="A TOML file with settings. Its keys are the names of options without dashes. "
                f"Default: {default}",
            )
        )


def commands_of(command: click.Command) -> Iterator[click.Command]:
    """Yield all commands that are not groups."""
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            yield from commands_of(inner)
    else:
        yield command


def _load(ctx: click.Context, option: click.Parameter, named_path: Path | None) -> None:
    """Use the file's settings as the defaults of the command's options."""
    lies_here = ctx.command.name not in _NAMED_ONLY and _FILE.is_file()
    path = named_path or (_FILE if lies_here else None)
    if path is None or ctx.resilient_parsing:  # resilient: click only completes a command line
        return
    table = read_toml(path)
    # the whole file is checked, not only what this command uses, so that no error stays unnoticed
    _check(path, table, ctx.find_root().command)
    settings = _settings_for(ctx, table)
    if named_path is None:
        _check_trust(path, settings)
    ctx.default_map = _defaults(path, settings, ctx)
    if settings and named_path is None:  # the user may not know that the file is there
        click.echo(f"Settings from {path}: {', '.join(settings)}", err=True)


def _settings_for(ctx: click.Context, table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings in a file that apply to a command.

    The command's own table overrides top-level keys.
    """
    names: list[str] = []
    here: click.Context | None = ctx
    while here is not None and here.parent is not None:
        names.insert(0, str(here.info_name))
        here = here.parent
    settings = dict(table)
    for name in names:
        inner = table.get(name, {})
        if not isinstance(inner, Mapping):
            break  # an option with the same name as the command, such as "search"
        table = inner
        settings |= table
    keys = _keys(ctx.command)
    return {
        key: value
        for key, value in settings.items()
        if key in keys and not isinstance(value, Mapping)
    }


def _check_trust(path: Path, settings: Mapping[str, Any]) -> None:
    """If an API key is set, refuse settings that only a trusted file may set.

    The file was found in the working folder, not named by the user.
    """
    if not any(setting and _KEY_VARIABLE.search(name) for name, setting in os.environ.items()):
        return
    if refused := [key for key in settings if key not in _HARMLESS]:
        raise ConfigurationError(
            f"{path}: sets {', '.join(refused)}. While an API key is set, a file "
            "that was only found in the working folder cannot set this. If you trust the "
            f"file, pass --config {path}"
        )


def _defaults(path: Path, settings: Mapping[str, Any], ctx: click.Context) -> dict[str, Any]:
    """Return settings as click's defaults. Settings without an option become ``--set`` values."""
    options = _options(ctx.command)
    defaults: dict[str, Any] = {}
    assignments: list[str] = []
    for key, setting in settings.items():
        if key in options:
            defaults[str(options[key].name)] = _value(path, key, setting, options[key], ctx)
        else:
            assignments.append(f"{key}={','.join(_texts(setting))}")
    return defaults | {"set_": [*defaults.get("set_", ()), *assignments]}


def _texts(setting: Any) -> list[str]:
    """Return a setting's values as they would be written on the command line."""
    many = setting if isinstance(setting, list) else [setting]
    return [str(part).lower() if isinstance(part, bool) else str(part) for part in many]


def _check(path: Path, table: Mapping[str, Any], command: click.Command, at: str = "") -> None:
    """Reject keys that are not options, tables that are not commands, and secrets."""
    below = command.commands if isinstance(command, click.Group) else {}
    known_keys = set[str]().union(*map(_keys, commands_of(command)))
    for key, setting in table.items():
        if isinstance(setting, Mapping) and key in below:
            _check(path, setting, below[key], f"{at}{key}.")
            continue
        if any(map(_SECRET.search, _texts(setting))):
            raise ConfigurationError(
                f"{path}: {at}{key} is a secret; set it in the environment instead "
                "(such as OPENAI_API_KEY)"
            )
        if isinstance(setting, Mapping) or key not in known_keys:
            near = get_close_matches(key.replace("_", "-"), sorted(known_keys | below.keys()), n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ConfigurationError(f"{path}: {at}{key} is not an option or a command{hint}")


def _value(path: Path, key: str, setting: Any, option: click.Option, ctx: click.Context) -> Any:
    """Return a setting as text for click; refuse it here, where the error can name the file."""
    texts = _texts(setting)
    takes_several = option.multiple or option.nargs != 1
    if isinstance(setting, list) and not takes_several:
        raise ConfigurationError(f"{path}: {key} takes one value, not a list")
    ready = texts if takes_several else texts[0]
    try:
        option.type_cast_value(ctx, ready)
    except click.BadParameter as error:
        raise ConfigurationError(f"{path}: {key}: {error.message}") from None
    return ready


def _options(command: click.Command) -> dict[str, click.Option]:
    """Return a command's options by their long names, such as ``quiet`` for ``-q/--quiet``."""
    return {
        max(option.opts, key=len).removeprefix("--"): option
        for option in command.params
        if isinstance(option, click.Option) and option.name != _OPTION
    }


def _keys(command: click.Command) -> set[str]:
    options = set(_options(command))
    return options | _SETTABLE if "set" in options else options
