"""Options shared by several commands. Options for settings are built from their declarations."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from conflictscore.errors import InputError
from conflictscore.labelers.registry import LABELERS
from conflictscore.retrieval.providers import PROVIDERS
from conflictscore.setting_declarations import CommandForm
from conflictscore.settings import Settings, unknown_name

_MAIN = "Options"
_GROUP = "_conflictscore_group"


class ManyDocs(click.Command):
    """A command whose help groups its options, and whose ``--docs`` takes several paths.

    ``--docs a b c`` means ``--docs a --docs b --docs c``, because the shell turns ``--docs *`` into
    the first form. A path after ``--docs=`` stands alone.
    """

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, each under the heading of its group."""
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
        """Parse the arguments after repeating ``--docs`` before each of its paths."""
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
    """Return an option that the help shows under the heading ``name``."""

    def decorate(command: Any) -> Any:
        command = option(command)
        # click appends the new option to the list of a command, or of a function that will be one
        params = command.params if isinstance(command, click.Command) else command.__click_params__
        setattr(params[-1], _GROUP, name)
        return command

    return decorate


_DOCUMENTS, _MODELS, _SETTINGS = "Documents", "Models and labels", "Settings"
_BUDGET, _OUTPUT = "Budget", "Output"

_BY_SET: Mapping[str, type] = {"context_window": int, "reasoning_effort": str}
"""Keyword arguments of models that ``--set`` accepts in addition to settings, with their types."""


def _names(form: CommandForm, *, scoring: bool = False) -> tuple[str, ...]:
    """Return the settings declared in this form; ``scoring`` selects those that affect scoring."""
    return tuple(
        name
        for name in Settings.names()
        if Settings.declaration(name).form == form
        and (Settings.declaration(name).scoring or not scoring)
    )


SETTABLE = (*_names("set"), *_BY_SET)
"""Settings without an option of their own.

Users set such settings with ``--set`` or a settings file.
"""


def _setting(name: str) -> Any:
    """Return the option for a setting, built from the setting's declaration."""
    text, default = Settings.help(name), Settings.default(name)
    choices, kind = Settings.choices(name), Settings.kind(name)
    if name == "labeler":
        summaries = " ".join(f"{labeler}: {kind.summary}." for labeler, kind in LABELERS.items())
        text += f" {summaries} Options follow a colon: cascade:model=nli-mpnet,certain=0.9."
    # The default is only named in the help. If click filled it in, it would override presets.
    if default is not None:
        text += f"  [default: {default}]"
    metavar = Settings.declaration(name).metavar or ("N" if kind is int else None)
    flag = f"--{name.replace('_', '-')}"
    return click.option(
        flag, name, type=click.Choice(choices) if choices else kind, metavar=metavar, help=text
    )


