"""Logits of a model for all windows of pairs: hours of a large model, stored as they come."""

import time
from hashlib import sha256
from pathlib import Path

import click
import numpy as np
import torch

from training import weights
from training.batches import assemble, batched
from training.encoder import parameters
from training.learning import on
from training.packed import Numbers, Packed

__all__ = ["asked", "windows_of"]

_SAVE_SECONDS = 60.0


def asked(
    packed: Packed,
    places: Numbers,
    model: Path,
    kept: Path,
    *,
    batch_tokens: int,
    minutes: float = 1e9,
) -> Numbers:
    """Logits of a model for each window of some pairs.

    Args:
        packed: The pairs, in the tokens of the model.
        places: Those to ask about.
        model: Its weights.
        kept: A file for what it said: stopped in any way, the next call goes on where it was.
        batch_tokens: The most tokens of a batch.
        minutes: Ask for so many, and then no more.

    Returns:
        Probabilities of shape (windows, 3), the windows of one pair after those of another, in the
        order of ``places``; zeros where it was not asked.

    Raises:
        ClickException: The file is of another model or of other pairs.
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
                raise click.ClickException(f"{kept} is of another model or pairs: move it away")
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


def windows_of(packed: Packed, places: Numbers) -> Numbers:
    """The windows of some pairs, in the order in which :func:`asked` speaks of them."""
    return _spans(packed.first_window[places], packed.window_count[places])


def _spans(first: Numbers, counts: Numbers) -> Numbers:
    spans = [np.arange(at, at + count) for at, count in zip(first, counts, strict=True)]
    return np.concatenate([*spans, np.zeros(0, np.int64)])


def _keep(path: Path, said: Numbers, done: int, of_what: str) -> None:
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        np.savez(file, said=said, done=done, of_what=of_what)
    part.replace(path)
