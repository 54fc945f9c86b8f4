"""Probabilities of a model for all windows of the validation pairs, for training.choose_bias.

They are stored in ``--out``, so that the same command measures again in seconds. It prints the
accuracy of the NLI labeler's rule: the window that speaks most strongly decides.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray

from conflictscore.errors import ConflictScoreError
from conflictscore.labelers.nli.labeler import premise_tokens, premises
from conflictscore.labelers.nli.model import NliModel, shared_model
from conflictscore.records import Document, Label
from training.figures import figures, verdicts
from training.human import label_files, labelled_pairs
from training.pairs import LABELS, Pair
from training.passages import data_files
from training.question_pairs import measured_pairs
from training.questions import questions_in

__all__ = [
    "Windows",
    "conflict_figures",
    "main",
    "measured_on",
    "read",
]

Numbers = NDArray[Any]

_IRRELEVANT = LABELS.index("IRRELEVANT")


class Windows(NamedTuple):
    """Probabilities of a model for windows, those of a document one after the other.

    Attributes:
        probabilities: Shape (windows, 3), in the order of LABELS.
        shared: For each window, the share of the claim's words that it has, 0 to 1.
        owner: For each window the number of its pair.
    """

    probabilities: Numbers
    shared: Numbers
    owner: Numbers


def read(model: NliModel, pairs: Sequence[Pair]) -> Iterator[tuple[Numbers, Numbers]]:
    """Probabilities and shared words of each pair's windows, as the NLI labeler cuts them."""
    tokenizer = model.tokenizer
    for pair in pairs:
        claimed = tokenizer.count(pair.claim)
        size = premise_tokens(claimed, model.pair_tokens, tokenizer.marks)
        document = Document(number=1, title=pair.title, text=pair.document)
        cut = premises(document, size, tokenizer.vocabulary)
        said = model.logits(tokenizer.pairs(cut.texts, pair.claim))
        logits = np.array([[one[Label(label)] for label in LABELS] for one in said])
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        claim = _words(pair.claim)
        shared = [len(claim & _words(text)) / max(1, len(claim)) for text in cut.texts]
        yield odds / odds.sum(axis=1, keepdims=True), np.array(shared)


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text.lower()))


def conflict_figures(gold: Numbers, given: Numbers, claims: Sequence[Any]) -> tuple[float, float]:
    """F1 and accuracy of "some document supports this claim and another contradicts it"."""
    labels: dict[Any, tuple[set[int], set[int]]] = defaultdict(lambda: (set(), set()))
    for said, found, claim in zip(gold, given, claims, strict=True):
        labels[claim][0].add(int(said))
        labels[claim][1].add(int(found))
    sides = set(range(_IRRELEVANT))
    answers = [(sides <= people, sides <= model) for people, model in labels.values()]
    true, said = sum(all(one) for one in answers), sum(map(sum, answers))
    return 2 * true / max(1, said), sum(a == b for a, b in answers) / len(answers)


def measured_on(data: Sequence[Path]) -> list[Pair]:
    """The validation pairs of a data folder: people's, then RAMDocs' answers.

    Raises:
        InputError: A file cannot be read.
    """
    files = data_files(list(data))
    _, validation = labelled_pairs(label_files(files))
    return [*validation, *measured_pairs(list(questions_in(files)))]


def _kept_windows(path: Path, model: NliModel, pairs: Sequence[Pair]) -> Windows:
    if not path.exists():
        with click.progressbar(read(model, pairs), length=len(pairs), label="reading") as reading:
            found = list(reading)
        owner = np.repeat(np.arange(len(found)), [len(shared) for _, shared in found])
        parts = [np.concatenate(part) for part in zip(*found, strict=True)]
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, probabilities=parts[0], shared=parts[1], owner=owner, model=model.sha256)
    with np.load(path) as kept:
        same = str(kept["model"]) == model.sha256 and kept["owner"][-1] == len(pairs) - 1
        if not same:
            raise click.ClickException(f"{path}: windows of another model or other data")
        return Windows(kept["probabilities"], kept["shared"], kept["owner"])


@click.command(help=__doc__)
@click.option("--data", multiple=True, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--model", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--out", required=True, type=click.Path(dir_okay=False, path_type=Path))
def main(data: tuple[Path, ...], model: Path | None, out: Path) -> None:
    """Print a line for the pairs that people labelled and one for RAMDocs' answers."""
    try:
        pairs = measured_on(data)
        windows = _kept_windows(out, shared_model(model), pairs)
    except ConflictScoreError as error:
        raise click.ClickException(str(error)) from error
    gold = np.array([LABELS.index(pair.label) for pair in pairs])
    sets = np.array([pair.source.split("_")[0] for pair in pairs])
    given = verdicts(windows.probabilities, windows.owner, len(pairs))
    click.echo("| pairs | accuracy | macro-F1 | conflict F1 | conflict accuracy |")
    click.echo("|---|---|---|---|---|")
    for name, own in (("people's", sets != "ramdocs"), ("answers", sets == "ramdocs")):
        claims = [(pair.source, pair.claim) for pair, mine in zip(pairs, own, strict=True) if mine]
        labels = figures(gold[own], given[own])
        conflict = conflict_figures(gold[own], given[own], claims)
        cells = (labels.accuracy, labels.macro_f1, *conflict)
        click.echo(f"| {name} | {' | '.join(f'{cell:.3f}' for cell in cells)} |")


if __name__ == "__main__":
    main()
