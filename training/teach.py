"""Lets a larger model label pairs for a smaller one to learn from (distillation).

The teacher gives each window a probability for each label, from which ``training.train`` learns. It
labels pairs that already have a label. With a teacher, any claim and any passage can be a pair, so
it also labels claims that people judged, with other passages of their sets. Pairs made by a rule
keep the rule's label. The output replaces ``pairs.npz``: it has these pairs and the validation
pairs.

The teacher's replies are stored in a file beside the output (``.said.npz``), so the same command
resumes a run that was stopped.
"""

import time
from hashlib import sha256
from pathlib import Path

import click
import numpy as np
import torch

from training import weights
from training.batches import assemble, batched
from training.encoder import parameters
from training.figures import verdicts
from training.learning import on
from training.packed import PARTS, Marks, Numbers, Packed, load_packed, save_packed
from training.packing import marks_of
from training.pairs import LABELS
from training.taught_pairs import UNLABELLED, Drawn, pairs_to_teach

_NONE = -1  # in place of a token that the other tokenizer lacks
_SAVE_SECONDS = 60.0  # a stopped run loses at most this much work


def renumbered(packed: Packed, tokens: Numbers, marks: Marks) -> Packed:
    """Return the pairs in the tokens of a different encoder's tokenizer.

    Args:
        packed: The pairs.
        tokens: For each token of the pairs' tokenizer, the other tokenizer's token.
        marks: The marks of the other tokenizer.
    """
    windows, claims = (
        texts._replace(tokens=tokens[texts.tokens]) for texts in (packed.windows, packed.claims)
    )
    return packed._replace(windows=windows, claims=claims, marks=marks)


def with_verdicts(packed: Packed, taught: Numbers) -> Packed:
    """Return the pairs with the teacher's probabilities; the teacher also gives missing labels.

    Args:
        packed: The pairs.
        taught: The teacher's probabilities for each window, of shape (windows, 3); zeros for a
            window that the teacher was not asked about. A training pair that has probabilities
            neither from the teacher nor from a rule is left out.
    """
    if packed.taught is not None:
        taught = np.where(packed.taught.any(axis=1, keepdims=True), packed.taught, taught)
    known = taught[packed.first_window].any(axis=1) | (packed.part != PARTS.index("taught"))
    packed = packed.only(np.flatnonzero(known))
    label = packed.label.copy()
    for pair in np.flatnonzero(label == UNLABELLED):
        first, count = int(packed.first_window[pair]), int(packed.window_count[pair])
        said = taught[first : first + count].astype(np.float64)
        label[pair] = verdicts(said, np.zeros(count, np.int64), 1)[0]
    return packed._replace(label=label, taught=taught)


@click.command(help=__doc__)
@click.option("--pairs", required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--tokenizer", required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--teacher", required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--teacher-tokenizer", required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--out", required=True, type=click.Path(dir_okay=False, path_type=Path))
@click.option("--seed", default=0, show_default=True)
@click.option("--batch-tokens", default=3072, show_default=True)
@click.option("--minutes", default=1e9, help="Ask for this many minutes; leave out other pairs.")
@click.option("--threads", default=1, show_default=True, help="Number of threads without a GPU.")
def main(
    pairs: Path,
    tokenizer: Path,
    teacher: Path,
    teacher_tokenizer: Path,
    out: Path,
    seed: int,
    batch_tokens: int,
    minutes: float,
    threads: int,
) -> None:
    """Ask the teacher, and write the pairs with the teacher's probabilities."""
    packed = pairs_to_teach(load_packed(pairs), Drawn(), seed=seed)
    tokens = _between(packed, tokenizer, teacher_tokenizer)
    shown = renumbered(packed, tokens, marks_of(teacher_tokenizer))
    torch.set_num_threads(threads)
    unsaid = _unsaid(packed, packed.of_part("taught"))
    said = np.zeros((len(packed.windows.ends), len(LABELS)), np.float16)
    said[_windows_of(packed, unsaid)] = _asked(
        shown,
        unsaid,
        teacher,
        out.with_suffix(".said.npz"),
        batch_tokens=batch_tokens,
        minutes=minutes,
    )
    taught = with_verdicts(packed, said)
    save_packed(taught, out)
    click.echo(f"{len(taught.of_part('taught'))} pairs, in {out}")