def settings_in(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings and model keywords from the options of a command line.

    Raises:
        InputError: ``--set`` names an unknown setting, or its argument is not NAME=VALUE.
    """
    by_option = {name: options.get(name) for name in (*Settings.names(), *_BY_SET)}
    settings = {name: setting for name, setting in by_option.items() if setting is not None}
    for text in options.get("set_") or ():
        name, equals, setting = (part.strip() for part in text.partition("="))
        name = name.replace("-", "_")
        if not equals:
            raise InputError(f"--set {text}: write NAME=VALUE")
        if name in Settings.names() and name not in SETTABLE:
            option = f"--{name.replace('_', '-')}"
            raise InputError(f"--set {text}: there is no setting {name!r} here; use {option}")
        if name not in SETTABLE:
            raise InputError(f"--set {text}: {unknown_name(name, SETTABLE)}")
        settings[name] = _read(_BY_SET.get(name) or Settings.kind(name), setting)
    return settings


def _read(kind: type, text: str) -> Any:
    """Return the value of a ``--set`` argument, which is text, in the setting's type."""
    if text.casefold() == "none":
        return None
    if kind is tuple:
        return tuple(part.strip() for part in text.split(",") if part.strip())
    if kind is bool:
        return {"true": True, "false": False}.get(text.casefold(), text)
    try:
        return kind(text)
    except ValueError:
        return text  # the setting's own check refuses it later


def _with_config(ctx: click.Context, option: click.Parameter, assignments: tuple[str, ...]) -> Any:
    """Put ``--set`` values of the settings file first, so that all other sources override them.

    Left alone, click would drop all of the file's values as soon as the command line or the
    environment has one, even for a different setting.
    """
    source = ctx.get_parameter_source(str(option.name))
    from_file = (ctx.default_map or {}).get(str(option.name), ())
    if source in (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT):
        return (*from_file, *assignments)
    return assignments


_set_option = click.option(
    "--set",
    "set_",
    multiple=True,
    metavar="NAME=VALUE",
    callback=_with_config,
    help="Change a setting that has no option of its own, for example --set unsettled=keep. "
    "Names and values: "
    + "; ".join(f"{name}: {Settings.allowed(name)}" for name in _names("set"))
    + "; context_window: a number of tokens; reasoning_effort: one of low, medium, high. "
    "Repeatable. docs/guide/settings.md explains each setting.",
)


def _docs_option(advice: str = "") -> Any:
    return click.option(
        "--docs",
        type=click.Path(),
        multiple=True,
        metavar="PATH ...",
        help="Files and folders to search. Reads .txt, .md, .html, .docx, .odt, .rtf, .xlsx, "
        ".pptx, .epub, .eml, .ipynb, .srt, .vtt, .jsonl, .csv, and, with the extra [docs], .pdf. "
        f"Every word up to the next option is a path{advice}.",
    )


_search_options = [
    click.option(
        "--search",
        metavar="NAME",
        help="Where to search:"
        f" {', '.join(provider.usage(name) for name, provider in PROVIDERS.items())}."
        " Default: the files of --docs if given, otherwise the first engine whose environment "
        "variables are set; `conflictscore search --help` lists them.",
    ),
    click.option(
        "--top-k",
        type=click.IntRange(min=1),
        default=10,
        show_default=True,
        metavar="N",
        help="Maximum number of documents per question.",
    ),
    click.option(
        "--read-pages",
        is_flag=True,
        help="Read the whole web page behind each search result (extra [fetch]). If a page "
        "cannot be read, the result's snippet is used.",
    ),
]
_reasoning_effort = click.option(
    "--reasoning-effort",
    type=click.Choice(["low", "medium", "high"]),
    help="How much a model reasons before it replies. If no model of the run accepts this "
    "setting, the command fails. Default: the provider's.",
)
_endpoint_options = [
    click.option(
        "--model",
        metavar="SPEC",
        help="The model to use: openai:NAME, local, local:NAME, local:/path/to/file.gguf, or "
        "NAME with --base-url. LangChain adds anthropic:NAME, ollama:NAME and others (extra "
        "[langchain]). Default: OpenAI if OPENAI_API_KEY is set, otherwise local.",
    ),
    click.option(
        "--base-url",
        metavar="URL",
        help="An OpenAI-compatible endpoint for --model and --judge, such as "
        "http://localhost:8000/v1. The endpoint's key is read from OPENAI_API_KEY.",
    ),
]
_prompt_options = [
    _setting("prompts"),
    click.option(
        "--no-cache", is_flag=True, help="Do not reuse cached replies, and do not cache new ones."
    ),
]
_model_options = [
    *_endpoint_options,
    click.option(
        "--judge",
        metavar="SPEC",
        help="The model that splits answers into claims and labels the documents, named as in "
        "--model. Default: the model of --model.",
    ),
    _setting("labeler"),
    *_prompt_options,
]
_context_window = click.option(
    "--context-window",
    type=click.IntRange(min=1024),
    metavar="TOKENS",
    help="The model's context window in tokens; a prompt and its reply must fit into it "
    "together. Default: the size that is known for the model, or 8192.",
)
_max_calls = click.option(
    "--max-calls",
    type=click.IntRange(min=1),
    metavar="N",
    help="Stop after N model calls. Cached replies do not count. Default: no limit.",
)
_output_options = [
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text."),
    click.option(
        "--details",
        is_flag=True,
        help="Also print all documents, the votes, and what each document says about each "
        "disputed claim.",
    ),
    click.option(
        "--log",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="Append the whole run to FILE as one line of JSON.",
    ),
    click.option("--quiet", "-q", is_flag=True, help="Show no progress."),
]


def _added(group: str, *options: Any) -> Callable[[Any], Any]:
    def add(command: Any) -> Any:
        for option in reversed(options):  # decorators apply from the last to the first
            command = in_group(group, option)(command)
        return command

    return add


def _with_settings(*names: str) -> Callable[[Any], Any]:
    return _added(_SETTINGS, *map(_setting, names), _set_option)


with_model_options = _added(_MODELS, *_model_options)
"""Options for models and labeler, for commands that also have ``--set``."""
with_model_choice = _added(_MODELS, *_model_options, _context_window, _reasoning_effort)
"""All options for models and labeler, for commands without ``--set``."""
with_judge_options = _added(
    _MODELS, *_endpoint_options, *_prompt_options, _context_window, _reasoning_effort
)
"""Options for a command whose only model is the judge."""
with_output_options = _added(_OUTPUT, *_output_options)
with_search_options = _added(_DOCUMENTS, _docs_option(), *_search_options)
with_question_search_options = _added(
    _DOCUMENTS, _docs_option("; put QUESTION before --docs"), *_search_options
)
"""Search options for a command whose argument is QUESTION."""
with_scoring_settings = _with_settings(*_names("option", scoring=True))
with_run_settings = _with_settings(*_names("option"))
with_trust_option = _added(_SETTINGS, _setting("trust"))
with_evidence_options = _added(_SETTINGS, *map(_setting, ("duplicates", "max_claims")))
"""Options for a command that scores many answers."""
with_call_budget = _added(_BUDGET, _max_calls)


def seed_option(words: str = "Seed for drawing the sample.") -> Callable[[Any], Any]:
    """Return the option ``--seed`` of a command that draws a sample; ``words`` is its help text."""
    return click.option("--seed", type=int, default=0, show_default=True, metavar="S", help=words)


def with_passage_tokens(command: Any, *, tokens: int = 512) -> Any:
    """Add the option to cut documents to their best passage, by default ``tokens`` tokens long."""
    length = click.option(
        "--passage-tokens",
        type=click.IntRange(min=0),
        default=tokens,
        show_default=True,
        metavar="N",
        help="Cut each document that is longer than N tokens to its best passage of N tokens. "
        "With 0, documents are not cut.",
    )
    return _added(_DOCUMENTS, length)(command)
