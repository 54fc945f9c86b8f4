"""Settings from a file: ``conflictscore.toml``, or ``[tool.conflictscore]`` in ``pyproject.toml``.

Keys are the long names of options. Those at the top are for every command that has the option,
those in a table such as ``[ask]`` or ``[bench.truthfulqa]`` for that command. An option on the
command line wins over the environment, the environment over the file.

A file that was merely found in the working folder may come from somebody else. While an API key is
set it sets no endpoint, no prompts, no file to write, no model file and nobody to serve beyond this
machine, unless ``--config`` names it.
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
from conflictscore.storage.toml_file import parse_toml

__all__ = ["with_config_file"]

_FILE, _PROJECT = Path("conflictscore.toml"), Path("pyproject.toml")
_TABLE = f"[tool.conflictscore] in {_PROJECT}"
_OPTION = "config"
_SET = "set"
_SETTABLE = frozenset(name.replace("_", "-") for name in SETTABLE)
_NAMED_ONLY = frozenset({"mcp"})
"""Commands that are started in any folder, such as one with somebody else's files: a file there
must not choose the endpoint that the key is sent to, where nobody reads what stderr says."""
_KEY_VARIABLE = re.compile(r"[A-Z]_(?:API_)?KEY\Z")
_READ_ONLY = frozenset({"data", "docs"})
"""Options with a path that is only read."""
_MODEL_FILE = re.compile(
    r"(?i)\blocal:(?:(?!\blocal:)\S)*(?:[/\\]|\.gguf)"
    r"|[:,]\s*+model\s*+=\s*+(?:(?![:,]\s*+model)\S)*[/\\.~]"
)
_SECRET_NAME = re.compile(r"(?:^|[-_])(?:key|keys|secret|password|token|credentials?)$", re.I)
_SECRET_VALUE = re.compile(r"\bsk-[\w-]{8}|\bAIza[\w-]{20}|\bBearer\s|://[^/\s@]*:[^/\s@]+@")


def with_config_file(group: click.Group) -> None:
    """Give every command of a group the option ``--config``, and the settings of the file found."""
    for _, command in _commands(group):
        default = "none." if command.name in _NAMED_ONLY else f"{_FILE} here, or {_TABLE}."
        command.params.append(
            click.Option(
                [f"--{_OPTION}"],
                type=click.Path(path_type=Path, dir_okay=False),
                metavar="FILE",
                is_eager=True,
                expose_value=False,
                callback=_load,
                help=f"Settings (TOML), by the names of options. Default: {default}",
            )
        )


def _load(ctx: click.Context, option: click.Parameter, given: Path | None) -> None:
    if ctx.resilient_parsing:
        return
    found = () if ctx.command.name in _NAMED_ONLY else (_FILE, _PROJECT)
    path = given or next((path for path in found if path.is_file()), None)
    settings = _read(path) if path else {}
    if path is None or not settings:
        return
    root = ctx.find_root().command
    assert isinstance(root, click.Group)  # noqa: S101 - only its commands have the option
    _check_names(path, settings, dict(_commands(root)))
    names: list[str] = []
    here: click.Context | None = ctx
    while here is not None and here.parent is not None:
        names.insert(0, str(here.info_name))
        here = here.parent
    table: Any = settings
    for name in names:
        table = table.get(name, {}) if isinstance(table, Mapping) else {}
    merged = {**settings, **(table if isinstance(table, Mapping) else {})}
    options = _options(ctx.command)
    merged = _as_set_values(merged) if _SET in options else merged
    wanted = {k: v for k, v in merged.items() if k in options and not isinstance(v, Mapping)}
    if given is None:
        _refuse_redirects(path, {k: v for k, v in wanted.items() if _redirects(options[k], k, v)})
    ctx.default_map = {
        str(options[key].name): _value(path, key, value, options[key], ctx)
        for key, value in wanted.items()
    }
    if wanted and given is None and ctx.obj is None:  # a worker of many need not say it again
        click.echo(f"Settings of {path}: {', '.join(wanted)}", err=True)


def _as_set_values(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings, with those that have no option of their own as values of ``--set``."""
    kept = {key: value for key, value in settings.items() if key not in _SETTABLE}
    told = [f"{key}={_text(value)}" for key, value in settings.items() if key in _SETTABLE]
    return {**kept, _SET: [*told, *kept.get(_SET, [])]} if told else kept


def _text(value: Any) -> str:
    many = value if isinstance(value, list) else [value]
    return ",".join(str(one).lower() if isinstance(one, bool) else str(one) for one in many)


