"""Forests and boosted trees as tensors predict what scikit-learn's do, also once they are saved in float32."""

import numpy as np
import pytest
import torch
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from ordinate.encoders.trees import BoostedTrees, Trees

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(200, 4)).round(1).astype(np.float32)  # many ties at thresholds
RANKS = np.digitize(X[:, 0] + X[:, 1] * X[:, 2], [-0.5, 0.4])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_forest_of_ranks_is_that_of_scikit_learn(dtype):
    forest = RandomForestClassifier(20, random_state=0).fit(X, RANKS)
    found = Trees.of_forest(forest, 3).to(dtype)(torch.from_numpy(X).to(dtype))
    np.testing.assert_allclose(found.numpy(), forest.predict_proba(X), atol=1e-6)


def test_ranks_that_a_forest_has_not_seen_have_no_share():
    forest = RandomForestClassifier(5, random_state=0).fit(X, np.where(RANKS == 2, 3, RANKS))
    found = Trees.of_forest(forest, 5)(torch.from_numpy(X)).numpy()
    np.testing.assert_allclose(found[:, [0, 1, 3]], forest.predict_proba(X), atol=1e-6)
    assert found[:, [2, 4]].max() == 0


def test_a_forest_of_targets_is_that_of_scikit_learn():
    forest = RandomForestRegressor(20, random_state=0).fit(X, X[:, 0] * X[:, 1])
    found = Trees.of_forest(forest)(torch.from_numpy(X)).numpy()
    np.testing.assert_allclose(found[:, 0], forest.predict(X), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("ranks", [RANKS, RANKS > 0], ids=["three", "two"])
def test_boosted_trees_of_ranks_are_those_of_scikit_learn(ranks, dtype):
    model = HistGradientBoostingClassifier(max_iter=30, random_state=0).fit(X, ranks.astype(int))
    found = BoostedTrees.of_boosting(model, ranks.max() + 1).to(dtype)(torch.from_numpy(X).to(dtype))
    np.testing.assert_allclose(found.numpy(), model.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("seen", [[0, 1, 3], [0, 3]])
def test_ranks_that_boosted_trees_have_not_seen_have_no_probability(seen):
    ranks = np.array(seen)[np.minimum(RANKS, len(seen) - 1)]
    model = HistGradientBoostingClassifier(max_iter=10, random_state=0).fit(X, ranks)
    found = BoostedTrees.of_boosting(model, 5)(torch.from_numpy(X)).numpy()
    np.testing.assert_allclose(found[:, seen], model.predict_proba(X), atol=1e-6)
    assert np.delete(found, seen, axis=1).max() < 1e-15


def test_boosted_trees_of_targets_are_those_of_scikit_learn():
    model = HistGradientBoostingRegressor(random_state=0).fit(X, X[:, 0] * X[:, 1])
    found = BoostedTrees.of_boosting(model)(torch.from_numpy(X)).numpy()
    np.testing.assert_allclose(found[:, 0], model.predict(X), rtol=1e-5, atol=1e-6)


def test_a_threshold_between_two_adjacent_floats_divides_them():
    low, high = np.float32(1), np.nextafter(np.float32(1), np.float32(2))
    x = np.array([[low], [high]] * 5, dtype=np.float32)
    forest = RandomForestRegressor(3, bootstrap=False, random_state=0).fit(x, np.array([0.0, 1.0] * 5))
    assert Trees.of_forest(forest)(torch.from_numpy(x[:2]))[:, 0].tolist() == forest.predict(x[:2]).tolist()


def test_trees_of_the_same_shape_take_the_weights():
    trees = Trees.of_forest(RandomForestClassifier(5, random_state=0).fit(X, RANKS), 3)
    again = Trees(len(trees.roots), len(trees.feature), 3, trees.depth)
    again.load_state_dict(trees.state_dict())
    again.check(4)
    assert torch.equal(again(torch.from_numpy(X)), trees(torch.from_numpy(X)))


def test_trees_deeper_than_they_have_nodes_are_refused():
    trees = Trees.of_forest(RandomForestClassifier(2, random_state=0).fit(X, RANKS), 3)
    trees.depth = 10**12
    with pytest.raises(ValueError, match=r"its trees of \d+ nodes have a depth of"):
        trees.check(4)


@pytest.mark.parametrize(("name", "value"), [("left", 10**6), ("right", -1), ("roots", 10**6), ("feature", 4)])
def test_nodes_that_lead_outside_are_refused(name, value):
    trees = Trees.of_forest(RandomForestClassifier(2, random_state=0).fit(X, RANKS), 3)
    getattr(trees, name)[0] = value
    with pytest.raises(ValueError, match="its trees"):
        trees.check(4)
