"""Heads that divide the range of a continuous target into small bins: DEX, DLDL-v2, OR and CORN."""

from abc import abstractmethod
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from ordinate.checks import check_positive
from ordinate.errors import OrdinateError
from ordinate.functional.numerics import accumulation_dtype, to_accumulation_dtype
from ordinate.heads.linear import RegressionHead
from ordinate.options import BinSize
from ordinate_papers.heads.thresholds import (
    check_positions,
    corn_above,
    corn_losses,
    extended_binary_losses,
    thresholds,
)


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
    sizes = given or [_usual_size(column) for column in to_accumulation_dtype(targets).T]
    if max(extent / size for extent, size in zip(extents, sizes, strict=True)) > 65536:
        raise OrdinateError("bin_size", f"{bin_size}, makes more than 65536 bins of targets that reach over {extents}")
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


def _usual_size(targets: Float[Tensor, " n"], most_bins: int = 128) -> float:
    """Return a size that makes one bin per year for ages, and otherwise hundredths of the range."""
    values = targets.unique()
    if len(values) == 1:
        return 1.0
    extent = float(values[-1] - values[0])
    return extent / max(1, round(min(most_bins - 1, extent / float(values.diff().min()))))


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

    def _load_from_state_dict(self, state_dict: dict[str, Tensor], prefix: str, *arguments: Any) -> None:
        """Take the numbers of bins from the saved weights."""
        names = [f"{prefix}linears.{index}.bias" for index in range(len(self.linears))]
        if all(name in state_dict for name in names):
            self._resize([len(state_dict[name]) for name in names])
        super()._load_from_state_dict(state_dict, prefix, *arguments)


def dex_losses(logits: Float[Tensor, "n k"], positions: Shaped[Tensor, " n"]) -> Float[Tensor, " n"]:
    """Return the cross-entropy of every sample with the bin whose centre is nearest (DEX; Rothe et al., 2015).

    Args:
        logits: (n, k), one per bin.
        positions: (n,) targets in bins from the lowest; those outside count as the bin at that end.

    Example:
        >>> dex_losses(torch.zeros(2, 4), torch.tensor([0.2, 9.0])).exp()
        tensor([4., 4.])
    """
    bins = check_positions(positions, logits).round().clamp(0, logits.shape[1] - 1).long()
    return cross_entropy(logits, bins, reduction="none")


