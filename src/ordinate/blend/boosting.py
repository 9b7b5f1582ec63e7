"""The boosted trees of a blend: regression on the ranks, whose predictions a cumulative link turns into probabilities.

One tree a round serves all ranks, where classification grows one per rank, and neighbouring ranks learn from each
other. The part is the mean of four models, each fitted without a fold: on 16 tables of development it is as good as one
that is fitted on all samples after these, with more rounds, in four fifths of the blend's time. The link is fitted to
what each predicts of its fold, so that it knows how wide the trees err. Targets, which are less noisy, lose 1% by such
a mean: their trees are those of all samples.
"""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from ordinate.blend.part import Part
from ordinate.blend.samples import FoldedSamples, Predictions
from ordinate.blend.task import RankTask, Task
from ordinate.encoders.trees import Trees
from ordinate.training.time_budget import training_end

if TYPE_CHECKING:
    from sklearn.ensemble import HistGradientBoostingRegressor

SETTINGS = {"max_leaf_nodes": 24, "min_samples_leaf": 2, "l2_regularization": 1.0, "max_features": 0.3}
OF_RANKS = {"max_iter": 60, "learning_rate": 0.2}
OF_TARGETS = {"max_iter": 100, "learning_rate": 0.14}
TRIED = 4  # Rounds that tell how long all take, if training time is limited.
SHARE_OF_TIME = 0.4  # Of what such a time has left, for all fits.


def fit_boosting(task: Task, samples: FoldedSamples, most_columns: int = 1000) -> Part | None:
    """Return the boosted trees; None of too many columns, or where a limited training time does not suffice."""
    if len(samples.tree_columns) > most_columns:
        return None
    folds, end = samples.with_folds(4), training_end()
    settings, fits = OF_RANKS, folds.folds
    if not isinstance(task, RankTask):
        settings, fits = OF_TARGETS, folds.folds + 1
    if end is not None:
        start = end.now
        _fit(samples, settings | {"max_iter": TRIED})
        if fits * settings["max_iter"] / TRIED * (end.now - start) > SHARE_OF_TIME * (end.until - end.now):
            return None
    models, scores = folds.by_fold(partial(_fit, settings=settings), _predict)
    if not isinstance(task, RankTask):
        return Part(Trees.of_boosting([_fit(samples, settings)], samples.tree_columns), None, scores)
    scale = max(float(scores.std()), 1e-12)
    layer, link = task.fit_linear(torch.from_numpy(scores / scale), samples.y, samples.weights)
    slope = layer.get_parameter("weight").item() / scale
    with torch.no_grad():
        unseen = link(slope * torch.from_numpy(scores)).numpy()
    return Part(Trees.of_boosting(models, samples.tree_columns, slope), link, unseen)


def _fit(samples: FoldedSamples, settings: dict[str, float]) -> "HistGradientBoostingRegressor":
    from sklearn.ensemble import HistGradientBoostingRegressor  # A saved model needs none.

    weights = None if samples.weights is None else samples.weights.numpy()
    targets = samples.y.numpy().ravel().astype(np.float64)
    model = HistGradientBoostingRegressor(random_state=0, early_stopping=False, **SETTINGS, **settings)
    with threadpool_limits(1, "openmp"):  # Even on 20,000 rows threads wait for each other longer than they work.
        return model.fit(samples.of_trees, targets, weights)


def _predict(model: "HistGradientBoostingRegressor", samples: FoldedSamples) -> Predictions:
    with threadpool_limits(1, "openmp"):
        scores: Predictions = model.predict(samples.of_trees)[:, None]
    return scores
