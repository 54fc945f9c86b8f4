"""The command line; all that is heavy is imported inside the commands, so help answers at once."""

import json
import re
import sys
import time
from collections.abc import AsyncIterator, Mapping
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from conflictscore import __version__
from conflictscore.errors import ConflictScoreError, InputError

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph

    from conflictscore.nodes.state import RunContext

__all__ = ["main"]

_INTERRUPTED = 130
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f]")
"""What an error quotes from a server must not steer the terminal."""


class _OneLineErrors(click.Group):
    """Every error is one line on stderr, with the exit code of its kind."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
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


class _ManyDocs(click.Command):
    """``--docs a b c`` is ``--docs a --docs b --docs c``, as a shell's ``*`` writes it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
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


def _with_model_options(command: Any) -> Any:
    for option in reversed(_model_options):
        command = option(command)
    return command


@click.group(
    cls=_OneLineErrors,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog='Start with: conflictscore ask "In which year ...?" --docs examples/lighthouse',
)
@click.version_option(__version__, prog_name="conflictscore")
def main() -> None:
    """Ask a question, and get an answer that has looked at both sides.

    conflictscore answers from documents, checks every claim of the answer against every document,
    and answers again where the documents disagree.
    """


_ASK_EXAMPLES = """\b
Examples:
  conflictscore ask "When was the lamp first lit?" --docs notes/ report.md
  conflictscore ask "Is it safe?" --search google --model openai:gpt-4.1-mini --json
  conflictscore ask "Which is it?" --option "It was 1871." --option "It was 1874." --docs notes/
"""


@main.command(cls=_ManyDocs, epilog=_ASK_EXAMPLES)
@click.argument("question")
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="TEXT",
    help="Give it twice, for a choice between two options.",
)
@click.option(
    "--docs",
    multiple=True,
    metavar="PATH ...",
    help="Files and folders to answer from: .txt, .md, .html, .jsonl. All words up to the next"
    " option are paths, so put QUESTION first.",
)
@click.option(
    "--search",
    metavar="NAME",
    help="google (GOOGLE_API_KEY and GOOGLE_CSE_ID) or corpus (--docs). Default: --docs where"
    " given, otherwise google where its keys are set.",
)
@click.option("--top-k", type=click.IntRange(min=1), default=10, show_default=True, metavar="N")
@click.option(
    "--method",
    type=click.Choice(["rag", "control-rag", "regenerated-rag"]),
    default="regenerated-rag",
    show_default=True,
)
@click.option(
    "--max-rounds",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    metavar="N",
    help="The most times that an answer is regenerated.",
)
@_with_model_options
def ask(
    question: str,
    options: tuple[str, ...],
    docs: tuple[str, ...],
    search: str | None,
    top_k: int,
    method: str,
    max_rounds: int,
    as_json: bool,
    log: Path | None,
    verbose: bool,
    quiet: bool,
    **settings: Any,
) -> None:
    """Answer QUESTION from documents; look again where they disagree."""
    from conflictscore.graph.self_correction import build_self_correction_graph
    from conflictscore.nodes.retrieve import check_question
    from conflictscore.reporting.run_json import check_log
    from conflictscore.retrieval.documents import clean_text
    from conflictscore.retrieval.search import open_search

    question, options = clean_text(question), tuple(map(clean_text, options))
    check_question(question, options)
    if log:
        check_log(log)
    retriever = open_search(search, docs=docs, top_k=top_k)

    context = _open_context(settings, retriever=retriever, method=method, max_rounds=max_rounds)
    graph = build_self_correction_graph(context)
    state, seconds = _run(
        graph, {"question": question, "options": list(options)}, verbose=verbose, quiet=quiet
    )
    _deliver(state, context, seconds, as_json=as_json, log=log)


_SCORE_EXAMPLES = """\b
Examples:
  conflictscore score --answer "The lamp was first lit in 1871." --docs examples/lighthouse
  conflictscore score --answer @answer.txt --docs sources/ --json
"""


