"""Training labels that are biased at a critical boundary (CLOC, Section 4.4, Table 3)."""

from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, is_classifier

from ordinate.checks import check_whole
from ordinate.data.rows import Samples
from ordinate.errors import OrdinateError
from ordinate.metrics import adjacent_error_rates
from ordinate.model.labels import to_ranks
from ordinate_papers.protocols.parts import Figures, Keep, compute
from ordinate_papers.protocols.trial import classes_of, score_ranks, train, with_order_of


def label_bias(
    estimator: BaseEstimator,
    X: Samples,
    y: ArrayLike,
    X_test: Samples,
    y_test: ArrayLike,
    *,
    boundary: tuple[object, object],
    up: float = 0.6,
    down: float = 0.3,
    seed: int = 0,
    groups: ArrayLike | None = None,
    keep: Keep = compute,
) -> Figures:
    """Scores on clean test labels after training on labels that are biased at one boundary.

    CLOC, Section 4.4, Table 3: in IDRiD's training set 60% of the samples of grade 1 are relabelled as grade 2 and 30%
    of those of grade 2 as grade 1, to simulate diagnostic bias; CLOC with learned margins is compared with CLOC with a
    larger margin fixed at the boundary (``critical_margins``), whose value the paper does not give, and with others.
    Chosen here: the samples are drawn by :func:`bias_labels`, the same for every estimator, and the error rate at the
    boundary is measured too.

    Args beyond those of :mod:`ordinate_papers.protocols`:
        estimator: Classifier of ranks, not fitted; its ``class_order``, if it has one, orders text.
        boundary: Two adjacent labels, the lower first.
        up: Share of the samples of the lower label that gets the higher.
        down: Share of the samples of the higher label that gets the lower.

    Returns:
        ``rows``, one of them: ``relabelled``, the number of samples, the scores, and ``critical_error``, the error rate
        between the boundary's ranks (:func:`~ordinate.metrics.adjacent_error_rates`).

    Raises:
        OrdinateError: a regressor, or a boundary that is not there.

    Example:
        >>> from sklearn.neighbors import KNeighborsClassifier
        >>> X = np.arange(60.0)[:, None]
        >>> y = np.repeat([0, 1, 2], 20)
        >>> figures = label_bias(KNeighborsClassifier(1), X, y, X, y, boundary=(1, 2))
        >>> figures["rows"][0]["relabelled"], figures["rows"][0]["accuracy"]
        (18, 0.7)
    """
    if not is_classifier(estimator):
        raise OrdinateError("estimator", "a regressor", "a classifier of ranks")
    estimator = with_order_of(estimator, y)
    classes = classes_of(estimator, y)
    ranks, true = to_ranks(y, classes), to_ranks(y_test, classes)
    boundaries = list(pairwise(classes.tolist()))
    if boundary not in boundaries:
        shown = " < ".join(map(repr, classes.tolist()))
        raise OrdinateError("boundary", repr(boundary), f"two adjacent labels, lower first, of {shown}")
    low = boundaries.index(boundary)
    biased = bias_labels(ranks, (low, low + 1), up, down, seed)

    def trial() -> Figures:
        predicted = to_ranks(train(estimator, X, classes[biased], "biased", groups).predict(X_test), classes)
        critical = adjacent_error_rates(true, predicted, len(classes))[low]
        scores = score_ranks(true, predicted, len(classes))
        return {"relabelled": int((biased != ranks).sum()), **scores, "critical_error": float(critical)}

    return {"rows": [keep("biased", trial)]}


def bias_labels(
    y: ArrayLike, boundary: tuple[int, int], up: float = 0.6, down: float = 0.3, seed: int = 0
) -> NDArray[np.int64]:
    """Relabel a share of the samples (n,) on either side of a boundary as the other side's rank (CLOC, Section 4.4).

    ``up`` is the share of rank h that becomes h + 1, ``down`` that of h + 1 that becomes h, rounded to whole samples.

    Raises:
        OrdinateError: a boundary without samples on both sides, or shares out of range.

    Example:
        >>> np.bincount(bias_labels([0] * 5 + [1] * 10 + [2] * 10, (1, 2))).tolist()
        [5, 7, 13]
    """
    ranks = np.asarray(y)
    low, high = boundary
    if high - low != 1 or not np.isin(boundary, ranks).all():
        raise OrdinateError("boundary", repr(boundary), "two adjacent ranks (h, h + 1), each with a sample")
    for name, share in (("up", up), ("down", down)):
        if not 0 <= share <= 1:
            raise OrdinateError(name, repr(share), "a share from 0 to 1")
    random = np.random.default_rng(check_whole(seed, "seed", least=0))
    biased = ranks.astype(np.int64)
    for rank, other, share in ((low, high, up), (high, low, down)):
        rows = np.flatnonzero(ranks == rank)
        biased[random.permutation(rows)[: round(share * len(rows))]] = other
    return biased
