"""Several labelers side by side, on the same sample of claims with their documents.

For each: how often its labels are people's, how well it finds the claims that documents disagree
on, beside the answers that are always the same, and what it took: calls, tokens, seconds. Beside
OUT.json stand OUT.svg, a chart of accuracy against tokens, and OUT.verdicts/ with each labeler's
verdicts, added one by one: the same command resumes where it was stopped. Nothing is taken from
the cache of verdicts, so that tokens are those that the labeler takes.

The sample is N claims a file, drawn as half in conflict and half not; each brings others that have
the same documents, as the claims of an answer do, and these are judged together, up to --claims at
a time. How many share documents is the file's: a call of `per-document` and of `matrix` may hold
fewer claims here than in use.
`whole-answer` and `salient` choose the claims of an answer: measurements.answer_modes asks what
they lose, and what all documents in one prompt do to the score of an answer.
"""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import click

from conflictscore.benchmarks.conflict_detection.data import balanced, read_data, with_siblings
from conflictscore.benchmarks.conflict_detection.detect import VerdictFile, detect, judged_groups
from conflictscore.benchmarks.conflict_detection.groups import ClaimGroup, in_tables
from conflictscore.benchmarks.conflict_detection.measures import DetectionFigures, detection_figures
from conflictscore.benchmarks.harness.statistics import require_statistics
from conflictscore.errors import ConflictScoreError, InputError
from conflictscore.graph.create import run_context
from conflictscore.graph.settings import LoopSettings
from conflictscore.labelers import LABELERS, Labeler, LabelerName
from conflictscore.labelers.registry import takers
from measurements.accuracy_chart import Point, accuracy_chart

__all__ = ["main"]

_NAMES = tuple(name for name, kind in LABELERS.items() if not kind.for_answers)
_PAIRWISE: LabelerName = "json"
"""What the others' tokens are held against."""
_ROW = "{:<13}{:>6}{:>6}{:>8}{:>9}{:>7}{:>9}{:>7}{:>9}{:>7}{:>11}{:>7}{:>10}"
_COLUMNS = (
    *("labeler", "claims", "open", "label %", "(const.)", "F1 %", "(always)", "acc %"),
    *("(const.)", "calls", "tokens", "x json", "s a claim"),
)
_LEGEND = """
open: claims with a pair that has no verdict. label %: pairs with the label of people; F1 %, acc %:
claims in conflict, or not. (const.): the better of the answers that are always the same; (always):
saying "conflict" of every claim. tokens: in and out. Intervals are in OUT.json."""


@click.command(help=__doc__)
@click.option("--data", multiple=True, required=True, metavar="FILE", help="*_groups.jsonl")
@click.option("--labeler", "labelers", multiple=True, required=True, type=click.Choice(_NAMES))
@click.option("--groups", default=40, show_default=True, type=click.IntRange(min=2))
@click.option("--claims", default=8, show_default=True, type=click.IntRange(min=1))
@click.option("--seed", default=0, show_default=True)
@click.option("--split", help="Only the claims of this split, such as test.")
@click.option("--model", help="A spec; not needed for --labeler nli alone.")
@click.option("--base-url")
@click.option("--nli-model", metavar="DIR", help="For --labeler nli and cascade.")
@click.option("--certain", type=click.FloatRange(0, 1), help="From which score nli settles a pair.")
@click.option("--concurrency", default=4, show_default=True, type=click.IntRange(min=1))
@click.option(
    "--out", required=True, type=click.Path(path_type=Path, dir_okay=False), metavar="OUT.json"
)
def main(
    data: tuple[str, ...],
    labelers: tuple[LabelerName, ...],
    groups: int,
    claims: int,
    seed: int,
    split: str | None,
    model: str | None,
    base_url: str | None,
    nli_model: str | None,
    certain: float | None,
    concurrency: int,
    out: Path,
) -> None:
    """See the module."""
    try:
        if out.suffix != ".json":
            raise InputError(f"--out {out}: does not end in .json")
        require_statistics()
        every = read_data(data, split=split, seed=seed)
        sample = with_siblings(balanced(every, groups, seed), every, groups, claims, seed)
        found = {}
        click.echo(_ROW.format(*_COLUMNS))
        for name in sorted(set(labelers), key=lambda name: (name != _PAIRWISE, _NAMES.index(name))):
            labeler = _opened(name, model, base_url, nli_model, certain)
            file = out.with_suffix(".verdicts") / f"{name}-{claims}.jsonl"
            found[name] = asyncio.run(_figures(labeler, sample, file, concurrency, claims))
            click.echo(_row(name, found[name], found.get(_PAIRWISE)))
        click.echo(_LEGEND)
        settings = {"data": [Path(d).name for d in data], "groups": groups, "seed": seed}
        settings |= {"claims": claims, "tables": len(in_tables(sample, claims))}
        settings |= {"split": split, "certain": certain}
        _write(out, found, settings)
    except ConflictScoreError as error:
        raise click.ClickException(str(error)) from error


