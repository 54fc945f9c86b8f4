"""The command ``bench conflict-detection``."""

import json
import time
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from conflictscore.cli.common import open_labeler_of, open_single_model, run_async
from conflictscore.cli.options import seed_option, with_model_choice
from conflictscore.errors import InputError

if TYPE_CHECKING:
    from conflictscore.benchmarks.conflict_detection.groups import ClaimGroup
    from conflictscore.benchmarks.conflict_detection.measures import DetectionFigures, Judged
    from conflictscore.models.language_model import LanguageModel

_LOCAL_GROUPS, _REMOTE_GROUPS = 1, 4
"""How many claims are judged at the same time: on this machine, and at an endpoint.

A labeler on this machine gains nothing from parallel calls. The number for an endpoint was chosen
by hand.
"""

_EXAMPLES = """\b
Examples:
  conflictscore bench conflict-detection --data healthver_groups.jsonl
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
    help="JSON lines of claims with their documents (fields id, claim, docs, has_conflict), "
    "or a source of ConflictBench: ambigdocs:FILE, conflictingqa:FILE, contraqa:FOLDER, "
    "macnoise-nq:FILE or macnoise-tqa:FILE. Repeatable.",
)
@click.option(
    "--sample",
    type=click.IntRange(min=2),
    metavar="N",
    help="Draw N claims from each file, half of them with a conflict. --seed decides which "
    "claims are drawn. If a file has too few claims of one kind, all of that kind are used.",
)
@click.option(
    "--paper-counts",
    is_flag=True,
    help="For each source of ConflictBench, draw as many claims with a conflict, and as many "
    "without, as the paper's Table 1 gives. --seed decides which claims are drawn. If a source has "
    "too few claims of one kind, all of that kind are used.",
)
@click.option(
    "--write-claims",
    metavar="SPEC",
    help="The model that writes each claim from a question and its answer, as GPT-4 does in the "
    "paper. This works only with the sources of ConflictBench. Default: a fixed template writes "
    "the claims.",
)
@seed_option("Seed for drawing the sample, and for random choices in building ConflictBench.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the labeler's verdicts and the annotators' labels to FILE as JSON lines. Each "
    "line is a pair of a claim and a document.",
)
@click.option(
    "--picture",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Draw a reliability diagram to FILE (.svg or .png). It shows how often labels are right "
    "at each probability that the labeler assigns.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the figures as one JSON object.")
@click.option("--quiet", "-q", is_flag=True, help="Show no progress.")
@with_model_choice
def conflict_detection(
    data: tuple[str, ...],
    sample: int | None,
    paper_counts: bool,
    write_claims: str | None,
    seed: int,
    out: Path | None,
    picture: Path | None,
    as_json: bool,
    quiet: bool,
    **settings: Any,
) -> None:
    """Measure how well conflicts are detected (Table 2).

    Claims are used exactly as they are in the file. A claim is in conflict if one document supports
    it and another contradicts it. The verdicts are compared with annotators' labels. The output
    also shows three baselines, and the paper's figures for ConflictBench's sources. The baselines
    report a conflict for every claim, for no claim, or for every claim with two documents. The
    default labeler is json, the paper's labeler, which makes one call per pair.

    Verdicts are cached as they arrive. To resume an interrupted run or retry failed pairs, run the
    same command again.
    """
    from rich.console import Console

    from conflictscore.benchmarks.conflict_detection.display import print_detection
    from conflictscore.benchmarks.conflict_detection.measures import detect, detection_figures
    from conflictscore.benchmarks.harness.statistics import require_statistics
    from conflictscore.models.usage import UsageMeter
    from conflictscore.prompts import PromptSet
    from conflictscore.reporting.displays import ItemProgress

    require_statistics()
    _check_outputs(out, picture)
    groups = _chosen_groups(data, sample, seed, paper_counts=paper_counts)
    if write_claims and not any(group.question for group in groups):
        raise InputError(
            "--write-claims: these files already contain claims, and no questions; "
            "use the option with ConflictBench's sources, such as ambigdocs:FILE"
        )
    # the figures are compared with the paper's, so its prompts are the default
    settings["prompts"] = PromptSet.open(settings["prompts"], base="paper")
    labeler, cache, local = open_labeler_of(settings)
    if write_claims:
        groups = _written(open_single_model(write_claims, settings), groups, settings, quiet=quiet)
    meter, start = UsageMeter(), time.perf_counter()
    console = Console(stderr=True, highlight=False)
    # one reason suffices: the lines name no pair, and the bar counts all failures
    with ItemProgress(console, "judging", "pairs", visible=not quiet, reasons=1) as progress:
        progress.begin(sum(len(group.documents) for group in groups))
        verdicts = run_async(
            detect(
                labeler,
                groups,
                meter=meter,
                cache=cache,
                concurrency=_LOCAL_GROUPS if local else _REMOTE_GROUPS,
                on_pair=lambda label: progress.count(label.error, "a pair"),
            )
        )
    seconds = time.perf_counter() - start
    figures = detection_figures(labeler.name, verdicts, meter.usage, seconds)
    if out:
        _write(out, verdicts)
    if picture:
        _draw(picture, figures)
    if as_json:
        click.echo(json.dumps(figures.to_json(), ensure_ascii=False, indent=2))
    else:
        print_detection(figures, Console(highlight=False, markup=False, emoji=False))


def _check_outputs(out: Path | None, picture: Path | None) -> None:
    """Refuse outputs that cannot be written, before any pair is judged."""
    if out and not _is_ours(out):
        raise InputError(f"--out: {out} was not written by this version; choose another name")
    if picture and picture.suffix not in (".svg", ".png"):
        raise InputError(f"--picture: {picture} must end in .svg or .png")
    for name, path in (("--out", out), ("--picture", picture)):
        if path and not path.parent.is_dir():
            raise InputError(f"{name}: {path} is in a folder that does not exist")


def _chosen_groups(
    sources: tuple[str, ...], sample: int | None, seed: int, *, paper_counts: bool
) -> list["ClaimGroup"]:
    """Read the claims of all sources, and draw the sample that the options ask for."""
    from conflictscore.benchmarks.conflict_detection.data import as_published, balanced, read_data

    groups = read_data(sources, seed=seed)
    if sample is not None and paper_counts:
        raise InputError("give --sample or --paper-counts, not both")
    if paper_counts:
        return as_published(groups, seed)
    return groups if sample is None else balanced(groups, sample, seed)


def _written(
    writer: "LanguageModel",
    groups: list["ClaimGroup"],
    settings: dict[str, Any],
    *,
    quiet: bool,
) -> list["ClaimGroup"]:
    """Let a model write the claim of each group from its question, and show progress and cost."""
    from rich.console import Console

    from conflictscore.benchmarks.conflict_detection.measures import written_claims
    from conflictscore.benchmarks.judging import Judge
    from conflictscore.models.usage import UsageMeter
    from conflictscore.progress import CountBar

    question_number, total = count(1), sum(bool(group.question) for group in groups)
    judge = Judge(writer, settings["prompts"], UsageMeter())
    with CountBar(Console(stderr=True, quiet=quiet), "writing", "claims") as bar:
        groups_with_claims = run_async(
            written_claims(groups, judge, on_claim=lambda: bar.show(next(question_number), total))
        )
    usage = judge.meter.usage
    click.echo(
        f"Claims written by {writer.name}: {usage.calls:,} calls, {usage.cached_calls:,} from the"
        f" cache, {usage.input_tokens:,} tokens in, {usage.output_tokens:,} out",
        err=True,
    )
    return groups_with_claims


def _draw(picture: Path, figures: "DetectionFigures") -> None:
    from conflictscore.benchmarks.conflict_detection.reliability import reliability_picture
    from conflictscore.storage.private_files import write_whole

    if figures.reliability is None:
        click.echo(
            f"Note: {figures.labeler} gives no probabilities, so {picture} was not drawn", err=True
        )
        return
    chart = reliability_picture(figures.reliability, figures.labeler)
    write_whole(picture, chart.image("svg" if picture.suffix == ".svg" else "png"))


def _is_ours(out: Path) -> bool:
    """Return whether a file may be written: it is new or empty, or has this version's verdicts."""
    try:
        with out.open(encoding="utf-8") as lines:
            first = json.loads(next(lines, "null"))  # an empty file may be replaced
    except FileNotFoundError:
        return True
    except (OSError, ValueError):  # it cannot be read, so it may contain other data
        return False
    return first is None or (isinstance(first, dict) and {"people", "label"} <= first.keys())


def _write(out: Path, verdicts: list["Judged"]) -> None:
    from conflictscore.storage.private_files import write_whole

    rows = [
        {"set": group.set, "id": group.id, "claim": group.claim, "people": people}
        | {"label": label.to_json()}
        for group, labels in verdicts
        for people, label in zip(group.labels, labels, strict=True)
    ]
    write_whole(out, "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows).encode())
