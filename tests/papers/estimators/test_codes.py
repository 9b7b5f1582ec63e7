"""Codes of ordinal features, and neighbours on them against scikit-learn and sums by hand."""

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from ordinate.errors import OrdinateError
from ordinate_papers.estimators.codes import NeighbourClassifier, code_features
from ordinate_papers.estimators.lmnn import LargeMarginNearestNeighbours
from tests.estimators.conformity import parametrize_with_every_check

LEVELS = ["low", "med", "high"]
ORDER = {"safety": LEVELS}


def cars(n=60, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"safety": rng.choice(LEVELS, n), "doors": rng.integers(2, 6, n)})
    return frame, frame["safety"].map(LEVELS.index).to_numpy() + (frame["doors"] > 3) > 1


def test_codes_are_those_of_scikit_learn():
    frame, _ = cars()
    doors = sorted(frame["doors"].unique())
    places = OrdinalEncoder(categories=[LEVELS, doors]).fit_transform(frame)
    hot = OneHotEncoder(categories=[LEVELS, doors], sparse_output=False).fit_transform(frame)
    assert np.array_equal(code_features(frame, "raw", ORDER), np.column_stack([places[:, 0], frame["doors"]]))
    assert np.array_equal(code_features(frame, "one_hot", ORDER), hot)


def test_a_thermometer_is_filled_up_to_the_level():
    frame, _ = cars()
    coded = code_features(frame, "thermometer", ORDER)
    assert coded.shape == (60, 2 + 3)
    assert np.array_equal(coded[:, :2].sum(axis=1), frame["safety"].map(LEVELS.index))
    assert np.array_equal(coded[:, 2:].sum(axis=1), frame["doors"] - 2)
    assert (np.diff(coded[:, 2:], axis=1) <= 0).all()


def test_squared_distances_are_steps_on_thermometers_and_twice_the_differences_on_one_hot():
    frame = pd.DataFrame({"x": [0, 1, 2, 3], "y": [0, 2, 2, 1]})
    gaps = frame.to_numpy()[:, None] - frame.to_numpy()
    for code, expected in [("thermometer", np.abs(gaps).sum(2)), ("one_hot", 2 * (gaps != 0).sum(2))]:
        coded = code_features(frame, code)
        assert np.array_equal(((coded[:, None] - coded) ** 2).sum(2), expected)


# the classifier


@pytest.mark.parametrize("k", [1, 3])
def test_without_ties_it_is_the_classifier_of_scikit_learn(k):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.integers(0, 2, 200)
    reference = KNeighborsClassifier(k).fit(X[:100], y[:100])
    model = NeighbourClassifier(n_neighbors=k).fit(X[:100], y[:100])
    assert np.array_equal(model.predict(X[100:]), reference.predict(X[100:]))
    np.testing.assert_allclose(model.predict_proba(X[100:]), reference.predict_proba(X[100:]), atol=1e-6)


def test_of_equally_near_neighbours_the_first_count_and_of_equal_votes_the_nearest():
    assert NeighbourClassifier(n_neighbors=1).fit([[1.0], [-1.0]], ["b", "a"]).predict([[0.0]]) == ["b"]
    model = NeighbourClassifier(n_neighbors=3).fit([[1.0], [2.0], [3.0]], ["b", "c", "a"])
    assert model.predict([[0.0]]) == ["b"]
    tenths = NeighbourClassifier(n_neighbors=1).fit([[0.3, 0.1], [0.1, 0.3]], [1, 0])  # as near, but for rounding
    assert tenths.predict([[0.0, 0.0]]) == [1]