def expected_positions(logits: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
    """Return the expectation of the bin under the softmax of the logits.

    Example:
        >>> expected_positions(torch.zeros(1, 5))
        tensor([2.])
    """
    bins = torch.arange(logits.shape[1], dtype=logits.dtype, device=logits.device)
    return (logits.softmax(1) * bins).sum(1)


class DEXHead(BinnedHead):
    """Cross-entropy on the bins of the target; the prediction is the expectation of the bins' centres.

    DEX (Rothe et al., 2015). Its arguments are those of :class:`~ordinate_papers.heads.binned.BinnedHead`.

    Example:
        >>> head = DEXHead(4, bin_size=1.0)
        >>> head.standardise(torch.tensor([[20.0], [60.0]]))
        >>> head(torch.zeros(3, 4)).shape, head.linears[0].out_features
        (torch.Size([3, 1]), 41)
    """

    def position_losses(self, logits: Float[Tensor, "n k"], positions: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
        return dex_losses(logits, positions)

    def positions(self, logits: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
        return expected_positions(logits)


def dldl_v2_losses(
    logits: Float[Tensor, "n k"], positions: Shaped[Tensor, " n"], deviation: float = 2.0
) -> Float[Tensor, " n"]:
    """Return divergence from a normal distribution around the target plus absolute error of the expectation.

    The loss of DLDL-v2 (Gao et al., 2018). The normal distribution is taken at the bins' centres and made to sum to 1.
    The Kullback-Leibler divergence is of the prediction from it. The absolute error, in bins, counts as much
    (lambda 1).

    Args:
        logits: (n, k), one per bin.
        positions: (n,) targets in bins from the lowest; those outside count as the end of the range.
        deviation: Standard deviation of the normal distribution in bins; the paper's is 2 years with bins of a year.

    Example:
        >>> bins = torch.arange(9.0)
        >>> dldl_v2_losses(-((bins - 4) ** 2)[None] / 8, torch.tensor([4.0])).abs() < 1e-6
        tensor([True])
    """
    last = logits.shape[1] - 1
    positions = check_positions(positions, logits).clamp(0, last)
    bins = torch.arange(last + 1, dtype=logits.dtype, device=logits.device)
    log_normal = (-0.5 * ((bins - positions[:, None]) / deviation).square()).log_softmax(1)
    divergence = (log_normal.exp() * (log_normal - logits.log_softmax(1))).sum(1)
    return divergence + (expected_positions(logits) - positions).abs()


class DLDLv2Head(BinnedHead):
    """Probabilities of the bins, trained towards a normal distribution around the target; predicts their expectation.

    DLDL-v2 (Gao et al., 2018). Its arguments are those of :class:`~ordinate_papers.heads.binned.BinnedHead`.

    Example:
        >>> head = DLDLv2Head(4, target_dim=2, bin_size=(0.5, 1.0))
        >>> head.standardise(torch.tensor([[-40.0, -45.0], [10.0, 45.0]]))
        >>> [linear.out_features for linear in head.linears]
        [101, 91]
    """

    def position_losses(self, logits: Float[Tensor, "n k"], positions: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
        return dldl_v2_losses(logits, positions)

    def positions(self, logits: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
        return expected_positions(logits)


class ORHead(BinnedHead):
    """A binary classifier for every threshold between bins; predicts as many bins up as thresholds are passed.

    OR (Niu et al., 2016). Its arguments are those of :class:`~ordinate_papers.heads.binned.BinnedHead`.

    Example:
        >>> head = ORHead(4, bin_size=1.0)
        >>> head.standardise(torch.tensor([[20.0], [60.0]]))
        >>> head.linears[0].out_features
        40
    """

    def outputs(self, bins: int) -> int:
        return bins - 1

    def position_losses(self, logits: Float[Tensor, "n t"], positions: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
        return extended_binary_losses(logits, positions)

    def positions(self, logits: Float[Tensor, "n t"]) -> Float[Tensor, " n"]:
        return (logits > 0).sum(1).to(logits.dtype)


class CORNHead(BinnedHead):
    """A conditional binary classifier for every threshold; predicts one bin up per threshold that is likely passed.

    CORN (Shi et al., 2021). Its arguments are those of :class:`~ordinate_papers.heads.binned.BinnedHead`.

    Example:
        >>> head = CORNHead(4, bin_size=1.0)
        >>> head.standardise(torch.tensor([[20.0], [60.0]]))
        >>> head(torch.zeros(3, 4)).shape
        torch.Size([3, 1])
    """

    def outputs(self, bins: int) -> int:
        return bins - 1

    def standardise(self, targets: Shaped[Tensor, "n *p"]) -> None:
        """Take the bins from the training targets, and let the biases start at the share that passes each threshold.

        From biases around 0, the product of a hundred halves would predict the lowest bins for long.
        """
        targets = self.as_targets(targets, len(targets))
        super().standardise(targets)
        for linear, column in zip(self.linears, ((targets - self.lowest) / self.bin_size).T, strict=True):
            _, bias = linear.parameters()
            above = (column[:, None] > thresholds(bias[None])).sum(0)
            asked = torch.cat([above.new_tensor([len(column)]), above[:-1]])
            with torch.no_grad():
                bias.copy_(((above + 0.5) / (asked + 1)).logit())

    def position_losses(self, logits: Float[Tensor, "n t"], positions: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
        return corn_losses(logits, positions)

    def positions(self, logits: Float[Tensor, "n t"]) -> Float[Tensor, " n"]:
        return (corn_above(logits) > 0.5).sum(1).to(logits.dtype)