def _between(packed: Packed, own: Path, other: Path) -> Numbers:
    """Return, for each token of a tokenizer, a second tokenizer's token for the same letters."""
    from tokenizers import Tokenizer

    known, there = (
        Tokenizer.from_str(path.read_text("utf-8")).get_vocab() for path in (own, other)
    )
    found = np.full(max(known.values()) + 1, _NONE)
    for letters, token in known.items():
        found[token] = there.get(letters, _NONE)
    used = np.union1d(packed.windows.tokens, packed.claims.tokens)
    if missing := int(np.count_nonzero(found[used] == _NONE)):
        raise click.ClickException(
            f"{other} lacks {missing} tokens of {own} that are in the pairs: the teacher cannot"
            " read them"
        )
    return found


def _asked(
    packed: Packed,
    places: Numbers,
    model: Path,
    kept: Path,
    *,
    batch_tokens: int,
    minutes: float = 1e9,
) -> Numbers:
    """Return the probabilities of a model for each window of some pairs.

    Args:
        packed: The pairs, in the tokens of the model.
        places: Indices of the pairs to ask about.
        model: The weights of the model.
        kept: A file for the replies. If the call is interrupted, the next call resumes from it.
        batch_tokens: The maximum tokens of a batch.
        minutes: Stop asking after this many minutes.

    Returns:
        Probabilities of shape (windows, 3), with the windows of the pairs in the order of
        ``places``; zeros for windows that the model was not asked about.

    Raises:
        ClickException: The file belongs to a different model or different pairs.
    """
    device = "cuda" if torch.cuda.is_available() else "cpu"
    run = on(parameters(weights.load(model), device=device), device=device)
    batches = batched(packed, places, batch_tokens, np.random.default_rng(0))
    counts = packed.window_count[places].astype(np.int64)
    ends = np.zeros(len(packed.label), np.int64)
    ends[places] = np.cumsum(counts)
    said, done = np.zeros((int(counts.sum()), 3), np.float16), 0
    of_what = f"{packed.sha256()} {sha256(model.read_bytes()).hexdigest()} {batch_tokens}"
    if kept.exists():
        with np.load(kept) as file:
            if str(file["of_what"]) != of_what or file["said"].shape != said.shape:
                raise click.ClickException(f"{kept} is for another model or pairs: move it away")
            said, done = file["said"], int(file["done"])
    begun = saved = time.monotonic()
    try:
        with torch.no_grad(), click.progressbar(length=len(batches), label="asking") as progress:
            progress.update(done)
            for pairs in batches[done:]:
                if time.monotonic() - begun > 60 * minutes:
                    break
                rows = _spans(ends[pairs] - packed.window_count[pairs], packed.window_count[pairs])
                said[rows] = run(assemble(packed, pairs), 0.0).softmax(1).cpu()
                done += 1
                progress.update(1)
                if time.monotonic() - saved > _SAVE_SECONDS:
                    _keep(kept, said, done, of_what)
                    saved = time.monotonic()
    finally:
        _keep(kept, said, done, of_what)
    return said


def _windows_of(packed: Packed, places: Numbers) -> Numbers:
    """Return the windows of some pairs, in the order of :func:`_asked`."""
    return _spans(packed.first_window[places], packed.window_count[places])


def _spans(first: Numbers, counts: Numbers) -> Numbers:
    spans = [np.arange(at, at + count) for at, count in zip(first, counts, strict=True)]
    return np.concatenate([*spans, np.zeros(0, np.int64)])


def _keep(path: Path, said: Numbers, done: int, of_what: str) -> None:
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        np.savez(file, said=said, done=done, of_what=of_what)
    part.replace(path)


def _unsaid(packed: Packed, places: Numbers) -> Numbers:
    """Return the pairs that have no label from a rule."""
    if packed.taught is None:
        return places
    return places[~packed.taught[packed.first_window[places]].any(axis=1)]


if __name__ == "__main__":
    main()
