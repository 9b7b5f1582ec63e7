"""The one place that checks embeddings, labels and weights for every loss.

Each check returns the tensor the formula works on, or raises :class:`~ordinate.errors.OrdinateError`
naming the argument, the value it got and the value that was expected.
"""

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from ordinate.counts import counted
from ordinate.errors import OrdinateError
from ordinate.functional.numerics import to_accumulation_dtype, upcast_half

MAX_FACTOR = 1e12  # The loss of any batch with such weights or margins still fits in float32.


def check_embeddings(embeddings: Tensor, name: str = "embeddings") -> Tensor:
    """Return ``embeddings`` (n, d), at least float32, once they are known to be a finite floating-point matrix."""
    if not isinstance(embeddings, Tensor):
        raise OrdinateError(name, type(embeddings).__name__, "a torch tensor (n, d)")
    if not embeddings.is_floating_point():
        raise OrdinateError(name, f"dtype {embeddings.dtype}", "a floating-point tensor")
    if embeddings.dim() != 2:
        hint = "flatten views (b, v, d) with ordinate.functional.flatten_views"
        raise OrdinateError(name, f"shape {tuple(embeddings.shape)}", "(n, d)", hint)
    if embeddings.shape[0] == 0 or embeddings.shape[1] == 0:
        raise OrdinateError(name, f"shape {tuple(embeddings.shape)}", "at least one row and one column")
    finite = torch.isfinite(embeddings)
    if not bool(finite.all()):
        bad = int((~finite.all(dim=1)).sum())
        problem = f"{bad:,} of {counted(len(embeddings), 'row')} hold NaN or infinity"
        hint = "NaN among the inputs of the encoder do this, or one that has diverged: lower the learning rate"
        raise OrdinateError(name, problem=problem, expected="finite values", hint=hint)
    if embeddings.dtype == torch.float64:  # Embeddings of other types are squared in it.
        largest = float(embeddings.detach().abs().max())
        if largest > 1e150:
            raise OrdinateError(name, f"values of {largest:g}", "at most 1e+150, which float64 can square")
    return upcast_half(embeddings)


def shape_or_type(value: object) -> object:
    """Return what an error tells of a value that should be another tensor."""
    if isinstance(value, Tensor):
        return tuple(value.shape)
    return type(value).__name__


def check_devices(embeddings: object, **tensors: object) -> None:
    """Raise where a tensor is on another device than ``embeddings``; whatever is no tensor is left to other checks."""
    for name, tensor in tensors.items():
        if isinstance(tensor, Tensor) and isinstance(embeddings, Tensor) and tensor.device != embeddings.device:
            raise OrdinateError(name, f"a tensor on {tensor.device}", f"one on {embeddings.device}, as embeddings are")


def check_self_index(self_index: Tensor, labels: Tensor, ref_labels: Tensor) -> Int[Tensor, " n"]:
    """Return where each anchor stands among the references."""
    expected = f"whole numbers ({len(labels)},), the place of each anchor in ref_emb"
    if not isinstance(self_index, Tensor):
        raise OrdinateError("self_index", type(self_index).__name__, expected)
    if self_index.shape != (len(labels),) or self_index.is_floating_point() or self_index.dtype == torch.bool:
        raise OrdinateError("self_index", f"{self_index.dtype} {tuple(self_index.shape)}", expected)
    self_index = self_index.long()
    lowest, highest = torch.stack(self_index.aminmax()).tolist()
    if lowest < 0 or highest >= len(ref_labels):
        raise OrdinateError("self_index", f"{lowest} to {highest}", f"0 to {len(ref_labels) - 1}")
    if not bool((ref_labels[self_index].reshape(labels.shape) == labels).all()):
        raise OrdinateError(
            "self_index", "places whose ref_labels differ from the anchors' labels", "places of the anchors themselves"
        )
    return self_index


def _check_length(labels: Tensor, n: int, name: str) -> None:
    if not isinstance(labels, Tensor):
        raise OrdinateError(name, type(labels).__name__, "a torch tensor")
    if labels.is_complex():
        raise OrdinateError(name, f"dtype {labels.dtype}", "real numbers")
    if labels.dim() == 0 or labels.shape[0] != n:
        raise OrdinateError(name, f"shape {tuple(labels.shape)}", f"{counted(n, 'row')}, one per embedding")
    if labels.is_floating_point() and not bool(torch.isfinite(labels).all()):
        hint = "drop or impute unlabelled samples" if name.endswith("labels") else None
        raise OrdinateError(name, "NaN or infinity", "finite values", hint)


