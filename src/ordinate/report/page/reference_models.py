"""Usual models of tables as scikit-learn fits them, with which a model is compared."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ordinate.heads.cumulative_link import fit_cumulative_link
from ordinate.heads.linear import fit_ridge


def reference_predictions(
    x: Tensor, y: Tensor, unseen: Tensor, num_classes: int | None
) -> dict[str, NDArray[np.float64]]:
    """Return what a linear model, a forest and boosted trees, fitted on samples, predict of others, by name.

    Args:
        x: Samples (m, f) to fit on, float64.
        y: Their ranks (m,), of two at least, or targets (m,).
        unseen: Samples (n, f) to predict.
        num_classes: Number of ranks C; None for targets.

    Returns:
        Probabilities (n, C), or targets (n,).
    """
    from sklearn.ensemble import (  # They take a while to import.
        ExtraTreesRegressor,
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
        RandomForestClassifier,
    )

    seen, new = x.numpy(), unseen.numpy()
    labels = y.numpy().reshape(len(y))
    found: dict[str, NDArray[np.float64]] = {}
    if num_classes is None:
        with torch.no_grad():
            found["ridge regression"] = fit_ridge(x, y)(unseen)[:, 0].numpy()
        forest: Any = ExtraTreesRegressor(200, max_features=min(50, x.shape[1]), random_state=0)
        found["random forest"] = forest.fit(seen, labels).predict(new)
        boosting: Any = HistGradientBoostingRegressor(random_state=0)
        found["gradient boosting"] = boosting.fit(seen, labels).predict(new)
        return found
    linear = nn.Sequential(*fit_cumulative_link(x, y, num_classes))
    with torch.no_grad():
        found["cumulative link model"] = linear(unseen).numpy()
    forest = RandomForestClassifier(200, min_samples_leaf=2, random_state=0).fit(seen, labels)
    boosting = HistGradientBoostingClassifier(random_state=0).fit(seen, labels)
    for name, model in {"random forest": forest, "gradient boosting": boosting}.items():
        found[name] = np.zeros((len(new), num_classes))
        found[name][:, model.classes_] = model.predict_proba(new)
    return found