@pytest.mark.parametrize("code", ["raw", "one_hot", "thermometer"])
def test_lmnn_is_neighbours_on_the_mapped_codes(code):
    (X, y), (X_test, _) = cars(100, seed=1), cars(40, seed=2)
    model = NeighbourClassifier(code, "lmnn", order=ORDER).fit(X, y)
    coded = code_features(X, code, ORDER)
    np.testing.assert_allclose(
        model.transform(X), LargeMarginNearestNeighbours(3).fit(coded, y).transform(coded), rtol=1e-12
    )
    plain = NeighbourClassifier().fit(model.transform(X), y)
    assert np.array_equal(model.predict(X_test), plain.predict(model.transform(X_test)))


@pytest.mark.parametrize("metric", ["intervals", "lmnn_intervals"])
def test_with_intervals_neighbours_are_the_nearest_by_expected_distance(metric):
    (X, y), (X_test, _) = cars(100, seed=1), cars(40, seed=2)
    model = NeighbourClassifier("raw", metric, n_neighbors=1, order=ORDER).fit(X, y)
    doors = sorted(X["doors"].unique())
    places, places_test = (
        np.column_stack([frame["safety"].map(LEVELS.index), frame["doors"].map(doors.index)]) for frame in (X, X_test)
    )
    means, variances, starts = model.intervals_.means_, model.intervals_.variances_, np.array([0, 3])
    M = model.intervals_.components_.T @ model.intervals_.components_
    for row, predicted in zip(places_test, model.predict(X_test), strict=True):
        gaps = means[places + starts] - means[row + starts]
        distances = np.sum(gaps @ M * gaps, axis=1) + variances[places + starts] @ np.diag(M)
        assert predicted in y.to_numpy()[distances < distances.min() + 1e-9]


def test_columns_are_found_by_name_and_a_value_never_seen_is_no_level():
    X, y = cars()
    model = NeighbourClassifier("one_hot").fit(X, y)
    assert np.array_equal(model.predict(X[["doors", "safety"]].iloc[:, ::-1]), model.predict(X))
    unseen = X.assign(safety="extreme")
    assert model.transform(unseen)[:, :3].sum() == 0
    with pytest.raises(OrdinateError, match=r"X: column 'safety' holds .'extreme'., expected .'low', 'med', 'high'."):
        NeighbourClassifier("raw", order=ORDER).fit(X, y).predict(unseen)


@parametrize_with_every_check([NeighbourClassifier()], lambda _: {})
def test_scikit_learn_checks_the_estimator(estimator, check):
    check(estimator)


FRAME, LABELS = cars(6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: code_features(FRAME, "binary"), "code: got 'binary', expected one of 'raw', 'one_hot', 'thermometer'"),
        (lambda: code_features(FRAME, "raw"), "order: got none for column 'safety', expected its values from lowest"),
        (lambda: code_features(FRAME, "raw", {"size": [1]}), r"order: got \['size'\], expected columns of X"),
        (lambda: code_features(FRAME, "raw", {"safety": ["low"]}), "X: column 'safety' holds"),
        (
            lambda: code_features(FRAME.assign(doors=[2, None, 3, 4, 5, 5]), "raw", ORDER),
            "X: column 'doors' contains NaN",
        ),
        (lambda: code_features(pd.DataFrame({"x": [1.0, np.inf]}), "raw"), "X: column 'x' contains infinity"),
        (lambda: code_features(pd.DataFrame({"x": [1, 1]}), "thermometer"), "X: got one value in every column"),
        (lambda: NeighbourClassifier(metric="cosine").fit(FRAME, LABELS), "metric: got 'cosine'"),
        (lambda: NeighbourClassifier("one_hot", "gower").fit(FRAME, LABELS), "code: got 'one_hot' with the metric"),
        (lambda: NeighbourClassifier(n_neighbors=0).fit(FRAME, LABELS), "n_neighbors: got 0"),
        (lambda: NeighbourClassifier("one_hot").fit(FRAME.iloc[:0], LABELS[:0]), "X: got a DataFrame of shape"),
    ],
)
def test_input_that_cannot_be_used_is_named(call, message):
    with pytest.raises(OrdinateError, match=message):
        call()