def _redirects(option: click.Option, key: str, value: Any) -> bool:
    """Whether a setting decides where calls go or come from, or which files are used or written."""
    values = value if isinstance(value, list) else [value]
    has_url = "url" in key.split("-") or any("://" in str(one) for one in values)
    writes = isinstance(option.type, click.Path) and key not in _READ_ONLY
    loads = any(_MODEL_FILE.search(str(one)) for one in values)
    return has_url or writes or loads or key in ("out", "prompts", "host", "no-auth")


def _refuse_redirects(path: Path, settings: Mapping[str, Any]) -> None:
    """Refuse a file that was found and would redirect calls while a key is set."""
    if settings and any(os.environ[k] for k in os.environ if _KEY_VARIABLE.search(k)):
        raise ConfigurationError(
            f"{path}: sets {', '.join(settings)}, which a file found in the working folder may not"
            f" do while an API key is set; if you trust it, name it: --config {path}"
        )


def _read(path: Path) -> dict[str, Any]:
    try:
        read = parse_toml(path)
    except OSError as error:
        raise ConfigurationError(f"--config {path}: cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise ConfigurationError(f"{path}: is not valid TOML: {error}") from None
    if path.name == _PROJECT.name:
        tools = read.get("tool")
        read = tools.get("conflictscore", {}) if isinstance(tools, dict) else {}
        if not isinstance(read, dict):
            raise ConfigurationError(f"{path}: tool.conflictscore is not a table")
    return read


def _check_names(
    path: Path, settings: Mapping[str, Any], commands: Mapping[tuple[str, ...], click.Command]
) -> None:
    """Refuse a key that is no option, a table that is no command, and a secret."""
    everywhere = {name for command in commands.values() for name in _keys(command)}

    def check(table: Mapping[str, Any], at: tuple[str, ...]) -> None:
        known = _keys(commands[at]) if at in commands else set() if at else everywhere
        below = {names[len(at)] for names in commands if names[: len(at)] == at != names}
        for key, value in table.items():
            if isinstance(value, Mapping) and key in below:
                check(value, (*at, key))
            elif isinstance(value, Mapping) or key not in known:
                raise _unknown(path, (*at, key), sorted(known | below))
            for text in value if isinstance(value, list) else [value]:
                if isinstance(text, str) and _SECRET_VALUE.search(text):
                    raise _secret(path, (*at, key))

    check(settings, ())


def _unknown(path: Path, names: tuple[str, ...], known: list[str]) -> ConfigurationError:
    *_, key = names
    if _SECRET_NAME.search(key):
        return _secret(path, names)
    near = get_close_matches(key.replace("_", "-"), known, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return ConfigurationError(f"{path}: {'.'.join(names)} is neither an option nor a command{hint}")


def _secret(path: Path, names: tuple[str, ...]) -> ConfigurationError:
    return ConfigurationError(
        f"{path}: {'.'.join(names)} is a secret, which belongs in the environment (such as"
        " OPENAI_API_KEY) and not in a file"
    )


def _value(path: Path, key: str, value: Any, option: click.Option, ctx: click.Context) -> Any:
    """A value as the option takes it."""
    values = value if isinstance(value, list) else [value]
    kinds: tuple[type, ...] = (str,)
    if option.is_flag:
        kinds = (bool,)
    elif isinstance(option.type, click.types.FloatParamType):
        kinds = (int, float)
    elif isinstance(option.type, click.types.IntParamType):
        kinds = (int,)
    fits = all(type(one) in kinds for one in values)
    if not fits or (isinstance(value, list) and not option.multiple):
        names = {str: "a text", bool: "true or false", int: "a whole number", float: "a number"}
        many = ", or a list of them" if option.multiple else ""
        raise ConfigurationError(f"{path}: {key} must be {names[kinds[-1]]}{many}")
    try:
        ready = values if option.multiple else value
        option.type_cast_value(ctx, ready)
    except click.BadParameter as error:
        raise ConfigurationError(f"{path}: {key}: {error.message}") from None
    return ready


def _commands(
    group: click.Group, at: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command that does something, by its names."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from _commands(command, (*at, name))
        else:
            yield (*at, name), command


def _options(command: click.Command) -> dict[str, click.Option]:
    """The options of a command by their long names, without the dashes."""
    return {
        max(option.opts, key=len).removeprefix("--"): option
        for option in command.params
        if isinstance(option, click.Option) and option.name != _OPTION
    }


def _keys(command: click.Command) -> set[str]:
    """The keys that a settings file may have for a command."""
    options = set(_options(command))
    return options | _SETTABLE if _SET in options else options
