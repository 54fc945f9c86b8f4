"""The command line. Commands import heavy modules only when they run, so ``--help`` is fast."""

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

_INTERRUPTED = 130  # the usual exit code after Ctrl-C
_KEPT = {
    **dict.fromkeys(("bench", "record", "score-file"), "; run the same command again to resume"),
    **dict.fromkeys(
        ("ask", "correct", "judge-check", "score"), "; cached replies will not be paid for again"
    ),
}
"""Text that each command prints after "stopped" when Ctrl-C ends it. Other commands keep nothing
that a second run could use."""
_ARGUMENT = re.compile(r'\b([a-z_]+)="([^"]*)"')
"""Matches an argument of a Python call in an error message, such as ``model="local"``."""
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f]")
"""Matches control characters, which must not reach the terminal.

An error that quotes a server may contain control characters.
"""


class OneLineErrors(click.Group):
    """A group that prints each error as one line on stderr.

    The exit code depends on the kind of error.
    """

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command, then exit with its exit code."""
        kwargs["standalone_mode"] = False  # click raises its errors instead of printing them
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, TextIOWrapper):
                # a document may contain characters that the terminal's encoding lacks
                stream.reconfigure(errors="backslashreplace")
        try:
            gc.disable()  # a garbage collection would only rescan modules that stay loaded
            code = super().main(*args, **kwargs)
            sys.stdout.flush()  # so that a failure to write is caught here, not at exit
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
        except BrokenPipeError:  # the reader of the output, such as head, has exited
            _discard_stdout()
            sys.exit(1)
        except (OSError, sqlite3.Error) as error:
            _discard_stdout()  # stdout may be what failed, for example on a full disk
            _fail(f"{type(error).__name__}: {error}", 1)
        except (click.Abort, KeyboardInterrupt):
            _fail(f"stopped{_kept_after(kwargs.get('args') or sys.argv[1:])}", _INTERRUPTED)
        finally:
            gc.enable()
        # click returns the code of click's Exit, or else the result of the command
        sys.exit(code if isinstance(code, int) else 0)


def _kept_after(words: Sequence[str]) -> str:
    """Return the advice on how to rerun an interrupted command."""
    if not words or "--no-cache" in words:
        return ""
    return _KEPT.get(words[0], "")


def _option(argument: re.Match[str]) -> str:
    return f"--{argument[1].replace('_', '-')} {argument[2]}"


def _discard_stdout() -> None:
    """Discard the buffered output; otherwise Python tries to write it at exit, and fails again."""
    with suppress(OSError, ValueError):  # stdout may already be closed
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
For tab completion in bash, run this line (in zsh or fish, write zsh_source or fish_source):
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
# without allow_from_autoenv=False, a variable CONFLICTSCORE_VERSION would act like --version
@click.version_option(__version__, prog_name="conflictscore", allow_from_autoenv=False)
def main() -> None:
    """Ask a question and get an answer that was checked against every document.

    conflictscore answers from documents, checks each claim of the answer against each document, and
    corrects the claims that the documents disagree on.
    """


with_config_file(main)
