"""Every error of a command is one line on stderr, with the exit code of its kind."""

import re
import sys
from io import TextIOWrapper
from typing import Any

import click

from conflictscore.errors import ConflictScoreError

__all__ = ["OneLineErrors"]

_INTERRUPTED = 130
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f]")
"""What an error quotes from a server must not steer the terminal."""


class OneLineErrors(click.Group):
    """Every error is one line on stderr, with the exit code of its kind."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command and end the process with its exit code."""
        kwargs["standalone_mode"] = False
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        try:
            code = super().main(*args, **kwargs)
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.format_message(), err=True)
            sys.exit(error.exit_code)
        except click.UsageError as error:
            command = error.ctx.command_path if error.ctx else "conflictscore"
            _fail(f"{error.format_message()} (see {command} --help)", error.exit_code)
        except click.ClickException as error:
            _fail(error.format_message(), error.exit_code)
        except ConflictScoreError as error:
            _fail(str(error), error.exit_code)
        except (click.Abort, KeyboardInterrupt):
            _fail("stopped; what was paid for is kept, the same command goes on", _INTERRUPTED)
        sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str, code: int) -> None:
    line = _UNPRINTABLE.sub(" ", " ".join(message.split()))
    click.echo(f"conflictscore: {line}", err=True)
    sys.exit(code)
