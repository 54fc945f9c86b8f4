"""The options that commands share."""

from pathlib import Path
from typing import Any

import click

from conflictscore.cli.short_help import in_group
from conflictscore.graph.efforts import EFFORTS
from conflictscore.labelers.registry import LABELERS, LabelerKind, takers
from conflictscore.retrieval.providers import PROVIDERS

__all__ = [
    "reasoning_effort_option",
    "with_budget_options",
    "with_correction_options",
    "with_evidence_options",
    "with_model_choice",
    "with_model_options",
    "with_passage_options",
    "with_scoring_options",
    "with_search_options",
    "with_trust_option",
]


def _summary(kind: LabelerKind) -> str:
    return f"{kind.summary} (extra [{kind.extra}])" if kind.extra else kind.summary


def _for(option: str) -> str:
    """The labelers that an option is for, as its help begins."""
    *others, last = takers(option)
    return f"For --labeler {', '.join(others)}{' or ' if others else ''}{last}: "


_search_options = [
    click.option(
        "--docs",
        type=click.Path(),
        multiple=True,
        metavar="PATH ...",
        help="Files and folders to search: .txt, .md, .html, .jsonl, and with the extra [docs] .pdf"
        " and .docx. Everything up to the next option is a path, so put QUESTION before --docs.",
    ),
    click.option(
        "--search",
        metavar="NAME[,NAME...]",
        help="Where to search:"
        f" {', '.join(provider.usage(name) for name, provider in PROVIDERS.items())}. Of several,"
        " the next is asked if one fails or its quota is used up. Default: --docs if given,"
        " otherwise the first whose variables are set; `conflictscore search --help` lists them.",
    ),
    click.option(
        "--top-k",
        type=click.IntRange(min=1),
        default=10,
        show_default=True,
        metavar="N",
        help="Documents per question.",
    ),
    click.option(
        "--read-pages",
        is_flag=True,
        help="Read the page behind each result, or its snippet if that fails (extra [fetch]).",
    ),
    click.option(
        "--exclude-site",
        "exclude_sites",
        multiple=True,
        metavar="DOMAIN",
        help="Leave out what is found there, or on a subdomain. Give it once for each.",
    ),
]


def _passage_tokens(default: int) -> Any:
    return click.option(
        "--passage-tokens",
        type=click.IntRange(min=0),
        default=default,
        show_default=True,
        metavar="N",
        help="Cut longer documents to their best passage of N tokens; 0 leaves them whole.",
    )


_passage_options = [
    click.option(
        "--passages",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        metavar="N",
        help="The most passages kept of a document; it stays one document.",
    ),
]

_evidence_options = [
    click.option(
        "--duplicates",
        type=click.Choice(["vote", "once", "domain"]),
        default="vote",
        show_default=True,
        help="Whether near-identical documents each count in CS-R (vote, as the paper), or once a"
        " side; with domain, so do all documents of one registrable domain.",
    ),
    click.option(
        "--max-claims",
        type=click.IntRange(min=1),
        metavar="N",
        help="The most claims of an answer to label. Default: all.",
    ),
]

_trust_options = [
    click.option(
        "--trust",
        metavar="FILE",
        help="Weigh documents by a table (TOML) of hosts, domains, types and dates. Scores with"
        " weights are shown beside those without; the choice of claims to reconsider and the guard"
        " follow the weights. Default: all count alike.",
    ),
]

_time_options = [
    click.option(
        "--budget-seconds",
        type=click.FloatRange(min=0, min_open=True),
        metavar="S",
        help="The time for a run, S seconds with every step: the pairs that are likely to tell most"
        " are labelled first, and what was left out is named. Default: no limit.",
    ),
    click.option(
        "--min-coverage",
        type=click.FloatRange(min=0, max=1),
        default=0.5,
        show_default=True,
        metavar="SHARE",
        help="From which share of labelled pairs on, 0 to 1, an answer counts as checked; a warning"
        " says where not all have a label.",
    ),
]

reasoning_effort_option = click.option(
    "--reasoning-effort",
    type=click.Choice(["low", "medium", "high"]),
    help="How much models reason before they reply; told to those that take it, and an error where"
    " none does. Default: the provider's.",
)

_model_options = [
    click.option(
        "--model",
        metavar="SPEC",
        help="openai:NAME, local, local:NAME, local:/path/to/file.gguf, NAME with --base-url, or"
        " anthropic:NAME, ollama:NAME and so on by LangChain (extra [langchain]). Default: OpenAI"
        " where OPENAI_API_KEY is set, otherwise local.",
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
        type=click.Choice(list(LABELERS)),
        help="Who judges pairs of claim and document. "
        + " ".join(f"{name}: {_summary(kind)}." for name, kind in LABELERS.items()),
    ),
    click.option(
        "--nli-model",
        metavar="MODEL",
        help=f"{_for('nli_model')}another model: nli-mpnet, the larger one, after `conflictscore"
        " model fetch nli-mpnet`; or a folder with model.onnx, tokenizer.json and config.json, of"
        " any three-way NLI cross-encoder. Default: the bundled one.",
    ),
    click.option(
        "--certain",
        type=click.FloatRange(0, 1),
        metavar="X",
        help=f"{_for('certain')}the calibrated score from which a verdict of nli stands; lower"
        " asks the model less often. Default: 0.6 for a side and 0.75 for IRRELEVANT (of"
        " nli-mpnet 0.55, 0.75 and, for IRRELEVANT, 0.85), which suit the embedded model; with a"
        " capable one, rather 0.9.",
    ),
    click.option(
        "--calibration",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help=f"{_for('calibration')}the file that `conflictscore calibrate` wrote for this model.",
    ),
    click.option(
        "--unquoted",
        type=click.Choice(["keep", "unlabelled", "again"]),
        help=f"{_for('unquoted')}what becomes of SUPPORTS or CONTRADICTS whose quote is not in"
        " the document: kept and marked, turned into no verdict, or asked for again, once."
        "  [default: keep]",
    ),
    click.option(
        "--context-window",
        type=click.IntRange(min=1024),
        metavar="TOKENS",
        help="Prompt and reply together. Default: what is known of the model, or 8192.",
    ),
    reasoning_effort_option,
    click.option(
        "--prompts",
        metavar="SET|DIR",
        help="What models are asked with: default; paper, worded by the paper's own tables; or a"
        " folder with templates of your own (NAME.txt) in place of some of them.",
    ),
    click.option("--no-cache", is_flag=True, help="Neither use nor keep replies and verdicts."),
]

