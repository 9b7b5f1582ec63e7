"""Forests and boosted trees as tensors predict what scikit-learn's do, also once they are saved in float32."""

import numpy as np
import pytest
import torch
from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor, RandomForestRegressor

from ordinate.encoders.trees import Trees

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(200, 4)).round(1).astype(np.float32)  # many ties at thresholds
TARGETS = np.stack([X[:, 0] * X[:, 1], X[:, 2]], 1)
ALL = np.arange(4)


def forest(columns=ALL, **options):
    return ExtraTreesRegressor(20, random_state=0, **options).fit(X[:, columns], TARGETS)


def as_it_is(values):
    return values


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_forest_is_that_of_scikit_learn(dtype):
    model = forest()
    found = Trees.of_forest(model, as_it_is, ALL).to(dtype)(torch.from_numpy(X).to(dtype))
    np.testing.assert_allclose(found.numpy(), model.predict(X), rtol=1e-5, atol=1e-6)


def test_outputs_are_decoded():
    model = forest()
    found = Trees.of_forest(model, lambda values: values @ [[1.0], [-2.0]], ALL)(torch.from_numpy(X)).numpy()
    np.testing.assert_allclose(found, model.predict(X) @ [[1.0], [-2.0]], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("slope", [1.0, -3.0])
def test_boosted_trees_are_those_of_scikit_learn(slope):
    models = [HistGradientBoostingRegressor(random_state=0).fit(X[n::3], TARGETS[n::3, 0]) for n in range(3)]
    for some in (models[:1], models):
        found = Trees.of_boosting(some, ALL, slope)(torch.from_numpy(X)).numpy()
        mean = np.mean([model.predict(X) for model in some], axis=0)
        np.testing.assert_allclose(found[:, 0], slope * mean, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("columns", [[3, 0], [2]])
def test_trees_of_some_columns_read_these(columns):
    columns = np.array(columns)
    model = forest(columns)
    found = Trees.of_forest(model, as_it_is, columns)(torch.from_numpy(X)).numpy()
    np.testing.assert_allclose(found, model.predict(X[:, columns]), rtol=1e-5, atol=1e-6)
    boosting = HistGradientBoostingRegressor(max_iter=5, random_state=0).fit(X[:, columns], TARGETS[:, 0])
    found = Trees.of_boosting([boosting], columns)(torch.from_numpy(X)).numpy()
    np.testing.assert_allclose(found[:, 0], boosting.predict(X[:, columns]), rtol=1e-5, atol=1e-6)


def test_a_threshold_between_two_adjacent_floats_divides_them():
    low, high = np.float32(1), np.nextafter(np.float32(1), np.float32(2))
    x = np.array([[low], [high]] * 5, dtype=np.float32)
    model = RandomForestRegressor(3, bootstrap=False, random_state=0).fit(x, np.array([0.0, 1.0] * 5))
    trees = Trees.of_forest(model, as_it_is, ALL)
    assert trees(torch.from_numpy(x[:2]))[:, 0].tolist() == model.predict(x[:2]).tolist()


def test_trees_of_the_same_shape_take_the_weights():
    trees = Trees.of_forest(forest(), as_it_is, ALL)
    again = Trees(**trees.config())
    again.load_state_dict(trees.state_dict())
    again.check(4)
    assert torch.equal(again(torch.from_numpy(X)), trees(torch.from_numpy(X)))


def test_trees_deeper_than_they_have_nodes_are_refused():
    trees = Trees.of_forest(forest(), as_it_is, ALL)
    trees.depth = 10**12
    with pytest.raises(ValueError, match=r"its trees of [0-9,]+ nodes have a depth of"):
        trees.check(4)


@pytest.mark.parametrize(("name", "value"), [("left", 10**6), ("right", -1), ("roots", 10**6), ("feature", 4)])
def test_nodes_that_lead_outside_are_refused(name, value):
    trees = Trees.of_forest(forest(), as_it_is, ALL)
    getattr(trees, name)[0] = value
    with pytest.raises(ValueError, match="its trees"):
        trees.check(4)
