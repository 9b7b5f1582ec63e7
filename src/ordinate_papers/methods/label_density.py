"""How densely continuous labels lie, and weights that make up for it (LDS)."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import ArrayLike, NDArray
from torch import Tensor
from torch.nn.functional import conv1d

from ordinate.checks import check_choice, check_positive, check_whole
from ordinate.errors import OrdinateError
from ordinate.functional.inputs import check_targets
from ordinate.functional.numerics import to_accumulation_dtype

WEIGHTINGS = ("inverse", "sqrt_inverse")


@dataclass(frozen=True)
class LabelBins:
    """A grid of equal bins over continuous labels; the first bin of a dimension has the smallest label at its centre.

    Sizes are in label units. Bins of p dimensions are joint, one per cell of the grid, the last dimension fastest.
    """

    smallest: tuple[float, ...]
    size: tuple[float, ...]
    counts: tuple[int, ...]

    @classmethod
    def over(cls, labels: Float[Tensor, "n *p"], bin_size: float | tuple[float, ...] | None = None) -> Self:
        """Return bins that hold all labels; ``bin_size`` is one number or one per dimension, in label units.

        None uses the smallest difference between two labels, but no more than 100 bins, and for p dimensions no more
        than 1000 in all.

        Raises:
            OrdinateError: a bin size that is not above 0, or that makes more than a million bins.

        Example:
            >>> LabelBins.over(torch.tensor([3.0, 4.0, 9.0]))
            LabelBins(smallest=(3.0,), size=(1.0,), counts=(7,))
        """
        values = check_targets(labels, len(labels)).cpu().double().numpy()
        p = values.shape[1]
        if bin_size is None:
            sizes = [_automatic_size(column, min(100, 1000 ** (1 / p))) for column in values.T]
        else:
            sizes = list(bin_size) if isinstance(bin_size, tuple) else [bin_size] * p
            if len(sizes) != p:
                raise OrdinateError("bin_size", f"{len(sizes)} sizes", f"one or {p}, one per label dimension")
        sizes = [check_positive(size, "bin_size") for size in sizes]
        smallest = values.min(axis=0)
        steps = np.round((values.max(axis=0) - smallest) / sizes) + 1
        if steps.prod() > 1_000_000:
            raise OrdinateError("bin_size", f"{bin_size}, makes {steps.prod():g} bins", "at most 1,000,000")
        return cls(tuple(smallest.tolist()), tuple(sizes), tuple(int(count) for count in steps))

    @property
    def total(self) -> int:
        """How many bins there are."""
        return int(np.prod(self.counts))

    def index(self, labels: Float[Tensor, "n *p"]) -> Int[Tensor, " n"]:
        """Return the bin of each label; labels beyond the bins count to the outermost."""
        p = len(self.counts)
        values = to_accumulation_dtype(check_targets(labels, len(labels), dimensions=p))
        smallest, size, last = (
            torch.tensor(row, dtype=values.dtype, device=values.device)
            for row in (self.smallest, self.size, [count - 1 for count in self.counts])
        )
        steps = ((values - smallest) / size).round().clamp(min=0).minimum(last).long()
        joint = steps[:, 0]
        for dimension in range(1, p):
            joint = joint * self.counts[dimension] + steps[:, dimension]
        return joint

    def smooth(self, values: Float[Tensor, "bins *d"], window: Float[Tensor, " k"]) -> Float[Tensor, "bins *d"]:
        """Return the kernel's sums over neighbouring bins, along every label dimension; beyond the bins are zeros."""
        grid = values.reshape(*self.counts, -1)
        for axis in range(len(self.counts)):
            rows = grid.movedim(axis, -1)
            flat = conv1d(rows.reshape(-1, 1, rows.shape[-1]), window.to(grid)[None, None], padding=len(window) // 2)
            grid = flat.reshape(rows.shape).movedim(-1, axis)
        return grid.reshape(values.shape)


def _automatic_size(labels: NDArray[np.float64], most: float) -> float:
    """Return the smallest difference between two labels, or what makes ``most`` steps if that is larger."""
    differences = np.diff(np.unique(labels))
    return float(max(differences.min(), differences.sum() / most)) if len(differences) else 1.0


def kernel_window(kernel: str = "gaussian", size: int = 5, sigma: float = 2.0) -> Float[Tensor, " size"]:
    """Return the values of a symmetric kernel at ``size`` bins, an odd number, which sum to 1; ``sigma`` is in bins.

    The authors' code makes its Gaussian by filtering an impulse that is reflected at the window's ends, which leaves it
    flatter; this one is the paper's.

    Raises:
        OrdinateError: an unknown kernel, an even size, a sigma that is not above 0.

    Example:
        >>> kernel_window("triangular", 3).tolist()
        [0.25, 0.5, 0.25]
    """
    check_choice(kernel, ("gaussian", "triangular", "laplace"), "kernel")
    if check_whole(size, "kernel_size") % 2 == 0:
        raise OrdinateError("kernel_size", size, "an odd number of bins")
    offsets = torch.arange(size, dtype=torch.float64) - size // 2
    scaled = offsets / check_positive(sigma, "sigma")
    if kernel == "gaussian":
        window = torch.exp(-(scaled**2) / 2)
    elif kernel == "laplace":
        window = torch.exp(-scaled.abs())
    else:
        window = 1 - offsets.abs() / (size // 2 + 1)
    return window / window.sum()


def weights_of_bins(
    labels: Float[Tensor, "n *p"], bins: LabelBins, weighting: str, window: Float[Tensor, " k"]
) -> Float[Tensor, " bins"]:
    """Return the weight of every bin, whose mean over the labels is 1; see :func:`label_weights`."""
    check_choice(weighting, WEIGHTINGS, "lds")
    counts = to_accumulation_dtype(torch.bincount(bins.index(labels), minlength=bins.total))
    if weighting == "inverse":
        counts = counts.clamp(5, 1000)  # The authors clip the samples per bin to this range.
        power = -1.0
    else:
        power = -0.5
    density = bins.smooth(counts, window)
    weights = torch.where(density > 0, density, torch.inf) ** power
    return weights / weights[bins.index(labels)].mean()


def label_weights(
    labels: ArrayLike,
    weighting: str = "sqrt_inverse",
    *,
    bin_size: float | tuple[float, ...] | None = None,
    kernel: str = "gaussian",
    kernel_size: int = 5,
    sigma: float = 2.0,
) -> NDArray[np.float64]:
    """Weights by label distribution smoothing (LDS): the fewer labels are near its own, the more a sample weighs.

    The labels' histogram is smoothed by a kernel over neighbouring bins, and a sample weighs one over the smoothed
    count of its bin, or over its square root. For ``"inverse"`` a bin's count is first clipped to 5..1000, as in the
    authors' code. For ``"sqrt_inverse"`` their code smooths the square roots; here, as in the paper, the root is of
    what is smoothed.

    Source: Yang et al., Delving into Deep Imbalanced Regression, ICML 2021, Section 3.1. Labels of any range and of
    several dimensions are binned as :meth:`LabelBins.over` says.

    Args:
        labels: Training labels (n,) or (n, p).
        weighting: ``"inverse"`` or ``"sqrt_inverse"``.
        bin_size: Width of a bin in label units, one or one per dimension; None uses the smallest difference between two
            labels, but no more than 100 bins, and for p dimensions no more than 1000 in all.
        kernel: ``"gaussian"``, ``"triangular"`` or ``"laplace"``.
        kernel_size: Number of bins that the kernel spans in each dimension, an odd number.
        sigma: Width of the kernel, in bins.

    Returns:
        (n,) weights above 0 with mean 1.

    Raises:
        OrdinateError: labels that are not finite numbers, or an option out of range.

    Example:
        >>> label_weights([1, 1, 1, 1, 9], bin_size=1).round(2).tolist()
        [0.83, 0.83, 0.83, 0.83, 1.67]
    """
    values = torch.from_numpy(np.asarray(labels, dtype=np.float64))
    bins = LabelBins.over(values, bin_size)
    weights = weights_of_bins(values, bins, weighting, kernel_window(kernel, kernel_size, sigma))
    return weights[bins.index(values)].numpy()
