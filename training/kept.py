"""Stores the frozen layers' output for each token, so that training computes it only once.

This makes a run affordable on a CPU: if half of the layers are frozen, an epoch takes less than
half the time.
"""

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from training.batches import Batch, assemble, batched
from training.encoder import Parameters, embedded, head, short_products, through
from training.packed import Numbers, Packed
from training.weights import layers_of

_BATCH_TOKENS = 8192  # tokens in a batch; only memory limits it, since nothing is trained here
_NOT_KEPT = -1  # in place of the start of a window that is not in the file


class KeptActivations:
    """The output of the last frozen layer, for every training window.

    It is stored in a file in half precision, which takes 768 bytes per token for MiniLM, and twice
    as many for MPNet.
    """

    def __init__(
        self,
        packed: Packed,
        p: Parameters,
        frozen: int,
        path: Path,
        *,
        say: Callable[[str], None] = lambda text: None,
    ) -> None:
        """Open the file, or run the frozen layers and write it.

        Args:
            packed: The pairs; each training window belongs to one pair.
            p: The model.
            frozen: How many of its first layers are frozen, together with the embeddings.
            path: The file; it is rewritten if it has other pairs or layers.
            say: Called with a message when the layers are run.
        """
        self._p, self._first, self._last = p, frozen, layers_of(p)
        places = packed.of_part("taught")
        self._starts, total = _starts(packed, places)
        shape = total, p["words"].shape[1]
        about = path.with_suffix(".of.txt")
        of_what = _digest(packed, p, frozen)
        if path.exists() and about.exists() and about.read_text("utf-8") == of_what:
            self._kept = np.memmap(path, np.float16, "r", shape=shape)
            return
        say(f"running {frozen} frozen layers on {total:,} tokens")
        about.unlink(missing_ok=True)
        self._kept = np.memmap(path, np.float16, "w+", shape=shape)
        for pairs in batched(packed, places, _BATCH_TOKENS, np.random.default_rng(0)):
            self._keep(assemble(packed, pairs))
        self._kept.flush()
        about.write_text(of_what, "utf-8")

    def logits(self, batch: Batch, dropout: float) -> Tensor:
        """Return the logits, of shape (windows, 3), for a batch of training pairs."""
        rows, length = batch.ids.shape
        x = np.zeros((rows, length, self._kept.shape[1]), np.float16)
        for row, window in enumerate(batch.windows):
            tokens = int(batch.mask[row].sum())
            start = int(self._starts[window])
            x[row, :tokens] = self._kept[start : start + tokens]
        mask = torch.from_numpy(batch.mask)
        layers = range(self._first, self._last)
        with short_products("cpu"):
            y = through(self._p, torch.from_numpy(x).float(), mask, layers, dropout=dropout)
            said = head(self._p, y, mask, dropout=dropout)
        return said.float()

    def _keep(self, batch: Batch) -> None:
        ids, sides, mask = map(torch.from_numpy, (batch.ids, batch.sides, batch.mask))
        with torch.no_grad(), short_products("cpu"):
            x = through(self._p, embedded(self._p, ids, sides), mask, range(self._first))
        for row, window in enumerate(batch.windows):
            tokens, start = int(batch.mask[row].sum()), int(self._starts[window])
            self._kept[start : start + tokens] = x[row, :tokens].half().numpy()


def _starts(packed: Packed, places: Numbers) -> tuple[Numbers, int]:
    """Return where the first token of each training window is in the file, and the total."""
    windows, claims = packed.windows.lengths(), packed.claims.lengths()
    starts = np.full(len(windows), _NOT_KEPT, np.int64)
    total = 0
    for pair in places:
        first, count = int(packed.first_window[pair]), int(packed.window_count[pair])
        around = int(claims[packed.claim[pair]]) + packed.marks.total
        for window in range(first, first + count):
            starts[window] = total
            total += int(windows[window]) + around
    return starts, total


def _digest(packed: Packed, p: Parameters, frozen: int) -> str:
    digest = sha256(f"{packed.sha256()} {frozen}".encode())
    for name in sorted(p):
        if not p[name].requires_grad:
            digest.update(p[name].detach().numpy().tobytes())
    return digest.hexdigest()