def check_constant(value: Tensor, name: str) -> Tensor:
    """Return a tensor that no loss has a gradient for, once it is known to require none."""
    if value.requires_grad:
        raise OrdinateError(name, "a tensor that requires a gradient", "one without: call its detach()")
    return value


def check_targets(
    labels: Shaped[Tensor, "n *p"], n: int, name: str = "labels", dimensions: int | None = None
) -> Float[Tensor, "n p"]:
    """Return continuous labels as a floating-point (n, p) tensor; integers become floats, so that they subtract."""
    _check_length(labels, n, name)
    check_constant(labels, name)
    if labels.dim() > 2 or labels.numel() == 0:
        raise OrdinateError(name, f"shape {tuple(labels.shape)}", "(n,) or (n, p)")
    targets = labels.reshape(n, -1)
    if dimensions is not None and targets.shape[1] != dimensions:
        raise OrdinateError(name, f"{counted(targets.shape[1], 'dimension')} per label", dimensions)
    if targets.dtype == torch.int64 and bool((targets.abs() > 2**53).any()):
        raise OrdinateError(name, "whole numbers past 2^53, which float64 does not tell apart", "smaller ones")
    if targets.is_floating_point():
        return upcast_half(targets)
    return to_accumulation_dtype(targets)


def check_ranks(
    labels: Shaped[Tensor, "n *p"], n: int, num_classes: int, name: str = "labels", hint: str | None = None
) -> Int[Tensor, " n"]:
    """Return ranks 0..C-1 as int64; floats pass where they are whole numbers, gaps between ranks are allowed.

    ``hint`` says where the number of classes comes from.
    """
    _check_length(labels, n, name)
    check_constant(labels, name)
    if labels.dim() == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.dim() != 1:
        raise OrdinateError(name, f"shape {tuple(labels.shape)}", "one rank per sample, (n,)")
    ranks = labels.to(torch.int64)
    if labels.is_floating_point() and not bool((ranks == labels).all()):
        raise OrdinateError(name, f"fractions such as {labels[ranks != labels][0].item():g}", "whole ranks")
    low, high = torch.stack(ranks.aminmax()).tolist()  # A GPU is waited for once.
    if low < 0 or high >= num_classes:
        expected = f"0 to {num_classes - 1} ({counted(num_classes, 'class', 'classes')})"
        if low > 0 and high - low < num_classes:
            hint = f"ranks count from 0: labels - {low}, if {low} is the lowest of all and not of this batch alone"
        raise OrdinateError(name, f"ranks {low} to {high}", expected, hint)
    return ranks


def check_weights(weights: Tensor | None, n: int) -> Float[Tensor, " n"] | None:
    """Return the anchors' weights: finite, none below zero, not all zero."""
    if weights is None:
        return None
    _check_length(weights, n, "weights")
    if weights.dim() != 1:
        raise OrdinateError("weights", f"shape {tuple(weights.shape)}", f"one per anchor, ({n},)")
    if bool((weights < 0).any()) or not bool((weights > 0).any()):
        raise OrdinateError("weights", "negative or only zero values", "weights >= 0, some above 0")
    largest = float(weights.detach().max())
    if largest > MAX_FACTOR:
        raise OrdinateError("weights", f"{largest:g}", f"at most {MAX_FACTOR:g}")
    if weights.is_floating_point():
        return weights
    return weights.to(torch.float32)


def flatten_views(embeddings: Float[Tensor, "b v d"], labels: Shaped[Tensor, "b *p"]) -> tuple[Tensor, Tensor]:
    """Turn v views of b samples into one flat batch with repeated labels, as every loss takes it.

    Args:
        embeddings: Embeddings (b, v, d) of v views of each of b samples.
        labels: Labels (b,) or (b, p).

    Returns:
        Embeddings (b * v, d) and labels (b * v,) or (b * v, p); the views of a sample stand together.

    Example:
        >>> import torch
        >>> flat, labels = flatten_views(torch.zeros(3, 2, 8), torch.tensor([0, 1, 2]))
        >>> tuple(flat.shape), labels.tolist()
        ((6, 8), [0, 0, 1, 1, 2, 2])
    """
    if embeddings.dim() != 3:
        raise OrdinateError("embeddings", f"shape {tuple(embeddings.shape)}", "(b, v, d)")
    if labels.dim() == 0 or labels.shape[0] != embeddings.shape[0]:
        raise OrdinateError(
            "labels", f"shape {tuple(labels.shape)}", f"{counted(embeddings.shape[0], 'row')}, one per sample"
        )
    return embeddings.flatten(0, 1), labels.repeat_interleave(embeddings.shape[1], dim=0)
