"""How often a labeler agrees with people, on pairs that people labelled.

Every row is appended to ``--out`` the moment it is there, so the same command resumes where it
was stopped. Rows of the labeler ``choice`` hold the raw log-probabilities: a new calibration
(``training.calibrate``) is scored without a new call.
"""

import asyncio
import json
import time
from collections.abc import Sequence
from math import log
from operator import itemgetter
from pathlib import Path
from statistics import fmean
from typing import Any

import click

from conflictscore.benchmarks.harness.statistics import proportion
from conflictscore.benchmarks.labelled_pairs import (
    LabelledPair,
    balanced_sample,
    read_pairs,
    scores,
)
from conflictscore.errors import ConflictScoreError, ProviderError
from conflictscore.labelers.calibration import UNCALIBRATED, Calibration
from conflictscore.labelers.choice_judge import ChoiceJudge
from conflictscore.labelers.json_judge import JsonJudge
from conflictscore.labelers.nli.labeler import NliLabeler
from conflictscore.models.spec import default_spec, open_model
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from conflictscore.records import Claim, Document, Label
from conflictscore.storage.record_file import RecordFile, RecordLines, json_line

__all__ = ["calibration_error", "main", "read_rows"]

_Judge = JsonJudge | ChoiceJudge | NliLabeler

_LABELS = (Label.SUPPORTS, Label.CONTRADICTS, Label.IRRELEVANT)