_budget_options = [
    click.option(
        "--max-calls",
        type=click.IntRange(min=1),
        metavar="N",
        help="Stop before the call after N calls of models; what is kept costs none. Default: no"
        " limit.",
    ),
    click.option(
        "--max-tokens",
        type=click.IntRange(min=1),
        metavar="N",
        help="Stop once N tokens were used, in and out; calls in flight still end. Default: no"
        " limit.",
    ),
]


def _set_effort(ctx: click.Context, option: click.Parameter, effort: Any) -> Any:
    """Make what an effort sets the default of the other options, below what a file sets."""
    if effort:
        named = {option.name for option in ctx.command.params}
        preset = {name: value for name, value in EFFORTS[effort].items() if name in named}
        ctx.default_map = preset | dict(ctx.default_map or {})
    return effort


_effort_option = click.option(
    "--effort",
    type=click.Choice(list(EFFORTS)),
    is_eager=True,
    callback=_set_effort,
    help="Settings that go together; an option given beside it counts. fast: the bundled NLI model"
    " labels, at most 8 claims (extra [nli]). standard: every default. thorough: the judge reasons"
    " about each pair, up to 3 rounds. paper: the paper's loop, without a rule of ours.",
)

_correction_options = [
    click.option(
        "--regeneration",
        type=click.Choice(["revise", "paper"]),
        default="revise",
        show_default=True,
        help="How an answer is corrected: only where it is disputed, in place (revise), or anew,"
        " with both sides in view (paper).",
    ),
    click.option(
        "--disputed",
        type=click.Choice(["conflict", "refuted", "contradicted", "unsupported"]),
        multiple=True,
        default=("conflict", "refuted"),
        show_default=True,
        help="Which claims are looked at again: with evidence on both sides (conflict); with none"
        " for them, and two documents or more against them (refuted), or one (contradicted); or"
        " with no evidence (unsupported). Give it once for each.",
    ),
    click.option(
        "--unsettled",
        type=click.Choice(["hedge", "keep"]),
        default="hedge",
        show_default=True,
        help="What becomes of a passage where the evidence settles nothing: it says that the"
        " sources disagree (hedge), or stays as it is (keep).",
    ),
    click.option(
        "--look-further",
        type=click.Choice(["off", "disputed", "unsupported"]),
        default="off",
        show_default=True,
        help="Search once more before an answer is corrected: for its claims in doubt, or also for"
        " those that no document speaks to. For at most three claims a round, two queries each.",
    ),
    click.option(
        "--guard/--no-guard",
        default=True,
        show_default=True,
        help="Let a change stand only where its claims have better evidence than those before.",
    ),
]

_output_options = [
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
    """Add the options of a command that calls models and prints what came of it."""
    return _with(_MODELS, _model_options, _with(_OUTPUT, _output_options, command))


def with_model_choice(command: Any) -> Any:
    """Add the options that say which models are called, and how."""
    return _with(_MODELS, _model_options, command)


def with_search_options(command: Any) -> Any:
    """Add the options of a command that searches."""
    return _with(_DOCUMENTS, _search_options, command)


def with_passage_options(command: Any, *, tokens: int = 512) -> Any:
    """Add the options of a command that cuts documents to their best passages.

    Args:
        command: Gets the options.
        tokens: The default length of a passage; 0 for documents that are left whole.
    """
    return _with(_DOCUMENTS, [_passage_tokens(tokens), *_passage_options], command)


def with_scoring_options(command: Any) -> Any:
    """Add the options of a command that weighs evidence while somebody waits."""
    return _with(_SCORING, [*_evidence_options, *_trust_options, *_time_options], command)


def with_correction_options(command: Any) -> Any:
    """Add the options of a command that corrects answers."""
    return _with(_CORRECTION, [_effort_option, *_correction_options], command)


def with_trust_option(command: Any) -> Any:
    """Add the option of a command that can weigh documents by how far they are trusted."""
    return _with(_SCORING, _trust_options, command)


def with_budget_options(command: Any) -> Any:
    """Add the options of a command that can be held to a budget of calls and tokens."""
    return _with(_BUDGET, _budget_options, command)


def with_evidence_options(command: Any) -> Any:
    """Add the options of a command that weighs evidence."""
    return _with(_SCORING, _evidence_options, command)


_DOCUMENTS, _MODELS, _SCORING = "Documents", "Models and labels", "Scoring"
_CORRECTION, _BUDGET, _OUTPUT = "Correction", "Budget", "Output"


def _with(group: str, options: list[Any], command: Any) -> Any:
    for option in reversed(options):
        command = in_group(group, option)(command)
    return command
