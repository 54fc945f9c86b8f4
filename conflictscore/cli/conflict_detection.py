"""conflictscore bench conflict-detection."""

import json
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from conflictscore.cli.common import OpenLabeler, open_labeler_of, open_single_model, run_async
from conflictscore.cli.options import with_model_choice
from conflictscore.errors import InputError

if TYPE_CHECKING:
    from conflictscore.benchmarks.conflict_detection.detect import Judged, PairRow
    from conflictscore.benchmarks.conflict_detection.groups import ClaimGroup
    from conflictscore.benchmarks.conflict_detection.measures import DetectionFigures
    from conflictscore.models.language_model import LanguageModel
    from conflictscore.prompts import PromptSet

__all__ = ["conflict_detection"]

_LOCAL_GROUPS, _REMOTE_GROUPS = 1, 4

_EXAMPLES = """\b
Examples:
  conflictscore bench conflict-detection --data healthver_groups.jsonl --split dev
  conflictscore bench conflict-detection --data a_groups.jsonl --data b_groups.jsonl --sample 60
  conflictscore bench conflict-detection --data ambigdocs:test.json --data contraqa:contraqa/ \\
      --data macnoise-nq:NQ_eval_dev.json --data macnoise-tqa:TQA_eval_dev.json \\
      --data conflictingqa:pages.jsonl --paper-counts --write-claims openai:gpt-4 \\
      --model openai:gpt-4.1
"""


@click.command("conflict-detection", epilog=_EXAMPLES)
@click.option(
    "--data",
    multiple=True,
    required=True,
    metavar="FILE",
    help="Claims with their documents (JSON lines: id, claim, docs, has_conflict), or one of"
    " ConflictBench's sources after its name: ambigdocs:FILE, conflictingqa:FILE, contraqa:FOLDER,"
    " macnoise-nq:FILE, macnoise-tqa:FILE. May be given several times.",
)
@click.option("--split", metavar="NAME", help="Only the claims of this split, such as dev.")
@click.option(
    "--sample",
    type=click.IntRange(min=2),
    metavar="N",
    help="N claims a file, drawn by --seed: half with conflict and half without, or all there are"
    " of a kind.",
)
@click.option(
    "--paper-counts",
    is_flag=True,
    help="Of each source of ConflictBench as many claims with and without conflict as the paper has"
    " (Table 1), drawn by --seed, or all there are of a kind.",
)
@click.option(
    "--write-claims",
    metavar="SPEC",
    help="Have this model write each claim from its question and answer, as the paper has GPT-4 do,"
    " into FILE.claims.jsonl beside --out. Default: fixed words. For ConflictBench's sources.",
)
@click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    metavar="S",
    help="Decides the sample, and what the construction of ConflictBench leaves open.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("runs/conflict-detection.jsonl"),
    show_default=True,
    metavar="FILE",
    help="Verdicts, added one by one; the same command resumes a file that exists.",
)
@click.option(
    "--concurrency",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"Claims at a time. Default: {_REMOTE_GROUPS}, or {_LOCAL_GROUPS} with the local model.",
)
@click.option("--retry-failed", is_flag=True, help="Judge again what failed in an earlier run.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as one JSON object.")
@click.option("--quiet", "-q", is_flag=True, help="Show no progress.")
@with_model_choice
def conflict_detection(
    data: tuple[str, ...],
    split: str | None,
    sample: int | None,
    paper_counts: bool,
    write_claims: str | None,
    seed: int,
    out: Path,
    concurrency: int | None,
    retry_failed: bool,
    as_json: bool,
    quiet: bool,
    **settings: Any,
) -> None:
    """Find the claims that their documents disagree on, and compare with people (Table 2).

    Claims are given and are not decomposed. A claim conflicts where a document supports it and
    another contradicts it. The figures stand beside those of always and never saying so, and on
    ConflictBench's sources beside the paper's.
    """
    from conflictscore.benchmarks.conflict_detection.data import (
        as_published,
        balanced,
        read_data,
    )
    from conflictscore.benchmarks.conflict_detection.measures import detection_figures
    from conflictscore.benchmarks.harness.statistics import require_statistics
    from conflictscore.prompts import PromptSet

    require_statistics()
    groups = read_data(data, split=split, seed=seed)
    if sample is not None and paper_counts:
        raise InputError("give --sample or --paper-counts, not both")
    if paper_counts:
        groups = as_published(groups, seed)
    elif sample is not None:
        groups = balanced(groups, sample, seed)
    if write_claims and not any(group.question for group in groups):
        raise InputError(
            "--write-claims: the claims of these files are given, and have no question to be"
            " written from; it is for ConflictBench's sources, such as ambigdocs:FILE"
        )
    settings["prompts"] = PromptSet.open(settings["prompts"], base="paper")
    opened = open_labeler_of(settings)
    if write_claims:
        writer = open_single_model(write_claims, settings)
        groups = _written(writer, groups, out, settings["prompts"], concurrency, quiet=quiet)
    judged, rows = _judged(
        opened, groups, out, concurrency=concurrency, retry_failed=retry_failed, quiet=quiet
    )
    figures = detection_figures(opened.labeler.name, judged, rows)
    _deliver(figures, as_json=as_json)


