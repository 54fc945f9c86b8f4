"""Low-rank adaptation: products of two narrow matrices are learned beside matrices that stay.

That spares a third of the work of a step, and what was learned of MPNet is small enough to come
with the package. (LoRA: Hu et al., ICLR 2022.)
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from training.weights import DOWN, UP


def add_products(p: dict[str, Tensor], rank: int, *, frozen: int, seed: int) -> None:
    """Add the narrow matrices, as tensors to be trained; the wide ones are trained no longer.

    The model gives the same output as before, since the second matrix of each product begins as
    zeros. Biases, norms and the head of layers that are not frozen are still trained.

    Args:
        p: The model, changed in place.
        rank: Columns of a narrow matrix, at least 1.
        frozen: How many of the first layers get none.
        seed: Of the first matrix of each product.
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
    """The tensors that are trained: narrow matrices, and what else is not frozen."""
    return {name: value.detach() for name, value in p.items() if value.requires_grad}
