"""The options that commands share."""

from pathlib import Path
from typing import Any

import click

__all__ = ["ManyDocs", "with_model_options"]


class ManyDocs(click.Command):
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
        return super().parse_args(ctx, spread)


_model_options = [
    click.option(
        "--model",
        metavar="SPEC",
        help="openai:NAME, local, local:NAME, local:/path/to/file.gguf, or NAME with --base-url."
        " Default: OpenAI where OPENAI_API_KEY is set, otherwise local.",
    ),
    click.option(
        "--base-url",
        metavar="URL",
        help="An OpenAI-compatible endpoint for --model and --judge, such as"
        " http://localhost:8000/v1; its key is OPENAI_API_KEY.",
    ),
    click.option(
        "--judge",
        metavar="SPEC",
        help="The model that splits answers and labels evidence. Default: the answering model.",
    ),
    click.option(
        "--labeler",
        type=click.Choice(["json", "choice"]),
        help="json: snippet, reasoning and label for each pair, as the paper. choice: one letter"
        " with its probability, several times cheaper; the default on local models.",
    ),
    click.option(
        "--context-window",
        type=click.IntRange(min=1024),
        metavar="TOKENS",
        help="Prompt and reply together. Default: what is known of the model, or 8192.",
    ),
    click.option(
        "--prompts",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="A folder with templates of your own (NAME.txt) in place of the default ones.",
    ),
    click.option("--no-cache", is_flag=True, help="Neither use nor keep replies and verdicts."),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
    click.option(
        "--log",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="Append the whole run to FILE as one JSON line.",
    ),
    click.option("--verbose", "-v", is_flag=True, help="Show the steps even without a terminal."),
    click.option("--quiet", "-q", is_flag=True, help="Show no steps."),
]


def with_model_options(command: Any) -> Any:
    """Add the options of a command that calls models."""
    for option in reversed(_model_options):
        command = option(command)
    return command
