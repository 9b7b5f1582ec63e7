"""What is timed: the losses, their published loops, pytorch-metric-learning's, and the products none can do without."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from ordinate.functional import angular_triangle, mmnp, supcr, supremix
from ordinate.papers.bench import published

RANKS = 5
TEMPERATURE = {"supcr": 2.0, "supremix": 0.5}
MARGIN = 0.75
TARGETS = 100.0  # from 0 to this
NEIGHBOURS = 8  # samples on each side of an anchor that SupReMix's window holds
PRODUCT_ROWS = 1024  # of the Gram matrix at a time

SUPCON, TRIPLET, PRODUCTS = "SupConLoss", "TripletMarginLoss", "matrix products"


@dataclass(frozen=True)
class Contender:
    """A scalar loss of embeddings and labels.

    Args:
        loss: of (n, d) and (n,).
        ranks: whether it takes ranks, or targets.
        cubic: whether its time or memory outgrows the n x n matrix.
    """

    loss: Callable[[Tensor, Tensor], Tensor]
    ranks: bool
    cubic: bool = False


def published_name(loss: str) -> str:
    """Name of the published loop of one of :data:`LOSSES`."""
    return f"{loss} published"


def line_up(losses: list[str]) -> list[str]:
    """Names of the losses and of what runs beside them; pytorch-metric-learning's where it is installed."""
    peers = [SUPCON, TRIPLET] if find_spec("pytorch_metric_learning") else []
    return [*losses, *map(published_name, losses), *peers, PRODUCTS]


def draw(
    n: int, dim: int, dtype: torch.dtype, device: str, *, ranks: bool
) -> tuple[Float[Tensor, "n d"], Shaped[Tensor, " n"]]:
    """Embeddings that take a gradient, and their labels: ranks of equal sizes, or targets uniform on 0 to 100."""
    generator = torch.Generator().manual_seed(n)
    embeddings = torch.randn(n, dim, generator=generator).to(device, dtype).requires_grad_()
    labels = torch.randperm(n, generator=generator) % RANKS if ranks else TARGETS * torch.rand(n, generator=generator)
    return embeddings, labels.to(device)


def _supcr(embeddings: Tensor, labels: Tensor) -> Tensor:
    return supcr(embeddings, labels, temperature=TEMPERATURE["supcr"])


def _published_supcr(embeddings: Tensor, labels: Tensor) -> Tensor:
    return published.supcr(embeddings, labels, TEMPERATURE["supcr"])


def _mmnp(embeddings: Tensor, labels: Tensor) -> Tensor:
    return mmnp(embeddings, labels, _margins(embeddings))


def _published_mmnp(embeddings: Tensor, labels: Tensor) -> Tensor:
    return published.mmnp(embeddings, labels, _margins(embeddings))


def _margins(embeddings: Tensor) -> Tensor:
    return embeddings.new_full((RANKS - 1,), MARGIN)


def _supremix(embeddings: Tensor, labels: Tensor, neg_mix: Tensor | None = None) -> Tensor:
    generator = torch.Generator(embeddings.device).manual_seed(0)  # the same draws whatever the embeddings' dtype
    temperature, window = TEMPERATURE["supremix"], _window(labels)
    return supremix(
        embeddings,
        labels,
        temperature=temperature,
        window=window,
        neg_mix=neg_mix,
        generator=generator,
        reduction="mean",
    )


def _published_supremix(embeddings: Tensor, labels: Tensor, neg_mix: Tensor | None = None) -> Tensor:
    return published.supremix(embeddings, labels, TEMPERATURE["supremix"], _window(labels), neg_mix)


def _window(labels: Tensor) -> float:
    return TARGETS * NEIGHBOURS / len(labels)


def _angular_triangle(embeddings: Tensor, labels: Tensor) -> Tensor:
    return angular_triangle(embeddings, labels, RANKS)


def _published_angular_triangle(embeddings: Tensor, labels: Tensor) -> Tensor:
    return published.angular_triangle(embeddings, labels, RANKS)


def _supcon(embeddings: Tensor, labels: Tensor) -> Tensor:
    from pytorch_metric_learning.losses import SupConLoss

    return SupConLoss()(embeddings, labels)


def _triplet_margin(embeddings: Tensor, labels: Tensor) -> Tensor:
    from pytorch_metric_learning.losses import TripletMarginLoss

    return TripletMarginLoss()(embeddings, labels)


def _matrix_products(embeddings: Tensor, _: Tensor) -> Tensor:
    """The Gram matrix, and a gradient for its rows and one for its columns: three n x n x d products, no more."""
    with torch.no_grad():
        gradient = torch.zeros_like(embeddings)
        for start in range(0, len(embeddings), PRODUCT_ROWS):
            rows = slice(start, start + PRODUCT_ROWS)
            gram = embeddings[rows] @ embeddings.T
            gradient[rows] += gram @ embeddings
            gradient += gram.T @ embeddings[rows]
    return (gradient * embeddings).sum()


LOSSES = {
    "supcr": (_supcr, _published_supcr, False),
    "mmnp": (_mmnp, _published_mmnp, True),
    "supremix": (_supremix, _published_supremix, False),
    "angular_triangle": (_angular_triangle, _published_angular_triangle, True),
}
CONTENDERS = (
    {name: Contender(ours, ranks) for name, (ours, _, ranks) in LOSSES.items()}
    | {published_name(name): Contender(theirs, ranks, cubic=True) for name, (_, theirs, ranks) in LOSSES.items()}
    | {
        SUPCON: Contender(_supcon, ranks=True),
        TRIPLET: Contender(_triplet_margin, ranks=True, cubic=True),
        PRODUCTS: Contender(_matrix_products, ranks=True),
    }
)
