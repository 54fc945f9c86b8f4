"""Help in groups, and ``--docs`` that takes many paths."""

from typing import Any

import click
from click.shell_completion import CompletionItem

__all__ = ["GroupedHelp", "ManyDocs", "in_group"]

_MAIN = "Options"
_GROUP = "_conflictscore_group"
_IN_DOCS = f"{__name__}.in_docs"
"""Whether the last of the words is one of ``--docs``, among the notes of a context."""


class GroupedHelp(click.Command):
    """``--help`` shows the options in groups."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options by group."""
        groups: dict[str, list[tuple[str, str]]] = {_MAIN: []}
        for param in self.get_params(ctx):
            row = param.get_help_record(ctx)
            if row and isinstance(param, click.Option):
                groups.setdefault(getattr(param, _GROUP, _MAIN), []).append(row)
        for group, rows in groups.items():
            if rows:
                with formatter.section(group):
                    formatter.write_dl(rows)


class ManyDocs(GroupedHelp):
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
    """An option, shown under this heading."""

    def decorate(command: Any) -> Any:
        command = option(command)
        params = command.params if isinstance(command, click.Command) else command.__click_params__
        setattr(params[-1], _GROUP, name)
        return command

    return decorate
