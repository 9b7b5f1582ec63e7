"""What is timed: the losses, their published loops, pytorch-metric-learning's, and the products none can do without."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from ordinate.functional import angular_triangle, mmnp, supcr, supremix
from ordinate_papers.bench import published

RANKS = 5
TEMPERATURE = {"supcr": 2.0, "supremix": 0.5}
MARGIN = 0.75
TARGETS = 100.0  # from 0 to this
NEIGHBOURS = 8  # samples on each side of an anchor that SupReMix's window holds
PRODUCT_ROWS = 1024  # of the Gram matrix at a time

SUPCON, TRIPLET = "SupConLoss", "TripletMarginLoss"  # of pytorch-metric-learning
PRODUCTS = "matrix products"

Loss = Callable[..., Tensor]


@dataclass(frozen=True)
class Contender:
    """A scalar loss of embeddings and labels.

    Args:
        loss: of (n, d) and (n,).
        ranks: whether its labels are ranks, or targets.
        cubic: whether its time or memory outgrows the n x n matrix.
    """

    loss: Loss
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


def _margins(embeddings: Tensor) -> Tensor:
    return embeddings.new_full((RANKS - 1,), MARGIN)


def _window(labels: Tensor) -> float:
    return TARGETS * NEIGHBOURS / len(labels)


def _supremix(embeddings: Tensor, labels: Tensor, neg_mix: Tensor | None = None) -> Tensor:
    generator = torch.Generator(embeddings.device).manual_seed(0)  # the same draws whatever the embeddings' dtype
    return supremix(
        embeddings, labels, temperature=TEMPERATURE["supremix"], window=_window(labels), neg_mix=neg_mix,
        generator=generator, reduction="mean",
    )  # fmt: skip


def _published_supremix(embeddings: Tensor, labels: Tensor, neg_mix: Tensor | None = None) -> Tensor:
    return published.supremix(embeddings, labels, TEMPERATURE["supremix"], _window(labels), neg_mix)


def _peer(name: str) -> Loss:
    def loss(embeddings: Tensor, labels: Tensor) -> Tensor:
        from pytorch_metric_learning import losses

        value: Tensor = getattr(losses, name)()(embeddings, labels)
        return value

    return loss


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


LOSSES: Mapping[str, tuple[Loss, Loss, bool]] = {  # ours, the published loop, and whether the labels are ranks
    "supcr": (
        lambda z, y: supcr(z, y, temperature=TEMPERATURE["supcr"]),
        lambda z, y: published.supcr(z, y, TEMPERATURE["supcr"]),
        False,
    ),
    "mmnp": (lambda z, y: mmnp(z, y, _margins(z)), lambda z, y: published.mmnp(z, y, _margins(z)), True),
    "supremix": (_supremix, _published_supremix, False),
    "angular_triangle": (
        lambda z, y: angular_triangle(z, y, RANKS),
        lambda z, y: published.angular_triangle(z, y, RANKS),
        True,
    ),
}
CONTENDERS = (
    {name: Contender(ours, ranks) for name, (ours, _, ranks) in LOSSES.items()}
    | {published_name(name): Contender(theirs, ranks, cubic=True) for name, (_, theirs, ranks) in LOSSES.items()}
    | {
        SUPCON: Contender(_peer(SUPCON), ranks=True),
        TRIPLET: Contender(_peer(TRIPLET), ranks=True, cubic=True),
        PRODUCTS: Contender(_matrix_products, ranks=True),
    }
)
