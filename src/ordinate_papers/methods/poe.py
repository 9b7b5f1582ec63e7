"""POE: an embedding is a Gaussian, and Gaussians lie apart in the order of their ranks."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from ordinate.checks import check_positive, check_whole
from ordinate.errors import OrdinateError
from ordinate.functional.inputs import check_embeddings, check_ranks
from ordinate.functional.numerics import to_accumulation_dtype, weighted_mean
from ordinate.training.gradient_caching import embed_in_chunks
from ordinate.training.optimization import Optimization
from ordinate.training.staged_method import Stage, StagedMethod


class GaussianEncoder(nn.Module):
    """A network of outputs (n, 2 * embedding_dim), the mean and log variance of each embedding; it returns the mean.

    Example:
        >>> GaussianEncoder(nn.Linear(3, 16), embedding_dim=8)(torch.zeros(2, 3)).shape
        torch.Size([2, 8])
    """

    def __init__(self, network: nn.Module, embedding_dim: int) -> None:
        super().__init__()
        self.network = network
        self.embedding_dim = embedding_dim

    def forward(self, x: Tensor) -> Float[Tensor, "n d"]:
        return self.network(x)[:, : self.embedding_dim]


class POE(StagedMethod):
    """Classifier on embeddings drawn from Gaussians that lie in order (Li et al., CVPR 2021).

    The loss is the cross-entropy of ``draws`` embeddings per Gaussian, plus the ordinal distribution constraint, plus
    the divergence from the standard normal (the variational information bottleneck).

    The paper's: that loss, its weights and margin, the symmetric Kullback-Leibler distance, 50 draws, 50 epochs of Adam
    with 1e-4, a log variance that batch norm without scale and shift ends. Chosen: the constraint is on all triplets of
    a batch, of which the published code uses one per anchor; the classifier is linear (dropout belongs to the paper's
    VGG-16); validation and prediction classify the mean. Left out: the heads for regression and for K-rank, and other
    distances.

    A batch without a triplet, of one rank or of two samples, has no constraint. In several processes each uses the
    triplets of its own samples.
    """

    encoder: GaussianEncoder

    def __init__(
        self,
        encoder: GaussianEncoder,
        num_classes: int,
        *,
        draws: int = 50,
        margin: float = 5.0,
        ordinal_weight: float = 1e-4,
        divergence_weight: float = 1e-4,
        epochs: int = 50,
        patience: int | None = None,
        chunk_size: int | None = None,
        optimization: Optimization = Optimization("adam", 1e-4, 0.0, schedule="constant", warmup=0.0),
    ) -> None:
        super().__init__((Stage("Gaussians", epochs, optimization, patience),), chunk_size)
        self.encoder = encoder
        self.draws = check_whole(draws, "draws")
        self.margin = check_positive(margin, "margin", or_zero=True)
        self.ordinal_weight = check_positive(ordinal_weight, "ordinal_weight", or_zero=True)
        self.divergence_weight = check_positive(divergence_weight, "divergence_weight", or_zero=True)
        self.normalisation = nn.BatchNorm1d(encoder.embedding_dim, eps=1e-3, affine=False)
        self.classifier = nn.Linear(encoder.embedding_dim, num_classes)

    def as_labels(self, y: Tensor) -> Int[Tensor, " n"]:
        return check_ranks(y, len(y), self.classifier.out_features)

    def batch_loss(
        self, x: Tensor, y: Int[Tensor, " n"], weights: Float[Tensor, " n"] | None = None
    ) -> Float[Tensor, ""]:
        network = self.encoder.network
        outputs = embed_in_chunks(network, x, self.chunk_size or len(x))
        mean, log_variance = outputs.chunk(2, dim=1)
        log_variance = self.normalisation(log_variance)
        noise = torch.randn(self.draws, *mean.shape, dtype=mean.dtype, device=mean.device)
        scores = self.classifier(mean + (0.5 * log_variance).exp() * noise)
        drawn = None if weights is None else weights.repeat(self.draws)
        classification = _cross_entropy(scores.flatten(0, 1), y.repeat(self.draws), drawn)
        loss = classification + self.divergence_weight * divergence_from_standard_normal(mean, log_variance, weights)
        if len(y) > 2 and bool((y != y[0]).any()):  # The batch holds a triplet.
            distances = symmetric_divergence(mean, log_variance)
            loss = loss + self.ordinal_weight * ordinal_constraint(distances, y, self.margin, weights)
        return loss

    def validate_embeddings(
        self, x: Float[Tensor, "n d"], y: Int[Tensor, " n"], weights: Float[Tensor, " n"] | None = None
    ) -> dict[str, Tensor]:
        scores = self.classifier(x)
        predicted = scores.argmax(1)
        return {
            "val_loss": _cross_entropy(scores, y, weights),
            "val_accuracy": weighted_mean(to_accumulation_dtype(predicted == y), weights),
            "val_mae": weighted_mean(to_accumulation_dtype((predicted - y).abs()), weights),
        }


def _cross_entropy(scores: Tensor, y: Tensor, weights: Tensor | None) -> Float[Tensor, ""]:
    if weights is None:
        return cross_entropy(scores, y)
    return weighted_mean(cross_entropy(scores, y, reduction="none"), weights)


def symmetric_divergence(mean: Float[Tensor, "n d"], log_variance: Float[Tensor, "n d"]) -> Float[Tensor, "n n"]:
    """Kullback-Leibler divergence of every two Gaussians with diagonal covariance, the sum of both directions.

    Symmetric, 0 on the diagonal, in the widest type of the device.

    Example:
        >>> symmetric_divergence(torch.tensor([[0.0], [2.0]]), torch.zeros(2, 1)).tolist()
        [[0.0, 4.0], [4.0, 0.0]]
    """
    mean, log_variance = _check_gaussians(mean, log_variance)
    variance, precision = log_variance.exp(), (-log_variance).exp()
    centred = mean - mean.mean(0)  # Differences of smaller squares lose fewer digits.
    # The divergence of a pair is half of sum v/w + w/v - 2 + (m - l)^2 (1/v + 1/w), of which this is one side.
    one_side = variance @ precision.T + centred.square() @ precision.T - 2 * centred @ (centred * precision).T
    one_side = one_side + (centred.square() * precision).sum(1)
    divergence = 0.5 * (one_side + one_side.T) - mean.shape[1]
    return divergence * (1 - torch.eye(len(mean), dtype=mean.dtype, device=mean.device))


def ordinal_constraint(
    distances: Float[Tensor, "n n"],
    labels: Int[Tensor, " n"],
    margin: float = 5.0,
    weights: Float[Tensor, " n"] | None = None,
) -> Float[Tensor, ""]:
    """Hinge that asks of the distances between samples to be ordered as those of their labels are.

    A triplet (i, j, k) of three samples with ``|y_i - y_j| < |y_i - y_k|`` costs ``max(0, distances[i, j] -
    distances[i, k] + margin)``; the loss is the mean over those that cost something, 0 where none does.

    For every label distance the farther samples of a row are sorted once, so that each nearer one finds the number and
    the sum of those within its reach by a search: n² log n per label distance, and no n³. With ``weights`` (n,) a
    triplet counts by that of its sample i.

    Raises:
        OrdinateError: labels among which there is no such triplet.

    Example:
        >>> distances = torch.tensor([[0.0, 2.0, 3.0], [2.0, 0.0, 5.0], [3.0, 5.0, 0.0]])
        >>> ordinal_constraint(distances, torch.tensor([0, 0, 1]), margin=2.0).item()
        1.0
    """
    margin = check_positive(margin, "margin", or_zero=True)
    labels = check_ranks(labels, len(distances), int(labels.max()) + 1)
    apart = (labels[:, None] - labels).abs()
    others = ~torch.eye(len(labels), dtype=torch.bool, device=labels.device)
    reach = distances + margin
    rows = reach.new_ones(len(labels)) if weights is None else weights.to(reach)
    total, costing, triplets = reach.new_zeros(()), 0.0, 0
    for step in apart.unique()[:-1]:
        nearer, farther = (apart == step) & others, apart > step
        ordered = distances.masked_fill(~farther, torch.inf).sort(dim=1).values
        within = torch.searchsorted(ordered.detach(), reach.detach().contiguous())
        sums = torch.where(ordered.isinf(), 0, ordered).cumsum(1)
        sums = torch.cat([sums.new_zeros(len(sums), 1), sums], dim=1).gather(1, within)
        total = total + (rows[:, None] * (within * reach - sums) * nearer).sum()
        costing += float((rows[:, None] * within * nearer).sum())
        triplets += int((nearer.sum(1) * farther.sum(1)).sum())
    if triplets == 0:
        raise OrdinateError(
            "labels", f"{len(labels)} without a triplet", "a sample that is nearer to one than to another"
        )
    return total / (costing or 1)


def divergence_from_standard_normal(
    mean: Float[Tensor, "n d"], log_variance: Float[Tensor, "n d"], weights: Float[Tensor, " n"] | None = None
) -> Float[Tensor, ""]:
    """Mean Kullback-Leibler divergence of Gaussians with diagonal covariance from the standard normal, by ``weights``.

    Example:
        >>> divergence_from_standard_normal(torch.tensor([[1.0, 2.0]]), torch.zeros(1, 2)).item()
        2.5
    """
    mean, log_variance = _check_gaussians(mean, log_variance)
    return 0.5 * weighted_mean((mean.square() + log_variance.exp() - log_variance - 1).sum(1), weights)


def _check_gaussians(mean: Tensor, log_variance: Tensor) -> tuple[Tensor, Tensor]:
    check_embeddings(mean, "mean")
    check_embeddings(log_variance, "log_variance")
    if mean.shape != log_variance.shape:
        raise OrdinateError("log_variance", f"shape {tuple(log_variance.shape)}", f"{tuple(mean.shape)}, mean's")
    return to_accumulation_dtype(mean), to_accumulation_dtype(log_variance)
