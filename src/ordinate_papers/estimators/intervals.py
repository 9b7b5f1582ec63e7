"""Learned intervals of ordinal features: Thresh-Eucl and Ord-LMNN of OTD's Table 2.

Shi, Li and Sha, *Metric Learning for Ordinal Data*, AAAI 2016: a level of a feature stands for a latent value somewhere
in its interval, and the intervals of a feature's levels follow each other. With the latent values of two samples
independent, of means mu and diagonal covariances S, their expected squared distance by a map L, M = L'L, is

    d(i, j) = (mu_i - mu_j)' M (mu_i - mu_j) + tr M (S_i + S_j),

and the loss that of large margin nearest neighbours (:mod:`ordinate_papers.estimators.lmnn`) on it. In an interval from
a to a + w the latent value has the mean a + m w and the variance v w^2, for the distributions

- ``"uniform"``: m = 1/2, v = 1/12;
- ``"beta"``: those of Beta(p, q), one p and q per feature;
- ``"beta_rectangular"`` (Hahn, 2008): those of Beta(p, q) with probability 1 - r, of the uniform one with r.

Chosen here, as the text at hand does not settle it: p and q lie in [1, 20] and start at 2, r starts at 1/2, and all are
learned with the widths and the map; all widths are free, from 0 up, and start equal; targets are the nearest of the
raw code, and twice those by what was learned, without which the error on Balance stays where that of the raw code is.
L-BFGS-B learns everything at once, where the paper alternates between the map and projected subgradient steps for the
thresholds; alternating ended at the same loss on Balance.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from torch import Tensor

from ordinate.checks import check_choice
from ordinate_papers.estimators.lmnn import (
    START,
    descend,
    find_impostors,
    scatter,
    target_neighbours,
    weigh_pairs,
)


@dataclass(eq=False, repr=False)
class LatentIntervals(BaseEstimator):
    """The intervals of every feature's levels, and a map of their latent values or none.

    Args:
        distribution: Distribution of a latent value in its interval.
        learn_map: Whether to learn the map, as in Ord-LMNN; False keeps the identity (Thresh-Eucl).
        n_neighbors: Number of target neighbours of a sample.
        passes: Largest number of passes, each of which uses the targets that are nearest after the one before.

    Attributes:
        means_, variances_: Moments of the latent values of all features' levels, one feature after the other.
        components_: (d, d), L.
        loss_: Final loss.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> places = rng.integers(0, 4, (80, 2))
        >>> model = LatentIntervals().fit(places, places[:, 0] > 1, [4, 4])
        >>> model.components_.shape, model.means_.shape
        ((2, 2), (8,))
    """

    distribution: str = "uniform"
    learn_map: bool = True
    n_neighbors: int = 3
    passes: int = 3

    def fit(self, places: NDArray[np.intp], classes: NDArray[np.intp], sizes: Sequence[int]) -> "LatentIntervals":
        """Learn from the places (n, d) of samples' levels, their classes (n,) and every feature's number of levels."""
        learned = {"uniform": 0, "beta": 2, "beta_rectangular": 3}  # Number of shape parameters.
        shapes = learned[check_choice(self.distribution, tuple(learned), "distribution")]
        # Position of a feature's first level among the levels of all features.
        self._starts = np.cumsum([0, *sizes])[:-1]
        levels, classes = np.asarray(places) + self._starts, np.unique(classes, return_inverse=True)[1]
        targets = target_neighbours(np.asarray(places, dtype=np.float64), classes, self.n_neighbors)
        d, mapped = len(sizes), len(sizes) ** 2 * self.learn_map

        def unpack(point: NDArray[np.float64]) -> tuple[NDArray[np.float64], Tensor, Tensor]:
            """The map, what is learned of the intervals, and the moments (2, levels) that follow from it."""
            rest = torch.tensor(point[mapped:], requires_grad=True)
            widths, shape = rest[: sum(sizes)].split(list(sizes)), rest[sum(sizes) :].view(d, shapes)
            moments = [latent_moments(*feature) for feature in zip(widths, shape, strict=True)]
            components = point[:mapped].reshape(d, d) if self.learn_map else np.eye(d)
            return components, rest, torch.cat(moments, dim=1)

        def loss(point: NDArray[np.float64], impostors: csr_array) -> tuple[float, NDArray[np.float64]]:
            components, rest, moments = unpack(point)
            value, of_map, of_moments = expected_loss(
                components, moments.detach().numpy(), levels, targets, impostors, push=0.5
            )
            (of_rest,) = torch.autograd.grad(moments, rest, torch.from_numpy(of_moments))
            return value, np.concatenate([of_map.ravel()[:mapped], of_rest.numpy()])

        def find(point: NDArray[np.float64]) -> csr_array:
            components, _, moments = unpack(point)
            means, variances = moments.detach().numpy()[:, levels]
            return find_impostors(components, means, classes, targets, variances @ (components**2).sum(0))

        start = [np.eye(d).ravel()[:mapped], np.full(sum(sizes), START), np.tile([2.0, 2.0, 0.5][:shapes], d)]
        point = np.concatenate(start)
        shape_bounds = [(1.0, 20.0), (1.0, 20.0), (0.0, 1.0)][:shapes]
        bounds = [(None, None)] * mapped + [(0.0, None)] * sum(sizes) + shape_bounds * d
        for _ in range(self.passes):
            found = descend(point, loss, find, 300, bounds)
            point, self.loss_ = found.point, found.loss
            self.components_, _, moments = unpack(point)
            self.means_, self.variances_ = moments.detach().numpy()
            before = targets
            targets = target_neighbours(self.transform(places), classes, self.n_neighbors, self.spread(places))
            if np.array_equal(targets, before):
                break
        return self

    def transform(self, places: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the mapped means (n, d) of samples' latent values."""
        return np.asarray(self.means_[places + self._starts] @ self.components_.T)

    def spread(self, places: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return tr M S (n,), what a sample adds to its expected squared distances."""
        return np.asarray(self.variances_[places + self._starts] @ (self.components_**2).sum(0))


def latent_moments(widths: Float[Tensor, " k"], shape: Float[Tensor, " s"]) -> Float[Tensor, "2 k"]:
    """Return means and variances of latent values in intervals that follow each other from 0.

    ``shape`` is empty for the uniform distribution, p and q of Beta, or p, q and r of its mixture with the uniform one.

    Example:
        >>> latent_moments(torch.tensor([1.0, 2.0]), torch.tensor([]))
        tensor([[0.5000, 2.0000],
                [0.0833, 0.3333]])
    """
    mean, square = widths.new_tensor(1 / 2), widths.new_tensor(1 / 3)
    if len(shape) > 0:
        p, q, r = *shape[:2], shape[2] if len(shape) == 3 else 0.0
        of_beta = p / (p + q)
        mean = r * mean + (1 - r) * of_beta
        square = r * square + (1 - r) * of_beta * (p + 1) / (p + q + 1)
    return torch.stack([widths.cumsum(0) + (mean - 1) * widths, (square - mean**2) * widths**2])


def expected_loss(
    components: NDArray[np.float64],
    moments: NDArray[np.float64],
    levels: NDArray[np.intp],
    targets: NDArray[np.intp],
    impostors: csr_array,
    push: float,
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """Return the loss of large margin nearest neighbours on expected squared distances, and its two gradients.

    Args:
        components: (d, d), L.
        moments: (2, m), means and variances of all features' levels.
        levels: (n, d), which of them a sample has.
        targets: (n, k), of :func:`~ordinate_papers.estimators.lmnn.target_neighbours`.
        impostors: (n, n), the pairs of a sample and an impostor to look at.
        push: Weight of the impostors.

    Returns:
        The loss, and its gradients by ``components`` and by ``moments``.
    """
    means, variances = moments[:, levels]
    of_features = (components**2).sum(0)  # The diagonal of M.
    loss, weights = weigh_pairs(means @ components.T, targets, impostors, push, variances @ of_features)
    counts = weights.sum(axis=0) + weights.sum(axis=1)
    of_map = 2 * components @ scatter(means, weights) + 2 * components * (counts @ variances)
    of_means = 2 * (counts[:, None] * means - weights @ means - weights.T @ means) @ (components.T @ components)
    of_samples = (of_means, np.outer(counts, of_features))
    places, size = levels.ravel(), moments.shape[1]
    of_levels = np.stack([np.bincount(places, part.ravel(), size) for part in of_samples])
    return loss, of_map / len(levels), of_levels / len(levels)
