"""How the baselines that compare embeddings train: for ranks, and as the first stage of a regression."""

from contextlib import suppress

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from ordinate.errors import OrdinateError
from ordinate.functional.inputs import check_ranks
from ordinate.functional.numerics import to_accumulation_dtype
from ordinate.heads.build import build_head
from ordinate.methods.regression import ContrastiveRegression
from ordinate.options import BinSize, Scheme
from ordinate.training.optimization import Optimization
from ordinate.training.staged_method import Stage, StagedMethod
from ordinate_papers.heads.binned import equal_bins
from ordinate_papers.methods.drawn_views import DrawViews, side_by_side
from ordinate_papers.methods.simclr import NTXentLoss, ProjectionHead


class Representation(StagedMethod):
    """Encoder trained by a loss of embeddings and ranks.

    Args:
        loss: ``loss(embeddings, ranks)``, such as :func:`~ordinate_papers.methods.pairs.build_pair_loss` gives; with
            ``weights=`` where samples are weighted.
        projection_dim: Output dimension of the projection head; None applies the loss to the embeddings.
        draw: Function that draws two views of every sample; None where batches hold them.
    """

    def __init__(
        self,
        encoder: nn.Module,
        embedding_dim: int,
        loss: nn.Module,
        *,
        projection_dim: int | None = None,
        draw: DrawViews | None = None,
        epochs: int = 100,
        patience: int | None = None,
        chunk_size: int | None = None,
        optimization: Optimization = Optimization(),
    ) -> None:
        super().__init__((Stage("representation", epochs, optimization, patience),), chunk_size)
        self.encoder = encoder
        self.loss = loss
        self.projection = nn.Identity() if projection_dim is None else ProjectionHead(embedding_dim, projection_dim)
        self.draw = draw

    def as_labels(self, y: Tensor) -> Int[Tensor, " n"]:
        return check_ranks(y, len(y), int(y.max()) + 1)

    def batch_loss(
        self, x: Tensor, y: Int[Tensor, " n"], weights: Float[Tensor, " n"] | None = None
    ) -> Float[Tensor, ""]:
        x, y, weights = side_by_side(x, y, weights, self.draw)
        return compare(self.loss, self.projection(self.embed(x)), y, weights)

    def validate_embeddings(
        self, x: Float[Tensor, "n d"], y: Int[Tensor, " n"], weights: Float[Tensor, " n"] | None = None
    ) -> dict[str, Tensor]:
        if not isinstance(self.loss, NTXentLoss):  # Validation samples have no second view.
            with suppress(OrdinateError):  # A few validation samples may have no pair.
                return {"val_loss": compare(self.loss, self.projection(x), y, weights)}
        return {}


class RepresentationRegression(ContrastiveRegression):
    """Encoder trained by a loss of embeddings and bins of the target, then a head (SupCR, Table 7; SupReMix, Table 16).

    Arguments are those of :class:`Representation` and :class:`~ordinate.methods.regression.ContrastiveRegression`;
    ``bin_size`` is that of the loss's labels and of a head on bins. With ``positives_above`` the labels are whether a
    target lies above it.
    """

    lowest: Tensor
    bin_size: Tensor

    def __init__(
        self,
        encoder: nn.Module,
        embedding_dim: int,
        loss: nn.Module,
        target_dim: int = 1,
        *,
        projection_dim: int | None = None,
        draw: DrawViews | None = None,
        scheme: Scheme = "linear_probe",
        head_loss: str = "l1",
        bin_size: BinSize = None,
        positives_above: float | None = None,
        epochs: tuple[int, int] = (400, 100),
        patience: int | None = None,
        contrast_weight: float = 1.0,
        chunk_size: int | None = None,
        optimization: Optimization = Optimization(),
        head_optimization: Optimization = Optimization("adamw", 1e-2, 0.0),
    ) -> None:
        head = build_head(head_loss, embedding_dim, target_dim, bin_size=bin_size)
        super().__init__(
            encoder, head, scheme=scheme, epochs=epochs, optimization=optimization, head_optimization=head_optimization,
            patience=patience, contrast_weight=contrast_weight, chunk_size=chunk_size,
        )  # fmt: skip
        self.loss = loss
        self.projection = nn.Identity() if projection_dim is None else ProjectionHead(embedding_dim, projection_dim)
        self.draw = draw
        self.given_size = bin_size
        self.positives_above = positives_above
        self.register_buffer("lowest", torch.zeros(target_dim))
        self.register_buffer("bin_size", torch.ones(target_dim))

    def fit_bins(self, targets: Float[Tensor, "n p"]) -> None:
        """Take the bins from the training targets."""
        lowest, size = usual_bins(targets, self.given_size)
        self.lowest.copy_(lowest)
        self.bin_size.copy_(size)

    def contrast(
        self, embeddings: Float[Tensor, "n d"], y: Float[Tensor, "n p"], weights: Float[Tensor, " n"] | None = None
    ) -> Float[Tensor, ""]:
        if self.positives_above is None:
            labels = bins_of(y, self.lowest, self.bin_size)
        else:
            labels = y[:, 0] > self.positives_above
        return compare(self.loss, self.projection(embeddings), labels, weights)

    def loss_parameters(self) -> list[nn.Parameter]:
        return list(self.projection.parameters())

    def views(self, x: Tensor, y: Tensor, weights: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
        return side_by_side(x, y, weights, self.draw)

    def validate_embeddings(
        self, x: Float[Tensor, "n d"], y: Float[Tensor, "n p"], weights: Float[Tensor, " n"] | None = None
    ) -> dict[str, Tensor]:
        if not isinstance(self.loss, NTXentLoss):
            return super().validate_embeddings(x, y, weights)
        if self.stage_index == 1 or self.scheme == "regularise":
            return self.validate_head(x, y, weights)
        return self.validate_by_ridge(x, y, weights)


def compare(loss: nn.Module, embeddings: Tensor, labels: Tensor, weights: Tensor | None) -> Float[Tensor, ""]:
    """Return a loss of embeddings and labels, which is given weights only where there are some."""
    if weights is None:
        return loss(embeddings, labels)
    return loss(embeddings, labels, weights=weights)


def usual_bins(targets: Float[Tensor, "n p"], bin_size: BinSize = None) -> tuple[Tensor, Tensor]:
    """Return the centre of the lowest bin (p,) and the size of a bin (p,), float64, of the labels that SupCon is given.

    ``bin_size``, in units of the targets, is one number or p of them; None uses the smallest difference between two
    targets, such as 1 between ages in years, or what makes 128 bins if that is more, and doubles it until two bins hold
    two samples each.

    Example:
        >>> [value.tolist() for value in usual_bins(torch.tensor([[1.0], [2.0], [1.0], [2.0], [9.0]]))]
        [[1.0], [1.0]]
    """
    lowest, size, counts = equal_bins(targets, bin_size)
    while bin_size is None and max(counts) > 1 and _shared(bins_of(targets, lowest, size)) < 2:
        size = 2 * size
        counts = [count // 2 for count in counts]
    return lowest, size


def bins_of(
    targets: Float[Tensor, "n p"], lowest: Float[Tensor, " p"], bin_size: Float[Tensor, " p"]
) -> Int[Tensor, " n"]:
    """Return the number of each sample's bin."""
    positions: Shaped[Tensor, "n p"] = ((to_accumulation_dtype(targets) - lowest) / bin_size).round().long()
    return positions.unique(dim=0, return_inverse=True)[1]


def _shared(bins: Int[Tensor, " n"]) -> int:
    """How many bins hold two samples or more."""
    return int((bins.unique(return_counts=True)[1] > 1).sum())
