"""Errors after training on ever fewer samples (SupCR, Section 4.3, Fig. 4; SupReMix, Section 4.4, Fig. 4)."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, is_classifier

from ordinate.checks import check_whole
from ordinate.data.rows import Samples, column_of, take
from ordinate.errors import OrdinateError
from ordinate_papers.protocols.parts import Figures, Keep, compute
from ordinate_papers.protocols.trial import check_labels, score, train, with_order_of


def reduced_data(
    estimator: BaseEstimator,
    X: Samples,
    y: ArrayLike,
    X_test: Samples,
    y_test: ArrayLike,
    *,
    sizes: Sequence[int],
    seed: int = 0,
    groups: ArrayLike | None = None,
    keep: Keep = compute,
) -> Figures:
    """Scores on one test set after training clones on subsets of the training samples.

    SupCR (Section 4.3, Fig. 4: IMDB-WIKI, subsampled) and SupReMix (Section 4.4, Fig. 4: 4k to 191.5k of it) do not say
    how they subsample; here a subset lies within every larger one, see :func:`nested_subsets`.

    Args beyond those of :mod:`ordinate_papers.protocols`:
        sizes: Sizes of the subsets.

    Returns:
        ``rows``, one per size, in the order of ``sizes``: ``size`` and the scores.

    Example:
        >>> from sklearn.linear_model import LinearRegression
        >>> X = np.arange(40.0)[:, None]
        >>> figures = reduced_data(LinearRegression(), X, 2 * X[:, 0], X, 2 * X[:, 0], sizes=[10, 40])
        >>> [(row["size"], round(row["mae"], 6)) for row in figures["rows"]]
        [(10, 0.0), (40, 0.0)]
    """
    estimator = with_order_of(estimator, y)
    labels = check_labels(X, y)

    def trial(subset: NDArray[np.int64]) -> Figures:
        samples = take(X, subset), labels[subset]
        return score(train(estimator, *samples, f"size-{len(subset)}", column_of(groups, subset)), X_test, y_test)

    subsets = nested_subsets(labels, sizes, seed, stratify=is_classifier(estimator))
    parts = zip(sizes, subsets, strict=True)
    return {"rows": [{"size": size, **keep(f"size-{size}", partial(trial, subset))} for size, subset in parts]}


def nested_subsets(
    y: ArrayLike, sizes: Sequence[int], seed: int = 0, *, stratify: bool = False
) -> list[NDArray[np.int64]]:
    """Draw random subsets of n samples, each within every larger one, as ascending rows.

    ``stratify`` keeps the ranks' shares, and at least one sample of every rank.

    Raises:
        OrdinateError: sizes below 1 or above n, or below the number of ranks where those are stratified.

    Example:
        >>> small, large = nested_subsets([0] * 8 + [1] * 4, [3, 6], stratify=True)
        >>> set(small) <= set(large), np.bincount(np.array([0] * 8 + [1] * 4)[large]).tolist()
        (True, [4, 2])
    """
    labels = np.asarray(y)
    random = np.random.default_rng(seed)
    order = random.permutation(len(labels))
    least = 1
    if stratify:
        ranks = np.unique(labels[order], return_inverse=True)[1]
        counts = np.bincount(ranks)
        least = len(counts)
        place = np.empty(len(order))
        for rank, count in enumerate(counts):  # The samples of a rank are placed at even distances, the first in front.
            place[ranks == rank] = np.concatenate([[0], (np.arange(1, count) + 0.5) / count])
        order = order[np.argsort(place, kind="stable")]
    for size in sizes:
        check_whole(size, "sizes", least)
        if size > len(labels):
            raise OrdinateError("sizes", size, f"at most {len(labels)}, the samples there are")
    return [np.sort(order[:size]) for size in sizes]