def _written(
    writer: "LanguageModel",
    groups: list["ClaimGroup"],
    out: Path,
    prompts: "PromptSet",
    concurrency: int | None,
    *,
    quiet: bool,
) -> list["ClaimGroup"]:
    """The claims as a model writes them; those that it wrote before are not asked for again."""
    from rich.console import Console

    from conflictscore.benchmarks.conflict_detection.data import written_claims
    from conflictscore.progress import CountBar

    asked = count(1)
    with CountBar(Console(stderr=True, quiet=quiet), "writing", "claims") as bar:
        worded, used = run_async(
            written_claims(
                groups,
                out.with_suffix(".claims.jsonl"),
                writer,
                prompts,
                concurrency=concurrency or (_LOCAL_GROUPS if writer.is_local else _REMOTE_GROUPS),
                on_claim=lambda missing: bar.show(next(asked), missing),
            )
        )
    click.echo(
        f"Claims written by {writer.name}: {used.calls:,} calls, {used.cached_calls:,} from the"
        f" cache, {used.input_tokens:,} tokens in, {used.output_tokens:,} out",
        err=True,
    )
    return worded


def _judged(
    opened: OpenLabeler,
    groups: Sequence["ClaimGroup"],
    out: Path,
    *,
    concurrency: int | None,
    retry_failed: bool,
    quiet: bool,
) -> tuple[list["Judged"], tuple["PairRow", ...]]:
    """The claims with their labels, and all rows of the file of verdicts, which is resumed."""
    from rich.console import Console

    from conflictscore.benchmarks.conflict_detection.detect import (
        VerdictFile,
        detect,
        judged_groups,
    )
    from conflictscore.reporting.displays import ItemProgress

    console = Console(stderr=True, highlight=False)
    with VerdictFile.open(out, opened.labeler) as verdicts:
        if verdicts.cut:
            click.echo(
                f"Note: {out}: half a line at the end, as a kill leaves it, was cut off", err=True
            )
        done = sum(len(verdicts.labels(group)) for group in groups)
        pairs = sum(len(group.documents) for group in groups)
        with ItemProgress(console, "judging", "pairs", enabled=not quiet, reasons=1) as progress:
            progress.begin(pairs, done)
            run_async(
                detect(
                    opened.labeler,
                    groups,
                    verdicts,
                    cache=opened.cache,
                    concurrency=concurrency or (_LOCAL_GROUPS if opened.local else _REMOTE_GROUPS),
                    retry_failed=retry_failed,
                    on_pair=lambda label: progress.count(label.error, "a pair"),
                )
            )
        return list(judged_groups(groups, verdicts)), verdicts.rows


def _deliver(figures: "DetectionFigures", *, as_json: bool) -> None:
    from rich.console import Console

    from conflictscore.benchmarks.conflict_detection.display import print_detection

    if as_json:
        click.echo(json.dumps(figures.to_json(), ensure_ascii=False, indent=2))
    else:
        print_detection(figures, Console(highlight=False, markup=False, emoji=False))
