"""Labels passages of earlier stages with the current models, so that the next one remembers them.

A model that learns only natural cases forgets how other sets are labelled, and the original labels
of these sets would pull it in a different direction. So it also learns passages of these sets, each
with the mean of the probabilities that the bundled model and nli-mpnet give it. No claim that is
measured on is among them.

The replies are written as JSON lines in a fixed order. So if the command is stopped, the same
command resumes it.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple, TextIO

import click
import numpy as np

from conflictscore.errors import ConflictScoreError
from conflictscore.labelers.calibration import UNCALIBRATED
from conflictscore.labelers.nli.adapted import NLI_MPNET
from conflictscore.labelers.nli.labeler import NliLabeler
from conflictscore.labelers.nli.model import shared_model
from conflictscore.labelers.nli.windows import premise_tokens, premises
from conflictscore.models.usage import UsageMeter
from conflictscore.progress import CountBar
from conflictscore.records import Claim, Label
from training.general import general_files, general_pairs
from training.human import balanced_sample, data_files, label_files, labelled_pairs, split_apart
from training.packing import document_of
from training.pairs import LABELS, Pair
from training.question_pairs import learned_pairs
from training.questions import questions_in
from training.sentences import content_words

_DRAWN = {"human": 360, "questions": 80, "general": 200}
"""Number of pairs to draw: pairs labelled by people, answers to questions, and pairs of public
inference sets."""
_WORDS = {Label(label): place for place, label in enumerate(LABELS)}


class HeldPair(NamedTuple):
    """A pair with a single window, and the models' mean probability for each of ``LABELS``."""

    pair: Pair
    probabilities: tuple[float, float, float]


def drawn_pairs(data: Sequence[Path], *, times: int = 1, seed: int) -> list[Pair]:
    """Return the pairs of earlier stages, each cut to the window nearest to its claim by words.

    Args:
        data: Folders or files with the data.
        times: The number of pairs of each kind is multiplied by this, which is at least 1.
        seed: Seed of the draw.
    """
    files = data_files(list(data))
    human, validation = labelled_pairs(label_files(files))
    questions = list(questions_in([*files, *general_files(list(data))]))
    asked = list(split_apart(learned_pairs(questions, seed=seed), validation))
    general = list(split_apart(general_pairs(general_files(list(data))), validation))
    rng = Random(seed)  # noqa: S311 - a sample, not a secret
    by_set: dict[str, list[Pair]] = {}
    for pair in human:
        by_set.setdefault(pair.source, []).append(pair)
    drawn = {kind: number * times for kind, number in _DRAWN.items()}
    share = drawn["human"] // len(by_set)
    chosen = [pair for of_set in by_set.values() for pair in balanced_sample(of_set, share, seed)]
    chosen += rng.sample(asked, min(len(asked), drawn["questions"]))
    chosen += balanced_sample(general, drawn["general"], seed)
    rng.shuffle(chosen)
    return [closest_window(pair) for pair in chosen]


def closest_window(pair: Pair) -> Pair:
    """Return a pair with only the document's window that shares the most words with the claim."""
    tokenizer = shared_model(None).tokenizer
    room = premise_tokens(
        tokenizer.count(pair.claim), shared_model(None).pair_tokens, tokenizer.marks
    )
    cut = premises(document_of(pair), room, tokenizer.vocabulary)
    words = content_words(pair.claim)
    shared = [len(words & content_words(window)) for window in cut.windows]
    return pair._replace(document=cut.windows[int(np.argmax(shared))])


async def ask(pairs: Iterable[Pair], names: Sequence[str | None]) -> AsyncIterator[HeldPair]:
    """Yield the models' probabilities for pairs, in order; None is the bundled model."""
    models = [NliLabeler.open(name, calibration=UNCALIBRATED) for name in names]
    meter = UsageMeter()
    for pair in pairs:
        claim, document = Claim(number=1, text=pair.claim), document_of(pair)
        verdicts = [await model.label(claim, document, meter) for model in models]
        means = np.mean(
            [[(verdict.probabilities or {})[label] for label in _WORDS] for verdict in verdicts], 0
        )
        yield HeldPair(pair, (float(means[0]), float(means[1]), float(means[2])))


def read_held(path: Path) -> list[HeldPair]:
    """Read the lines that this command wrote."""
    with path.open(encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    return [HeldPair(Pair(**record["pair"]), tuple(record["probabilities"])) for record in records]


@click.command(help=__doc__)
@click.option("--data", multiple=True, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--out", required=True, type=click.Path(dir_okay=False, path_type=Path))
@click.option("--larger", is_flag=True, help="Also ask nli-mpnet, which takes ten times as long.")
@click.option(
    "--times",
    default=1,
    show_default=True,
    type=click.IntRange(min=1),
    help="Number by which 640, the number of pairs, is multiplied.",
)
@click.option("--seed", default=0, show_default=True)
def main(data: tuple[Path, ...], out: Path, larger: bool, times: int, seed: int) -> None:
    """Ask the models, and write their replies."""
    try:
        pairs = drawn_pairs(data, times=times, seed=seed)
        finished = len(read_held(out)) if out.exists() else 0
        names = [None, NLI_MPNET.name] if larger else [None]
        with out.open("a", encoding="utf-8") as lines:
            asyncio.run(_write(pairs, finished, lines, names))
    except ConflictScoreError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{len(pairs)} pairs, in {out}")


async def _write(
    pairs: Sequence[Pair], finished: int, lines: TextIO, names: Sequence[str | None]
) -> None:
    from rich.console import Console

    with CountBar(Console(stderr=True), "asking", "pairs") as bar:
        async for held in ask(pairs[finished:], names):
            record = {"pair": held.pair._asdict(), "probabilities": held.probabilities}
            lines.write(json.dumps(record, ensure_ascii=False) + "\n")
            lines.flush()
            finished += 1
            bar.show(finished, len(pairs), "")


if __name__ == "__main__":
    main()
