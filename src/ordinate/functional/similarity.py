"""Similarities between embeddings, exact where embeddings coincide.

They are computed in float64 whatever the embeddings' dtype: the distance of two close embeddings is then
known to the last bit that float32 can tell apart, and autocast leaves it alone.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

SIMILARITIES = ("neg_l2", "neg_l1", "cosine")
NEAR = 1e-6  # squared distance, relative to the squared norms, below which the Gram form loses digits
CHUNK = 1 << 16  # near pairs recomputed at a time


def pairwise_similarity(a: Float[Tensor, "n d"], b: Float[Tensor, "m d"], similarity: str) -> Float[Tensor, "n m"]:
    """Similarity of every row of ``a`` with every row of ``b``, in float64.

    ``"neg_l2"`` is -|a - b|_2, ``"neg_l1"`` is -|a - b|_1, ``"cosine"`` is the cosine; the cosine with a
    zero embedding is 0. Where two embeddings coincide the gradient of their distance is 0.
    """
    if similarity == "cosine":
        return unit(a) @ unit(b).T
    if similarity == "neg_l1":
        return -torch.cdist(a.double(), b.double(), p=1.0)
    return -_EuclideanDistance.apply(a.double(), b.double())


def unit(x: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
    """Rows of ``x`` scaled to norm 1, in float64; a zero row stays zero and gets no gradient."""
    x = x.double()
    norm = torch.linalg.vector_norm(x, dim=1, keepdim=True)
    zero = norm == 0
    return torch.where(zero, 0, x / torch.where(zero, 1, norm))


class _EuclideanDistance(torch.autograd.Function):
    """Pairwise |a - b|_2 through the Gram matrix; near pairs are recomputed from their difference."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        centre = b.mean(0)
        a, b = a - centre, b - centre
        squared_norms = _squared_norms(a, b)
        squared = torch.addmm(squared_norms, a, b.T, alpha=-2)
        for i, j in near_pairs(squared, NEAR * squared_norms):
            squared[i, j] = (a[i] - b[j]).square().sum(1)
        distance = squared.sqrt_()
        ctx.save_for_backward(a, b, distance)
        return distance

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        a, b, distance = ctx.saved_tensors
        pull = torch.where(distance > 0, grad / distance, 0)
        grad_a, grad_b = torch.zeros_like(a), torch.zeros_like(b)
        for i, j in near_pairs(distance.square(), NEAR * _squared_norms(a, b)):
            between = pull[i, j, None] * (a[i] - b[j])
            grad_a.index_add_(0, i, between)
            grad_b.index_add_(0, j, -between)
            pull[i, j] = 0
        grad_a += pull.sum(1)[:, None] * a - pull @ b
        grad_b += pull.sum(0)[:, None] * b - pull.T @ a
        return grad_a, grad_b


def _squared_norms(a: Tensor, b: Tensor) -> Tensor:
    return a.square().sum(1)[:, None] + b.square().sum(1)


def near_pairs(value: Tensor, bound: Tensor | float) -> list[tuple[Tensor, Tensor]]:
    """Index pairs (i, j) with ``value <= bound``, in chunks that keep their differences small in memory."""
    return [(chunk[:, 0], chunk[:, 1]) for chunk in (value <= bound).nonzero().split(CHUNK)]
