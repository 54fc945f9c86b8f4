"""Help that shows first what most people need."""

from collections.abc import Sequence
from typing import Any

import click

__all__ = ["ShortHelp", "in_group"]

_MAIN = "Options"
_GROUP = "_conflictscore_group"


class ShortHelp(click.Command):
    """``--help`` shows the everyday options, ``--help-all`` every one of them, in groups."""

    def __init__(self, *args: Any, everyday: Sequence[str] = (), **settings: Any) -> None:
        """Take what a command takes.

        Args:
            *args: As a command's.
            everyday: The names of the options that ``--help`` shows; none for all.
            **settings: As a command's.
        """
        super().__init__(*args, **settings)
        self._everyday = frozenset(everyday)
        if unknown := self._everyday - {param.name for param in self.params}:
            raise TypeError(f"{self.name}: no such options: {', '.join(sorted(unknown))}")
        if everyday:
            self.params.append(
                click.Option(
                    ["--help-all"],
                    is_flag=True,
                    is_eager=True,
                    expose_value=False,
                    callback=_show_all,
                    help="Show every option and exit.",
                )
            )

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options that were asked for."""
        groups: dict[str, list[tuple[str, str]]] = {}
        brief = self._everyday and not ctx.meta.get(_MAIN)
        hidden = 0
        for param in self.get_params(ctx):
            row = param.get_help_record(ctx)
            if row is None:
                continue
            shown = self._everyday | {"--help", "--help-all"}
            if brief and shown.isdisjoint({param.name, *param.opts}):
                hidden += 1
                continue
            group = _MAIN if brief else getattr(param, _GROUP, _MAIN)
            groups.setdefault(group, []).append(row)
        for group, rows in groups.items():
            with formatter.section(group):
                formatter.write_dl(rows)
        if hidden:
            formatter.write_paragraph()
            formatter.write_text(
                f"{hidden} more options, each with a default that suits most:"
                f" {ctx.command_path} --help-all"
            )


def in_group(name: str, option: Any) -> Any:
    """An option, shown under a heading of its own where all are shown."""

    def decorate(command: Any) -> Any:
        command = option(command)
        params = command.params if isinstance(command, click.Command) else command.__click_params__
        setattr(params[-1], _GROUP, name)
        return command

    return decorate


def _show_all(ctx: click.Context, option: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        ctx.meta[_MAIN] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()
