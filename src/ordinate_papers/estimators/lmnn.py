"""Large margin nearest neighbours: a linear map after which a sample's neighbours carry its label.

Weinberger and Saul, Journal of Machine Learning Research 10, 2009: for a map L, with d(i, j) = |L x_i - L x_j|^2,
targets j of a sample i (its k nearest of its own class, found once, before training) and impostors l (all of other
classes),

    (1 - push) sum_ij d(i, j)  +  push sum_ijl max(0, 1 + d(i, j) - d(i, l)),

here divided by the number of samples. Target distances pull, impostors inside the margin push.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_array, vstack
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ordinate.checks import check_whole
from ordinate.errors import OrdinateError

PAIRS = 1 << 22  # At most this many distances are held at a time.
START = 0.8408964152537145  # Start value of the map, 2 ** -0.25.


@dataclass(eq=False, repr=False)
class LargeMarginNearestNeighbours(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """The linear map of large margin nearest neighbours.

    L-BFGS finds it in rounds, each over the impostors that were inside a margin after one of the two rounds before, a
    small part of all pairs; where a round adds many, the next is short. The map of the lowest loss over all pairs is
    kept.

    Args:
        n_neighbors: Number of target neighbours of a sample; fewer in a class with fewer samples.
        push: Weight of the impostors in [0, 1]; the targets get the rest.
        max_iter: L-BFGS iterations at most.

    Attributes:
        components_: (d, d), L.
        loss_: Final loss.
        n_iter_: L-BFGS iterations.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(60, 2)) * [1, 10]
        >>> y = X[:, 0] > 0
        >>> scale = np.linalg.norm(LargeMarginNearestNeighbours().fit(X, y).components_, axis=0)
        >>> bool(scale[0] > scale[1])
        True
    """

    n_neighbors: int = 3
    push: float = 0.5
    max_iter: int = 300

    def fit(self, X: ArrayLike, y: ArrayLike) -> "LargeMarginNearestNeighbours":
        """Learn the map from samples (n, d) and their classes (n,)."""
        check_whole(self.n_neighbors, "n_neighbors")
        check_whole(self.max_iter, "max_iter")
        if not 0 <= self.push <= 1:
            raise OrdinateError("push", repr(self.push), "a weight in [0, 1]")
        points, labels = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(labels)
        classes = np.unique(labels, return_inverse=True)[1]
        targets = target_neighbours(points, classes, self.n_neighbors)
        # With a margin of 1, this start avoids whole distances, where integer codes would put every hinge on its kink.
        start = np.eye(points.shape[1]) * START
        found = descend(
            start.ravel(),
            lambda components, impostors: lmnn_loss(components, points, targets, impostors, self.push),
            lambda components: find_impostors(components.reshape(start.shape), points, classes, targets),
            self.max_iter,
        )
        self.components_, self.loss_, self.n_iter_ = found.point.reshape(start.shape), found.loss, found.iterations
        self._n_features_out = len(start)
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return mapped samples (n, d)."""
        check_is_fitted(self)
        points = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(points @ self.components_.T)


@dataclass(frozen=True)
class Minimum:
    """The point of the lowest loss over all pairs, that loss, and the L-BFGS iterations that it took."""

    point: NDArray[np.float64]
    loss: float
    iterations: int


def descend(
    start: NDArray[np.float64],
    loss: Callable[..., tuple[float, NDArray[np.float64]]],
    find: Callable[[NDArray[np.float64]], csr_array],
    max_iter: int,
    bounds: Sequence[tuple[float | None, float | None]] | None = None,
    *,
    short: int = 5,
    long: int = 30,
    many: float = 0.1,
    tolerance: float = 1e-3,
    patience: int = 3,
) -> Minimum:
    """Minimise a loss over impostors in rounds of L-BFGS, each with those that ``find`` gave after the two before it.

    Args:
        start: (p,), where to start.
        loss: Function of a point (p,) and of impostors (n, n) that returns a value and a gradient (p,).
        find: Function of a point that returns the impostors inside a margin there.
        max_iter: L-BFGS iterations at most.
        bounds: Bounds of every coordinate; None for none.
        short: L-BFGS iterations of a round after one that found many impostors.
        long: Largest number of L-BFGS iterations of a round.
        many: Share of the known impostors above which new ones are many.
        tolerance: Relative improvement of the loss, below which it has converged.
        patience: Number of rounds within which the loss must improve by more.
    """
    point, best, lowest_loss, iterations = start, start, np.inf, 0
    active = find(point)
    before, length, lowest = active, short, [np.inf]
    while iterations < max_iter:
        known = before + active
        found = minimize(
            loss,
            point,
            args=(known,),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": min(length, max_iter - iterations)},
        )
        iterations += max(1, found.nit)
        point = found.x
        before, active = active, find(point)
        value = loss(point, active)[0]
        if value < lowest_loss:
            lowest_loss, best = value, point
        lowest.append(lowest_loss)
        if len(lowest) > patience and lowest[-1] > (1 - tolerance) * lowest[-1 - patience]:
            break
        length = min(2 * length, long)
        if (active > known).nnz > many * known.nnz:
            length = short
    return Minimum(best, lowest_loss, iterations)


