"""GOL, geometric order learning: the direction between embeddings tells their order, the distance how far apart."""

from contextlib import suppress

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import relu, softplus

from ordinate.checks import check_num_classes, check_positive, check_whole
from ordinate.counts import counted
from ordinate.errors import OrdinateError
from ordinate.functional.inputs import check_embeddings, check_ranks
from ordinate.functional.similarity import unit
from ordinate.training.optimization import Optimization
from ordinate.training.staged_method import Stage, StagedMethod


class GOL(StagedMethod):
    """Encoder and one reference point per rank, on the unit sphere (Lee, Shin, Kim, NeurIPS 2022).

    The loss is :func:`order_loss` + :func:`metric_loss` + :func:`center_loss`, with the paper's equal weights and
    margin. Chosen here: the points start evenly on a half circle of random direction, as in the published code for few
    ranks (from a random start they were still out of order after 20 epochs on RetinaMNIST); all pairs of a batch count,
    of which the published code draws as many of each order; samples are similar if their ranks are equal, a threshold
    of 0. In several processes each uses the pairs of its own samples, which must be of two ranks. The paper trains 100
    epochs.

    Args:
        margin: Margin of the metric loss; 0.25 in the paper.
        optimization: Optimizer and its schedule; in the paper Adam with 1e-4 along a cosine and weight decay 5e-4.
    """

    def __init__(
        self,
        encoder: nn.Module,
        embedding_dim: int,
        num_classes: int,
        *,
        margin: float = 0.25,
        epochs: int = 100,
        patience: int | None = None,
        chunk_size: int | None = None,
        optimization: Optimization = Optimization("adam", 1e-4, 5e-4, warmup=0.0),
    ) -> None:
        super().__init__((Stage("pairs", epochs, optimization, patience),), chunk_size)
        self.encoder = encoder
        self.references = nn.Parameter(_half_circle(num_classes, check_whole(embedding_dim, "embedding_dim", least=2)))
        self.margin = check_positive(margin, "margin", or_zero=True)

    def as_labels(self, y: Tensor) -> Int[Tensor, " n"]:
        return check_ranks(y, len(y), len(self.references))

    def batch_loss(
        self, x: Tensor, y: Int[Tensor, " n"], weights: Float[Tensor, " n"] | None = None
    ) -> Float[Tensor, ""]:
        if weights is not None:
            raise OrdinateError("weights", "some", "None", "GOL's losses are of pairs, none of which is the anchor")
        return self.loss(self.embed(x), y)

    def loss(self, embeddings: Float[Tensor, "n d"], y: Int[Tensor, " n"]) -> Float[Tensor, ""]:
        """Return the loss of a batch."""
        order = order_loss(embeddings, y, self.references)
        metric = metric_loss(embeddings, y, self.references, self.margin)
        return order + metric + center_loss(embeddings, y, self.references)

    def validate_embeddings(
        self, x: Float[Tensor, "n d"], y: Int[Tensor, " n"], weights: Float[Tensor, " n"] | None = None
    ) -> dict[str, Tensor]:
        with suppress(OrdinateError):  # A validation set with one rank has no pair to order.
            return {"val_loss": self.loss(x, y)}
        return {}


def order_loss(
    embeddings: Float[Tensor, "n d"], labels: Int[Tensor, " n"], references: Float[Tensor, "c d"], scale: float = 20.0
) -> Float[Tensor, ""]:
    """Cross-entropy of the direction between two embeddings: along their reference points, not away from them.

    From a sample i to a sample j of another rank, the embedding moves in the direction ``u``. It should be that from
    the reference point of i's rank to that of j's, not that from i's to the next one on the other side; at either end
    of the ranks it is the opposite of the step to the one before. The two cosines with ``u``, times ``scale`` (20 in
    the published code), are the logits; the loss is the mean over ordered pairs of different ranks. Embeddings of any
    norm and the reference points, one per rank, are brought to the unit sphere. Two embeddings that coincide cost log 2
    and have no gradient.

    Every cosine comes from products of embeddings with reference points: no n x n x d tensor is built.

    Raises:
        OrdinateError: labels that are all the same.

    Example:
        >>> references = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> order_loss(references, torch.tensor([0, 1]), references).item() < 1e-6
        True
        >>> order_loss(references, torch.tensor([1, 0]), references).item() > 10
        True
    """
    h, r, labels = _on_sphere(embeddings, labels, references)
    different = labels[:, None] != labels
    if not bool(different.any()):
        raise OrdinateError("labels", f"{counted(len(labels), 'sample')} of one rank", "at least two ranks")
    lengths = _distances(h, h)
    products = h @ r.T
    to_rank, to_other = products.gather(1, labels[:, None]), products[:, labels]
    along = _over(to_rank.T - to_other.T - to_other + to_rank, lengths * _distances(r, r)[labels][:, labels])
    steps = unit(r.diff(dim=0))
    onward, back = torch.cat([steps, steps[-1:]]), -torch.cat([steps[:1], steps])
    upward = labels[:, None] < labels
    away = torch.where(upward, _progress(h, back, labels), _progress(h, onward, labels))
    return softplus(scale * (_over(away, lengths) - along))[different].mean()


