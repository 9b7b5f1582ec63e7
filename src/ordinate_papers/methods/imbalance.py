"""Corrections for rare targets in the training of a regressor: LDS, FDS and RankSim."""

from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn
from torch.nn.functional import normalize

from ordinate.checks import check_choice, check_positive, check_share, check_whole
from ordinate.functional.global_batch import Group, all_processes, gathered, place_among, summed
from ordinate.functional.inputs import check_embeddings, check_targets
from ordinate.functional.numerics import to_accumulation_dtype
from ordinate.methods import balance
from ordinate_papers.methods.label_density import WEIGHTINGS, LabelBins, kernel_window, weights_of_bins

Weighting = Literal["inverse", "sqrt_inverse"]
Kernel = Literal["gaussian", "triangular", "laplace"]


class FeatureSmoothing(nn.Module):
    """Calibrates training embeddings to the smoothed statistics of their label's bin.

    Each bin keeps the running mean and variance of its embeddings, brought up to date at the end of every epoch, and
    smoothed versions of both: kernel means over the neighbouring bins that have samples. In training, an embedding z
    of bin b becomes ``(z - mean_b) * sqrt(smoothed_var_b / var_b) + smoothed_mean_b``: whitened and coloured again, a
    dimension at a time as in the authors' code, which also clips the ratio of variances to 0.1..10 and leaves
    dimensions without variance as they are. Out of training nothing changes.

    Source: Yang et al., Delving into Deep Imbalanced Regression, ICML 2021, Section 3.2. Their code passes all training
    samples through the encoder again after every epoch, counts bins without samples as mean 0 and variance 1, and
    reflects at the ends of the label range; here the statistics are those of the embeddings that the epoch trained,
    and what has no samples takes no part.

    Args:
        bins: Bins over the training labels; joint bins for labels of several dimensions.
        embedding_dim: Dimension d of the embeddings.
        kernel, kernel_size, sigma: Kernel over bins, see :func:`~ordinate_papers.methods.label_density.kernel_window`.
        momentum: Share of the running statistics that an epoch leaves unchanged, 0 to below 1.
        start_epoch: First epoch whose embeddings are calibrated, counted from 0; at least 1.

    Example:
        >>> labels = torch.tensor([0.0, 0.0, 1.0, 1.0])
        >>> smoothing = FeatureSmoothing(LabelBins.over(labels), embedding_dim=1, kernel="triangular", kernel_size=3)
        >>> embeddings = torch.tensor([[0.0], [2.0], [3.0], [5.0]])
        >>> _ = smoothing(embeddings, labels)
        >>> smoothing.end_epoch()
        >>> [round(z, 3) for z in smoothing(embeddings, labels)[:, 0].tolist()]
        [1.0, 3.0, 2.0, 4.0]
    """

    own_state = ("epoch_statistics",)

    running_mean: Tensor
    running_var: Tensor
    smoothed_mean: Tensor
    smoothed_var: Tensor
    seen: Tensor
    epochs: Tensor

    def __init__(
        self,
        bins: LabelBins,
        embedding_dim: int,
        *,
        kernel: Kernel = "gaussian",
        kernel_size: int = 5,
        sigma: float = 2.0,
        momentum: float = 0.9,
        start_epoch: int = 1,
    ) -> None:
        super().__init__()
        self.bins = bins
        self.momentum = check_share(momentum, "momentum")
        self.start_epoch = check_whole(start_epoch, "start_epoch")
        # Not all devices have float64, so it is a list.
        self.window = kernel_window(kernel, kernel_size, sigma).tolist()
        for name in ("running_mean", "smoothed_mean"):
            self.register_buffer(name, torch.zeros(bins.total, embedding_dim))
        for name in ("running_var", "smoothed_var"):
            self.register_buffer(name, torch.ones(bins.total, embedding_dim))
        self.register_buffer("seen", torch.zeros(bins.total, dtype=torch.bool))
        self.register_buffer("epochs", torch.zeros((), dtype=torch.int64))
        self._forget_epoch()

    def _forget_epoch(self) -> None:
        self.epoch_statistics: tuple[Tensor, Tensor, Tensor] | None = None

    def forward(self, embeddings: Float[Tensor, "n d"], labels: Shaped[Tensor, "n *p"]) -> Float[Tensor, "n d"]:
        """Take the embeddings of a training batch into account and return them calibrated."""
        if not self.training:
            return embeddings
        index = self.bins.index(labels)
        self._collect(to_accumulation_dtype(embeddings.detach()), index)
        if int(self.epochs) < self.start_epoch:
            return embeddings
        return self._calibrated(embeddings, index)

    def _calibrated(self, embeddings: Tensor, index: Tensor) -> Tensor:
        mean, var, smoothed_mean, smoothed_var = (
            statistic[index].to(embeddings)
            for statistic in (self.running_mean, self.running_var, self.smoothed_mean, self.smoothed_var)
        )
        varies = (var > 0) & self.seen[index, None]
        ratio = (smoothed_var / torch.where(varies, var, 1)).clamp(0.1, 10.0)
        return torch.where(varies, (embeddings - mean) * ratio.sqrt() + smoothed_mean, embeddings)

    def _collect(self, embeddings: Tensor, index: Tensor) -> None:
        """Merge count, mean and summed squared deviation of a batch's bins into those of the epoch."""
        shape = self.running_mean.shape
        count = to_accumulation_dtype(torch.bincount(index, minlength=shape[0]))[:, None]
        mean = embeddings.new_zeros(shape).index_add_(0, index, embeddings) / count.clamp(min=1)
        squares = embeddings.new_zeros(shape).index_add_(0, index, (embeddings - mean[index]) ** 2)
        if self.epoch_statistics is not None:
            count_before, mean_before, squares_before = (each.to(count.device) for each in self.epoch_statistics)
            total = (count_before + count).clamp(min=1)
            difference = mean - mean_before
            squares = squares_before + squares + difference**2 * count_before * count / total
            mean = mean_before + difference * count / total
            count = count_before + count
        self.epoch_statistics = count, mean, squares

    def end_epoch(self) -> None:
        """Bring running and smoothed statistics up to date with the embeddings of the epoch, of all processes."""
        if self.epoch_statistics is None:
            return
        own_count, own_mean, own_squares = self.epoch_statistics
        group = all_processes()
        count = summed(own_count, group)
        mean = summed(own_count * own_mean, group) / count.clamp(min=1)
        var = summed(own_squares + own_count * (own_mean - mean) ** 2, group) / (count - 1).clamp(min=1)
        kept = torch.where(count > 0, self.momentum * to_accumulation_dtype(self.seen)[:, None], 1)
        self.running_mean.copy_(kept * self.running_mean + (1 - kept) * mean)
        self.running_var.copy_(kept * self.running_var + (1 - kept) * var)
        self.seen |= count[:, 0] > 0
        seen = to_accumulation_dtype(self.seen)[:, None]
        window = torch.tensor(self.window, dtype=seen.dtype, device=seen.device)
        reached = self.bins.smooth(seen, window)
        for running, smoothed in (
            (self.running_mean, self.smoothed_mean),
            (self.running_var, self.smoothed_var),
        ):
            sums = self.bins.smooth(to_accumulation_dtype(running) * seen, window)
            smoothed.copy_(torch.where(self.seen[:, None], sums / torch.where(reached > 0, reached, 1), running))
        self.epochs += 1
        self._forget_epoch()


