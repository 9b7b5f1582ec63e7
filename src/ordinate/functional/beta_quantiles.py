"""Quantiles of Beta distributions, with NumPy alone: SciPy has them too, and the losses do not require it."""

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def beta_quantiles(alpha: float, beta: float, count: int) -> Floats:
    """Return the quantiles of Beta(alpha, beta) at ``count`` even steps from 0 to 1, by bisection.

    Example:
        >>> beta_quantiles(1.0, 2.0, 3).round(6).tolist()  # the distribution function is 1 - (1 - x)²
        [0.0, 0.292893, 1.0]
    """
    places = np.linspace(0, 1, count)
    low, high = np.zeros(count), np.ones(count)
    for _ in range(60):  # A binary search over an interval of length 1 is then exact in float64.
        middle = (low + high) / 2
        below = _cumulated(middle, alpha, beta) < places
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    high[0], high[-1] = 0, 1
    return high


def _cumulated(x: Floats, alpha: float, beta: float) -> Floats:
    """Return the distribution function, the regularised incomplete beta function, between 0 and 1."""
    upper = x > (alpha + 1) / (alpha + beta + 2)  # The fraction converges faster from the other end there.
    values = np.empty_like(x)
    values[~upper] = _from_zero(x[~upper], alpha, beta)
    values[upper] = 1 - _from_zero(1 - x[upper], beta, alpha)
    return values


def _from_zero(x: Floats, alpha: float, beta: float) -> Floats:
    scale = math.lgamma(alpha + beta) - math.lgamma(alpha + 1) - math.lgamma(beta)
    with np.errstate(divide="ignore"):  # The other end is 0 at x = 1.
        return np.exp(alpha * np.log(x) + beta * np.log1p(-x) + scale) * _fraction(x, alpha, beta)


def _fraction(x: Floats, alpha: float, beta: float, max_terms: int = 1000) -> Floats:
    """Return the continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's method.

    It takes about sqrt(max(alpha, beta)) terms.
    """
    upper, lower = np.ones_like(x), 1 / (1 - (alpha + beta) * x / (alpha + 1))
    value = lower.copy()
    for m in range(1, max_terms):
        whole = alpha + 2 * m
        even = m * (beta - m) * x / ((whole - 1) * whole)
        odd = -(alpha + m) * (alpha + beta + m) * x / (whole * (whole + 1))
        for term in (even, odd):
            lower, upper = 1 / (1 + term * lower), 1 + term / upper
            value *= upper * lower
        if np.all(np.abs(upper * lower - 1) < 1e-15):
            break
    return value
