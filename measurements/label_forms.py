"""Compares the label accuracy of different prompts for the same judge.

```sh
python -m measurements.label_forms LABELS CASES --cache FILE
```

The first prompt is the long one, which is used with the embedded model. The second prompt is the
brief one, which is used with endpoints. The two prompts are sent to the same model. Each --template
is a file that replaces the template of the brief prompt. Claims are judged in random order
(--seed), each with all prompts before the next claim. The run ends after --minutes, and the claims
judged so far are a random sample. Verdicts are stored in --cache, so the same command resumes. Each
gain has a 95 % bootstrap interval, resampled by claim. LABELS is a folder with nine sets of claims
that people labelled; --sample claims are drawn from each set. CASES is a file of claims in the
format of ``conflictscore bench conflict-detection``. A pair without a usable verdict counts as
wrong.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import monotonic

import click
import numpy as np

from conflictscore.benchmarks.conflict_detection.groups import ClaimGroup, read_groups
from conflictscore.errors import ConflictScoreError
from conflictscore.labelers.batch_judge import BatchJudge
from conflictscore.labelers.table import label_table
from conflictscore.models import UsageMeter, open_model
from conflictscore.models.language_model import LanguageModel
from conflictscore.prompts import PromptSet
from conflictscore.records import Claim
from conflictscore.storage.cache import ContentCache
from measurements.embedded_stack import kept_outputs
from measurements.label_models import Numbers, drawn
from training.groups import validation_groups
from training.human import data_files, label_files, labelled_pairs

_RESAMPLES = 2000
_BRIEF = "label_per_document_brief"


def forms_of(model: LanguageModel, templates: Sequence[Path]) -> dict[str, BatchJudge]:
    """Return a judge for each prompt, by the prompt's name."""
    prompts = PromptSet.load()
    remote = replace(model, endpoint="as-at-an-endpoint")
    forms = {"long": BatchJudge(model, prompts), "brief": BatchJudge(remote, prompts)}
    for template in templates:
        with TemporaryDirectory() as folder:
            Path(folder, f"{_BRIEF}.txt").write_text(template.read_text("utf-8"), "utf-8")
            forms[template.stem] = BatchJudge(remote, PromptSet.load(folder=folder))
    return forms


async def rights_of(
    judge: BatchJudge, group: ClaimGroup, meter: UsageMeter, cache: ContentCache
) -> list[float]:
    """Return, for each document that people labelled, whether the judge agrees (1 or 0)."""
    claim = Claim(number=1, text=group.claim)
    [row] = await label_table(judge, [claim], group.shown, meter=meter, cache=cache)
    labels = {verdict.document: verdict.label for verdict in row.labels}
    return [
        float(labels[place] is label)
        for place, label in enumerate(group.labels, start=1)
        if label is not None
    ]


def groups_of(labels: Path, cases: Path, sample: int, seed: int) -> list[ClaimGroup]:
    """Return all cases, and some validation claims of each set, in random order."""
    groups = read_groups(cases)
    validation = validation_groups(labelled_pairs(label_files(data_files([labels])))[1])
    for name in sorted({group.set for group in validation}):
        groups += drawn([group for group in validation if group.set == name], sample, seed)
    Random(seed).shuffle(groups)  # noqa: S311 - a sample, not a secret
    return groups


@click.command(help=__doc__)
@click.argument("labels", type=click.Path(exists=True, path_type=Path))
@click.argument("cases", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--sample", default=12, show_default=True, help="Number of claims to draw from each set."
)
@click.option("--seed", default=0, show_default=True)
@click.option(
    "--minutes",
    default=600.0,
    show_default=True,
    help="Minutes after which no further claim is judged.",
)
@click.option("--model", default="local", show_default=True)
@click.option("--template", "templates", multiple=True, type=click.Path(path_type=Path))
@click.option("--cache", "file", required=True, type=click.Path(dir_okay=False, path_type=Path))
def main(
    labels: Path,
    cases: Path,
    sample: int,
    seed: int,
    minutes: float,
    model: str,
    templates: Sequence[Path],
    file: Path,
) -> None:
    """See the module."""
    began = monotonic()
    try:
        groups = groups_of(labels, cases, sample, seed)
        with kept_outputs(file) as (cache, bar):
            forms = forms_of(open_model(model, cache=cache), templates)
            meters = {name: UsageMeter() for name in forms}
            rights: dict[str, list[list[float]]] = {name: [] for name in forms}
            for number, group in enumerate(groups, start=1):
                if monotonic() - began > 60 * minutes:
                    break
                for name, judge in forms.items():
                    own = asyncio.run(rights_of(judge, group, meters[name], cache))
                    rights[name].append(own)
                bar.show(number, len(groups), group.set)
    except ConflictScoreError as error:
        raise click.ClickException(str(error)) from error
    sets = np.array([group.set for group in groups[: len(rights["long"])]])
    natural = sets == read_groups(cases)[0].set
    for title, rows in (("cases", natural), ("nine sets", ~natural), ("all", sets != "")):
        if rows.any():
            _print(title, {name: _summed(own)[rows] for name, own in rights.items()})
    for name, meter in meters.items():
        usage = meter.usage
        click.echo(f"{name}: {usage.input_tokens:,} tokens read, {usage.output_tokens:,} written")


def _summed(rights: Sequence[Sequence[float]]) -> Numbers:
    """Return, for each claim, the numbers of correctly labelled pairs and of all pairs."""
    return np.array([[sum(own), len(own)] for own in rights])


def _accuracy(counts: Numbers) -> Numbers:
    right, pairs = np.moveaxis(counts.sum(axis=-2), -1, 0)
    return np.asarray(right / pairs)


def _print(title: str, counts: dict[str, Numbers]) -> None:
    long = counts["long"]
    draws = np.random.default_rng(0).integers(len(long), size=(_RESAMPLES, len(long)))
    click.echo(f"{title}: {long[:, 1].sum():.0f} pairs of {len(long)} claims")
    for name, own in counts.items():
        gain = _accuracy(own) - _accuracy(long)
        low, high = np.percentile(_accuracy(own[draws]) - _accuracy(long[draws]), [2.5, 97.5])
        click.echo(f"  {name}: {_accuracy(own):.3f}, {gain:+.3f} [{low:+.3f}, {high:+.3f}]")


if __name__ == "__main__":
    main()