def rank_similarity(
    embeddings: Float[Tensor, "n d"], labels: Shaped[Tensor, "n *p"], *, interpolation: float = 2.0
) -> Float[Tensor, ""]:
    """RankSim's regulariser: squared error between label ranks and embedding ranks.

    One sample is drawn at random for each label. Of the m that remain, every one ranks all m by label distance and by
    cosine similarity of the embeddings, as 1/m, ..., 1 from the nearest on; the loss is the mean squared difference of
    the two rankings, summed over the m. Ranks have no gradient: that of the embeddings' comes from ranking the
    similarities a second time, moved by ``interpolation`` times the gradient of the ranks.

    Sources: Gong et al., RankSim, ICML 2022, eqs. 2 to 7; Vlastelica et al., Differentiation of Blackbox Combinatorial
    Solvers, ICLR 2020; Rolínek et al., Optimizing Rank-Based Metrics with Blackbox Differentiation, CVPR 2020. Ties of
    label distance are in the order of the labels, the larger first, as in the authors' code.

    Args:
        embeddings: (n, d).
        labels: (n,) or (n, p); of p dimensions the distance is the sum over them (L1).
        interpolation: Parameter lambda of the differentiation, above 0; 2 for AgeDB in the paper.

    Returns:
        A scalar, the loss of the joined batch where training runs in several processes.

    Raises:
        OrdinateError: embeddings or labels that are not finite numbers of these shapes.

    Example:
        >>> embeddings = torch.tensor([[1.0, 0.0], [1.0, 0.5], [0.0, 1.0]])
        >>> rank_similarity(embeddings, torch.tensor([1.0, 2.0, 4.0])).item()
        0.0
        >>> round(rank_similarity(embeddings, torch.tensor([1.0, 4.0, 2.0])).item(), 4)
        0.2222
    """
    embeddings = check_embeddings(embeddings)
    targets = check_targets(labels, len(embeddings))
    check_positive(interpolation, "interpolation")
    group = all_processes()
    targets, embeddings = gathered(targets, group)[0], gathered(embeddings, group)[0]
    chosen = _one_of_each_label(targets, group)
    targets, unit = targets[chosen], normalize(embeddings[chosen], dim=1)
    wanted = _ranks(-(targets[:, None] - targets[None]).abs().sum(2), unit.dtype)
    ranks: Tensor = _Ranking.apply(unit @ unit.T, interpolation)
    return ((ranks - wanted) ** 2).mean(1).sum()


