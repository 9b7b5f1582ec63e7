"""Learned intervals: moments against SciPy's distributions, the loss against loops over triples."""

import numpy as np
import pytest
import torch
from scipy.optimize import check_grad
from scipy.sparse import csr_array
from scipy.stats import beta, uniform

from ordinate.errors import OrdinateError
from ordinate_papers.estimators.intervals import LatentIntervals, expected_loss, latent_moments
from ordinate_papers.estimators.lmnn import find_impostors, target_neighbours

WIDTHS = torch.tensor([0.5, 2.0, 0.0, 1.5], dtype=torch.float64)


@pytest.mark.parametrize(
    "shape", [[], [2.0, 5.0], [1.0, 1.0], [3.0, 1.5, 0.25], [2.0, 5.0, 0.0], [2.0, 5.0, 1.0]], ids=str
)
def test_moments_are_those_of_scipy(shape):
    means, variances = latent_moments(WIDTHS, torch.tensor(shape, dtype=torch.float64)).numpy()
    p, q, r = (*shape, *[1.0, 1.0, 0.0][len(shape) :])
    start = 0.0
    for width, mean, variance in zip(WIDTHS.tolist(), means, variances, strict=True):
        first = [share.expect(lambda x: x) for share in (uniform, beta(p, q))]
        second = [share.expect(lambda x: x**2) for share in (uniform, beta(p, q))]
        centre, square = (r * of[0] + (1 - r) * of[1] for of in (first, second))
        assert mean == pytest.approx(start + width * centre, abs=1e-10)
        assert variance == pytest.approx(width**2 * (square - centre**2), abs=1e-10)
        start += width


def draw(seed=0, n=24, sizes=(3, 4, 2)):
    rng = np.random.default_rng(seed)
    places = np.column_stack([rng.integers(0, size, n) for size in sizes])
    levels = places + np.cumsum([0, *sizes])[:-1]
    moments = np.stack([rng.normal(size=sum(sizes)), rng.uniform(0, 0.5, sum(sizes))])
    classes = rng.integers(0, 3, n)
    return places, levels, moments, classes, rng.normal(size=(len(sizes), len(sizes)))


def brute_force(L, moments, levels, classes, targets, push):
    """The loss over expected squared distances, a triple at a time."""
    M = L.T @ L

    def distance(i, j):
        gap = moments[0][levels[i]] - moments[0][levels[j]]
        return gap @ M @ gap + np.trace(M @ np.diag(moments[1][levels[i]] + moments[1][levels[j]]))

    loss = 0.0
    for i in range(len(levels)):
        for j in targets[i][targets[i] >= 0]:
            loss += (1 - push) * distance(i, j)
            others = np.flatnonzero(classes != classes[i])
            loss += push * sum(max(0.0, 1 + distance(i, j) - distance(i, other)) for other in others)
    return loss / len(levels)


@pytest.mark.parametrize(("push", "seed"), [(0.0, 0), (0.4, 1)])
def test_the_loss_is_that_of_a_loop_over_triples_and_its_gradients_those_of_differences(push, seed):
    places, levels, moments, classes, L = draw(seed)
    targets = target_neighbours(places.astype(float), classes, 3)
    spread = moments[1][levels] @ (L**2).sum(0)
    expected = brute_force(L, moments, levels, classes, targets, push)
    for pairs in (
        csr_array(classes[:, None] != classes),
        find_impostors(L, moments[0][levels], classes, targets, spread),
    ):
        value, of_map, of_moments = expected_loss(L, moments, levels, targets, pairs, push)
        assert value == pytest.approx(expected, rel=1e-12)

    def at(point):
        return point[: L.size].reshape(L.shape), point[L.size :].reshape(moments.shape)

    point, gradient = np.r_[L.ravel(), moments.ravel()], np.r_[of_map.ravel(), of_moments.ravel()]
    slope = check_grad(lambda x: brute_force(*at(x), levels, classes, targets, push), lambda _: gradient, point)
    assert slope < 1e-4 * np.linalg.norm(gradient)


def test_targets_are_those_of_the_distance_learned_before():
    """The loss reached is that of the targets that were nearest by the widths and the map of the pass before."""
    rng = np.random.default_rng(2)
    places = rng.integers(0, 4, (80, 2))
    classes = (places.sum(1) > 3).astype(int)
    targets, starts = target_neighbours(places.astype(float), classes, 3), np.array([0, 4])
    reached = []
    for passes in (1, 2):
        model = LatentIntervals(passes=passes).fit(places, classes, (4, 4))
        moments = np.stack([model.means_, model.variances_])
        loss = brute_force(model.components_, moments, places + starts, classes, targets, 0.5)
        reached.append(model.loss_)
        assert model.loss_ == pytest.approx(loss, rel=1e-9)
        M = model.components_.T @ model.components_
        gaps = model.means_[places + starts][:, None] - model.means_[places + starts]
        distance = np.einsum("ijf,fg,ijg->ij", gaps, M, gaps) + model.variances_[places + starts] @ np.diag(M)
        distance[classes[:, None] != classes] = np.inf
        np.fill_diagonal(distance, np.inf)
        targets = np.argsort(np.round(distance, 12), axis=1, kind="stable")[:, :3]
    assert reached[1] < reached[0]


def test_an_unknown_distribution_is_named():
    with pytest.raises(OrdinateError, match="distribution: got 'normal'"):
        LatentIntervals("normal").fit([[0], [1]], [0, 1], [2])
