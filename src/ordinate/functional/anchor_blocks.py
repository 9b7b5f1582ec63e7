"""Losses over blocks of anchors: memory of block x m instead of n x m, the gradient computed with the value.

A loss is a sum of rows, one per anchor. A block of rows is computed, turned into values and, in place, into its
gradient, and multiplied back onto the embeddings; no graph over pairs is kept.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ordinate.errors import OrdinateError
from ordinate.functional.numerics import accumulation_dtype

Gradients = Sequence[Tensor] | None
RowSums = Callable[..., tuple[Tensor, Gradients]]


@runtime_checkable
class Pairs(Protocol):
    """Similarities of anchors with references, which take gradients block by block."""

    a: Tensor

    def add_gradient(self, rows: slice, gradient: Any) -> None: ...

    def gradients(self) -> Sequence[Tensor]: ...


def anchor_blocks(n: int, m: int, block_size: int | None, device: torch.device) -> Iterator[slice]:
    """Yield slices that together hold the n anchors, each contrasted with m samples.

    Args:
        n: Number of anchors.
        m: Number of samples that each is contrasted with.
        block_size: Number of anchors per block; None chooses it from ``m`` and the device.
        device: Device of the embeddings.
    """
    if block_size is None:
        block_size = _fast_block_size(m, device)
    for start in range(0, n, block_size):
        yield slice(start, min(n, start + block_size))


def _fast_block_size(m: int, device: torch.device) -> int:
    """Return the number of anchors of a block that is fast on a device."""
    if device.type == "cpu":
        # From 256 to 4096 samples, blocks of 256 were measured to be the fastest. Matrices of more than 2**20 elements
        # leave the cache, and are mapped anew each time.
        return max(1, min(256, 2**20 // m))
    most = 2**23
    if device.type == "cuda":
        # With 2**27 elements there are rows enough for every multiprocessor when there are a million samples. A block
        # and the tensors made from it take up to 64 bytes per element, which is then an eighth of the memory.
        most = min(2**27, torch.cuda.get_device_properties(device).total_memory // 512)
    return max(1, most // m)


@dataclass(frozen=True)
class SampleOrder:
    """An order of anchors and of references, and where each anchor itself stands among the references in it."""

    anchors: Int[Tensor, " n"]
    references: Int[Tensor, " m"]
    self_index: Int[Tensor, " n"] | None


def rows_of(values: Tensor | None, rows: slice | Tensor) -> Tensor | None:
    """Return some rows of a tensor, by a slice, an index or a mask; None if there is no tensor."""
    if values is None:
        return None
    return values[rows]


def in_order(row_sums: RowSums, order: SampleOrder) -> RowSums:
    """Return row sums of anchors and references as they come, from those of anchors and references in an order."""

    def unordered(coefficients: Tensor | None, a: Tensor, b: Tensor, *others: Tensor) -> tuple[Tensor, Gradients]:
        # The method index_select is several times as fast as an index in brackets.
        a, b = a.index_select(0, order.anchors), b.index_select(0, order.references)
        values, gradients = row_sums(coefficients, a, b, *others)
        if gradients is None:
            return values, None
        grad_a = gradients[0].index_select(0, order.anchors.argsort())
        grad_b = gradients[1].index_select(0, order.references.argsort())
        return values, [grad_a, grad_b, *gradients[2:]]

    return unordered


def block_sums(
    blocks: Iterable[slice],
    rows: Callable[[slice, Tensor | None], tuple[Tensor, Any]],
    pairs: Pairs,
    coefficients: Float[Tensor, " n"] | None,
) -> tuple[Float[Tensor, " n"], Gradients]:
    """Compute the values of anchors block by block, and where there are coefficients, their gradient.

    Args:
        blocks: Blocks of anchors; anchors in none have the value 0.
        rows: Function of a block and its coefficients that returns its values, and the gradient that ``pairs`` takes
            (None without coefficients).
        pairs: Similarities of anchors with references, see :mod:`ordinate.functional.similarity`.
        coefficients: Coefficients (n,) of the values in the sum whose gradient is wanted; None wants no gradient.
    """
    values = torch.zeros(len(pairs.a), dtype=accumulation_dtype(pairs.a.device), device=pairs.a.device)
    for block in blocks:
        values[block], gradient = rows(block, rows_of(coefficients, block))
        if coefficients is not None:
            pairs.add_gradient(block, gradient)
    if coefficients is None:
        return values, None
    return values, pairs.gradients()


def reduced(row_sums: RowSums, coefficients: Float[Tensor, " n"] | None, *tensors: Tensor) -> Tensor:
    """Return the sum of the anchors' values times ``coefficients``, or all values where there are none.

    Args:
        row_sums: Function of ``coefficients`` and ``tensors`` that returns the values (n,) and, where coefficients are
            given, the gradient of their weighted sum for each tensor.
        coefficients: Coefficient (n,) of every anchor's value in the sum, with a gradient where they require one; None
            returns the values as they are.
        tensors: Tensors that take a gradient.
    """
    # The formulas choose their arithmetic themselves, also under autocast.
    with torch.autocast(tensors[0].device.type, enabled=False):
        if coefficients is None:
            return _Values.apply(row_sums, *tensors)
        return _WeightedSum.apply(row_sums, coefficients, *tensors)


class _WeightedSum(torch.autograd.Function):
    """The gradient is known up to the one factor that comes back, so it is computed with the value."""

    @staticmethod
    def forward(ctx: Any, row_sums: RowSums, coefficients: Tensor, *tensors: Tensor) -> Tensor:
        wanted = any(ctx.needs_input_grad[2:])
        values, gradients = row_sums(coefficients if wanted else None, *tensors)
        kept = [None] * len(tensors) if gradients is None else _like(gradients, tensors)
        ctx.save_for_backward(values, *kept)
        return (values * coefficients).sum()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        refuse_second_derivative()
        values, *gradients = ctx.saved_tensors
        of_tensors = (None if gradient is None else grad.to(gradient.dtype) * gradient for gradient in gradients)
        return None, grad * values if ctx.needs_input_grad[1] else None, *of_tensors


class _Values(torch.autograd.Function):
    """Each anchor's factor comes back only in the backward pass: the rows are computed again there."""

    @staticmethod
    def forward(ctx: Any, row_sums: RowSums, *tensors: Tensor) -> Tensor:
        ctx.row_sums = row_sums
        ctx.save_for_backward(*tensors)
        return row_sums(None, *tensors)[0]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        refuse_second_derivative()
        with torch.autocast(grad.device.type, enabled=False):
            _, gradients = ctx.row_sums(grad, *ctx.saved_tensors)
        return None, *_like(gradients, ctx.saved_tensors)


def _like(gradients: Sequence[Tensor], tensors: Sequence[Tensor]) -> list[Tensor]:
    return [gradient.to(tensor) for gradient, tensor in zip(gradients, tensors, strict=True)]


def refuse_second_derivative() -> None:
    """Raise where a gradient is asked for that can itself be differentiated; called in a backward pass."""
    if torch.is_grad_enabled():
        raise OrdinateError(
            "create_graph",
            "True",
            "backward() or torch.autograd.grad() without it: the losses have a first derivative only, which is "
            "computed with the value",
        )
