"""The boosted trees of a blend: regression on the ranks, whose predictions a cumulative link turns into probabilities.

One tree a round serves all ranks, where classification grows one per rank, and neighbouring ranks learn from each
other. The link is fitted to predictions of samples that the trees have not seen, so that it knows how wide they err.
"""

from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from ordinate.blend.part import Part
from ordinate.blend.samples import FoldedSamples, Predict
from ordinate.blend.task import RankTask, Task
from ordinate.encoders.trees import Trees
from ordinate.training.time_budget import training_end

if TYPE_CHECKING:
    from sklearn.ensemble import HistGradientBoostingRegressor

SETTINGS = {
    "learning_rate": 0.14, "max_iter": 100, "max_leaf_nodes": 24, "min_samples_leaf": 2, "l2_regularization": 1.0,
    "max_features": 0.3,
}  # fmt: skip
SHARE_OF_TIME = 0.4  # Of what a limited training time has left, for the fits without a fold.


def fit_boosting(task: Task, samples: FoldedSamples, most_columns: int = 1000) -> Part | None:
    """Return the boosted trees; None of too many columns, or where a limited training time does not suffice."""
    if len(samples.tree_columns) > most_columns:
        return None
    end, folds = training_end(), samples.with_folds(4)
    start = 0.0 if end is None else end.now
    model = _fit(samples)
    if end is not None and (folds.fold.max() + 1) * (end.now - start) > SHARE_OF_TIME * (end.until - end.now):
        return None
    scores = folds.predict_by_fold(lambda seen: _predictor(_fit(seen)))
    if not isinstance(task, RankTask):
        return Part(Trees.of_boosting(model, samples.tree_columns), None, scores)
    scale = max(float(scores.std()), 1e-12)
    layer, link = task.fit_linear(torch.from_numpy(scores / scale), samples.y, samples.weights)
    slope = layer.get_parameter("weight").item() / scale
    with torch.no_grad():
        unseen = link(slope * torch.from_numpy(scores)).numpy()
    return Part(Trees.of_boosting(model, samples.tree_columns, slope), link, unseen)


def _fit(samples: FoldedSamples) -> "HistGradientBoostingRegressor":
    from sklearn.ensemble import HistGradientBoostingRegressor  # A saved model needs none.

    weights = None if samples.weights is None else samples.weights.numpy()
    targets = samples.y.numpy().ravel().astype(np.float64)
    model = HistGradientBoostingRegressor(random_state=0, early_stopping=False, **SETTINGS)
    with threadpool_limits(1):  # Even on 20,000 rows threads wait for each other longer than they work.
        return model.fit(samples.of_trees, targets, weights)


def _predictor(model: "HistGradientBoostingRegressor") -> Predict:
    def predict(samples: FoldedSamples) -> NDArray[np.float64]:
        with threadpool_limits(1):
            scores: NDArray[np.float64] = model.predict(samples.of_trees)[:, None]
        return scores

    return predict
