"""The forest of a blend: extremely randomised trees, of ranks on the probabilities that each threshold is exceeded.

A split then reduces the ranked probability score: a leaf that mixes ranks far from each other is worse than one that
mixes neighbours.
"""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from torch import get_num_threads

from ordinate.blend.part import Part
from ordinate.blend.samples import FoldedSamples, Predictions
from ordinate.blend.task import Task
from ordinate.encoders.trees import Trees
from ordinate.training.time_budget import training_end

if TYPE_CHECKING:
    from sklearn.ensemble import ExtraTreesRegressor

TREES = 60
FEWEST_TREES = 10
MOST_SAMPLES_PER_TREE = 5000
SHARE_OF_TIME = 0.1  # Of a limited training time, for the trees; as much again for predictions by fold.


def fit_forest(task: Task, samples: FoldedSamples) -> Part:
    """Return the forest, whose trees predict the samples that they have not seen.

    Where samples are grouped or weighted, the bags of the trees would not leave out what they should, and forests
    without a fold predict it.
    """
    forest = _grow(task, samples)
    if samples.grouped or samples.weights is not None:
        count = len(forest.estimators_)
        _, unseen = samples.with_few_folds(4).by_fold(lambda seen: _grow(task, seen, count), partial(_predict, task))
    else:
        unseen = task.of_trees(out_of_bag(forest, samples.of_trees))
    return Part(Trees.of_forest(forest, task.of_trees, samples.tree_columns), None, unseen)


def _grow(task: Task, samples: FoldedSamples, count: int | None = None) -> "ExtraTreesRegressor":
    """Return a forest of so many trees, or of as many as a limit of time allows."""
    from sklearn.ensemble import ExtraTreesRegressor  # A saved model needs none.

    x, targets = samples.of_trees, task.tree_targets(samples.y.numpy())
    weights = None if samples.weights is None else samples.weights.numpy()
    if targets.shape[1] == 1:
        targets = targets[:, 0]
    forest = ExtraTreesRegressor(
        count or TREES, min_samples_leaf=2, max_features=min(50, x.shape[1]), bootstrap=True, random_state=0
    )
    if len(x) >= 2000:  # With fewer samples, starting threads takes longer than they save.
        forest.set_params(n_jobs=get_num_threads())
    if len(x) > MOST_SAMPLES_PER_TREE:
        forest.set_params(max_samples=MOST_SAMPLES_PER_TREE)
    end = training_end()
    if count is not None or end is None:
        return forest.fit(x, targets, weights)
    stop = end.now + SHARE_OF_TIME * (end.until - end.now)
    for grown in sorted({FEWEST_TREES, TREES // 4, TREES}):
        start = end.now
        forest.set_params(n_estimators=grown, warm_start=True).fit(x, targets, weights)
        if end.now + 4 * (end.now - start) > stop:
            break
    return forest


def _predict(task: Task, forest: "ExtraTreesRegressor", samples: FoldedSamples) -> Predictions:
    return task.of_trees(forest.predict(samples.of_trees).reshape(len(samples.x), -1))


def out_of_bag(forest: Any, x: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the mean prediction (n, k) of the trees whose bag a sample is not in; of none, the mean of all samples."""
    total = np.zeros((len(x), forest.n_outputs_))
    count = np.zeros((len(x), 1))
    for tree, bag in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        is_unseen = np.ones(len(x), dtype=bool)
        is_unseen[bag] = False
        total[is_unseen] += tree.predict(x[is_unseen], check_input=False).reshape(-1, forest.n_outputs_)
        count[is_unseen] += 1
    found: NDArray[np.float64] = np.where(count > 0, total / np.maximum(count, 1), total.sum(0) / count.sum())
    return found