def metric_loss(
    embeddings: Float[Tensor, "n d"],
    labels: Int[Tensor, " n"],
    references: Float[Tensor, "c d"],
    margin: float = 0.25,
) -> Float[Tensor, ""]:
    """Hinge that brings the lower of two samples nearer to the lower reference points, and the higher to the higher.

    With D the Euclidean distance on the unit sphere, a pair of ranks a < b costs ``max(0, D(x_a, r) - D(x_b, r) +
    margin)`` for every reference point r up to a and ``max(0, D(x_b, r) - D(x_a, r) + margin)`` for every one from b
    on; a pair of the same rank costs ``|D(x, r) - D(x', r)|`` for every reference point. The means over both kinds of
    pairs are weighted 2 to 1, as the published code draws as many pairs upwards, downwards and of the same rank.

    Raises:
        OrdinateError: a single sample.

    Example:
        >>> references = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> metric_loss(references, torch.tensor([0, 1]), references).item()
        0.0
    """
    h, r, labels = _on_sphere(embeddings, labels, references)
    margin = check_positive(margin, "margin", or_zero=True)
    if len(labels) < 2:
        raise OrdinateError("labels", "a single sample", "at least two")
    distances = _distances(h, r)
    ranks = torch.arange(len(r), device=labels.device)
    total, weight = distances.new_zeros(()), 0.0
    low, high = (labels[:, None] < labels).nonzero().unbind(1)
    if len(low):
        difference = distances[low] - distances[high]
        below, above = ranks <= labels[low, None], ranks >= labels[high, None]
        cost = relu(margin + difference) * below + relu(margin - difference) * above
        total, weight = total + 2.0 * cost.sum(1).mean(), weight + 2.0
    one, other = (labels[:, None] == labels).triu(1).nonzero().unbind(1)
    if len(one):
        total, weight = total + (distances[one] - distances[other]).abs().sum(1).mean(), weight + 1
    return total / weight


def center_loss(
    embeddings: Float[Tensor, "n d"], labels: Int[Tensor, " n"], references: Float[Tensor, "c d"]
) -> Float[Tensor, ""]:
    """Mean Euclidean distance, on the unit sphere, of embeddings from their ranks' reference points.

    Example:
        >>> references = torch.tensor([[1.0, 0.0], [-1.0, 0.0]])
        >>> center_loss(references, torch.tensor([0, 0]), references).item()
        1.0
    """
    h, r, labels = _on_sphere(embeddings, labels, references)
    return _distances(h, r).gather(1, labels[:, None]).mean()


def _half_circle(count: int, dim: int) -> Float[Tensor, "count dim"]:
    """Points spread evenly over half a circle around the origin."""
    axes = torch.linalg.qr(torch.randn(dim, 2)).Q.T
    angles = torch.linspace(0, torch.pi, check_num_classes(count))[:, None]
    return angles.cos() * axes[0] + angles.sin() * axes[1]


def _on_sphere(embeddings: Tensor, labels: Tensor, references: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return checked unit embeddings and reference points in the widest type of the device, and ranks."""
    check_embeddings(embeddings)
    check_embeddings(references, "references")
    if len(references) < 2 or references.shape[1] != embeddings.shape[1]:
        raise OrdinateError(
            "references",
            f"shape {tuple(references.shape)}",
            f"at least 2 of {counted(embeddings.shape[1], 'dimension')}",
        )
    return unit(embeddings), unit(references), check_ranks(labels, len(embeddings), len(references))


def _distances(a: Float[Tensor, "n d"], b: Float[Tensor, "m d"]) -> Float[Tensor, "n m"]:
    """Euclidean distances, of which equal points have no gradient."""
    return torch.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist")


def _progress(
    h: Float[Tensor, "n d"], direction: Float[Tensor, "c d"], labels: Int[Tensor, " n"]
) -> Float[Tensor, "n n"]:
    """How far it is from embedding i to j along the direction of i's rank."""
    reached = (h @ direction.T)[:, labels].T
    return reached - reached.diagonal()[:, None]


def _over(numerator: Tensor, length: Tensor, least: float = 1e-9) -> Tensor:
    """The quotient, 0 and without a gradient where two points are too close for a direction between them."""
    apart = length > least
    return torch.where(apart, numerator / torch.where(apart, length, 1), 0)
