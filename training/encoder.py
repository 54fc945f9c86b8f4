"""Computes the outputs of an encoder with a head of three outputs, from a dictionary of tensors.

The architecture is BERT's (Devlin et al., NAACL 2019) or, if the tensors have ``relative`` and no
``sides``, MPNet's (Song et al., NeurIPS 2020). It is written directly in torch, so training needs
no other library.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from training.weights import DOWN, EPSILON, HEADS, UP, Weights, buckets, layers_of

Parameters = dict[str, Tensor]


def short_products(device: str) -> torch.autocast:
    """Return a context in which products are computed in bfloat16, if the device supports this."""
    return torch.autocast(device, torch.bfloat16, enabled=device == "cuda" or _has_short_products())


def _has_short_products() -> bool:
    """Return whether this CPU multiplies in bfloat16; torch has no public function for this."""
    return bool(getattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)())


def parameters(weights: Weights, *, device: Any) -> Parameters:
    """Return the tensors to train."""
    return {
        name: torch.tensor(value, dtype=torch.float32, device=device).requires_grad_()
        for name, value in weights.items()
    }


def frozen_names(p: Mapping[str, Any], layers: int) -> list[str]:
    """Return the names of the embeddings and of the frozen layers; empty if no layer is frozen."""
    if not layers:
        return []
    whole = tuple(f"layer.{layer}." for layer in range(layers))
    learned = ("layer.", "head.")
    return [name for name in p if name.startswith(whole) or not name.startswith(learned)]


def as_weights(trained: Mapping[str, Tensor]) -> Weights:
    """Return the tensors as arrays, for saving."""
    return {name: value.detach().float().cpu().numpy() for name, value in trained.items()}


def logits(
    p: Parameters, ids: Tensor, sides: Tensor, mask: Tensor, *, dropout: float = 0.0
) -> Tensor:
    """Return the logits of a model for a batch.

    Args:
        p: The model.
        ids: Token numbers, of shape (batch, length).
        sides: 0 for the document's tokens and marks, 1 for the claim's; same shape; ignored by a
            model without ``sides``.
        mask: Whether a position has a token, rather than padding; same shape, boolean.
        dropout: The share of values to drop; it must be 0 when a model is measured.

    Returns:
        Shape (batch, 3).
    """
    x = embedded(p, ids, sides, dropout=dropout)
    return head(p, through(p, x, mask, range(layers_of(p)), dropout=dropout), mask, dropout=dropout)


def embedded(p: Parameters, ids: Tensor, sides: Tensor, *, dropout: float = 0.0) -> Tensor:
    """Return the input of the first layer, of shape (batch, length, size)."""
    x = p["words"][ids] + p["positions"][: ids.shape[1]]
    if "sides" in p:
        x = x + p["sides"][sides]
    x = _norm(p, "norm", x)
    return functional.dropout(x, dropout) if dropout else x


def through(
    p: Parameters, x: Tensor, mask: Tensor, layers: range, *, dropout: float = 0.0
) -> Tensor:
    """Run some layers one after another, and return the last one's output for each token.

    Args:
        p: The model.
        x: Shape (batch, length, size).
        mask: As in :func:`logits`.
        layers: Numbers of the layers, in order.
        dropout: As in :func:`logits`.

    Returns:
        Same shape as ``x``.
    """

    def drop(x: Tensor) -> Tensor:
        return functional.dropout(x, dropout) if dropout else x

    batch, length, size = x.shape
    seen = mask[:, None, None, :]
    if "relative" in p:
        seen = torch.where(seen, _relative(p["relative"], length), -torch.inf)
    for layer in layers:
        name = f"layer.{layer}"
        projected = _linear(p, f"{name}.attention", x)
        heads = projected.view(batch, length, 3, HEADS, size // HEADS).permute(2, 0, 3, 1, 4)
        mixed = _attended(heads[0], heads[1], heads[2], seen, dropout)
        mixed = mixed.transpose(1, 2).reshape(batch, length, size)
        x = _norm(p, f"{name}.attended_norm", x + drop(_linear(p, f"{name}.attended", mixed)))
        inner = functional.gelu(_linear(p, f"{name}.inner", x))
        x = _norm(p, f"{name}.output_norm", x + drop(_linear(p, f"{name}.output", inner)))
    return x


def head(p: Parameters, x: Tensor, mask: Tensor, *, dropout: float = 0.0) -> Tensor:
    """Return the logits, of shape (batch, 3), from the last layer's output for each token."""
    kept = mask[:, :, None].to(x.dtype)
    pooled = functional.dropout((x * kept).sum(1) / kept.sum(1), dropout)
    return _linear(p, "head", pooled)


def _attended(query: Tensor, key: Tensor, value: Tensor, seen: Tensor, dropout: float) -> Tensor:
    """Return the attention's output, of shape (batch, heads, length, size of a head).

    On a CPU, this function computes it step by step, since torch's own function would take a third
    of a training step.

    Args:
        query: Same shape.
        key: Same shape.
        value: Same shape.
        seen: Which tokens are attended to, boolean; or values to add to their scores.
        dropout: The share of weights to drop.
    """
    if query.device.type != "cpu":
        return functional.scaled_dot_product_attention(
            query, key, value, attn_mask=seen, dropout_p=dropout
        )
    scores = torch.matmul(query * query.shape[-1] ** -0.5, key.transpose(-2, -1))
    if seen.dtype == torch.bool:
        seen = torch.zeros_like(seen, dtype=scores.dtype).masked_fill(~seen, -torch.inf)
    weights = (scores + seen).softmax(-1)
    return torch.matmul(functional.dropout(weights, dropout).to(value.dtype), value)


def _relative(table: Tensor, length: int) -> Tensor:
    """Return each head's bias for each pair of tokens, of shape (heads, length, length)."""
    places = np.arange(length)
    of_pair = torch.from_numpy(buckets(places[None, :] - places[:, None])).to(table.device)
    return functional.embedding(of_pair, table).permute(2, 0, 1)


def _linear(p: Parameters, name: str, x: Tensor) -> Tensor:
    y = functional.linear(x, p[f"{name}.weight"], p[f"{name}.bias"])
    if (down := p.get(f"{name}.weight{DOWN}")) is None:
        return y
    # Apply the narrow matrices in turn: their product would need a gradient of the wide matrix's
    # size.
    return y + functional.linear(functional.linear(x, down), p[f"{name}.weight{UP}"])


def _norm(p: Parameters, name: str, x: Tensor) -> Tensor:
    weight, bias = p[f"{name}.weight"], p[f"{name}.bias"]
    return functional.layer_norm(x, weight.shape, weight, bias, EPSILON)
