"""Large margin nearest neighbours against loops over triples, and what the map is for."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from ordinate.errors import OrdinateError
from ordinate_papers.estimators.lmnn import (
    LargeMarginNearestNeighbours,
    find_impostors,
    lmnn_loss,
    target_neighbours,
)


def draw(n=30, d=3, num_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.integers(0, num_classes, n), rng.normal(size=(d, d))


def brute_force(L, X, classes, targets, push):
    """The loss and its gradient, a triple at a time, from Weinberger and Saul's equations 11 to 13."""
    loss, gradient = 0.0, np.zeros((X.shape[1], X.shape[1]))
    for i in range(len(X)):
        for j in targets[i][targets[i] >= 0]:
            a = X[i] - X[j]
            near = np.sum((L @ a) ** 2)
            loss += (1 - push) * near
            gradient += (1 - push) * np.outer(a, a)
            for other in np.flatnonzero(classes != classes[i]):
                b = X[i] - X[other]
                hinge = 1 + near - np.sum((L @ b) ** 2)
                if hinge > 0:
                    loss += push * hinge
                    gradient += push * (np.outer(a, a) - np.outer(b, b))
    return loss / len(X), 2 * L @ gradient / len(X)


def every_other(classes):
    return csr_array(classes[:, None] != classes)


@pytest.mark.parametrize("push", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_loss_and_gradient_are_those_of_a_loop_over_triples(push, seed):
    X, classes, L = draw(seed=seed)
    classes[0] = 9  # alone in its class, so without a target
    targets = target_neighbours(X, classes, 3)
    loss, gradient = brute_force(L, X, classes, targets, push)
    for pairs in (every_other(classes), find_impostors(L, X, classes, targets)):
        measured = lmnn_loss(L.ravel(), X, targets, pairs, push)
        assert measured[0] == pytest.approx(loss, rel=1e-12)
        np.testing.assert_allclose(measured[1].reshape(L.shape), gradient, rtol=1e-10, atol=1e-10)


def test_targets_are_the_nearest_of_the_own_class():
    X, classes, _ = draw(n=40, seed=1)
    targets = target_neighbours(X, classes, 3)
    for i, own in enumerate(targets):
        others = [j for j in np.flatnonzero(classes == classes[i]) if j != i]
        assert own.tolist() == sorted(others, key=lambda j: np.sum((X[i] - X[j]) ** 2))[:3]


@pytest.mark.parametrize("integers", [False, True])
def test_the_loss_found_is_that_of_a_long_subgradient_descent(integers):
    """In M = L'L the problem is convex: projected subgradient steps end near the same least loss."""
    X, classes, _ = draw(n=60, d=3, num_classes=2, seed=3)
    X = np.round(2 * X) if integers else X
    targets = target_neighbours(X, classes, 3)
    pairs, metric, least = every_other(classes), np.eye(3), np.inf
    for step in range(1000):
        values, vectors = np.linalg.eigh(metric)
        root = np.maximum(values, 1e-9) ** 0.5
        loss, gradient = lmnn_loss((vectors.T * root[:, None]).ravel(), X, targets, pairs, 0.5)
        least = min(least, loss)
        slope = (vectors / root) @ gradient.reshape(3, 3) / 2  # of the loss over M: 2 L slope is the gradient over L
        stepped = metric - 0.3 / (1 + step) ** 0.7 * (slope + slope.T) / np.linalg.norm(slope + slope.T)
        values, vectors = np.linalg.eigh(stepped)
        metric = (vectors * np.maximum(values, 0)) @ vectors.T
    assert LargeMarginNearestNeighbours().fit(X, classes).loss_ == pytest.approx(least, rel=5e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors: got 0, expected a whole number"),
        ({"max_iter": 1.5}, r"max_iter: got 1\.5"),
        ({"push": 2}, r"push: got 2, expected a weight in \[0, 1\]"),
    ],
)
def test_options_that_cannot_be_used_are_named(options, message):
    with pytest.raises(OrdinateError, match=message):
        LargeMarginNearestNeighbours(**options).fit([[0.0], [1.0]], [0, 1])
