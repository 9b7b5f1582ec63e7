"""Similarities between embeddings, a block of anchors at a time, and the gradient back through them."""

from abc import abstractmethod
from typing import Any

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from ordinate.errors import OrdinateError
from ordinate.functional.numerics import accumulation_dtype, to_accumulation_dtype
from ordinate.options import Similarity

PAIRS_AT_ONCE = 1 << 16


def unit(x: Float[Tensor, "n d"], steepest: float = 1.0) -> Float[Tensor, "n d"]:
    """Return the rows of ``x`` scaled to norm 1, in the widest type of the device; zero rows stay, without gradient.

    Norms for which a gradient as large as ``steepest`` would exceed the range of the dtype are an `OrdinateError`.
    """
    return _Unit.apply(x, steepest)


def units(
    x: Float[Tensor, "n d"], refs: Float[Tensor, "m d"], steepest: float = 1.0
) -> tuple[Float[Tensor, "n d"], Float[Tensor, "m d"]]:
    """Return :func:`unit` of both, computed once where they are the same, for losses of their cosines."""
    if x.shape[1] == 1:
        raise OrdinateError(
            "embeddings", "1 dimension", "at least 2: the cosine of two numbers is 1 or -1 and has no gradient"
        )
    u = unit(x, steepest)
    if refs is x:
        return u, u
    return u, unit(refs, steepest)


