"""conflictscore calibrate."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from conflictscore.cli.common import OpenLabeler, open_labeler_of, run_async
from conflictscore.cli.options import with_model_choice
from conflictscore.errors import (
    ConfigurationError,
    ContextWindowError,
    InputError,
    ProviderError,
)

if TYPE_CHECKING:
    from conflictscore.benchmarks.calibration_fit import LogprobLabeler, Scored
    from conflictscore.benchmarks.labelled_pairs import LabelledPair
    from conflictscore.labelers.calibration import Calibration, FittedCalibration

__all__ = ["calibrate"]

_LOCAL_PAIRS, _REMOTE_PAIRS = 1, 8
"""Pairs at a time."""

_EXAMPLES = """\b
Examples:
  conflictscore calibrate --data healthver_groups.jsonl --split train --labeler choice
  conflictscore calibrate --data a_groups.jsonl --data b_pairs.jsonl --sample 300 --bias
"""


@click.command(
    epilog=_EXAMPLES,
    short_help="Fit a labeler's probabilities to people's labels.",
)
@click.option(
    "--data",
    "files",
    multiple=True,
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Pairs that people labelled, as JSON lines: id, claim and docs (text, label), or claim,"
    " document and label. May be given several times. Do not measure on the same data.",
)
@click.option("--split", metavar="NAME", help="Only the lines of this split, such as train.")
@click.option(
    "--sample",
    type=click.IntRange(min=3),
    metavar="N",
    help="N pairs from each file, drawn by --seed, with each label equally often. Default: all.",
)
@click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    metavar="S",
    help="Decides the sample and the halves that the calibration is measured on.",
)
@click.option(
    "--bias",
    is_flag=True,
    help="Also fit a bias for each label, which may change labels: for a labeler that leans to one"
    " side.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("calibration.json"),
    show_default=True,
    metavar="FILE",
    help="Where the calibration is written. It is refused for another labeler or model.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the figures as one JSON object.")
@click.option("--quiet", "-q", is_flag=True, help="Show no progress.")
@with_model_choice
def calibrate(
    files: tuple[Path, ...],
    split: str | None,
    sample: int | None,
    seed: int,
    bias: bool,
    out: Path,
    as_json: bool,
    quiet: bool,
    **settings: Any,
) -> None:
    """Calibrate a labeler's probabilities on pairs that people labelled.

    Fits a temperature, and with --bias a bias for each label, for --labeler choice or nli. The gain
    is measured on claims that were not used for fitting: each half with the fit of the other half.
    """
    from rich.console import Console

    from conflictscore.benchmarks.calibration_fit import (
        calibration_cards,
        cross_fitted,
        fit_calibration,
    )
    from conflictscore.benchmarks.harness.statistics import require_statistics
    from conflictscore.reporting.files import write_whole
    from conflictscore.reporting.plain_table import print_card

    require_statistics()
    if "calibration=" in (settings["labeler"] or ""):
        raise InputError(f"--labeler {settings['labeler']}: this command makes the calibration")
    if doubled := [str(file) for file in set(files) if files.count(file) > 1]:
        raise InputError(f"--data {min(doubled)}: it is given twice")
    if not out.parent.is_dir():
        raise InputError(f"--out {out}: the folder {out.parent} does not exist")
    pairs = _pairs(files, split, sample, seed)
    opened = open_labeler_of(settings, calibrated=False)
    labeler = _giving_logprobs(opened)
    scored = run_async(_ask(labeler, pairs, opened, quiet=quiet))
    named = ", ".join(sorted({file.stem for file in files}))
    calibration = fit_calibration(scored, f"{len(scored)} pairs of {named}", bias=bias)
    figures = cross_fitted(scored, bias=bias, seed=seed)
    fitted = _fitted(labeler, opened, calibration)
    write_whole(out, (fitted.model_dump_json(indent=2, exclude_none=True) + "\n").encode())
    click.echo(f"Wrote {out}", err=True)
    if as_json:
        shown = {"fitted": fitted.model_dump(mode="json"), "held_out": figures.to_json()}
        click.echo(json.dumps(shown, ensure_ascii=False, indent=2))
    else:
        console = Console(highlight=False, markup=False, emoji=False)
        for card in calibration_cards(labeler.name, calibration, figures):
            print_card(card, console)


def _pairs(
    files: Sequence[Path], split: str | None, sample: int | None, seed: int
) -> list["LabelledPair"]:
    from conflictscore.benchmarks.labelled_pairs import balanced_sample, read_pairs

    pairs: list[LabelledPair] = []
    for file in files:
        read = read_pairs(file, split=split)
        if not read:
            of_split = "" if split is None else f" of the split {split!r}"
            raise InputError(f"--data {file}: it has no labelled pair{of_split}")
        pairs += read if sample is None else balanced_sample(read, sample, seed)
    return pairs


def _giving_logprobs(opened: OpenLabeler) -> "LogprobLabeler":
    from conflictscore.benchmarks.calibration_fit import LogprobLabeler
    from conflictscore.labelers.nli.by_claim import NliByClaim

    labeler = opened.labeler
    if isinstance(labeler, NliByClaim):  # the named model; what it is decided with is calibrated
        labeler = labeler.models[0]
    if not isinstance(labeler, LogprobLabeler) or labeler.identity is None:
        raise ConfigurationError(
            f"{labeler.name} gives no probabilities; use --labeler choice or nli"
        )
    return labeler


async def _ask(
    labeler: "LogprobLabeler", pairs: Sequence["LabelledPair"], opened: OpenLabeler, *, quiet: bool
) -> list["Scored"]:
    """The labeler's scores of each pair, without those that it fails on."""
    from rich.console import Console

    from conflictscore.benchmarks.calibration_fit import raw_logprobs
    from conflictscore.models.usage import UsageMeter
    from conflictscore.reporting.displays import PairProgress
    from conflictscore.threads import together

    meter, waiting = UsageMeter(), iter(pairs)
    scored: list[Scored] = []
    failures: list[str] = []

    async def work() -> None:
        for pair in waiting:
            try:
                said = await raw_logprobs(labeler, pair, meter=meter, cache=opened.cache)
            except (ProviderError, ContextWindowError) as error:
                failures.append(str(error))
                progress.pair(str(error))
            else:
                scored.append(said)
                progress.pair()

    console = Console(stderr=True, highlight=False)
    with PairProgress(console, enabled=not quiet, total=len(pairs), done=0) as progress:
        async with together() as start:
            for _ in range(_LOCAL_PAIRS if opened.local else _REMOTE_PAIRS):
                start(work)
    if not scored:
        raise ProviderError(
            f"{labeler.name} failed on every pair, on the first because: {failures[0]}",
            provider=labeler.name,
        )
    return scored


def _fitted(
    labeler: "LogprobLabeler", opened: OpenLabeler, calibration: "Calibration"
) -> "FittedCalibration":
    """The calibration with what it holds for."""
    from conflictscore.labelers.calibration import FittedCalibration

    identity = labeler.identity or {}
    return FittedCalibration(
        labeler=identity["labeler"],
        model=identity["model"] if opened.model is None else opened.model.name,
        prompt_sha256=identity.get("prompt"),
        calibration=calibration,
    )
