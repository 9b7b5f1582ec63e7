"""Weights with which the predictions of several models are averaged. They know no models."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls


def choose_shares(
    residuals: Mapping[str, NDArray[np.float64]], weights: NDArray[np.float64] | None = None, least: float = 0.02
) -> dict[str, float]:
    """Return the shares, at least 0 and of sum 1, with which the mean of models has the smallest squared error.

    Args:
        residuals: Errors (n, k) of each model on samples that it has not seen: of a target, or of the probabilities
            that the rank exceeds each threshold, whose squares add up to the ranked probability score.
        weights: (n,), by which samples count; None for equal ones.
        least: Smallest share; a model with less is left out.

    Example:
        >>> noise = np.array([[1.0], [-1.0], [1.0], [-1.0]])
        >>> shares = choose_shares({"a": noise, "b": -noise, "c": noise + 3})
        >>> {name: round(share, 6) for name, share in shares.items()}
        {'a': 0.5, 'b': 0.5}
    """
    stacked = np.stack([*residuals.values()])
    counted = np.ones(stacked.shape[1]) if weights is None else weights
    products = np.einsum("ank,bnk,n->ab", stacked, stacked, counted) / counted.sum()
    # The shares minimise |root @ shares|; a row of large numbers makes their sum 1.
    values, vectors = np.linalg.eigh(products)
    root, large = np.sqrt(np.maximum(values, 0))[:, None] * vectors.T, 1e3 * np.sqrt(np.trace(products)) + 1e-12
    found, _ = nnls(np.vstack([root, np.full(len(products), large)]), np.append(np.zeros(len(products)), large))
    kept = {name: float(share) for name, share in zip(residuals, found / found.sum(), strict=True) if share >= least}
    return {name: share / sum(kept.values()) for name, share in kept.items()}


def average(predictions: Mapping[str, NDArray[np.float64]], shares: Mapping[str, float]) -> NDArray[np.float64]:
    """Return the mean of predictions by their shares."""
    return np.asarray(sum(share * predictions[name] for name, share in shares.items()))
