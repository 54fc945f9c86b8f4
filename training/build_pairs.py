"""Builds the data that the NLI model learns from and is measured on, from a data folder.

``--out`` gets ``pairs.npz``: token numbers from which a machine without the data can train. Do not
add it to the repository.

There are six parts. ``questions`` has answers to questions, with passages. ``human`` has pairs that
people labelled. ``general`` has public inference sets, which are the compressed files of the
folder. ``neutral`` has the claims of these sets, with passages that are on the same topic but do
not bear on them. ``validation`` has the pairs to measure on, and ``synthetic`` the pairs from
``--made``. No other part contains a claim of ``validation``, or nearly the same claim, from any
set. The questions of RAMDocs resemble each other, so all pairs of a question are in the same part.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from conflictscore.errors import ConflictScoreError
from conflictscore.labelers.nli.model import LEAST_TOKENS, MOST_TOKENS
from training.general import general_files, general_pairs, topical_pairs
from training.human import data_files, label_files, labelled_pairs, split_apart
from training.packing import pack
from training.pairs import Row, read_rows
from training.question_pairs import learned_pairs, measured_pairs
from training.questions import questions_in


def rows_of(
    files: list[Path],
    *,
    general: Sequence[Path] = (),
    made: Path | None = None,
    seed: int,
) -> Iterator[Row]:
    """Yield all rows; those to measure on come first.

    Args:
        files: The output of :func:`~training.human.data_files`.
        general: The output of :func:`~training.general.general_files`.
        made: A ``pairs.jsonl.gz`` with pairs made by rule.
        seed: Seed for all random choices.

    Raises:
        InputError: A file cannot be read.
    """
    human, validation = labelled_pairs(label_files(files))
    questions = list(questions_in([*files, *general]))
    yield from (Row("validation", pair) for pair in validation)
    yield from (Row("validation", pair) for pair in measured_pairs(questions))
    yield from (Row("human", pair) for pair in human)
    asked = split_apart(learned_pairs(questions, seed=seed), validation)
    yield from (Row("questions", pair) for pair in asked)
    of_general = split_apart(general_pairs(general), validation)
    yield from (Row("general", pair) for pair in of_general)
    topical = split_apart(topical_pairs(general), validation)
    yield from (Row("neutral", pair) for pair in topical)
    earlier = read_rows(made) if made is not None else ()
    by_rule = (pair for part, pair in earlier if part == "synthetic")
    yield from (Row("synthetic", pair) for pair in split_apart(by_rule, validation))


@click.command(help=__doc__)
@click.option(
    "--data",
    multiple=True,
    required=True,
    type=click.Path(exists=True, path_type=Path),
    help="A folder with the data, or a file. Repeat for several.",
)
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path))
@click.option("--tokenizer", required=True, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--pair-tokens",
    default=256,
    show_default=True,
    type=click.IntRange(LEAST_TOKENS, MOST_TOKENS),
    help="Maximum tokens of a claim and a window together.",
)
@click.option("--seed", default=0, show_default=True)
@click.option(
    "--made",
    type=click.Path(exists=True, path_type=Path),
    help="pairs.jsonl.gz of an earlier version, whose pairs made by rule are reused.",
)
def main(
    data: tuple[Path, ...],
    out: Path,
    tokenizer: Path,
    pair_tokens: int,
    seed: int,
    made: Path | None,
) -> None:
    """Write the file, and print what it contains."""
    try:
        rows = rows_of(
            data_files(list(data)), general=general_files(list(data)), made=made, seed=seed
        )
        out.mkdir(parents=True, exist_ok=True)
        counts: Counter[str] = Counter()
        path = out / "pairs.npz"
        size = pack(_counted(rows, counts), path, tokenizer=tokenizer, pair_tokens=pair_tokens)
    except ConflictScoreError as error:
        raise click.ClickException(str(error)) from error
    for part, count in counts.items():
        click.echo(f"{part:<11} {count:>8}")
    click.echo(f"{counts.total()} pairs; {path} has {size / 2**20:.1f} MiB")


def _counted(rows: Iterator[Row], counts: Counter[str]) -> Iterator[Row]:
    for row in rows:
        counts[row.part] += 1
        yield row


if __name__ == "__main__":
    main()
