"""Contrast sets: a sentence of a passage, reworded and with one thing changed, against the passage.

The passages are those that are only measured on. A model that compares gets a sentence right in all
its versions; one that goes by the words that occur does not. The changes are those of
``training.edits``, which made pairs to learn from of other passages.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import click

from conflictscore.errors import ConflictScoreError
from conflictscore.labelers.nli.labeler import NliLabeler
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, Document
from training.edits.names import collect_names
from training.human import label_files, labelled_pairs, lot
from training.pairs import Pair
from training.passages import data_files
from training.question_pairs import measured_pairs
from training.questions import questions_in
from training.sentences import is_claim, sentences_of
from training.synthetic import contradictions, reworded

__all__ = ["Contrast", "contrast_pairs", "main"]

_MOST_WORDS = 120
"""Of a passage; of a longer one, its first sentences."""


class Contrast(NamedTuple):
    """One version of a sentence.

    Attributes:
        sentence: The sentence, which all its versions share.
        pair: A version of it, as a claim, and the passage.
    """

    sentence: str
    pair: Pair


def contrast_pairs(passages: Sequence[str], *, seed: int, most: int) -> Iterator[Contrast]:
    """Versions of one sentence of each passage that has one with something to change.

    Args:
        passages: The passages.
        seed: Of all that is left to chance.
        most: The most sentences.
    """
    shown = [_opening(passage) for passage in passages]
    pool = collect_names([one for some in shown for one in some if is_claim(one)])
    left = most
    for sentences in sorted(shown, key=lambda some: lot(f"{seed}:{some}")):
        text = " ".join(sentences)
        rng = Random(f"{seed}:{text}")  # noqa: S311 - no secret
        claims = [one for one in sentences if is_claim(one)]
        rng.shuffle(claims)
        for sentence in claims:
            changed = list(contradictions(sentence, rng, pool))
            if not changed or not left:
                continue
            left -= 1
            said, how = reworded(sentence, rng)
            kind = "own" if how == "own" else "reworded"
            yield Contrast(sentence, Pair(said, text, "SUPPORTS", "contrast", kind))
            for name, claim in changed:
                yield Contrast(sentence, Pair(claim, text, "CONTRADICTS", "contrast", name))
            break


def _opening(passage: str) -> list[str]:
    found: list[str] = []
    for sentence in sentences_of(passage):
        if sum(len(one.split()) for one in [*found, sentence]) > _MOST_WORDS:
            break
        found.append(sentence)
    return found


def _measured_passages(data: Sequence[Path]) -> list[str]:
    files = data_files(list(data))
    learned, validation = labelled_pairs(label_files(files))
    answered = measured_pairs(list(questions_in(files)))
    texts = dict.fromkeys(pair.document for pair in [*validation, *answered])
    known = {pair.document for pair in learned}
    return [text for text in texts if text not in known]


async def _right(labeler: NliLabeler, pairs: Sequence[Pair]) -> list[bool]:
    said = [
        await labeler.label(
            Claim(number=1, text=pair.claim), Document(number=1, text=pair.document), UsageMeter()
        )
        for pair in pairs
    ]
    return [one.label.value == pair.label for one, pair in zip(said, pairs, strict=True)]


@click.command(help=__doc__)
@click.option("--data", multiple=True, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--model", type=click.Path(exists=True, path_type=Path), help="Default: bundled.")
@click.option("--sentences", default=300, show_default=True, help="How many, at most.")
@click.option("--seed", default=0, show_default=True, help="Decides which.")
def main(data: tuple[Path, ...], model: Path | None, sentences: int, seed: int) -> None:
    """Print how often each kind of version is right, and how often all of a sentence are."""
    try:
        labeler = NliLabeler.open(model)
        found = list(contrast_pairs(_measured_passages(data), seed=seed, most=sentences))
        right = asyncio.run(_right(labeler, [one.pair for one in found]))
    except ConflictScoreError as error:
        raise click.ClickException(str(error)) from error
    kinds: dict[str, list[bool]] = defaultdict(list)
    whole: dict[str, list[bool]] = defaultdict(list)
    for one, is_right in zip(found, right, strict=True):
        kinds[one.pair.kind].append(is_right)
        whole[one.sentence].append(is_right)
    for kind, results in sorted(kinds.items()):
        click.echo(f"{kind:<20} {sum(results):>5} of {len(results):>5}")
    click.echo(f"{'all versions':<20} {sum(map(all, whole.values())):>5} of {len(whole):>5}")
    click.echo(f"{'all pairs':<20} {sum(right):>5} of {len(right):>5}")


if __name__ == "__main__":
    main()
