"""Contributions of columns to a prediction, against Shapley values by brute force."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest

from ordinate import BlendRegressor, OTDClassifier
from ordinate.errors import OrdinateError
from ordinate.model.contributions import column_contributions
from ordinate.model.occlusion import expected_label

RANDOM = np.random.default_rng(0)
X = pd.DataFrame(RANDOM.normal(size=(90, 2)), columns=["strong", "weak"])
X["site"] = pd.Series(RANDOM.choice(["north", "south"], 90)).where(RANDOM.random(90) > 0.1)
X["constant"] = 1
TARGET = 2 * X["strong"] * (X["site"] == "north") + X["weak"]
RANKS = np.digitize(TARGET, [-1, 1])


@pytest.fixture(scope="module")
def model():
    return OTDClassifier(epochs=30, random_state=0).fit(X, RANKS)


def brute_force(model, x, background):
    """The mean over all orders and all rows of the background, one prediction at a time."""
    found = dict.fromkeys(x.index, 0.0)
    count = 0
    for _, other in background.iterrows():
        for order in permutations(x.index):
            mixed = other.copy()
            before = predict(model, mixed)
            for name in order:
                mixed[name] = x[name]
                after = predict(model, mixed)
                found[name] += after - before
                before = after
            count += 1
    return pd.Series(found) / count


def predict(model, row):
    return float(expected_label(model.fitted, model.fitted.read(pd.DataFrame([row]).astype(X.dtypes)))[0])


def test_contributions_are_shapley_values(model):
    background = X[3:6]
    found = column_contributions(model.fitted, X[:2], background, orders=3000)
    assert found.index.tolist() == [0, 1]
    for place in range(2):
        expected = brute_force(model, X.iloc[place], background)
        np.testing.assert_allclose(found.iloc[place, 1:].astype(float), expected, atol=0.03)


@pytest.mark.parametrize("orders", [2, 10])
def test_they_add_up_to_the_prediction(model, orders):
    found = column_contributions(model.fitted, X[:4], X[10:], orders=orders)
    np.testing.assert_allclose(found.sum(axis=1), expected_label(model.fitted, model.fitted.read(X[:4])), rtol=1e-9)
    assert (found["constant"] == 0).all()


def test_a_sample_has_the_same_contributions_alone_as_among_others(model):
    among = column_contributions(model.fitted, X[:5], X[5:])
    for place in range(5):
        alone = column_contributions(model.fitted, X.iloc[[place]], X[5:])
        np.testing.assert_allclose(alone.astype(float), among.iloc[[place]].astype(float), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("rows", [30, 80])
def test_the_baseline_is_the_mean_prediction_of_the_background(model, rows):
    found = column_contributions(model.fitted, X[:3], X[-rows:])
    expected = expected_label(model.fitted, model.fitted.read(X[-rows:])).mean()
    np.testing.assert_allclose(found["baseline"], expected, rtol=1e-9)


def test_ranks_that_are_consecutive_numbers_count_from_the_lowest_of_them(model):
    numbered = OTDClassifier(epochs=30, random_state=0).fit(X, RANKS + 3)
    found, expected = (column_contributions(each.fitted, X[:2], X) for each in (numbered, model))
    np.testing.assert_allclose(found["baseline"], expected["baseline"] + 3, rtol=1e-6)


def test_targets_have_contributions_in_their_units():
    blend = BlendRegressor(members=2, folds=2, epochs=20, random_state=0).fit(X, 100 * TARGET)
    found = column_contributions(blend.fitted, X[:2], X, orders=10)
    np.testing.assert_allclose(found.sum(axis=1), blend.predict(X[:2]), rtol=1e-6)


@pytest.mark.filterwarnings("error")
def test_rows_that_mix_samples_are_no_reason_to_warn(model):
    apart = X.assign(strong=X["strong"] * 1000)
    column_contributions(model.fitted, apart[:1], apart)


def test_wrong_arguments_are_named(model):
    with pytest.raises(OrdinateError, match="orders: got 3, expected an even number"):
        column_contributions(model.fitted, X, X, orders=3)
    with pytest.raises(OrdinateError, match="background: got list, expected a table with named columns"):
        column_contributions(model.fitted, X, [1])
    with pytest.raises(OrdinateError, match="X: got 0 samples, expected at least 1"):
        column_contributions(model.fitted, X[:0], X)
    with pytest.raises(OrdinateError, match="expected the columns of X"):
        column_contributions(model.fitted, X[["strong"]], X)
