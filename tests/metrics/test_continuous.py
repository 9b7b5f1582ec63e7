"""Metrics of targets against scikit-learn, SciPy and torchmetrics."""

import json
import time

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import gmean, pearsonr, spearmanr
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

from ordinate.errors import OrdinateError
from ordinate.metrics import continuous_report, geometric_mean_error, mae, pearson, r2, rmse, spearman

REPORTED = ["mae", "rmse", "r2", "pearson", "spearman", "geometric_mean_error"]
pairs_of_targets = arrays(
    np.float64, st.tuples(st.just(2), st.integers(2, 30), st.integers(1, 3)), elements=st.integers(-80, 80).map(float)
)


def vary(targets):
    return np.ptp(targets, axis=-2).min() > 0


@given(pairs_of_targets)
def test_errors_are_those_of_scikit_learn_and_scipy(pair):
    true, pred = pair / 8
    assert mae(true, pred) == pytest.approx(mean_absolute_error(true, pred), rel=1e-12)
    assert rmse(true, pred) == pytest.approx(root_mean_squared_error(true, pred), rel=1e-12)
    floored = np.maximum(np.abs(true - pred), 1e-10)
    assert geometric_mean_error(true, pred) == pytest.approx(gmean(floored, axis=0).mean(), rel=1e-12)


@given(pairs_of_targets)
def test_r2_and_correlations_are_those_of_scikit_learn_and_scipy(pair):
    assume(vary(pair))
    true, pred = pair / 8
    assert r2(true, pred) == pytest.approx(r2_score(true, pred), rel=1e-12, abs=1e-12)
    dimensions = list(zip(true.T, pred.T, strict=True))
    assert pearson(true, pred) == pytest.approx(np.mean([pearsonr(*d).statistic for d in dimensions]), abs=1e-12)
    assert spearman(true, pred) == pytest.approx(np.mean([spearmanr(*d).statistic for d in dimensions]), abs=1e-12)


def test_the_rank_correlation_is_that_of_scipy_with_many_ties_at_300000_samples():
    rng = np.random.default_rng(0)
    true = rng.integers(0, 100, 300_000) / 10
    pred = np.round(true + rng.normal(size=len(true)), 1)
    start = time.perf_counter()
    measured = spearman(true, pred)
    assert time.perf_counter() - start < 2  # 0.1 s on one core
    assert measured == pytest.approx(spearmanr(true, pred).statistic, abs=1e-12)


@pytest.mark.parametrize("name", REPORTED)
def test_dimensions_are_averaged_and_a_single_one_may_be_flat(name):
    rng = np.random.default_rng(1)
    true, pred = rng.normal(size=(2, 20, 3))
    report = continuous_report(true, pred)
    each = [continuous_report(true[:, p], pred[:, [p]])[name] for p in range(3)]
    assert report[name] == pytest.approx(np.mean(each), rel=1e-12)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("constant", [0.0, 0.1, 1e9])
@pytest.mark.parametrize("n", [1, 3])
def test_undefined_values_are_0_without_a_warning(constant, n):
    flat, varying = np.full(n, constant), np.arange(n)
    for true, pred in [(flat, flat), (flat, varying), (varying, flat)]:
        assert pearson(true, pred) == 0.0
        assert spearman(true, pred) == 0.0
    assert r2(flat, flat) == 0.0
    assert r2(flat, varying) == 0.0


@pytest.mark.filterwarnings("error")
def test_correlations_hold_at_both_ends_of_float64():
    true, pred = np.array([1.0, 2.0, 3.0, 5.0]), np.array([2.0, 1.0, 4.0, 4.0])
    expected = pearsonr(true, pred).statistic
    assert pearson(true * 1e-300, pred * 1e149) == pytest.approx(expected, abs=1e-12)


def test_one_exact_prediction_does_not_make_the_geometric_mean_0():
    assert geometric_mean_error([1.0, 2.0], [1.0, 3.0]) == pytest.approx(1e-5, rel=1e-12)
    assert geometric_mean_error([1.0, 2.0], [1.0, 2.0]) == pytest.approx(1e-10, rel=1e-12)


def test_the_report_is_json_of_its_metrics():
    true, pred = [1.0, 2.0, 4.0], [1.5, 2.0, 3.0]
    report = continuous_report(true, pred)
    assert report == {m.__name__: m(true, pred) for m in (mae, rmse, r2, pearson, spearman, geometric_mean_error)}
    assert list(report) == REPORTED
    assert json.loads(json.dumps(report, allow_nan=False)) == report


@pytest.mark.parametrize(
    ("true", "pred", "message"),
    [
        ([0.0, 1.0], [0.0], "y_pred: got 1 sample, expected 2"),
        ([[0.0, 1.0]], [0.0], "y_pred: got 1 dimension, expected 2, those of y_true"),
        ([], [], "y_true: got shape .* at least one sample"),
        ([0.0, np.inf], [0.0, 1.0], "y_true: got NaN or infinity"),
        ([0.0, 1.0], [0.0, np.nan], "y_pred: got NaN or infinity"),
        ([0.0, 1.0], [0.0, 1e200], "y_pred: got 1e\\+200, expected magnitudes up to 1e\\+150"),
        (np.zeros((2, 2, 2)), np.zeros((2, 2, 2)), "y_true: got shape"),
        (1.0, 1.0, "y_true: got shape"),
        ([0j, 1j], [0.0, 1.0], "y_true: got dtype complex"),
    ],
)
def test_targets_that_cannot_be_used_are_named(true, pred, message):
    with pytest.raises(OrdinateError, match=message):
        continuous_report(true, pred)