class _Unit(torch.autograd.Function):
    """The scaling in one step each way, as for small batches the steps are a good part of a loss."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, steepest: float) -> Tensor:
        least = torch.finfo(x.dtype).tiny * steepest  # The gradient is divided by the norm.
        x = to_accumulation_dtype(x)
        norm = torch.linalg.vector_norm(x, dim=1, keepdim=True)
        # The squares of smaller numbers may be rounded to 0, and gradients may exceed the range of float32.
        if bool((norm < max(1e-30, least)).any()):
            largest = x.abs().amax(1, keepdim=True)
            norm = largest * torch.linalg.vector_norm(x / torch.where(largest == 0, 1, largest), dim=1, keepdim=True)
            if bool(((norm > 0) & (norm < least)).any()):
                raise OrdinateError(
                    "embeddings", f"a norm below {least:.1e}", "0 or more than that, for a gradient that is finite"
                )
        scale = torch.where(norm == 0, 0, 1 / norm)
        u = x / torch.where(norm == 0, 1, norm)
        ctx.save_for_backward(u, scale)
        return u

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        u, scale = ctx.saved_tensors
        return (grad - u * (grad * u).sum(1, keepdim=True)) * scale, None


def pairwise_similarity(
    a: Float[Tensor, "n d"], b: Float[Tensor, "m d"], similarity: Similarity
) -> Float[Tensor, "n m"]:
    """Return the similarity of every row of ``a`` with every row of ``b``, in the widest type, without a gradient.

    ``"neg_l2"`` is -|a - b|_2, ``"neg_l1"`` is -|a - b|_1, ``"cosine"`` is the cosine; the cosine with a
    zero embedding is 0.
    """
    with torch.no_grad():
        if similarity == "cosine":
            a, b = unit(a), unit(b)
        block = BLOCKS[similarity](a, b, accumulation_dtype(a.device)).block(slice(0, len(a)), None)
        assert block is not None  # noqa: S101  # The widest type fits all.
        return block


class SimilarityBlocks:
    """Rows of the matrix of similarities of ``a`` with ``b``, and the gradient of both."""

    def __init__(self, a: Float[Tensor, "n d"], b: Float[Tensor, "m d"], dtype: torch.dtype) -> None:
        self.a, self.b = a.to(dtype), b.to(dtype)
        self.grad_a, self.grad_b = torch.zeros_like(self.a), torch.zeros_like(self.b)

    @abstractmethod
    def block(self, rows: slice, self_index: Int[Tensor, " b"] | None) -> Float[Tensor, "b m"] | None:
        """Return the similarities of some anchors, -1 to themselves; None where the dtype is too narrow."""

    @abstractmethod
    def add_gradient(self, rows: slice, gradient: Any) -> None:
        """Add the gradient of the last block, 0 where anchors meet themselves; ``gradient`` is overwritten.

        It is (b, m), or the kind of gradient that the rows of a subclass give.
        """

    def gradients(self) -> tuple[Float[Tensor, "n d"], Float[Tensor, "m d"]]:
        """Return the gradients added so far."""
        return self.grad_a, self.grad_b


class CosineBlocks(SimilarityBlocks):
    """Cosines of rows of norm 1 (or 0)."""

    def block(self, rows: slice, self_index: Int[Tensor, " b"] | None = None) -> Float[Tensor, "b m"]:
        return fill_self(self.a[rows] @ self.b.T, self_index, -1)

    def add_gradient(self, rows: slice, gradient: Float[Tensor, "b m"]) -> None:
        self.grad_a[rows] += gradient @ self.b
        self.grad_b.addmm_(gradient.T, self.a[rows])


class EuclideanBlocks(SimilarityBlocks):
    """-|a - b|_2 through the Gram matrix; near pairs are recomputed from their difference."""

    def __init__(self, a: Float[Tensor, "n d"], b: Float[Tensor, "m d"], dtype: torch.dtype) -> None:
        self.points = a, b
        centre = b.to(dtype).mean(0)  # Distances from any point near them are rounded less than those from 0.
        super().__init__(a.to(dtype) - centre, b.to(dtype) - centre, dtype)
        self.norms_a, self.norms_b = (x.square().sum(1) for x in (self.a, self.b))
        self.widest = self.norms_b.max()
        one_a, one_b = torch.ones_like(self.norms_a), torch.ones_like(self.norms_b)
        # The product left @ right.T is |a - b|^2.
        self.left = torch.cat([-2 * self.a, self.norms_a[:, None], one_a[:, None]], 1)
        self.right = torch.cat([self.b, one_b[:, None], self.norms_b[:, None]], 1)
        self.near: list[tuple[Tensor, Tensor]] = []
        self.last_resort = dtype == accumulation_dtype(a.device)
        # Between these limits, squared distances keep their last digit in float32.
        self.fits = self.last_resort or bool((self.widest > 1e-25) & (self.widest + self.norms_a.max() < 1e25))

    def block(self, rows: slice, self_index: Int[Tensor, " b"] | None) -> Float[Tensor, "b m"] | None:
        if not self.fits:
            return None
        squared = fill_self(self.left[rows] @ self.right.T, self_index, torch.inf)
        self.near = []
        # The Gram form loses digits of squared distances that are smaller, relative to the squared norms.
        bound = {torch.float32: 1e-2, torch.float64: 1e-6}[squared.dtype]
        if bool((squared.amin(1) <= bound * (self.norms_a[rows] + self.widest)).any()):
            near = (squared <= bound * (self.norms_a[rows, None] + self.norms_b)).nonzero()
            # Recomputing more than a hundredth of a float32 block costs more than float64.
            if not self.last_resort and len(near) > 0.01 * squared.numel():
                return None
            self.near = [(part[:, 0], part[:, 1]) for part in near.split(PAIRS_AT_ONCE)]
        similarity = fill_self(squared.clamp_(min=0).sqrt_().neg_(), self_index, -1)
        for i, j in self.near:
            similarity[i, j] = -self._difference(rows, i, j).square().sum(1).sqrt().to(similarity)
        self.similarity = similarity
        return similarity

    def _difference(self, rows: slice, i: Tensor, j: Tensor) -> Float[Tensor, "k d"]:
        a, b = self.points
        return to_accumulation_dtype(a[rows][i]) - to_accumulation_dtype(b[j])

    def add_gradient(self, rows: slice, gradient: Float[Tensor, "b m"]) -> None:
        similarity = self.similarity
        apart = [torch.where(similarity[i, j] < 0, gradient[i, j] / similarity[i, j], 0) for i, j in self.near]
        gradient.div_(similarity)
        for (i, j), pulled in zip(self.near, apart, strict=True):
            between = (pulled[:, None] * self._difference(rows, i, j)).to(gradient)
            self.grad_a[rows].index_add_(0, i, between)
            self.grad_b.index_add_(0, j, -between)
            gradient[i, j] = 0
        a = self.a[rows]
        self.grad_a[rows] += gradient.sum(1)[:, None] * a - gradient @ self.b
        self.grad_b.addmm_(gradient.T, a, alpha=-1).addcmul_(gradient.sum(0)[:, None], self.b)


class CityBlocks(SimilarityBlocks):
    """-|a - b|_1."""

    def block(self, rows: slice, self_index: Int[Tensor, " b"] | None) -> Float[Tensor, "b m"]:
        return fill_self(-torch.cdist(self.a[rows], self.b, p=1.0), self_index, -1)

    def add_gradient(self, rows: slice, gradient: Float[Tensor, "b m"]) -> None:
        with torch.enable_grad():
            a, b = self.a[rows].detach().requires_grad_(), self.b.detach().requires_grad_()
            grad_a, grad_b = torch.autograd.grad(torch.cdist(a, b, p=1.0), (a, b), -gradient)
        self.grad_a[rows] += grad_a
        self.grad_b += grad_b


BLOCKS: dict[str, type[SimilarityBlocks]] = {
    "neg_l2": EuclideanBlocks,
    "neg_l1": CityBlocks,
    "cosine": CosineBlocks,
}


def fill_self(
    block: Shaped[Tensor, "b m"], self_index: Int[Tensor, " b"] | None, value: float
) -> Shaped[Tensor, "b m"]:
    """Write ``value`` where each anchor meets itself, if it is among its references; returns ``block``."""
    if self_index is None:
        return block
    return block.scatter_(1, self_index[:, None], value)
