"""Feature distribution smoothing (FDS): embeddings of neighbouring labels lend each other their statistics."""

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from ordinate.checks import check_share, check_whole
from ordinate.data.label_density import LabelBins, kernel_window
from ordinate.functional.global_batch import all_processes, summed
from ordinate.functional.numerics import to_accumulation_dtype
from ordinate.options import Kernel

LEAST_RATIO, MOST_RATIO = 0.1, 10.0  # of a smoothed variance to the bin's own, as the authors clip it


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
        bins: over the training labels; of several dimensions they are joint bins.
        embedding_dim: d of the embeddings.
        kernel, kernel_size, sigma: over bins, see :func:`~ordinate.data.label_density.kernel_window`.
        momentum: share of the running statistics that an epoch leaves as it was, 0 to below 1.
        start_epoch: first epoch whose embeddings are calibrated, counted from 0; at least 1.

    Example:
        >>> labels = torch.tensor([0.0, 0.0, 1.0, 1.0])
        >>> smoothing = FeatureSmoothing(LabelBins.over(labels), embedding_dim=1, kernel="triangular", kernel_size=3)
        >>> embeddings = torch.tensor([[0.0], [2.0], [3.0], [5.0]])
        >>> _ = smoothing(embeddings, labels)
        >>> smoothing.end_epoch()
        >>> [round(z, 3) for z in smoothing(embeddings, labels)[:, 0].tolist()]
        [1.0, 3.0, 2.0, 4.0]
    """

    own_in_epoch = ("epoch_statistics",)

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
        self.window = kernel_window(kernel, kernel_size, sigma).tolist()  # in float64, which not all devices have
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
        return self._calibrated(embeddings, index) if int(self.epochs) >= self.start_epoch else embeddings

    def _calibrated(self, embeddings: Tensor, index: Tensor) -> Tensor:
        mean, var, smoothed_mean, smoothed_var = (
            statistic[index].to(embeddings)
            for statistic in (self.running_mean, self.running_var, self.smoothed_mean, self.smoothed_var)
        )
        varies = (var > 0) & self.seen[index, None]
        ratio = (smoothed_var / torch.where(varies, var, 1)).clamp(LEAST_RATIO, MOST_RATIO)
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