def _one_of_each_label(labels: Float[Tensor, "n p"], group: Group) -> Int[Tensor, " m"]:
    """Return a sample of each label, drawn at random, in the order of the labels; all processes draw the same."""
    order = torch.randperm(len(labels), device=labels.device)
    order = summed(order * (place_among(group) == 0), group)
    different, label = torch.unique(labels[order], dim=0, return_inverse=True)
    first = torch.full((len(different),), len(labels), device=labels.device)
    return order[first.scatter_reduce_(0, label, torch.arange(len(labels), device=labels.device), "amin")]


def _ranks(scores: Float[Tensor, "m m"], dtype: torch.dtype) -> Float[Tensor, "m m"]:
    """Return each row's ranks from 1/m for the highest score to 1; of equal scores the later comes first."""
    ascending = scores.argsort(dim=1, stable=True)
    return ascending.flip(1).argsort(dim=1).add(1).to(dtype) / scores.shape[1]


class _Ranking(torch.autograd.Function):
    """Ranks of each row, with the gradient of their piecewise linear interpolation."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, interpolation: float) -> Tensor:
        ranks = _ranks(scores, scores.dtype)
        ctx.interpolation = interpolation
        ctx.save_for_backward(scores, ranks)
        return ranks

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        scores, ranks = ctx.saved_tensors
        moved = _ranks(scores + ctx.interpolation * gradients[0], scores.dtype)
        return (moved - ranks) / ctx.interpolation, None


@dataclass(frozen=True)
class Imbalance(balance.BalanceOptions):
    """What a regressor does about targets of which some are rare.

    Args:
        lds: Label distribution smoothing, see :func:`~ordinate_papers.methods.label_density.label_weights`:
            ``"inverse"`` or ``"sqrt_inverse"`` weighs samples in the loss of the head and in the contrastive one; None
            weighs all the same.
        fds: Feature distribution smoothing, see :class:`~ordinate_papers.methods.imbalance.FeatureSmoothing`, of the
            embeddings that the head is trained on.
        ranksim: Weight of RankSim, see :func:`~ordinate_papers.methods.imbalance.rank_similarity`, in the loss of every
            stage that trains the encoder; 100 for AgeDB in its paper, 0 for none.
        bin_size: Size of a bin of LDS and FDS in label units, one number or one per dimension; None takes the smallest
            difference between two labels, but no more than 100 bins, and for p dimensions no more than 1000 in all.
        kernel: Kernel of LDS and FDS over bins: ``"gaussian"``, ``"triangular"`` or ``"laplace"``.
        kernel_size: Bins that the kernel spans, an odd number.
        sigma: Width of the kernel in bins.
        momentum: Momentum of FDS, the share of the running statistics that an epoch leaves as it was.
        start_epoch: First epoch whose embeddings FDS calibrates, from 1.
        interpolation: Interpolation of RankSim, lambda of the ranks' gradient.

    Raises:
        OrdinateError: an option outside what it takes.

    Example:
        >>> Imbalance(lds="sqrt_inverse", fds=True).kernel_size
        5
    """

    lds: Weighting | None = None
    fds: bool = False
    ranksim: float = 0.0
    bin_size: float | tuple[float, ...] | None = None
    kernel: Kernel = "gaussian"
    kernel_size: int = 5
    sigma: float = 2.0
    momentum: float = 0.9
    start_epoch: int = 1
    interpolation: float = 2.0

    def __post_init__(self) -> None:
        if self.lds is not None:
            check_choice(self.lds, WEIGHTINGS, "lds")
        check_positive(self.ranksim, "ranksim", or_zero=True)
        if isinstance(self.bin_size, list):  # JSON and TOML have lists.
            object.__setattr__(self, "bin_size", tuple(self.bin_size))
        for size in self.bin_size if isinstance(self.bin_size, tuple) else (self.bin_size,):
            if size is not None:
                check_positive(size, "bin_size")
        kernel_window(self.kernel, self.kernel_size, self.sigma)
        check_share(self.momentum, "momentum")
        check_whole(self.start_epoch, "start_epoch")
        check_positive(self.interpolation, "interpolation")

    @property
    def needs_trained_head(self) -> bool:
        return self.lds is not None or self.fds

    def build(self, targets: Float[Tensor, "n p"], embedding_dim: int) -> "CorrectedBalance":
        return CorrectedBalance(self, targets, embedding_dim)


class CorrectedBalance(balance.Balance):
    """The state of :class:`Imbalance` in training: weights of the label bins and statistics of their embeddings.

    Args:
        imbalance: Corrections to make.
        labels: Training labels (n,) or (n, p).
        embedding_dim: Dimension d of the embeddings.

    Example:
        >>> labels = torch.tensor([1.0, 1.0, 1.0, 1.0, 9.0])
        >>> balance = CorrectedBalance(Imbalance(lds="sqrt_inverse", bin_size=1), labels, embedding_dim=2)
        >>> [round(weight, 2) for weight in balance.weights(labels).tolist()]
        [0.83, 0.83, 0.83, 0.83, 1.67]
    """

    bin_weights: Tensor

    def __init__(self, imbalance: Imbalance, labels: Float[Tensor, "n *p"], embedding_dim: int) -> None:
        super().__init__()
        self.imbalance = imbalance
        self.bins = LabelBins.over(labels, imbalance.bin_size)
        self.register_buffer("bin_weights", torch.ones(self.bins.total))
        if imbalance.lds is not None:
            window = kernel_window(imbalance.kernel, imbalance.kernel_size, imbalance.sigma)
            self.bin_weights.copy_(weights_of_bins(labels, self.bins, imbalance.lds, window))
        self.smoothing = None
        if imbalance.fds:
            self.smoothing = FeatureSmoothing(
                self.bins,
                embedding_dim,
                kernel=imbalance.kernel,
                kernel_size=imbalance.kernel_size,
                sigma=imbalance.sigma,
                momentum=imbalance.momentum,
                start_epoch=imbalance.start_epoch,
            )

    def weights(self, labels: Float[Tensor, "n *p"]) -> Float[Tensor, " n"] | None:
        return None if self.imbalance.lds is None else self.bin_weights[self.bins.index(labels)]

    def calibrated(self, embeddings: Float[Tensor, "n d"], labels: Float[Tensor, "n *p"]) -> Float[Tensor, "n d"]:
        return embeddings if self.smoothing is None else self.smoothing(embeddings, labels)

    def extra_loss(self, embeddings: Float[Tensor, "n d"], labels: Float[Tensor, "n *p"]) -> Float[Tensor, ""]:
        if self.imbalance.ranksim == 0:
            return embeddings.new_zeros(())
        loss = rank_similarity(embeddings, labels, interpolation=self.imbalance.interpolation)
        return self.imbalance.ranksim * loss

    def end_epoch(self) -> None:
        if self.smoothing is not None:
            self.smoothing.end_epoch()