def target_neighbours(
    X: NDArray[np.float64], classes: NDArray[np.intp], k: int, spread: NDArray[np.float64] | None = None
) -> NDArray[np.intp]:
    """Return the k nearest (n, k) of each sample's own class, of equally near ones the first; -1 where there is none.

    ``spread`` (n,), where it is given, is added to every squared distance to a sample.

    Example:
        >>> target_neighbours(np.array([[0.0], [1.0], [5.0], [9.0]]), np.array([0, 0, 0, 1]), k=1).tolist()
        [[1], [0], [1], [-1]]
    """
    targets = np.full((len(X), k), -1)
    for label in np.unique(classes):
        members = np.flatnonzero(classes == label)
        near = min(k, len(members) - 1)
        for rows in _blocks(len(members)):
            distance = cdist(X[members[rows]], X[members], "sqeuclidean")
            if spread is not None:
                distance += spread[members]
            distance[np.arange(len(rows)), rows] = np.inf
            targets[members[rows], :near] = members[np.argsort(distance, axis=1, kind="stable")[:, :near]]
    return targets


def find_impostors(
    components: NDArray[np.float64],
    X: NDArray[np.float64],
    classes: NDArray[np.intp],
    targets: NDArray[np.intp],
    spread: NDArray[np.float64] | None = None,
) -> csr_array:
    """Return (n, n), True where a sample of another class lies inside the margin of a sample's farthest target.

    ``spread`` (n,), where it is given, is added to every squared distance of a sample, and so that of the other.
    """
    mapped = X @ components.T
    farthest = _reach(mapped, targets, spread).max(axis=1)
    blocks = []
    for rows in _blocks(len(X)):
        distance = cdist(mapped[rows], mapped, "sqeuclidean")
        if spread is not None:
            distance += spread[rows, None] + spread
        blocks.append(csr_array((distance < 1 + farthest[rows, None]) & (classes[rows, None] != classes)))
    return csr_array(vstack(blocks))


def lmnn_loss(
    components: NDArray[np.float64],
    X: NDArray[np.float64],
    targets: NDArray[np.intp],
    impostors: csr_array,
    push: float,
) -> tuple[float, NDArray[np.float64]]:
    """Return the loss of a map (d * d,) and its gradient (d * d,).

    Args:
        components: (d * d,), L.
        X: (n, d).
        targets: (n, k), of :func:`target_neighbours`.
        impostors: (n, n), the pairs of a sample and an impostor to look at; no other pair is inside a margin.
        push: Weight of the impostors.
    """
    n, d = X.shape
    L = components.reshape(d, d)
    loss, weights = weigh_pairs(X @ L.T, targets, impostors, push)
    return loss, (2 / n * L @ scatter(X, weights)).ravel()


def weigh_pairs(
    mapped: NDArray[np.float64],
    targets: NDArray[np.intp],
    impostors: csr_array,
    push: float,
    spread: NDArray[np.float64] | None = None,
) -> tuple[float, csr_array]:
    """Return the loss of mapped samples (n, d), and (n, n), n times its derivative by every pair's squared distance."""
    n = len(mapped)
    reach = _reach(mapped, targets, spread)
    pull = np.where(targets < 0, 0.0, 1 - push)  # Weight of the distance to each target.
    sample = np.repeat(np.arange(n), np.diff(impostors.indptr))
    distance = _squared_distances(mapped, sample, impostors.indices)
    if spread is not None:
        distance += spread[sample] + spread[impostors.indices]
    inside = np.zeros(len(distance))  # Number of the sample's targets whose margins an impostor invades.
    for place in range(targets.shape[1]):
        active = distance < 1 + reach[sample, place]
        inside += active
        pull[:, place] += push * np.bincount(sample[active], minlength=n)
    paired = targets >= 0
    loss = push * (inside.sum() - inside @ distance) + np.sum(pull[paired] * reach[paired])
    weights = csr_array((-push * inside, impostors.indices, impostors.indptr), shape=(n, n))
    weights = weights + csr_array((pull[paired], (np.nonzero(paired)[0], targets[paired])), shape=(n, n))
    return float(loss) / n, weights


def _reach(
    mapped: NDArray[np.float64], targets: NDArray[np.intp], spread: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return squared distances (n, k) to the targets; minus infinity where there is none."""
    reach = np.sum((mapped[:, None] - mapped[targets]) ** 2, axis=2)
    if spread is not None:
        reach += spread[:, None] + spread[targets]
    return np.where(targets < 0, -np.inf, reach)


def _squared_distances(
    mapped: NDArray[np.float64], first: NDArray[np.signedinteger], second: NDArray[np.signedinteger]
) -> NDArray[np.float64]:
    chunks = max(1, len(first) * mapped.shape[1] // PAIRS)
    parts = zip(np.array_split(first, chunks), np.array_split(second, chunks), strict=True)
    return np.concatenate([np.sum((mapped[i] - mapped[j]) ** 2, axis=1) for i, j in parts])


def scatter(X: NDArray[np.float64], weights: csr_array) -> NDArray[np.float64]:
    """Return sum_ij w_ij (x_i - x_j)(x_i - x_j)' (d, d) without forming the differences."""
    cross = X.T @ (weights @ X)
    diagonal = (X.T * (weights.sum(axis=1) + weights.sum(axis=0))) @ X
    return np.asarray(diagonal - cross - cross.T)


def _blocks(n: int) -> list[NDArray[np.intp]]:
    return np.array_split(np.arange(n), max(1, -(-n * n // PAIRS)))
