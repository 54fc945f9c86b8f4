"""Low-rank adaptation: trains products of two narrow matrices beside fixed wide matrices.

This saves a third of the work per step, and makes the trained part of MPNet small enough to come
with the package. The method is LoRA (Hu et al., ICLR 2022).
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from training.weights import DOWN, UP


def add_products(p: dict[str, Tensor], rank: int, *, frozen: int, seed: int) -> None:
    """Add the narrow matrices as tensors to train; the wide ones are no longer trained.

    The model's output stays the same at first, since the second matrix of each product starts as
    zeros. Biases, norms and the head of unfrozen layers are still trained.

    Args:
        p: The model, changed in place.
        rank: Columns of a narrow matrix, at least 1.
        frozen: How many of the first layers get no narrow matrices.
        seed: Seed for the first matrix of each product.
    """
    chance = torch.Generator().manual_seed(seed)
    for name in [name for name in p if name.startswith("layer.") and p[name].dim() > 1]:
        matrix = p[name].requires_grad_(False)
        if int(name.split(".")[1]) < frozen:
            continue
        outputs, inputs = matrix.shape
        down = torch.randn(rank, inputs, generator=chance) * inputs**-0.5
        p[name + DOWN] = down.to(matrix.device).requires_grad_()
        p[name + UP] = torch.zeros(outputs, rank, device=matrix.device).requires_grad_()


def learned_in(p: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors to train: the narrow matrices, and all others that are not frozen."""
    return {name: value.detach() for name, value in p.items() if value.requires_grad}
