"""Help that shows first what most people need."""

from collections.abc import Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem

__all__ = ["ManyDocs", "ShortHelp", "in_group"]

_MAIN = "Options"
_GROUP = "_conflictscore_group"
_IN_DOCS = f"{__name__}.in_docs"
"""Whether the last of the words is one of ``--docs``, among the notes of a context."""


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


class ManyDocs(ShortHelp):
    """``--docs a b c`` is ``--docs a --docs b --docs c``, as a shell's ``*`` writes it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse after spreading."""
        spread: list[str] = []
        in_docs = False
        for arg in args:
            if arg.startswith("-"):
                in_docs = arg == "--docs"
                spread.append(arg)
            else:
                if in_docs and spread[-1] != "--docs":
                    spread.append("--docs")
                spread.append(arg)
        ctx.meta[_IN_DOCS] = in_docs
        try:
            return super().parse_args(ctx, spread)
        except click.MissingParameter as error:
            if "--docs" not in args or not isinstance(error.param, click.Argument):
                raise
            name = error.param.human_readable_name
            raise click.UsageError(
                f"Missing argument '{name}'. --docs takes every word up to the next option: put"
                f" {name} before --docs.",
                ctx,
            ) from None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the second path and those after it, too."""
        paths = ctx.meta.get(_IN_DOCS) and not incomplete.startswith("-")
        found = [CompletionItem(incomplete, type="file")] if paths else []
        return [*found, *super().shell_complete(ctx, incomplete)]


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
