"""Low-rank adaptation: a product of two narrow matrices is learned beside each matrix that stays.

That spares a third of the work of a step, and what was learned of MPNet is small enough to stand
beside it. (LoRA: Hu et al., ICLR 2022.)
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

__all__ = ["add_low_rank", "merged"]

_ADAPTED = ("attention", "attended", "inner", "output")
"""The matrices of a layer."""
_DOWN, _UP = ".down", ".up"


def add_low_rank(p: dict[str, Tensor], rank: int, *, frozen: int, seed: int) -> None:
    """Add the narrow matrices, as tensors to be trained; the wide ones are trained no longer.

    The model says what it said before, since the second of each two begins as zeros.

    Args:
        p: The model; embeddings stay as they are, biases, norms and the head are still trained.
        rank: Columns of a narrow matrix.
        frozen: How many of the first layers get none.
        seed: Of the first of each two.
    """
    chance = torch.Generator().manual_seed(seed)
    for name in [name for name in p if not name.startswith(("layer.", "head."))]:
        p[name].requires_grad_(False)
    wide = [name for name in p if name.endswith(tuple(f".{kind}.weight" for kind in _ADAPTED))]
    for name in wide:
        matrix = p[name].requires_grad_(False)
        if int(name.split(".")[1]) < frozen:
            continue
        outputs, inputs = matrix.shape
        place = name.removesuffix(".weight")
        down = torch.randn(rank, inputs, generator=chance) * inputs**-0.5
        p[place + _DOWN] = down.to(matrix.device).requires_grad_()
        p[place + _UP] = torch.zeros(outputs, rank, device=matrix.device).requires_grad_()


def merged(p: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The model with each product added to its wide matrix, and without the narrow ones."""
    found: dict[str, Any] = {
        name: value.detach() for name, value in p.items() if not name.endswith((_DOWN, _UP))
    }
    for name in p:
        if name.endswith(_DOWN):
            place = name.removesuffix(_DOWN)
            product = p[place + _UP].detach() @ p[name].detach()
            found[f"{place}.weight"] = found[f"{place}.weight"] + product
    return found
