"""Usual models of tables as scikit-learn fits them, with which a model is compared."""

from collections.abc import Collection
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ordinate.heads.cumulative_fit import fit_cumulative_link
from ordinate.heads.linear import fit_ridge


def reference_predictions(
    x: Tensor, y: Tensor, unseen: Tensor, num_classes: int | None, leave_out: Collection[str] = ()
) -> dict[str, NDArray[np.float64]]:
    """Return what a linear model, a forest and boosted trees, fitted on samples, predict of others, by name.

    Args:
        x: Samples (m, f) to fit on, float64.
        y: Their ranks (m,), of two at least, or targets (m,).
        unseen: Samples (n, f) to predict.
        num_classes: Number of ranks C; None for targets.
        leave_out: Names of models to leave out.

    Returns:
        Probabilities (n, C), or targets (n,).
    """
    found: dict[str, NDArray[np.float64]] = {}
    if "linear model" not in leave_out:
        linear = fit_ridge(x, y) if num_classes is None else nn.Sequential(*fit_cumulative_link(x, y, num_classes))
        with torch.no_grad():
            predicted = linear(unseen).numpy()
        found["linear model"] = predicted[:, 0] if num_classes is None else predicted
    seen, new = x.numpy(), unseen.numpy()
    labels = y.numpy().reshape(len(y))
    for name, model in _trees(num_classes, x.shape[1]).items():
        if name in leave_out:
            continue
        model.fit(seen, labels)
        if num_classes is None:
            found[name] = model.predict(new)
        else:
            found[name] = np.zeros((len(new), num_classes))
            found[name][:, model.classes_] = model.predict_proba(new)
    return found


def _trees(num_classes: int | None, columns: int) -> dict[str, Any]:
    """Return a forest and boosted trees, not fitted."""
    from sklearn.ensemble import (  # They take a while to import.
        ExtraTreesRegressor,
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
        RandomForestClassifier,
    )

    if num_classes is None:
        return {
            "random forest": ExtraTreesRegressor(200, max_features=min(50, columns), random_state=0),
            "gradient boosting": HistGradientBoostingRegressor(random_state=0),
        }
    return {
        "random forest": RandomForestClassifier(200, min_samples_leaf=2, random_state=0),
        "gradient boosting": HistGradientBoostingClassifier(random_state=0),
    }
