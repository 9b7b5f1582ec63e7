"""Ridge regression against scikit-learn, with the penalty of the lowest error when each sample is left out in turn."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.preprocessing import StandardScaler

from ordinate.heads import fit_ridge

ALPHAS = np.logspace(-6, 4, 21)


def draw(n, d, p=2, noise=1.0, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) * rng.uniform(0.01, 100, d) + rng.normal(size=d)
    y = x @ rng.normal(size=(d, p)) / 50 + noise * rng.normal(size=(n, p)) * [1, 20][:p] + 5
    return x, y


def predictions(x, y, new):
    return fit_ridge(torch.from_numpy(x), torch.from_numpy(y))(torch.from_numpy(new)).detach().numpy()


@pytest.mark.parametrize(("n", "d"), [(12, 3), (8, 15)], ids=["more samples", "more dimensions"])
@pytest.mark.parametrize("noise", [0.01, 3.0])
def test_the_head_is_ridge_regression_with_the_best_penalty_left_one_out(n, d, noise):
    x, y = draw(n, d, noise=noise)
    scaler, target_scaler = StandardScaler().fit(x), StandardScaler().fit(y)
    z, t = scaler.transform(x), target_scaler.transform(y)
    errors = [np.mean((cross_val_predict(Ridge(alpha), z, t, cv=LeaveOneOut()) - t) ** 2) for alpha in ALPHAS]
    best = Ridge(ALPHAS[np.argmin(errors)]).fit(z, t)
    new = draw(5, d, seed=1)[0]
    expected = target_scaler.inverse_transform(best.predict(scaler.transform(new)))
    np.testing.assert_allclose(predictions(x, y, new), expected, rtol=1e-7, atol=1e-7)


def test_the_unit_of_the_embeddings_and_of_the_targets_does_not_matter():
    x, y = draw(30, 4)
    unit = np.array([1e-3, 1, 10, 1e4])
    expected = predictions(x, y, x)
    np.testing.assert_allclose(predictions(x * unit + 3, y * 1e3 - 2, x * unit + 3), expected * 1e3 - 2, rtol=1e-6)


def test_a_constant_dimension_changes_nothing():
    x, y = draw(30, 4)
    with_constant = np.column_stack([x, np.full(30, 0.1)])
    np.testing.assert_allclose(predictions(with_constant, y, with_constant), predictions(x, y, x), rtol=0, atol=1e-9)


def test_embeddings_that_coincide_predict_the_mean():
    _, y = draw(30, 4)
    np.testing.assert_allclose(predictions(np.ones((30, 3)), y, np.ones((1, 3))), y.mean(0)[None], rtol=0, atol=1e-9)
