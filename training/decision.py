"""Whether what turns windows into a label is better learned than ruled.

The NLI labeler takes the window that speaks most strongly. Here a softmax regression is fitted on
what the model says of all windows of a document, and measured on one set by all others in turn;
RAMDocs' answers are one such set. Windows that were read are kept in ``--out``, so that the same
command measures again in seconds.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

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
    "Inputs",
    "Windows",
    "conflict_figures",
    "held_out_labels",
    "inputs",
    "main",
    "measured_on",
    "read",
]

Inputs = Literal["deciding window", "all windows", "all windows and words"]
Numbers = NDArray[Any]

_INPUTS: tuple[Inputs, ...] = ("deciding window", "all windows", "all windows and words")
_IRRELEVANT = LABELS.index("IRRELEVANT")
_PENALTY = 0.01
"""Of squared weights, on inputs of mean 0 and deviation 1."""


class Windows(NamedTuple):
    """What a model says of the windows of documents, each document's in a row.

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


def inputs(windows: Windows, pairs: int, kind: Inputs) -> Numbers:
    """What the regression sees of each pair, of mean 0 and deviation 1.

    Of the deciding window, the log odds of each side against IRRELEVANT; of all windows, beside
    these, each side's highest and the mean of its two highest, and how many windows there are; of
    words, the odds in the window that shares most with the claim, and how much that is.

    Returns:
        Shape (pairs, 2, 7 or 11).
    """
    logs = np.log(np.maximum(windows.probabilities, 1e-9))
    odds = logs[:, :_IRRELEVANT] - logs[:, [_IRRELEVANT]]
    strength = windows.probabilities[:, :_IRRELEVANT].max(axis=1)
    speaks = strength > windows.probabilities[:, _IRRELEVANT]
    rows = []
    starts = np.searchsorted(windows.owner, np.arange(1, pairs))
    for own in np.split(np.arange(len(windows.owner)), starts):
        deciding = max(own, key=lambda place: (speaks[place], strength[place]))
        row = [*odds[deciding]]
        if kind != "deciding window":
            high = np.sort(odds[own], axis=0)
            row += [*high[-1], *high[-2:].mean(axis=0), np.log(len(own))]
        if kind == "all windows and words":
            closest = own[windows.shared[own].argmax()]
            most = windows.shared[closest]
            row += [*odds[closest], most, most * odds[own].max()]
        rows.append(row)
    found: Numbers = np.array(rows)
    centred: Numbers = (found - found.mean(axis=0)) / (found.std(axis=0) + 1e-9)
    return centred


def held_out_labels(seen: Numbers, gold: Numbers, sets: Numbers) -> Numbers:
    """The label of each pair by a regression that was fitted on the other sets.

    Args:
        seen: What :func:`inputs` gave.
        gold: People's labels, as places in LABELS.
        sets: Of each pair, what must not be learned from to judge it; at least two.
    """
    given = np.zeros(len(gold), int)
    for held_out in np.unique(sets):
        learned, judged = sets != held_out, sets == held_out
        weights = _fitted(_with_one(seen[learned]), np.eye(len(LABELS))[gold[learned]])
        given[judged] = (_with_one(seen[judged]) @ weights).argmax(axis=1)
    return given


def _with_one(seen: Numbers) -> Numbers:
    return np.hstack([seen, np.ones((len(seen), 1))])


def _fitted(seen: Numbers, gold: Numbers) -> Numbers:
    from scipy.optimize import minimize
    from scipy.special import log_softmax

    shape = (seen.shape[1], gold.shape[1])

    def loss(flat: Numbers) -> tuple[float, Numbers]:
        weights = flat.reshape(shape)
        said = log_softmax(seen @ weights, axis=1)
        penalty = weights * np.r_[np.full(shape[0] - 1, _PENALTY), 0.0][:, None]
        slope = seen.T @ (np.exp(said) - gold) + penalty
        return float(-(said * gold).sum() + (weights * penalty).sum() / 2), slope.ravel()

    found = minimize(loss, np.zeros(shape[0] * shape[1]), jac=True, method="L-BFGS-B")
    fitted: Numbers = found.x.reshape(shape)
    return fitted


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
    """Print a line for each way to decide, on people's pairs and on RAMDocs' answers."""
    try:
        pairs = measured_on(data)
        windows = _kept_windows(out, shared_model(model), pairs)
    except ConflictScoreError as error:
        raise click.ClickException(str(error)) from error
    gold = np.array([LABELS.index(pair.label) for pair in pairs])
    sets = np.array([pair.source.split("_")[0] for pair in pairs])
    ways = {"the strongest window, as it is": verdicts(*windows[::2], len(pairs))}
    for kind in _INPUTS:
        ways[f"fitted on {kind}"] = held_out_labels(inputs(windows, len(pairs), kind), gold, sets)
    click.echo("| pairs | decided by | accuracy | macro-F1 | conflict F1 | conflict accuracy |")
    click.echo("|---|---|---|---|---|---|")
    for name, own in (("people's", sets != "ramdocs"), ("answers", sets == "ramdocs")):
        claims = [(pair.source, pair.claim) for pair, mine in zip(pairs, own, strict=True) if mine]
        for way, given in ways.items():
            labels = figures(gold[own], given[own])
            conflict = conflict_figures(gold[own], given[own], claims)
            cells = (labels.accuracy, labels.macro_f1, *conflict)
            shown = " | ".join(f"{cell:.3f}" for cell in cells)
            click.echo(f"| {name} | {way} | {shown} |")


if __name__ == "__main__":
    main()
