"""Scores of label errors: how far each label lies from a prediction that does not depend on it.

A network learns the labels that it is trained on, the wrong ones too. So what a label is compared with has to come from
models that have not seen it: out-of-fold probabilities, embeddings and predictions, as confident learning takes them
(Northcutt, Jiang and Chuang, *Confident Learning: Estimating Uncertainty in Dataset Labels*, JAIR 70, 2021);
:func:`ordinate.estimators.label_errors.find_label_errors` makes them.

``labels`` are ranks (n,) from 0 to C-1, ``probabilities`` (n, C) with rows that sum to 1, ``embeddings`` (n, d), and
``k`` is the number of neighbours. OrdinateError is raised for shapes that do not fit, values that are no ranks, no
probabilities or not finite, and fewer than k samples to choose from.
"""

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from ordinate.counts import counted
from ordinate.errors import OrdinateError
from ordinate.heads.neighbours import NeighbourVote
from ordinate.metrics.embedding import DECIMALS
from ordinate.metrics.inputs import (
    LARGEST,
    check_embeddings,
    check_neighbours,
    check_probabilities,
    check_references,
)  # fmt: skip
from ordinate.metrics.neighbours import nearest_neighbours
from ordinate.options import Similarity


def suspicion(labels: ArrayLike, probabilities: ArrayLike) -> NDArray[np.float64]:
    """Return by how many ranks each label is farther from the truth than the best-fitting rank, for a certain truth.

    The score is the normalised margin of confident learning (the probability of the likeliest class minus that of the
    label), measured in ranks: with ``d(r) = sum_c p_c |r - c|``, the expected distance from rank r to the truth, and
    its smallest value ``d*``, the suspicion of label y is ``(d(y) - d*) / (1 + 2 d*)``. The divisor is
    the width of the range in which the truth may lie: the best rank itself and ``d*`` to either side. So a label two
    ranks off scores higher than one that is one rank off, and one that contradicts a confident prediction scores
    higher than one that contradicts a vague one.

    Returns:
        (n,), values from 0, where no rank fits better, to C-1.

    Example:
        >>> suspicion([0, 1, 2], [[0.9, 0.1, 0.0], [0.9, 0.1, 0.0], [0.9, 0.1, 0.0]])
        array([0.        , 0.66666667, 1.5       ])
    """
    ranks, distances = _expected_distances(labels, probabilities)
    least = distances.min(axis=1)
    return (distances[np.arange(len(ranks)), ranks] - least) / (1 + 2 * least)


def is_doubted(suspicion: ArrayLike, *, of_ranks: bool) -> NDArray[np.bool_]:
    """Return which labels (n,) are worth a look, by their :func:`suspicion` or :func:`residual_suspicion`.

    Ranks are from 0.4, about two fifths of a rank; targets beyond three robust standard deviations.

    Example:
        >>> is_doubted([0.3, 0.5, 5.0], of_ranks=True), is_doubted([0.3, 0.5, 5.0], of_ranks=False)
        (array([False,  True,  True]), array([False, False,  True]))
    """
    scores = np.asarray(suspicion, dtype=np.float64)
    return scores >= 0.4 if of_ranks else scores > 3 * 1.4826


def suggested_ranks(labels: ArrayLike, probabilities: ArrayLike) -> NDArray[np.int64]:
    """Return the rank of least expected distance to the truth, which is the median; the label itself if none is nearer.

    Returns:
        (n,), ranks that differ from the labels where, and only where, :func:`suspicion` is above 0.

    Example:
        >>> suggested_ranks([0, 1, 2], [[0.9, 0.1, 0.0], [0.5, 0.5, 0.0], [0.4, 0.3, 0.3]])
        array([0, 1, 1])
    """
    ranks, distances = _expected_distances(labels, probabilities)
    kept = distances[np.arange(len(ranks)), ranks] == distances.min(axis=1)
    return np.where(kept, ranks, distances.argmin(axis=1))


