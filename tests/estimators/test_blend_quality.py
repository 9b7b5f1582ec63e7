"""The blend against what its parts are alone."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from ordinate import BlendClassifier
from tests.estimators.examples import draw_table, ranks_of
from tests.estimators.test_blend import ranks, targets


def tree_data(n=400, seed=0):
    """Ranks that steps of two columns make, which trees find and lines do not."""
    X = np.random.default_rng(seed).uniform(size=(n, 6))
    return X, ((np.floor(7 * X[:, 0]) + np.floor(5 * X[:, 1])) % 4).astype(int)


@pytest.mark.thorough
def test_trees_have_a_share_where_they_predict_best_and_lines_where_they_do():
    X, y = tree_data()
    model = ranks(epochs=30).fit(X, y)
    assert model.shares_.get("trees", 0) + model.shares_.get("boosting", 0) > 0.5
    unseen, truth = tree_data(seed=1)
    alone = RandomForestClassifier(200, random_state=0).fit(X, y).score(unseen, truth)
    assert model.score(unseen, truth) > alone - 0.05
    lines, answer = draw_table(300)
    noisy = ranks_of(answer + np.random.default_rng(3).normal(size=300), 4)
    assert not {"trees", "boosting"} & ranks(epochs=30).fit(lines, noisy).shares_.keys()
    assert targets(epochs=30).fit(lines, answer).shares_["linear"] > 0.5


def test_it_is_level_with_logistic_regression_where_that_is_the_truth():
    random = np.random.default_rng(4)
    X, new = random.normal(size=(200, 5)), random.normal(size=(1000, 5))
    score = lambda x: x @ [1, -1, 2, 0, 0] + random.logistic(size=len(x))  # noqa: E731
    y, truth = np.digitize(score(X), [-2, 0, 2]), np.digitize(score(new), [-2, 0, 2])
    model = BlendClassifier(random_state=0, epochs=100).fit(X, y)
    alone = LogisticRegression().fit(X, y)
    mean = lambda p: -np.log(p[np.arange(1000), truth]).mean()  # noqa: E731
    assert mean(model.predict_proba(new)) < 1.01 * mean(alone.predict_proba(new))