def _opened(
    name: LabelerName,
    model: str | None,
    base_url: str | None,
    nli_model: str | None,
    certain: float | None,
) -> Labeler:
    options = {"nli_model": nli_model, "certain": certain}
    given = LABELERS[name].open(**{k: v for k, v in options.items() if name in takers(k)})
    if LABELERS[name].needs == "nothing":
        return cast("Labeler", given)
    if model is None:
        raise InputError(f"--labeler {name} needs --model SPEC")
    settings = LoopSettings(labeler=given, base_url=base_url, cache=False)
    return run_context(model, None, settings).labeler


async def _figures(
    labeler: Labeler, groups: Sequence[ClaimGroup], file: Path, concurrency: int, claims: int
) -> DetectionFigures:
    with VerdictFile.open(file, labeler) as verdicts:
        for note in verdicts.notes:
            click.echo(f"Note: {note}", err=True)
        await detect(labeler, groups, verdicts, concurrency=concurrency, claims=claims)
        return detection_figures(labeler.name, list(judged_groups(groups, verdicts)), verdicts.rows)


def _row(name: str, figures: DetectionFigures, pairwise: DetectionFigures | None) -> str:
    one = figures.overall
    tokens = _tokens(figures)
    of_pairwise = _tokens(pairwise) if pairwise else 0
    return _ROW.format(
        name,
        one.groups,
        one.undecidable,
        _percent(one.labels.accuracy.value),
        _percent(_constant_label(figures)),
        _percent(one.detection.f1.value),
        _percent(one.always.f1.value),
        _percent(one.detection.accuracy.value),
        _percent(_constant_answer(figures)),
        f"{one.usage.calls:,}",
        f"{tokens:,}",
        f"{tokens / of_pairwise:.2f}" if of_pairwise else "",
        f"{one.seconds / one.groups:.2f}" if one.groups else "",
    ).rstrip()


def _tokens(figures: DetectionFigures) -> int:
    """In and out, of all calls."""
    return figures.overall.usage.input_tokens + figures.overall.usage.output_tokens


def _constant_label(figures: DetectionFigures) -> float | None:
    """Accuracy of giving every pair the label that people gave most."""
    given = [sum(row.values()) for row in figures.overall.labels.confusion.values()]
    return max(given) / sum(given) if sum(given) else None


def _constant_answer(figures: DetectionFigures) -> float | None:
    """The higher accuracy of those of always and of never saying "conflict"."""
    one = figures.overall
    values = [one.always.accuracy.value, one.never.accuracy.value]
    return max((value for value in values if value is not None), default=None)


def _percent(value: float | None) -> str:
    return "none" if value is None else f"{100 * value:.1f}"


def _write(out: Path, found: dict[LabelerName, DetectionFigures], settings: Any) -> None:
    content = {
        **settings,
        "labelers": {
            name: {
                **figures.to_json(),
                "constant_label": _constant_label(figures),
                "constant_answer": _constant_answer(figures),
            }
            for name, figures in found.items()
        },
    }
    points = []
    for name, figures in found.items():
        accuracy = figures.overall.detection.accuracy
        if accuracy.value is not None:
            cost = _tokens(figures) / figures.overall.groups
            points.append(Point(name, cost, accuracy.value, accuracy.low, accuracy.high))
    try:
        out.write_text(json.dumps(content, indent=2) + "\n", "utf-8")
        if points:
            constant = _constant_answer(next(iter(found.values())))
            svg = accuracy_chart(
                points,
                title="Is there a conflict? Accuracy, with 95 % intervals",
                costs="tokens a claim, in and out",
                constant=constant,
            )
            out.with_suffix(".svg").write_text(svg, "utf-8")
    except OSError as error:
        raise InputError(f"--out {out}: cannot be written ({error.strerror})") from None


if __name__ == "__main__":
    main()
