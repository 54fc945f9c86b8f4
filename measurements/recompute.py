"""Recomputes the figures of benchmark runs from their records, and compares them.

This script and recompute_*.py import nothing from conflictscore. These scripts read manifest.json,
questions.jsonl and records.jsonl, follow the definitions in the guide, and take tests and intervals
from scipy and statsmodels. Each number is compared with figures.json.

These figures are recomputed: shares with Wilson intervals, means with bootstrap intervals, failures
and unjudged answers, paired comparisons (exact McNemar test, or Wilcoxon's test with Pratt's
method) and Holm's adjustment. So are the transitions of section 6.4 (by claims and by wording),
categories, types of conflict, mean CS-C and CS-R from the labels, coverage, and calls and tokens by
model. Dollars are not recomputed, since they need a price table, and neither are figures derived
from them.

For the folder of a study (--seeds), the figures of each run are recomputed, and then the pooled
figures. For other studies, --study takes the output of `conflictscore report RUN RUN --json`. Two
figures of a study are not recomputed: judge noise, and the number of questions that would be
needed.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from measurements.recompute_figures import figures_of
from measurements.recompute_run import Run
from measurements.recompute_study import study_figures

_TOLERANCE = 1e-9  # a different order of additions can cause smaller differences


def compared(recomputed: Any, reported: Any, where: str = "") -> Iterator[tuple[str, bool]]:
    """Yield the path of each recomputed number, and whether the reported number is the same."""
    if isinstance(recomputed, Mapping):
        for name, value in recomputed.items():
            inner = reported.get(name) if isinstance(reported, Mapping) else None
            yield from compared(value, inner, f"{where}.{name}" if where else name)
    elif isinstance(recomputed, list):
        if not isinstance(reported, list) or len(recomputed) != len(reported):
            yield where, False
            return
        for number, (mine, theirs) in enumerate(zip(recomputed, reported, strict=True)):
            yield from compared(mine, theirs, f"{where}[{number}]")
    elif isinstance(recomputed, float) and isinstance(reported, int | float):
        yield where, abs(recomputed - reported) <= _TOLERANCE
    else:
        yield where, recomputed == reported


def shown_differences(where: str, recomputed: Any, reported: Any, *, as_json: bool) -> int:
    """Print the number of recomputed figures, and those that differ; return how many differ."""
    if as_json:
        click.echo(json.dumps(recomputed, indent=2))
    numbers = list(compared(recomputed, reported))
    odd = [name for name, same in numbers if not same]
    lines = [f"{where}: {len(numbers):,} figures recomputed, {len(odd):,} differ"]
    for line in (*lines, *(f"  {name}" for name in odd)):
        click.echo(line, err=as_json)
    return len(odd)


@click.command(help=__doc__)
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path, file_okay=False))
@click.option("--json", "as_json", is_flag=True, help="Print the recomputed figures.")
@click.option(
    "--study",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="The output of `conflictscore report --json` for these runs.",
)
def main(runs: tuple[Path, ...], as_json: bool, study: Path | None) -> None:
    """See the module."""
    differing = 0
    read_runs: dict[str, Run] = {}
    for folder in runs:
        parts = [folder]
        if not (folder / "manifest.json").exists():
            parts = sorted(path.parent for path in folder.glob("seed-*/manifest.json"))
        of_folder = {part.name: Run(part) for part in parts}
        for part, run in zip(parts, of_folder.values(), strict=True):
            differing += shown_differences(str(part), figures_of(run), run.figures, as_json=as_json)
        if len(parts) > 1:
            reported = json.loads((folder / "figures.json").read_text("utf-8"))
            recomputed = study_figures(of_folder, reported)
            differing += shown_differences(str(folder), recomputed, reported, as_json=as_json)
        read_runs |= of_folder
    for reported in json.loads(study.read_text("utf-8")) if study else ():
        of_study = {name: read_runs[name] for name in reported["runs"]}
        recomputed = study_figures(of_study, reported)
        differing += shown_differences(str(study), recomputed, reported, as_json=as_json)
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()
