"""Builds the data of the natural stage: the corpus, RAMDocs' entities, and earlier passages.

``--out`` is written with the token numbers that ``training.train`` reads, with claims and windows
as the NLI labeler shows them. The data have three parts. The corpus, with its short pairs, was
labelled by people, and so were the questions of RAMDocs' first half. The claims of these questions
name the entity that they are about, and are paired with all documents. Passages of earlier stages
have the probabilities of the current models instead of labels (``training.held``). One case in ten,
and some validation pairs of the nine sets, are kept out of training to choose the best epoch. Do
not add the output to the repository.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

import click
import numpy as np

from conflictscore.errors import ConflictScoreError
from conflictscore.labelers.nli.model import LEAST_TOKENS, MOST_TOKENS
from training.cases import (
    CORPUS,
    NaturalCase,
    further_claims,
    further_pairs,
    pairs_of,
    read_cases,
    short_pairs,
)
from training.entity_pairs import halves, learned
from training.held import HeldPair, read_held
from training.human import data_files, label_files, labelled_pairs, lot
from training.packed import Packed, load_packed, save_packed
from training.packing import pack
from training.pairs import LABELS, Pair, Row
from training.taught_pairs import closest_windows, with_own_windows

_KEPT_OUT = 10
"""One case in this many is kept out of training."""


def is_kept_out(case: NaturalCase) -> bool:
    """Return whether a case is kept out of training, to choose the best epoch."""
    return lot(case.id) % _KEPT_OUT == 0


def part_of(cases: Sequence[NaturalCase], share: float) -> list[NaturalCase]:
    """Return a random part of the cases for a learning curve; larger parts contain smaller ones."""
    ordered = sorted(cases, key=lambda case: lot(f"share {case.id}"))
    return sorted(ordered[: round(share * len(cases))], key=lambda case: case.id)


def telling_pairs(cases: Sequence[NaturalCase], folder: Path) -> list[Pair]:
    """Return the further claims of the cases, each paired with each document of its case.

    Pairs of a neighbouring fact and a document that does not mention it are left out. They teach
    little, and would be a quarter of all pairs.
    """
    pairs = further_pairs(cases, further_claims(cases, folder))
    return [pair for pair in pairs if (pair.kind, pair.label) != ("neighbour", "IRRELEVANT")]


def rows_of(
    cases: Sequence[NaturalCase], added: Sequence[Pair], validation: Sequence[Pair]
) -> list[Row]:
    """Return the pairs labelled by people: first those to validate on, then those to learn from."""
    out = [case for case in cases if is_kept_out(case)]
    learned_from = [case for case in cases if not is_kept_out(case)]
    return [
        *(Row("validation", pair) for pair in [*pairs_of(out), *validation]),
        *(Row("taught", pair) for pair in [*pairs_of(learned_from), *added]),
    ]


def with_probabilities(packed: Packed, held: Sequence[HeldPair]) -> Packed:
    """Give each pair its own window, and give the held pairs (at the end) probabilities.

    A document of several windows is represented by the window closest to its claim.
    """
    packed = with_own_windows(closest_windows(packed, 1))
    taught = np.zeros((len(packed.windows.ends), len(LABELS)), np.float16)
    first_held = len(packed.label) - len(held)
    for place, (_, probabilities) in enumerate(held, start=first_held):
        taught[int(packed.first_window[place])] = probabilities
    return packed._replace(taught=taught)


def held_rows(held: Sequence[HeldPair]) -> list[Row]:
    """Return the held pairs, each with the label that the models find most likely."""
    return [
        Row("taught", pair._replace(label=LABELS[int(np.argmax(probabilities))]))
        for pair, probabilities in held
    ]


@click.command(help=__doc__)
@click.option("--data", multiple=True, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--cases", default=CORPUS, type=click.Path(exists=True, path_type=Path))
@click.option("--held", required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--out", required=True, type=click.Path(dir_okay=False, path_type=Path))
@click.option("--tokenizer", required=True, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--pair-tokens",
    default=128,
    show_default=True,
    type=click.IntRange(LEAST_TOKENS, MOST_TOKENS),
    help="Maximum tokens of a claim and a window together.",
)
@click.option("--share", default=1.0, show_default=True, help="Share of the cases to learn from.")
@click.option(
    "--most-further", default=100_000, show_default=True, help="Maximum pairs of further claims."
)
@click.option("--entities", default=600, show_default=True, help="Maximum pairs of RAMDocs.")
@click.option("--most-held", default=100_000, show_default=True)
@click.option("--measured", default=40, show_default=True, help="Validation pairs per set.")
@click.option("--seed", default=0, show_default=True)
def main(
    data: tuple[Path, ...],
    cases: Path,
    held: Path,
    out: Path,
    tokenizer: Path,
    pair_tokens: int,
    share: float,
    most_further: int,
    entities: int,
    most_held: int,
    measured: int,
    seed: int,
) -> None:
    """Write the file, and print what it contains."""
    rng = Random(seed)  # noqa: S311 - a sample, not a secret
    try:
        files = data_files(list(data))
        natural = read_cases(cases)
        kept_out = [case for case in natural if is_kept_out(case)]
        learned_from = part_of([case for case in natural if not is_kept_out(case)], share)
        of_entities = list(learned(halves(files)[0], seed=seed))
        of_entities = rng.sample(of_entities, min(entities, len(of_entities)))

        validation = _few(labelled_pairs(label_files(files))[1], measured, rng)
        held_pairs = read_held(held)[:most_held]
        further = telling_pairs(learned_from, cases)
        further = rng.sample(further, min(most_further, len(further)))
        added = [*further, *of_entities, *short_pairs()]
        measured_on = [*telling_pairs(kept_out, cases), *validation]
        rows = rows_of([*kept_out, *learned_from], added, measured_on)
        rows += held_rows(held_pairs)
        pack(rows, out, tokenizer=tokenizer, pair_tokens=pair_tokens)
        save_packed(with_probabilities(load_packed(out), held_pairs), out)
    except ConflictScoreError as error:
        raise click.ClickException(str(error)) from error
    counts = Counter((part, pair.source, pair.label) for part, pair in rows)
    for (part, source, label), count in sorted(counts.items()):
        click.echo(f"{part:<11} {source:<22} {label:<12} {count:>6}")


def _few(pairs: Sequence[Pair], of_set: int, rng: Random) -> list[Pair]:
    """Return some pairs from each set, up to a maximum number."""
    by_set: dict[str, list[Pair]] = {}
    for pair in pairs:
        by_set.setdefault(pair.source, []).append(pair)
    return [p for found in by_set.values() for p in rng.sample(found, min(of_set, len(found)))]


if __name__ == "__main__":
    main()
