"""The folds that members do not see, and the shares of several models in the mean of their predictions."""

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray


def assign_folds(
    targets: NDArray[np.generic], folds: int, seed: int, groups: NDArray[np.generic] | None = None
) -> NDArray[np.int64]:
    """Return the fold (n,) of every sample, 0 to folds-1, so that each has about the same samples of any label.

    Args:
        targets: Ranks or targets (n,).
        folds: Number of folds, at most n.
        seed: Seed of the drawing.
        groups: (n,), each of which lies in one fold.

    Example:
        >>> np.bincount(assign_folds(np.arange(12) // 4, 4, seed=0)).tolist()
        [3, 3, 3, 3]
    """
    generator = np.random.default_rng(seed)
    units = np.arange(len(targets)) if groups is None else pd.factorize(groups)[0]
    labels = pd.Series(targets).groupby(units).median().to_numpy()  # The label of a sample, or the median of a group.
    order = np.lexsort((generator.random(len(labels)), labels))
    fold_of_unit = np.empty(len(labels), dtype=np.int64)
    for start in range(0, len(order), folds):  # Neighbours in the order of the labels fall into different folds.
        block = order[start : start + folds]
        fold_of_unit[block] = generator.permutation(folds)[: len(block)]
    assigned: NDArray[np.int64] = fold_of_unit[units]
    return assigned


def choose_shares(
    predictions: Mapping[str, NDArray[np.float64]],
    losses: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    start: Mapping[str, float],
    weights: NDArray[np.float64] | None = None,
    errors_to_gain: Mapping[str, float] | None = None,
    least: float = 0.05,
) -> dict[str, float]:
    """Return the shares, of sum 1, with which to average models, from predictions of samples that they have not seen.

    Each model in turn takes the share that gains most, less so many standard errors of the gain: what is within them is
    chance, and the start is kept.

    Args:
        predictions: (n, C) or (n, 1) of each model, in the order in which they are tried.
        losses: Losses of predictions, one per sample (n,).
        start: Initial shares.
        weights: (n,), by which samples count; None for equal ones.
        errors_to_gain: Number of standard errors by which a model must gain, by default 1.
        least: Smallest share; a model with less is left out.

    Example:
        >>> y = np.arange(40.0)[:, None]
        >>> shares = choose_shares({"good": y + 1, "bad": 0 * y}, lambda p: (p - y)[:, 0] ** 2, {"bad": 1.0})
        >>> shares
        {'good': 1.0}
    """
    shares = dict.fromkeys(predictions, 0.0) | dict(start)
    blended = blend(predictions, shares)
    for name, predicted in predictions.items():
        step = best_share(blended, predicted, losses, weights, (errors_to_gain or {}).get(name, 1.0))
        if step > 0:
            shares = {other: (1 - step) * share for other, share in shares.items()}
            shares[name] += step
            blended = (1 - step) * blended + step * predicted
    kept = {name: share for name, share in shares.items() if share >= least}
    return {name: share / sum(kept.values()) for name, share in kept.items()}


def blend(predictions: Mapping[str, NDArray[np.float64]], shares: Mapping[str, float]) -> NDArray[np.float64]:
    """Return the mean of predictions by their shares."""
    parts = [share * predictions[name] for name, share in shares.items()]
    return np.asarray(np.sum(parts, axis=0))


def best_share(
    blended: NDArray[np.float64],
    predicted: NDArray[np.float64],
    losses: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    weights: NDArray[np.float64] | None = None,
    errors: float = 1.0,
) -> float:
    """Return the share of a further model that gains most, less so many standard errors; 0 if none gains.

    Args:
        blended: Predictions (n, C) or (n, 1) of the blend so far.
        predicted: Predictions of the further model.
        losses: Losses of predictions, one per sample (n,).
        weights: (n,), by which samples count; None for equal ones.
        errors: Standard errors by which it must gain.
    """
    before = losses(blended)
    gains = []
    steps = np.linspace(0.1, 1.0, 10)
    for step in steps:
        gain = before - losses((1 - step) * blended + step * predicted)
        gains.append(_lower_bound(gain, weights, errors))
    return float(steps[np.argmax(gains)]) if max(gains) > 0 else 0.0


def _lower_bound(gain: NDArray[np.float64], weights: NDArray[np.float64] | None, errors: float) -> float:
    """Return the mean gain less so many standard errors."""
    mean = np.average(gain, weights=weights)
    deviation = np.sqrt(np.average((gain - mean) ** 2, weights=weights))
    return float(mean - errors * deviation / np.sqrt(len(gain)))
