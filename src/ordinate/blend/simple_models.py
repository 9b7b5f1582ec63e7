"""Simple models on a table, and their predictions of samples that they have not seen."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ordinate.encoders.trees import BoostedTrees, Trees
from ordinate.heads.cumulative_link import fit_cumulative_link
from ordinate.heads.linear import fit_ridge
from ordinate.training.time_budget import training_end

FOREST = {"n_estimators": 200, "random_state": 0}
MOST_PER_TREE = 5000  # Each tree is fitted on at most this many samples.
BOOSTED_TARGETS = {
    "learning_rate": 0.05, "max_iter": 400, "max_leaf_nodes": 63, "min_samples_leaf": 2, "l2_regularization": 1.0,
    "max_features": 0.4,
}  # fmt: skip
# A forest has at least this many trees, and takes this share of a limited training time.
FEWEST_TREES, SHARE_OF_TREES = 10, 0.2

Model = TypeVar("Model", bound=nn.Module)
Fit = Callable[[Tensor, Tensor, Tensor | None], Model]  # It takes inputs, labels and weights.


@dataclass
class SimpleModels:
    """The simple models, and what they predict of samples that they have not seen.

    Args:
        rows: (m,), of the training samples that they were fitted on.
        x: These samples (m, f).
        y, weights: Labels and weights of these.
        unseen: Predictions (m, C) or (m, 1) by name.
        linear, trees, boosting: The models, fitted on all rows.
    """

    rows: Tensor
    x: Tensor
    y: NDArray[Any]
    weights: NDArray[np.float64] | None
    unseen: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    linear: nn.Sequential | None = None
    trees: Trees | None = None
    boosting: BoostedTrees | None = None


def new_forest(num_classes: int | None, columns: int, **options: Any) -> Any:
    """Return a forest of scikit-learn for ranks, or for a target if there are none, to fit."""
    from sklearn.ensemble import ExtraTreesRegressor, RandomForestClassifier  # A saved model needs none.

    if num_classes is None:
        return ExtraTreesRegressor(max_features=min(50, columns), **FOREST, **options)
    return RandomForestClassifier(min_samples_leaf=2, **FOREST, **options)


def new_boosting(num_classes: int | None) -> Any:
    """Return boosted trees of scikit-learn for ranks, or for a target if there are none, to fit."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    if num_classes is None:
        return HistGradientBoostingRegressor(**BOOSTED_TARGETS, random_state=0)
    return HistGradientBoostingClassifier(random_state=0)


def of_all_ranks(model: Any, shares: NDArray[np.float64], num_classes: int) -> NDArray[np.float64]:
    """Return probabilities of all ranks (n, C), from those of the ranks that a model of scikit-learn has seen."""
    found = np.zeros((len(shares), num_classes))
    found[:, model.classes_] = shares
    return found


def simple_predictions(
    x: Tensor, y: Tensor, unseen: Tensor, num_classes: int | None, leave_out: Collection[str] = ()
) -> dict[str, NDArray[np.float64]]:
    """Return what the blend's simple models, fitted on samples, predict of others, by name.

    Args:
        x: Samples (m, f) to fit on, float64.
        y: Their ranks (m,), of two at least, or targets (m,).
        unseen: Samples (n, f) to predict.
        num_classes: Number of ranks C; None for targets.
        leave_out: Names of models to leave out.

    Returns:
        Probabilities (n, C), or targets (n,).
    """
    trees = {"random forest": new_forest(num_classes, x.shape[1]), "gradient boosting": new_boosting(num_classes)}
    seen, labels, _ = arrays(x, y, None)
    trees = {name: model for name, model in trees.items() if name not in leave_out}
    found: dict[str, NDArray[np.float64]] = {}
    if "linear model" not in leave_out:
        linear = fit_ridge(x, y) if num_classes is None else nn.Sequential(*fit_cumulative_link(x, y, num_classes))
        with torch.no_grad():
            predicted = linear(unseen).numpy()
        found["linear model"] = predicted[:, 0] if num_classes is None else predicted
    if num_classes is None:
        return found | {name: model.fit(seen, labels).predict(unseen.numpy()) for name, model in trees.items()}
    for name, model in trees.items():
        shares = model.fit(seen, labels).predict_proba(unseen.numpy())
        found[name] = of_all_ranks(model, shares, num_classes)
    return found


def unseen_by_fold(
    fit: Fit[Model], x: Tensor, y: Tensor, weights: Tensor | None, fold: NDArray[np.int64], outputs: int
) -> NDArray[np.float64]:
    """Return what models, each without one of the folds (n,), predict of it: (n, ``outputs``)."""
    unseen = np.empty((len(x), outputs))
    for number in range(fold.max() + 1):
        seen = torch.from_numpy(fold != number)
        model = fit(x[seen], y[seen], None if weights is None else weights[seen])
        with torch.no_grad():
            unseen[fold == number] = model(x[~seen]).numpy()
    return unseen


def filled_in(unseen: NDArray[np.float64], forest: Any) -> NDArray[np.float64]:
    """Return what the trees predict (n, C) of samples not in their bags; of what all saw, the mean of the others."""
    is_seen = np.full(len(unseen), True)
    for bag in forest.estimators_samples_:
        is_seen &= np.bincount(bag, minlength=len(unseen)) > 0
    if is_seen.any():
        unseen[is_seen] = unseen[~is_seen].mean(axis=0)
    return unseen


def grow(forest: Any, x: Tensor, y: Tensor, weights: Tensor | None, trees: int | None = None) -> Any:
    """Return a fitted forest of scikit-learn, of so many trees, or as a training that has to end leaves time for."""
    if len(x) >= 2000:  # With fewer samples, starting threads takes longer than they save.
        forest.set_params(n_jobs=torch.get_num_threads())
    if len(x) > MOST_PER_TREE:
        forest.set_params(max_samples=MOST_PER_TREE)
    data = arrays(x, y, weights)
    end = training_end()
    if trees is not None or end is None:
        return forest.set_params(n_estimators=trees or FOREST["n_estimators"]).fit(*data)
    trees = FOREST["n_estimators"]
    stop = end.now + SHARE_OF_TREES * (end.until - end.now)
    for count in (FEWEST_TREES, trees // 4, trees):
        start = end.now
        forest.set_params(n_estimators=count, warm_start=True).fit(*data)
        if end.now + 4 * (end.now - start) > stop:
            break
    return forest


def arrays(x: Tensor, y: Tensor, weights: Tensor | None) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]:
    """Return inputs (n, f), labels (n,) and weights (n,) as scikit-learn's models take them."""
    return x.numpy(), y.numpy().reshape(len(y)), None if weights is None else weights.numpy()


def fewer_folds(fold: NDArray[np.int64], columns: int, most: int, most_read: int = 2_000_000) -> NDArray[np.int64]:
    """Return the folds by which simple models are measured.

    There are at most ``most``, and two of a large table, of which all fits together read at most ``most_read`` numbers.
    """
    return fold % min(int(fold.max()) + 1, most, max(2, most_read // (len(fold) * columns)))


def leaves_time(seconds: float, share: float = SHARE_OF_TREES) -> bool:
    """Whether fits that take so long need less than a share of the time that a training that has to end has left."""
    end = training_end()
    return end is None or seconds < share * (end.until - end.now)
