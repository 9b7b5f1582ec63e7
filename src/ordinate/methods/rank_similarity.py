"""RankSim: a sample's neighbours in embedding space are to come in the order of its neighbours in label space."""

from typing import Any

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor
from torch.nn.functional import normalize

from ordinate.checks import check_positive
from ordinate.functional.global_batch import Group, all_processes, gathered, place_among, summed
from ordinate.functional.inputs import check_embeddings, check_targets


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
        interpolation: lambda of the differentiation, above 0; 2 for AgeDB in the paper.

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
