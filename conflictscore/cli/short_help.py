"""Help in groups, and ``--docs`` that takes many paths."""

from typing import Any

import click

_MAIN = "Options"
_GROUP = "_conflictscore_group"


class ManyDocs(click.Command):
    """``--help`` shows options in groups, and ``--docs a b c`` is ``--docs a --docs b --docs c``.

    A shell's ``*`` writes several paths behind one option.
    """

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


def in_group(name: str, option: Any) -> Any:
    """An option, shown under this heading."""

    def decorate(command: Any) -> Any:
        command = option(command)
        params = command.params if isinstance(command, click.Command) else command.__click_params__
        setattr(params[-1], _GROUP, name)
        return command

    return decorate
