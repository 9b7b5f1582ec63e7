"""Heads that divide the range of a continuous target into small bins."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from ordinate.checks import check_positive
from ordinate.errors import OrdinateError
from ordinate.functional.numerics import accumulation_dtype, to_accumulation_dtype
from ordinate.heads.regression_head import RegressionHead

MOST_BINS = 128  # chosen of itself: a bin a year for ages, and hundredths of the range
LIMIT = 65536  # of bins by a given size

BinSize = float | Sequence[float] | None


def equal_bins(targets: Float[Tensor, "n p"], bin_size: BinSize = None) -> tuple[Tensor, Tensor, list[int]]:
    """Divide the range of each dimension into equal bins; the lowest one is centred on the lowest target.

    Args:
        targets: (n, p), of training.
        bin_size: Size of a bin in units of the targets, one number or p of them; None takes the smallest difference
            between two targets, such as 1 between ages in years, or what makes 128 bins if that makes more.

    Returns:
        The centre of the lowest bin (p,) and the size (p,), float64 where the device has it, and the p numbers of bins,
        at least 2 each.

    Raises:
        OrdinateError: A size that is not positive, or so small that there are more than 65,536 bins.

    Example:
        >>> ages = torch.tensor([[21.0], [64.0], [22.0]])
        >>> [value if isinstance(value, list) else value.tolist() for value in equal_bins(ages)]
        [[21.0], [1.0], [44]]
    """
    given = check_bin_size(bin_size, targets.shape[1])
    lowest, highest = to_accumulation_dtype(targets).aminmax(dim=0)
    extents = (highest - lowest).tolist()
    sizes = [_usual_size(column) for column in to_accumulation_dtype(targets).T] if given is None else given
    if max(extent / size for extent, size in zip(extents, sizes, strict=True)) > LIMIT:
        raise OrdinateError(
            "bin_size", f"{bin_size}, makes more than {LIMIT} bins of targets that reach over {extents}"
        )
    counts = [max(1, round(extent / size)) + 1 for extent, size in zip(extents, sizes, strict=True)]
    return lowest, torch.tensor(sizes, dtype=accumulation_dtype(targets.device), device=targets.device), counts


def check_bin_size(bin_size: Any, target_dim: int) -> list[float] | None:
    """Return the sizes of the bins of every dimension, None where they are to be chosen."""
    if bin_size is None:
        return None
    sizes = list(bin_size) if isinstance(bin_size, list | tuple | np.ndarray) else [bin_size] * target_dim
    if len(sizes) != target_dim:
        raise OrdinateError("bin_size", f"{len(sizes)} sizes for targets of {target_dim} dimensions", "one each")
    return [check_positive(size, "bin_size") for size in sizes]


def _usual_size(targets: Float[Tensor, " n"]) -> float:
    values = targets.unique()
    if len(values) == 1:
        return 1.0
    extent = float(values[-1] - values[0])
    return extent / max(1, round(min(MOST_BINS - 1, extent / float(values.diff().min()))))


def check_positions(positions: Tensor, logits: Float[Tensor, "n k"]) -> Shaped[Tensor, " n"]:
    """Return the positions once they are known to be one per row of logits, and not to broadcast against them."""
    if positions.shape != logits.shape[:1]:
        raise OrdinateError("positions", f"shape {tuple(positions.shape)}", f"({len(logits)},), one per row")
    return positions


class BinnedHead(RegressionHead):
    """One linear layer for the bins of each dimension of the target.

    Formulas see a target as its position: 0 at the centre of the lowest bin, 1 at that of the next. A target outside
    the bins, which only training targets made, counts as one of the bin at that end.

    Args:
        embedding_dim: Dimension d of the embeddings (n, d).
        target_dim: Dimension p of the targets (n, p); each dimension has its own bins.
        bin_size: Size of a bin, see :func:`equal_bins`, of the targets that :meth:`standardise` gets.
    """

    lowest: Tensor
    bin_size: Tensor

    def __init__(self, embedding_dim: int, target_dim: int = 1, bin_size: BinSize = None) -> None:
        super().__init__(embedding_dim, target_dim)
        check_bin_size(bin_size, target_dim)
        self.given_size = bin_size
        self.linears = nn.ModuleList(nn.Linear(embedding_dim, self.outputs(2)) for _ in range(target_dim))
        self.register_buffer("lowest", torch.zeros(target_dim))
        self.register_buffer("bin_size", torch.ones(target_dim))

    def outputs(self, bins: int) -> int:
        """Return how many numbers predict one of so many bins."""
        return bins

    @abstractmethod
    def position_losses(self, logits: Float[Tensor, "n k"], positions: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
        """Return the loss of every sample in one dimension."""

    @abstractmethod
    def positions(self, logits: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
        """Return the predicted positions in one dimension."""

    def standardise(self, targets: Shaped[Tensor, "n *p"]) -> None:
        """Take the bins from the training targets; layers for another number of bins start anew."""
        lowest, size, counts = equal_bins(self.as_targets(targets, len(targets)), self.given_size)
        self.lowest.copy_(lowest)
        self.bin_size.copy_(size)
        self._resize([self.outputs(count) for count in counts])

    def forward(self, embeddings: Float[Tensor, "n d"]) -> Float[Tensor, "n p"]:
        """Return targets in their own units."""
        embeddings = self.standardised(embeddings)
        positions = torch.stack([self.positions(linear(embeddings)) for linear in self.linears], dim=1)
        return self.lowest + self.bin_size * positions

    def sample_losses(self, embeddings: Float[Tensor, "n d"], targets: Float[Tensor, "n p"]) -> Float[Tensor, " n"]:
        positions = ((targets - self.lowest) / self.bin_size).to(embeddings.dtype)
        embeddings = self.standardised(embeddings)
        losses = [
            self.position_losses(linear(embeddings), position)
            for linear, position in zip(self.linears, positions.T, strict=True)
        ]
        return torch.stack(losses).mean(0)

    def _resize(self, outputs: list[int]) -> None:
        for index, (linear, size) in enumerate(zip(self.linears, outputs, strict=True)):
            weight, _ = linear.parameters()
            if len(weight) != size:
                self.linears[index] = nn.Linear(weight.shape[1], size, device=weight.device, dtype=weight.dtype)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *arguments: Any) -> None:
        """Take the numbers of bins from the saved weights."""
        names = [f"{prefix}linears.{index}.bias" for index in range(len(self.linears))]
        if all(name in state_dict for name in names):
            self._resize([len(state_dict[name]) for name in names])
        super()._load_from_state_dict(state_dict, prefix, *arguments)