def calibration_error(judged: Sequence[tuple[float, bool]]) -> float:
    """Expected calibration error over 10 bins of equal width, in [0, 1]; lower is better.

    Args:
        judged: (probability that the labeler gave to its label, whether people agree); at least
            one.
    """
    bins: dict[int, float] = {}
    for probability, right in judged:
        tenth = min(9, int(probability * 10))
        bins[tenth] = bins.get(tenth, 0.0) + probability - right
    return sum(map(abs, bins.values())) / len(judged)


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Rows written so far; half a last line, as a kill leaves it, is left out."""
    return [json.loads(line.text) for line in RecordLines(path)] if path.exists() else []


async def _row(judge: _Judge, pair: LabelledPair) -> dict[str, Any]:
    claim = Claim(number=1, text=pair.claim)
    document = Document(number=1, text=pair.document, title=pair.title)
    meter = UsageMeter()
    row: dict[str, Any] = {"id": pair.id, **_made_by(judge), "gold": pair.label}
    try:
        if isinstance(judge, ChoiceJudge):
            row["logprobs"] = await judge.logprobs(claim, document, meter)
        else:
            row["verdict"] = (await judge.label(claim, document, meter)).to_json()
    except ProviderError as error:
        row["error"] = str(error)
    return row | {"usage": meter.usage.to_json()}


def _made_by(judge: _Judge) -> dict[str, Any]:
    """Fields that a row of this labeler has to match: a changed prompt is another labeler."""
    return {"labeler": judge.name, "prompt": (judge.identity or {}).get("prompt")}


def _given(row: dict[str, Any]) -> Label:
    if "logprobs" in row:
        return Label(max(row["logprobs"], key=row["logprobs"].__getitem__))
    return Label(row["verdict"]["label"]) if "verdict" in row else Label.UNLABELLED


def _is_right(row: dict[str, Any]) -> bool:
    return _given(row) is Label(row["gold"])


def _print_report(title: str, rows: Sequence[dict[str, Any]]) -> None:
    result = scores((Label(row["gold"]), _given(row)) for row in rows)
    share = proportion(sum(map(_is_right, rows)), len(rows))
    click.echo(
        f"\n{title}: {len(rows)} pairs, accuracy {result.accuracy:.3f}"
        f", macro-F1 {result.macro_f1:.3f}; 95 % interval of accuracy {share.low:.3f} to"
        f" {share.high:.3f}"
    )
    columns = (*_LABELS, Label.UNLABELLED)
    click.echo(f"{'people say':>12} | " + " ".join(f"{label:>11}" for label in columns))
    for gold in _LABELS:
        if gold in result.confusion:
            cells = " ".join(f"{result.confusion[gold][label]:>11}" for label in columns)
            click.echo(f"{gold:>12} | {cells}")
    quoted = [row["verdict"]["snippet_found"] for row in rows if "verdict" in row]
    if snippets := [found for found in quoted if found is not None]:
        click.echo(f"{sum(snippets)} of {len(snippets)} snippets stand in their document")


def _print_calibration(rows: Sequence[dict[str, Any]], calibration: Calibration) -> None:
    for name, applied in (("as the model gives it", UNCALIBRATED), ("calibrated", calibration)):
        judged, losses = [], []
        for row in rows:
            if "logprobs" in row:
                logprobs = {Label(label): value for label, value in row["logprobs"].items()}
                probabilities, gold = applied.probabilities(logprobs), Label(row["gold"])
                label, p = max(probabilities.items(), key=itemgetter(1))
                judged.append((p, label is gold))
                losses.append(-log(probabilities[gold]))
        click.echo(
            f"probabilities {name}: log loss {fmean(losses):.3f} (guessing {log(3):.3f}),"
            f" expected calibration error {calibration_error(judged):.3f}"
        )


@click.command(help=__doc__)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--labeler", type=click.Choice(["json", "choice", "nli"]), default="choice")
@click.option("--model", "spec", default=None, help="Model spec; see conflictscore ask --help.")
@click.option("--base-url", default=None, help="An OpenAI-compatible endpoint.")
@click.option("--pairs", default=150, show_default=True, help="Pairs a file, balanced by label.")
@click.option("--seed", default=0, show_default=True)
@click.option("--split", default=None, help="Only the lines with this split.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Rows, as JSON lines.")
def main(
    files: tuple[Path, ...],
    labeler: str,
    spec: str | None,
    base_url: str | None,
    pairs: int,
    seed: int,
    split: str | None,
    out: Path,
) -> None:
    """Label a sample of each file and print its confusion matrix."""
    try:
        judge = NliLabeler.open() if labeler == "nli" else _asking(labeler, spec, base_url)
        samples = {
            file.stem: balanced_sample(read_pairs(file, split=split), pairs, seed) for file in files
        }
        asyncio.run(_collect(judge, [pair for s in samples.values() for pair in s], out))
    except ConflictScoreError as error:
        raise click.ClickException(str(error)) from error
    rows = {row["id"]: row for row in read_rows(out) if _is_of(judge, row)}
    for name, sample in samples.items():
        drawn = [rows[pair.id] for pair in sample]
        _print_report(f"{name}, {judge.name}", drawn)
        if isinstance(judge, ChoiceJudge):
            _print_calibration(drawn, judge.calibration)
    usage = [row["usage"] for row in rows.values()]
    click.echo(
        f"\n{len(rows)} pairs, {sum(u['calls'] for u in usage)} calls,"
        f" {sum(u['input_tokens'] for u in usage)} input and"
        f" {sum(u['output_tokens'] for u in usage)} output tokens"
    )


def _is_of(judge: _Judge, row: dict[str, Any]) -> bool:
    return _made_by(judge).items() <= row.items()


def _asking(labeler: str, spec: str | None, base_url: str | None) -> JsonJudge | ChoiceJudge:
    model = open_model(spec or default_spec(), base_url=base_url)
    return (JsonJudge if labeler == "json" else ChoiceJudge)(model, PromptSet.load())


async def _collect(judge: _Judge, sample: list[LabelledPair], out: Path) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    done = {row["id"] for row in read_rows(out) if _is_of(judge, row)}
    todo = [pair for pair in sample if pair.id not in done]
    started = time.perf_counter()
    with RecordFile(out) as rows:
        for _ in rows.lines:
            pass
        rows.resume()
        for count, future in enumerate(asyncio.as_completed([_row(judge, one) for one in todo]), 1):
            rows.append(json_line(await future))
            pace = (time.perf_counter() - started) / count
            click.echo(f"\r{count} of {len(todo)}, {pace:.2f} s a pair", nl=False, err=True)


if __name__ == "__main__":
    main()
