"""What makes up for imbalanced labels in training: LDS, FDS and RankSim, beside any regression method."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ordinate.checks import check_choice, check_positive, check_share, check_whole
from ordinate.data.label_density import WEIGHTINGS, LabelBins, kernel_window, weights_of_bins
from ordinate.methods.feature_smoothing import FeatureSmoothing
from ordinate.methods.rank_similarity import rank_similarity
from ordinate.options import Kernel, Weighting


@dataclass(frozen=True)
class Imbalance:
    """What a regressor does about targets of which some are rare.

    Args:
        lds: label distribution smoothing, see :func:`~ordinate.data.label_density.label_weights`: ``"inverse"`` or
            ``"sqrt_inverse"`` weighs samples in the loss of the head and in the contrastive one; None weighs all the
            same.
        fds: feature distribution smoothing, see :class:`~ordinate.methods.feature_smoothing.FeatureSmoothing`, of the
            embeddings that the head is trained on.
        ranksim: weight of RankSim, see :func:`~ordinate.methods.rank_similarity.rank_similarity`, in the loss of every
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
        if isinstance(self.bin_size, list):  # as JSON and TOML have it
            object.__setattr__(self, "bin_size", tuple(self.bin_size))
        for size in self.bin_size if isinstance(self.bin_size, tuple) else (self.bin_size,):
            if size is not None:
                check_positive(size, "bin_size")
        kernel_window(self.kernel, self.kernel_size, self.sigma)
        check_share(self.momentum, "momentum")
        check_whole(self.start_epoch, "start_epoch")
        check_positive(self.interpolation, "interpolation")


class Balance(nn.Module):
    """The state of :class:`Imbalance` in training: weights of the label bins and statistics of their embeddings.

    Args:
        imbalance: Corrections to make.
        bins: over the training labels.
        embedding_dim: d of the embeddings.

    Example:
        >>> labels = torch.tensor([1.0, 1.0, 1.0, 1.0, 9.0])
        >>> balance = Balance(Imbalance(lds="sqrt_inverse"), LabelBins.over(labels, 1), embedding_dim=2)
        >>> balance.fit(labels)
        >>> [round(weight, 2) for weight in balance.weights(labels).tolist()]
        [0.83, 0.83, 0.83, 0.83, 1.67]
    """

    bin_weights: Tensor

    def __init__(self, imbalance: Imbalance, bins: LabelBins, embedding_dim: int) -> None:
        super().__init__()
        self.imbalance = imbalance
        self.bins = bins
        self.register_buffer("bin_weights", torch.ones(bins.total))
        self.smoothing = None
        if imbalance.fds:
            self.smoothing = FeatureSmoothing(
                bins,
                embedding_dim,
                kernel=imbalance.kernel,
                kernel_size=imbalance.kernel_size,
                sigma=imbalance.sigma,
                momentum=imbalance.momentum,
                start_epoch=imbalance.start_epoch,
            )

    def fit(self, labels: Float[Tensor, "n *p"]) -> None:
        """Take the weights from the density of the training labels."""
        if self.imbalance.lds is not None:
            window = kernel_window(self.imbalance.kernel, self.imbalance.kernel_size, self.imbalance.sigma)
            self.bin_weights.copy_(weights_of_bins(labels, self.bins, self.imbalance.lds, window))

    def weights(self, labels: Float[Tensor, "n *p"]) -> Float[Tensor, " n"] | None:
        """Return the weights of samples, of mean 1 over the training labels, or None without LDS."""
        return None if self.imbalance.lds is None else self.bin_weights[self.bins.index(labels)]

    def calibrated(self, embeddings: Float[Tensor, "n d"], labels: Float[Tensor, "n *p"]) -> Float[Tensor, "n d"]:
        """Return the embeddings of a training batch as FDS gives them to the head."""
        return embeddings if self.smoothing is None else self.smoothing(embeddings, labels)

    def rank_loss(self, embeddings: Float[Tensor, "n d"], labels: Float[Tensor, "n *p"]) -> Float[Tensor, ""]:
        """Return RankSim's part of the loss."""
        if self.imbalance.ranksim == 0:
            return embeddings.new_zeros(())
        loss = rank_similarity(embeddings, labels, interpolation=self.imbalance.interpolation)
        return self.imbalance.ranksim * loss

    def end_epoch(self) -> None:
        """Bring the statistics of FDS up to date."""
        if self.smoothing is not None:
            self.smoothing.end_epoch()
