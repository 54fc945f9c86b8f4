"""conflictscore bench conflict-detection."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from conflictscore.cli.common import OpenLabeler, open_labeler, run_async
from conflictscore.cli.options import with_model_choice
from conflictscore.errors import InputError

if TYPE_CHECKING:
    from conflictscore.benchmarks.conflict_detection.detect import Judged, PairRow
    from conflictscore.benchmarks.conflict_detection.groups import ClaimGroup
    from conflictscore.benchmarks.conflict_detection.measures import DetectionFigures

__all__ = ["conflict_detection", "judged_by"]

_LOCAL_GROUPS, _REMOTE_GROUPS = 1, 4

_EXAMPLES = """\b
Examples:
  conflictscore bench conflict-detection --data healthver_groups.jsonl --split dev
  conflictscore bench conflict-detection --data a_groups.jsonl --data b_groups.jsonl --sample 60
  conflictscore bench conflict-detection --data ambigdocs:test.json --sample 600 --labeler json
"""


@click.command("conflict-detection", epilog=_EXAMPLES)
@click.option(
    "--data",
    multiple=True,
    required=True,
    metavar="FILE",
    help="Claims with their documents (JSON lines: id, claim, docs, has_conflict), or one of"
    " ConflictBench's sources after its name: ambigdocs:FILE, conflictingqa:FILE, contraqa:FOLDER,"
    " macnoise:FILE. May be given several times.",
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
    "--page",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Also write the figures as an HTML page.",
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
    seed: int,
    out: Path,
    page: Path | None,
    concurrency: int | None,
    retry_failed: bool,
    as_json: bool,
    quiet: bool,
    **settings: Any,
) -> None:
    """Find the claims that their documents disagree on, and compare with people (Table 2).

    Claims are given and are not decomposed. A claim conflicts where a document supports it and
    another contradicts it. The figures stand beside those of always and never saying so.
    """
    from conflictscore.benchmarks.conflict_detection.data import balanced, read_data
    from conflictscore.benchmarks.conflict_detection.measures import detection_figures
    from conflictscore.benchmarks.harness.statistics import require_statistics
    from conflictscore.prompts import PromptSet

    require_statistics()
    groups = read_data(data, split=split, seed=seed)
    if sample is not None:
        groups = balanced(groups, sample, seed)
    if page is not None and not page.parent.is_dir():
        raise InputError(f"--page {page}: the folder {page.parent} does not exist")
    opened = open_labeler(settings | {"prompts": PromptSet.open(settings["prompts"], base="paper")})
    judged, rows = judged_by(
        opened, groups, out, concurrency=concurrency, retry_failed=retry_failed, quiet=quiet
    )
    figures = detection_figures(opened.labeler.name, judged, rows)
    _deliver(figures, as_json=as_json, page=page)


def judged_by(
    opened: OpenLabeler,
    groups: Sequence["ClaimGroup"],
    out: Path,
    *,
    concurrency: int | None,
    retry_failed: bool,
    quiet: bool,
) -> tuple[list["Judged"], tuple["PairRow", ...]]:
    """Label every claim against its documents, with progress; a file of verdicts is resumed.

    Args:
        opened: The labeler.
        groups: The claims.
        out: The file of verdicts.
        concurrency: Claims at a time; None for one on this machine and four elsewhere.
        retry_failed: Whether a pair that failed in an earlier run is judged again.
        quiet: Whether no progress is shown.

    Returns:
        The claims with their labels, and all rows of the file.
    """
    from rich.console import Console

    from conflictscore.benchmarks.conflict_detection.detect import (
        VerdictFile,
        detect,
        judged_groups,
    )
    from conflictscore.reporting.displays import PairProgress

    console = Console(stderr=True, highlight=False)
    with VerdictFile.open(out, opened.labeler) as verdicts:
        for note in verdicts.notes:
            click.echo(f"Note: {note}", err=True)
        done = sum(len(verdicts.labels(group)) for group in groups)
        pairs = sum(len(group.documents) for group in groups)
        with PairProgress(console, enabled=not quiet, total=pairs, done=done) as progress:
            run_async(
                detect(
                    opened.labeler,
                    groups,
                    verdicts,
                    cache=opened.cache,
                    concurrency=concurrency or (_LOCAL_GROUPS if opened.local else _REMOTE_GROUPS),
                    retry_failed=retry_failed,
                    on_pair=lambda label: progress.pair(label.error),
                )
            )
        return list(judged_groups(groups, verdicts)), verdicts.rows


def _deliver(figures: "DetectionFigures", *, as_json: bool, page: Path | None) -> None:
    from rich.console import Console

    from conflictscore.benchmarks.conflict_detection.display import (
        print_detection,
        write_detection_page,
    )

    if page is not None:
        write_detection_page(figures, page)
        click.echo(f"Wrote {page}", err=True)
    if as_json:
        click.echo(json.dumps(figures.to_json(), ensure_ascii=False, indent=2))
    else:
        print_detection(figures, Console(highlight=False, markup=False, emoji=False))