def neighbour_shares(
    embeddings: ArrayLike,
    ref_emb: ArrayLike,
    ref_labels: ArrayLike,
    num_classes: int,
    k: int,
    similarity: Similarity = "cosine",
) -> NDArray[np.float64]:
    """Return the share of every rank in the votes of the k nearest references (m, d), whose ranks are (m,).

    By cosine equally near references count equally, whatever their order; see :class:`~ordinate.heads.NeighbourVote`.
    By distance the first ones count.

    Returns:
        (n, C), shares in [0, 1]; rows sum to 1.

    Example:
        >>> references, ranks = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]], [0, 1, 1]
        >>> neighbour_shares([[1.0, 0.1]], references, ranks, num_classes=2, k=2).round(3)
        array([[0.5, 0.5]])
    """
    queries, _ = check_embeddings(embeddings, np.zeros(len(np.asarray(embeddings))))
    check_embeddings(ref_emb, ref_labels, num_classes, names=("ref_emb", "ref_labels"))
    refs, ranks = check_references(ref_emb, ref_labels, queries)
    k = check_neighbours(k, len(refs))
    if similarity != "cosine":
        voted = np.asarray(ranks)[nearest_neighbours(queries, refs, k, similarity=similarity)]
        return np.eye(num_classes)[voted].mean(1)
    vote = NeighbourVote(torch.from_numpy(refs), torch.from_numpy(ranks), num_classes, k)
    return vote(torch.from_numpy(queries)).numpy()


def residual_suspicion(targets: ArrayLike, predictions: ArrayLike, k: int = 50) -> NDArray[np.float64]:
    """Return the error of each prediction relative to the errors of similar predictions.

    The residual in units of the local spread, a normalised nonconformity score (Papadopoulos, Vovk and Gammerman,
    *Regression Conformal Prediction with Nearest Neighbours*, JAIR 40, 2011). The spread is the median absolute
    residual of the k samples around it in the order of the predictions, which wrong targets among them hardly move.

    Returns:
        Of targets (n,) and predictions (n,), values (n,) of at least 0; infinity where the spread is 0 and the residual
        is not.

    Example:
        >>> residual_suspicion([0.0, 2.0, 4.0, 9.0], [0.5, 1.5, 4.5, 5.0], k=3)
        array([1., 1., 1., 8.])
    """
    wanted, predicted = _as_targets(targets, "targets"), _as_targets(predictions, "predictions")
    if len(wanted) != len(predicted):
        raise OrdinateError("predictions", counted(len(predicted), "sample"), f"{len(wanted)}, as many as targets")
    k = check_neighbours(k, len(wanted))
    residuals = np.abs(wanted - predicted)
    order = np.argsort(predicted, kind="stable")
    medians = np.median(np.lib.stride_tricks.sliding_window_view(residuals[order], k), axis=1)
    spread = np.empty_like(residuals)
    spread[order] = medians[np.clip(np.arange(len(order)) - k // 2, 0, len(medians) - 1)]
    far = np.where(residuals > 0, np.inf, 0.0)
    return np.divide(residuals, spread, out=far, where=spread > 0)


def _expected_distances(labels: ArrayLike, probabilities: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Labels (n,), and from every rank (n, C) the expected distance to the truth."""
    shares, _ = check_probabilities(probabilities)
    _, ranks = check_embeddings(shares, labels, shares.shape[1], names=("probabilities", "labels"))
    every = np.arange(shares.shape[1])
    return ranks, np.round(shares @ np.abs(every[:, None] - every), DECIMALS)


def _as_targets(values: ArrayLike, name: str) -> NDArray[np.float64]:
    array = np.asarray(values)
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "biuf":
        raise OrdinateError(name, f"{array.dtype} of shape {array.shape}", "real numbers, (n,)")
    if not (np.abs(array) <= LARGEST).all():
        raise OrdinateError(name, f"NaN, infinity or more than {LARGEST:g}", "finite values")
    return array.astype(np.float64)
