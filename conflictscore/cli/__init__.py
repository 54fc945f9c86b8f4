"""The command line; all that is heavy is imported inside the commands, so help answers at once."""

import gc
import os
import re
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import suppress
from io import TextIOWrapper
from typing import Any

import click

from conflictscore import __version__
from conflictscore.cli.answers import ask, correct, score
from conflictscore.cli.bench import bench
from conflictscore.cli.config_file import with_config_file
from conflictscore.cli.judge_check import judge_check
from conflictscore.cli.mcp import mcp
from conflictscore.cli.model import model
from conflictscore.cli.record import record
from conflictscore.cli.report import export, report
from conflictscore.cli.score_file import score_file
from conflictscore.cli.search import search
from conflictscore.cli.serve import serve
from conflictscore.errors import ConflictScoreError

_INTERRUPTED = 130
_KEPT = {
    **dict.fromkeys(("bench", "record", "score-file"), "; the same command resumes"),
    **dict.fromkeys(
        ("ask", "correct", "judge-check", "score"), "; cached replies are not paid for again"
    ),
}
"""By command: the end of the line that Ctrl-C leaves."""
_ARGUMENT = re.compile(r'\b([a-z_]+)="([^"]*)"')
"""An argument of the library, as its errors name them: ``model="local"``."""
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f]")
"""Control characters: text that an error quotes from a server must not steer the terminal."""


class OneLineErrors(click.Group):
    """Every error is one line on stderr, with the exit code of its kind."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command and end the process with its exit code."""
        kwargs["standalone_mode"] = False
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        try:
            gc.disable()  # thousands of modules are loaded, and all of them stay
            code = super().main(*args, **kwargs)
            sys.stdout.flush()
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.format_message(), err=True)
            sys.exit(error.exit_code)
        except click.UsageError as error:
            command = error.ctx.command_path if error.ctx else "conflictscore"
            _fail(f"{error.format_message()} (see {command} --help)", error.exit_code)
        except click.ClickException as error:
            _fail(error.format_message(), error.exit_code)
        except ConflictScoreError as error:
            _fail(_ARGUMENT.sub(_option, str(error)), error.exit_code)
        except BrokenPipeError:  # head, or less, has seen enough
            _discard_stdout()
            sys.exit(1)
        except (OSError, sqlite3.Error) as error:
            _discard_stdout()
            _fail(f"{type(error).__name__}: {error}", 1)
        except (click.Abort, KeyboardInterrupt):
            _fail(f"stopped{_kept_after(kwargs.get('args') or sys.argv[1:])}", _INTERRUPTED)
        finally:
            gc.enable()
        sys.exit(code if isinstance(code, int) else 0)


def _kept_after(words: Sequence[str]) -> str:
    """The note on progress that a stopped command has kept for its next run."""
    if not words or "--no-cache" in words:
        return ""
    return _KEPT.get(words[0], "")


def _option(argument: re.Match[str]) -> str:
    return f"--{argument[1].replace('_', '-')} {argument[2]}"


def _discard_stdout() -> None:
    """Let what stdout still holds go nowhere: Python would fail on it once more as it ends."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _fail(message: str, code: int) -> None:
    line = _UNPRINTABLE.sub(" ", " ".join(message.split()))
    click.echo(f"conflictscore: {line}", err=True)
    sys.exit(code)


_EPILOG = """\b
Start with:
  conflictscore ask "In which year ...?" --docs examples/lighthouse

\b
Tab completes commands, options and files after this line (or zsh_source, fish_source):
  eval "$(_CONFLICTSCORE_COMPLETE=bash_source conflictscore)"
"""


@click.group(
    cls=OneLineErrors,
    commands=[
        ask,
        correct,
        score,
        score_file,
        search,
        record,
        bench,
        report,
        export,
        judge_check,
        serve,
        mcp,
        model,
    ],
    context_settings={
        "auto_envvar_prefix": "CONFLICTSCORE",
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
    },
    epilog=_EPILOG,
)
@click.version_option(__version__, prog_name="conflictscore", allow_from_autoenv=False)
def main() -> None:
    """Ask a question, and get an answer that has looked at both sides.

    conflictscore answers from documents, checks every claim of the answer against every document,
    and answers again where the documents disagree.
    """


with_config_file(main)