@main.command(cls=_ManyDocs, epilog=_SCORE_EXAMPLES)
@click.option("--answer", required=True, metavar="TEXT|@FILE", help="The answer, or @ and a file.")
@click.option(
    "--docs",
    multiple=True,
    required=True,
    metavar="PATH ...",
    help="The documents that the answer is scored against, all of them, in file order.",
)
@_with_model_options
def score(
    answer: str,
    docs: tuple[str, ...],
    as_json: bool,
    log: Path | None,
    verbose: bool,
    quiet: bool,
    **settings: Any,
) -> None:
    """Score an answer that exists already: ConflictScore (CS-C and CS-R) against documents."""
    from conflictscore.graph.scoring import build_scoring_graph
    from conflictscore.reporting.run_json import check_log
    from conflictscore.retrieval.documents import clean_text
    from conflictscore.retrieval.reading import read_documents

    if log:
        check_log(log)
    text = clean_text(_read_answer(answer))
    if not text:
        raise InputError("--answer is empty")
    read = read_documents(docs)
    context = _open_context(settings)
    documents = [document.to_json() for document in read.documents]
    state, seconds = _run(
        build_scoring_graph(context),
        {"answer": text, "documents": documents},
        verbose=verbose,
        quiet=quiet,
    )
    state["notes"] = [*read.notes, *state["notes"]]
    _deliver(state, context, seconds, as_json=as_json, log=log)


@main.group()
def model() -> None:
    """Fetch and list the embedded local models."""


@model.command("list")
def list_models() -> None:
    """List the local models, with size, licence, and where they lie."""
    from conflictscore.models import local

    for weights in local.CATALOG.values():
        path = local.fetched(weights)
        click.echo(f"local:{weights.name}")
        click.echo(f"  {weights.title}, {weights.size / 1e6:,.0f} MB, {weights.licence}")
        click.echo(f"  {weights.note}")
        click.echo(f"  {path or 'not fetched; conflictscore model fetch ' + weights.name}")


@model.command("fetch")
@click.argument("name", default="")
def fetch_model(name: str) -> None:
    """Fetch a local model (by default the one that ``local`` means), once; goes on if stopped."""
    from conflictscore.models import local

    weights = local.resolve(name.removeprefix("local").removeprefix(":"))
    if isinstance(weights, Path):
        raise InputError(f"{name} is a file already; use it as --model local:{weights}")
    click.echo(local.fetched(weights) or local.fetch_with_bar(weights))


def _read_answer(answer: str) -> str:
    if not answer.startswith("@"):
        return answer
    try:
        return Path(answer[1:]).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--answer {answer}: cannot be read as UTF-8 text ({error})") from error


def _open_context(settings: Mapping[str, Any], **more: Any) -> "RunContext":
    from conflictscore.graph.create import run_context
    from conflictscore.models.spec import default_spec

    spec = settings["model"]
    if spec is None and settings["base_url"]:
        raise InputError("--base-url needs --model NAME, a model of that endpoint")
    if spec is None and (spec := default_spec()) == "local":
        click.echo("No OPENAI_API_KEY is set: using the embedded local model.", err=True)
    return run_context(
        spec,
        more.pop("retriever", None),
        labeler=settings["labeler"],
        judge=settings["judge"],
        base_url=settings["base_url"],
        context_window=settings["context_window"],
        prompts=settings["prompts"],
        cache=not settings["no_cache"],
        **more,
    )


def _run(
    graph: "CompiledStateGraph[Any, Any, Any, Any]",
    start: Mapping[str, Any],
    *,
    verbose: bool,
    quiet: bool,
) -> tuple[dict[str, Any], float]:
    import asyncio

    from rich.console import Console

    from conflictscore.reporting.progress import RunProgress

    console = Console(stderr=True, highlight=False)
    enabled = not quiet and (verbose or console.is_terminal)

    async def go() -> dict[str, Any]:
        state: dict[str, Any] = {}
        events = cast(
            "AsyncIterator[tuple[str, dict[str, Any]]]",
            graph.astream(start, stream_mode=["custom", "values"]),
        )
        with RunProgress(console, enabled=enabled) as progress:
            async for kind, item in events:
                if kind == "custom":
                    progress.show(item)
                else:
                    state = item
        return state

    started = time.perf_counter()
    state = asyncio.run(go())
    return state, time.perf_counter() - started


def _deliver(
    state: Mapping[str, Any],
    context: "RunContext",
    seconds: float,
    *,
    as_json: bool,
    log: Path | None,
) -> None:
    from rich.console import Console

    from conflictscore.reporting import run_json, terminal

    asked = "question" in state
    if as_json:
        shown = run_json.run_object(state) if asked else run_json.score_object(state)
        click.echo(json.dumps(shown, ensure_ascii=False, indent=2))
    else:
        show = terminal.print_run if asked else terminal.print_score
        show(state, Console(highlight=False, markup=False, emoji=False))
    if log:
        run_json.append_log(log, run_json.log_object(state, context, seconds))
