"""Weights of models by their errors on samples that they have not seen."""

import numpy as np
import pytest
from scipy.optimize import minimize

from ordinate.blend.weights import average, choose_shares

RANDOM = np.random.default_rng(0)


def drawn(scales, n=300, k=3):
    common = RANDOM.normal(size=(n, k))
    return {name: scale * (common + RANDOM.normal(size=(n, k))) for name, scale in scales.items()}


def test_shares_are_those_of_the_smallest_squared_error():
    residuals, weights = drawn({"a": 1.0, "b": 1.3, "c": 4.0}), RANDOM.uniform(0.1, 2, 300)
    shares = choose_shares(residuals, weights, least=0)
    stacked = np.stack([*residuals.values()])

    def loss(w):
        return np.average(((w[:, None, None] * stacked).sum(0) ** 2).sum(1), weights=weights)

    best = minimize(
        loss, np.full(3, 1 / 3), bounds=[(0, 1)] * 3, constraints={"type": "eq", "fun": lambda w: w.sum() - 1}
    )
    assert sum(shares.values()) == pytest.approx(1)
    found = np.array([shares.get(name, 0.0) for name in residuals])
    assert loss(found) <= best.fun * (1 + 1e-6)
    np.testing.assert_allclose(found, best.x, atol=0.01)


def test_a_model_that_adds_little_is_left_out():
    residuals = drawn({"a": 1.0})
    residuals["b"] = 10 * residuals["a"]
    assert choose_shares(residuals) == {"a": 1.0}


def test_a_perfect_model_has_all_the_weight():
    residuals = drawn({"a": 1.0})
    assert choose_shares(residuals | {"perfect": np.zeros((300, 3))}) == {"perfect": 1.0}


def test_samples_count_by_their_weight():
    half = np.arange(300)[:, None] % 2
    residuals = {"even": 3.0 * half, "odd": 3.0 * (1 - half)}
    weights = np.where(half[:, 0] == 1, 1.0, 1e-6)
    assert choose_shares(residuals, weights) == pytest.approx({"odd": 1.0})


def test_predictions_are_averaged_by_shares():
    predictions = {"a": np.zeros((2, 1)), "b": np.ones((2, 1)), "c": np.full((2, 1), 9.0)}
    np.testing.assert_allclose(average(predictions, {"a": 0.25, "b": 0.75}), 0.75)
