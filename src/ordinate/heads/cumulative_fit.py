"""The cumulative link model of greatest likelihood."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logit
from torch import Tensor, nn

from ordinate.heads.cumulative_link import CumulativeLink

TOLERANCES: Any = {"maxiter": 500, "maxcor": 50, "ftol": 1e-13, "gtol": 1e-7}


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
    layer, link = nn.Linear(x.shape[1], 1, bias=False).double(), CumulativeLink(num_classes).double()
    counted = np.ones(len(x)) if weights is None else weights.double().numpy()
    problem = _Likelihood(x.double().numpy(), ranks.numpy(), counted, num_classes, penalty)
    parameters = [*layer.parameters(), *link.parameters()]
    first = problem.start()
    if start is not None:
        known = [*start[0].parameters(), *start[1].parameters()]
        first = torch.cat([parameter.detach().ravel() for parameter in known]).numpy()
    found = minimize(problem, first, jac=True, method="L-BFGS-B", options=TOLERANCES).x
    with torch.no_grad():
        parts = torch.from_numpy(found).split([parameter.numel() for parameter in parameters])
        for parameter, part in zip(parameters, parts, strict=True):
            parameter.copy_(part.view_as(parameter))
    return layer.requires_grad_(False), link.requires_grad_(False)


@dataclass(frozen=True, eq=False)
class _Likelihood:
    """The negative mean log-likelihood, plus the penalty, of weights (f,), the first threshold and steps (C-2,)."""

    x: NDArray[np.float64]
    ranks: NDArray[np.int64]
    counted: NDArray[np.float64]
    num_classes: int
    penalty: float

    def start(self) -> NDArray[np.float64]:
        """Return thresholds that give every sample the shares of the ranks, and weights of 0."""
        counts = np.bincount(self.ranks, self.counted, self.num_classes) + 0.5
        thresholds = logit(counts.cumsum()[:-1] / counts.sum())
        steps = np.log(np.expm1(np.diff(thresholds)))
        return np.concatenate([np.zeros(self.x.shape[1]), thresholds[:1], steps])

    def __call__(self, parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return the value and its gradient.

        With the logits u of P(rank <= y) and l of P(rank < y), the probability of y is their difference of sigmoids,
        sigmoid(u) sigmoid(-l) (1 - exp(l - u)), whose logarithm is exact also where they round to the same.
        """
        features = self.x.shape[1]
        weight, first, steps = np.split(parameters, [features, features + 1])
        thresholds = np.concatenate([first, first + np.logaddexp(0, steps).cumsum()])
        edges = np.concatenate([[-np.inf], thresholds, [np.inf]])
        scores = self.x @ weight
        upper, lower = edges[self.ranks + 1] - scores, edges[self.ranks] - scores
        width = np.maximum(upper - lower, 1e-100)  # Of a step that a search tries, it may round to 0.
        logs = log_expit(upper) + log_expit(-lower) + np.log(-np.expm1(-width))
        with np.errstate(over="ignore"):
            shared = 1 / np.expm1(width)
        of_upper = self.counted * (expit(-upper) + shared)
        of_lower = -self.counted * (expit(lower) + shared)
        size = self.num_classes + 1
        of_edges = np.bincount(self.ranks + 1, of_upper, size) + np.bincount(self.ranks, of_lower, size)
        of_steps = of_edges[1:-1][::-1].cumsum()[::-1]  # A step moves all thresholds from its own on.
        of_steps[1:] *= expit(steps)
        of_weight = self.penalty * weight + self.x.T @ (of_upper + of_lower)
        value = 0.5 * self.penalty * float(weight @ weight) - float(self.counted @ logs)
        return value / len(self.x), np.concatenate([of_weight, -of_steps]) / len(self.x)
