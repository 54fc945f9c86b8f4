"""Computes the training loss, and measures a model during training."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from training.batches import Batch, assemble, batched
from training.encoder import Parameters, logits, short_products
from training.figures import SetFigures, figures, verdicts
from training.packed import Numbers, Packed
from training.pairs import LABELS

_SUPPORTS, _CONTRADICTS, _IRRELEVANT = range(len(LABELS))

Run = Callable[[Batch, float], Tensor]
"""A function that takes a batch and a dropout share, and returns logits of shape (windows, 3)."""


def on(p: Parameters, *, device: str) -> Run:
    """Return a function that runs a model on a device, with :func:`short_products`."""

    def run(batch: Batch, dropout: float) -> Tensor:
        ids, sides, mask = (
            torch.from_numpy(values).to(device, non_blocking=True)
            for values in (batch.ids, batch.sides, batch.mask)
        )
        with short_products(device):
            said = logits(p, ids, sides, mask, dropout=dropout)
        return said.float()

    return run


def loss_of(said: Tensor, batch: Batch, *, smoothing: float) -> Tensor:
    """Return the cross-entropy of the windows that represent their documents.

    People labelled documents, not windows. If a document takes a side, one of its windows must take
    this side, and the loss trains the window that is most likely to do so according to the model.
    If a document takes no side, no window may, so the loss trains the window that is closest to a
    side. No window may take the wrong side either, so the loss also trains the window that is
    closest to the wrong side. If each document has a single window, this is plain cross-entropy.

    Args:
        said: Logits of shape (windows, 3).
        batch: The batch that was run.
        smoothing: The share of each target that is spread over all labels.
    """
    owner = torch.from_numpy(batch.owner).to(said.device)
    gold = torch.from_numpy(batch.labels).to(said.device)
    p = said.detach().softmax(dim=1)
    silent = gold[owner] == _IRRELEVANT
    own = p.gather(1, gold[owner, None])[:, 0]
    answers = _strongest(torch.where(silent, p[:, :_IRRELEVANT].amax(dim=1), own), owner, len(gold))
    loss = functional.cross_entropy(said[answers], gold, label_smoothing=smoothing)
    if len(owner) == len(gold):
        return loss
    other = _CONTRADICTS - gold[owner].clamp(max=_CONTRADICTS)
    against = _strongest(p.gather(1, other[:, None])[:, 0], owner, len(gold))
    apart = (gold != _IRRELEVANT) & (against != answers)
    if not bool(apart.any()):
        return loss
    wrong = other[against[apart], None]
    scores = said[against[apart]].float()
    rest = scores.scatter(1, wrong, -torch.inf).logsumexp(dim=1)
    # -log(1 - p) of the wrong side, from scores, so it still has a gradient if p rounds to 1.
    return loss + functional.softplus(scores.gather(1, wrong)[:, 0] - rest).sum() / len(gold)


def taught_loss(said: Tensor, batch: Batch) -> Tensor:
    """Return the cross-entropy between the teacher's and the model's probabilities for windows.

    This is distillation at temperature 1 (Hinton, Vinyals and Dean, arXiv:1503.02531).

    Args:
        said: Shape (windows, 3).
        batch: The batch that was run, with the teacher's probabilities in the same shape.
    """
    return functional.cross_entropy(said, torch.from_numpy(batch.taught).to(said.device))


def _strongest(strength: Tensor, owner: Tensor, pairs: int) -> Tensor:
    """Return the index of each pair's strongest window."""
    most = torch.full((pairs,), -1.0, device=strength.device, dtype=strength.dtype)
    most.scatter_reduce_(0, owner, strength, "amax")
    places = torch.arange(len(owner), device=owner.device)
    first = torch.full((pairs,), len(owner), device=owner.device)
    is_most = strength == most[owner]
    first.scatter_reduce_(0, owner[is_most], places[is_most], "amin")
    return first


def measure(run: Run, packed: Packed, places: Numbers, *, tokens: int) -> dict[str, SetFigures]:
    """Return the figures of each set, measured on some pairs.

    Args:
        run: The model.
        packed: All pairs.
        places: The pairs to measure on.
        tokens: The maximum tokens of a batch.
    """
    given = np.zeros(len(packed.label), np.int64)
    with torch.no_grad():
        for pairs in batched(packed, places, tokens, np.random.default_rng(0)):
            batch = assemble(packed, pairs)
            p = run(batch, 0.0).softmax(dim=1).cpu().numpy()
            given[pairs] = verdicts(p, batch.owner, len(pairs))
    found = {}
    for number, name in enumerate(packed.sources):
        of_set = places[packed.source[places] == number]
        if len(of_set):
            found[name] = figures(packed.label[of_set], given[of_set])
    return found
