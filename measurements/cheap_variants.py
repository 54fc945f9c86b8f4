"""Measures the paper's cheapest variant, which labels the whole answer as one claim.

DATA has natural cases: a claim, and documents that people labelled against it. Each answer joins
the claims of --claims cases, with all their documents. A document of one case is irrelevant to the
claims of the other cases. A labeler labels every document against each claim, and then against the
whole answer as one claim. For each of the two ways, two outputs are compared with people's labels.
One output is the label of each document for the claim of its own case. The other output is CS-C,
which is 0 or 1 if the answer is one claim. Intervals are 95 % bootstrap intervals, resampled by
answer.

Another cheap variant, which shows all documents in one call, was measured with the removed labeler
``matrix`` (docs/findings/labelers.md).
"""

import asyncio
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from conflictscore.labelers.protocol import Labeler
from conflictscore.labelers.registry import open_labeler
from conflictscore.labelers.table import label_table
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, Document

_SIDES = {"SUPPORTS", "CONTRADICTS"}
_RESAMPLES = 2000  # bootstrap; with this many, bounds of 95 % intervals vary in the third decimal


@click.command(help=__doc__)
@click.argument("data", type=click.Path(exists=True, path_type=Path))
@click.option("--claims", default=3, show_default=True, help="Number of claims in an answer.")
@click.option("--labeler", default="nli", show_default=True)
def main(data: Path, claims: int, labeler: str) -> None:
    """See the module."""
    cases = [json.loads(line) for line in data.read_text("utf-8").splitlines()]
    cases = cases[: len(cases) // claims * claims]
    answers = [cases[place : place + claims] for place in range(0, len(cases), claims)]
    judge = open_labeler(labeler)
    if callable(judge):
        raise click.ClickException(
            f"{labeler} needs a model; give one that needs none, such as nli"
        )
    rows, seconds, pairs = [], np.zeros(2), np.zeros(2, int)
    for answer in answers:
        documents = _documents(answer)
        people = [document["label"] for case in answer for document in case["documents"]]
        begun = time.perf_counter()
        by_claim = asyncio.run(_labels(judge, [case["claim"] for case in answer], documents))
        between = time.perf_counter()
        [whole] = asyncio.run(
            _labels(judge, [" ".join(case["claim"] for case in answer)], documents)
        )
        seconds += between - begun, time.perf_counter() - between
        pairs += len(documents) * claims, len(documents)
        own = [by_claim[owner][place] for place, owner in enumerate(_owners(answer))]
        cs_c = float(np.mean([case["conflict"] for case in answer]))
        rows.append(
            [
                np.mean([label == right for label, right in zip(own, people, strict=True)]),
                np.mean([label == right for label, right in zip(whole, people, strict=True)]),
                abs(np.mean([{*labels} >= _SIDES for labels in by_claim]) - cs_c),
                abs(float({*whole} >= _SIDES) - cs_c),
            ]
        )
    click.echo(f"{len(answers)} answers of {claims} claims; each claim, then the answer as one:")
    click.echo(f"pairs {pairs[0]}, {pairs[1]}; seconds {seconds[0]:.0f}, {seconds[1]:.0f}")
    table = np.array(rows, float)
    drawn = table[np.random.default_rng(0).integers(len(table), size=(_RESAMPLES, len(table)))]
    for title, place in (("label accuracy", 0), ("distance from people's CS-C", 2)):
        each, one = table[:, place].mean(), table[:, place + 1].mean()
        differences = (drawn[:, :, place + 1] - drawn[:, :, place]).mean(axis=1)
        low, high = np.percentile(differences, [2.5, 97.5])
        click.echo(f"{title}: {each:.3f}, {one:.3f}; {one - each:+.3f} [{low:+.3f}, {high:+.3f}]")


def _documents(answer: Sequence[dict[str, Any]]) -> tuple[Document, ...]:
    texts = [
        ". ".join(filter(None, (document["title"], document["date"], document["text"])))
        for case in answer
        for document in case["documents"]
    ]
    return tuple(Document(number=number, text=text) for number, text in enumerate(texts, start=1))


def _owners(answer: Sequence[dict[str, Any]]) -> list[int]:
    """Return, for each document, the index of its case."""
    return [place for place, case in enumerate(answer) for _ in case["documents"]]


async def _labels(
    judge: Labeler, statements: Sequence[str], documents: tuple[Document, ...]
) -> list[list[str]]:
    """Return the labels of all documents for each statement."""
    claims = [Claim(number=number, text=text) for number, text in enumerate(statements, start=1)]
    table = await label_table(judge, claims, documents, meter=UsageMeter(), cache=None)
    return [[label.label.value for label in row.labels] for row in table]


if __name__ == "__main__":
    main()
