"""Make the data that the NLI model learns from and is measured on, out of a data folder.

``--out`` gets two files: ``pairs.jsonl.gz``, to be read by people, and ``pairs.npz``, token numbers
that a machine without the data can train from. Nothing of either belongs in the repository.

Six parts: ``synthetic`` (from passages), ``questions`` (answers to questions
against passages), ``human`` (labels of people), ``general`` (public inference sets, the compressed
files of the folder), ``neutral`` (their claims against passages on the same topic that say nothing
of them) and ``validation``. No claim of the last is in the others, in any set, not even nearly; and
no passage that is only measured on is learned from, unless ``--all-passages`` says so. Of RAMDocs'
questions, which are much alike, none is on both sides.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from conflictscore.errors import ConflictScoreError
from conflictscore.labelers.nli.model import LEAST_TOKENS, MOST_TOKENS
from training.general import general_files, general_measured, general_pairs, topical_pairs
from training.human import label_files, labelled_pairs, split_apart, unmeasured
from training.packing import pack
from training.pairs import LABELS, Row, read_rows, write_rows
from training.passages import data_files, distinct_passages
from training.question_pairs import learned_pairs, measured_pairs
from training.questions import questions_in
from training.synthetic import synthetic_pairs

__all__ = ["main", "rows_of"]


def rows_of(
    files: list[Path],
    *,
    general: Sequence[Path] = (),
    without: Sequence[str] = (),
    seed: int,
    rounds: int,
    all_passages: bool = False,
) -> Iterator[Row]:
    """All rows, the measured ones first.

    Args:
        files: What :func:`~training.passages.data_files` found.
        general: What :func:`~training.general.general_files` found.
        without: Sets of questions that nothing is learned from, to see how it goes without them.
        seed: Of all that is left to chance.
        rounds: How often each passage is gone through.
        all_passages: Whether to make pairs of passages that are measured on, too.

    Raises:
        InputError: A file cannot be read.
    """
    human, validation = labelled_pairs(label_files(files))
    questions = list(questions_in([*files, *general]))
    answered = list(measured_pairs(questions))
    yield from (Row("validation", pair) for pair in validation)
    yield from (Row("validation", pair) for pair in answered)
    yield from (Row("validation", pair) for pair in general_measured(general))
    yield from (Row("human", pair) for pair in human)
    asked = (pair for pair in learned_pairs(questions, seed=seed))
    asked = (pair for pair in asked if pair.source not in without)
    yield from (Row("questions", pair) for pair in split_apart(asked, validation))
    of_general = split_apart(general_pairs(general), validation)
    yield from (Row("general", pair) for pair in of_general)
    topical = split_apart(topical_pairs(general), validation)
    yield from (Row("neutral", pair) for pair in topical)
    passages = [one for one in distinct_passages(files) if one.source not in without]
    if not all_passages:
        passages = unmeasured(passages, human, [*validation, *answered])
    for pair in split_apart(synthetic_pairs(passages, seed=seed, rounds=rounds), validation):
        yield Row("synthetic", pair)


@click.command(help=__doc__)
@click.option(
    "--data",
    multiple=True,
    required=True,
    type=click.Path(exists=True, path_type=Path),
    help="A folder with the data, or a file; several times for several.",
)
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path))
@click.option("--tokenizer", required=True, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--pair-tokens",
    default=256,
    show_default=True,
    type=click.IntRange(LEAST_TOKENS, MOST_TOKENS),
    help="Tokens of claim and window.",
)
@click.option("--rounds", default=8, show_default=True, help="Times through every passage.")
@click.option("--seed", default=0, show_default=True)
@click.option("--without", multiple=True, help="A set of questions to learn nothing from.")
@click.option("--all-passages", is_flag=True, help="Also make pairs of passages measured on.")
def main(
    data: tuple[Path, ...],
    out: Path,
    tokenizer: Path,
    pair_tokens: int,
    rounds: int,
    seed: int,
    without: tuple[str, ...],
    all_passages: bool,
) -> None:
    """Write both files and print what is in them."""
    try:
        rows = rows_of(
            data_files(list(data)),
            general=general_files(list(data)),
            without=without,
            seed=seed,
            rounds=rounds,
            all_passages=all_passages,
        )
        out.mkdir(parents=True, exist_ok=True)
        counts: Counter[tuple[str, str, str]] = Counter()
        write_rows(out / "pairs.jsonl.gz", _counted(rows, counts))
        size = pack(
            read_rows(out / "pairs.jsonl.gz"),
            out / "pairs.npz",
            tokenizer=tokenizer,
            pair_tokens=pair_tokens,
        )
    except ConflictScoreError as error:
        raise click.ClickException(str(error)) from error
    click.echo(_table(counts))
    click.echo(f"{sum(counts.values())} pairs; pairs.npz has {size / 2**20:.1f} MiB")


def _counted(rows: Iterator[Row], counts: Counter[tuple[str, str, str]]) -> Iterator[Row]:
    for row in rows:
        counts[row.part, row.pair.source, row.pair.label] += 1
        yield row


def _table(counts: Counter[tuple[str, str, str]]) -> str:
    lines = [f"{'part':<11} {'source':<26}" + "".join(f"{label:>12}" for label in LABELS)]
    for part, source in sorted({(part, source) for part, source, _ in counts}):
        cells = "".join(f"{counts[part, source, label]:>12}" for label in LABELS)
        lines.append(f"{part:<11} {source:<26}{cells}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
