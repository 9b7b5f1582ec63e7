"""The cumulative link model: one score per sample and a threshold between any two adjacent ranks (McCullagh, 1980)."""

from inspect import unwrap

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import nll_loss, softplus


class CumulativeLink(nn.Module):
    r"""Probabilities of C ranks from scores: P(rank <= h) = sigmoid(threshold_h - score).

    Args:
        num_classes: C.

    Example:
        >>> CumulativeLink(3)(torch.zeros(2, 1)).shape
        torch.Size([2, 3])
    """

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        self.first = nn.Parameter(torch.zeros(1))
        self.steps = nn.Parameter(torch.zeros(num_classes - 2))  # The softplus of a step leads to the next threshold.

    @property
    def thresholds(self) -> Float[Tensor, " t"]:
        """The C - 1 thresholds, in rising order."""
        return torch.cat([self.first, self.first + softplus(self.steps).cumsum(0)])

    def forward(self, scores: Float[Tensor, "n 1"]) -> Float[Tensor, "n c"]:
        up_to = (self.thresholds - scores).sigmoid()
        up_to = torch.cat([torch.zeros_like(scores), up_to, torch.ones_like(scores)], dim=1)
        probabilities = up_to.diff(dim=1).clamp(min=1e-9)  # Far from a threshold, differences of sigmoids round to 0.
        return probabilities / probabilities.sum(1, keepdim=True)


class _LBFGS(torch.optim.LBFGS):
    """PyTorch's, without the import of its compiler with the first group of parameters, which takes two seconds."""

    add_param_group = unwrap(torch.optim.Optimizer.add_param_group)


def fit_cumulative_link(
    x: Float[Tensor, "n f"],
    ranks: Int[Tensor, " n"],
    num_classes: int,
    weights: Float[Tensor, " n"] | None = None,
    penalty: float = 1.0,
    start: tuple[nn.Linear, CumulativeLink] | None = None,
) -> tuple[nn.Linear, CumulativeLink]:
    """Return the linear layer to the score and the thresholds of greatest likelihood, less the penalty.

    Args:
        x: (n, f), standardised.
        ranks: (n,), 0 to C-1.
        num_classes: C.
        weights: (n,), by which the samples count, of mean 1; None for equal ones.
        penalty: L2 penalty of the layer: half of it, times the squared norm, is subtracted from the log-likelihood.
        start: Solution of a similar problem, from which fewer iterations lead to this one's; None without any.

    Example:
        >>> x = torch.linspace(-1, 1, 30)[:, None]
        >>> layer, link = fit_cumulative_link(x, (x[:, 0] > 0).long() + (x[:, 0] > 0.5), 3)
        >>> link(layer(torch.tensor([[-0.9], [0.9]]).double())).argmax(1).tolist()
        [0, 2]
    """
    x = x.double()
    counted = torch.ones(len(x), dtype=torch.float64) if weights is None else weights.double()
    layer, link = nn.Linear(x.shape[1], 1, bias=False).double(), CumulativeLink(num_classes).double()
    if start is None:
        _start_from_shares(layer, link, torch.zeros(num_classes).double().index_add(0, ranks, counted) + 0.5)
    else:
        layer.load_state_dict(start[0].state_dict())
        link.load_state_dict(start[1].state_dict())
    parameters = [*layer.parameters(), *link.parameters()]
    optimizer = _LBFGS(parameters, max_iter=200, line_search_fn="strong_wolfe")

    def evaluate() -> Tensor:
        for parameter in parameters:
            parameter.grad = None
        likelihood = nll_loss(link(layer(x)).log(), ranks, reduction="none") @ counted
        loss = (likelihood + 0.5 * penalty * layer.weight.square().sum()) / len(x)
        loss.backward()
        return loss

    with torch.enable_grad():
        optimizer.step(evaluate)
    return layer.requires_grad_(False), link.requires_grad_(False)


def _start_from_shares(layer: nn.Linear, link: CumulativeLink, counts: Float[Tensor, " c"]) -> None:
    """Start from thresholds that give every sample the shares of the ranks."""
    thresholds = (counts.cumsum(0) / counts.sum())[:-1].logit()
    with torch.no_grad():
        layer.weight.zero_()
        link.first.copy_(thresholds[:1])
        link.steps.copy_(thresholds.diff().expm1().log())
