"""Regression on imbalanced targets: errors by how many training samples there were."""

from sklearn.base import BaseEstimator

from ordinate_papers.datasets.drawn_ages import ImbalancedSet, draw_imbalanced
from ordinate_papers.protocols.shots import shot_report

__all__ = ["ImbalancedSet", "draw_imbalanced", "evaluate_shots"]


def evaluate_shots(
    regressor: BaseEstimator, data: ImbalancedSet, bin_size: float = 1
) -> dict[str, dict[str, float | None]]:
    """Fit a regressor and report its errors on the test part by how many training samples share a target's bin.

    As SupReMix's Table 7 and Yang et al. (ICML 2021): all, many-shot (more than 100), medium-shot (20 to 100) and
    few-shot (fewer than 20), as :func:`~ordinate_papers.protocols.shots.shot_report` returns them. The regressor, one
    of Ordinate's, monitors the validation part; ``bin_size`` is in units of the target.

    Example:
        >>> import numpy as np
        >>> from ordinate import SupCRRegressor
        >>> X, y = np.linspace(0, 1, 60)[:, None], np.linspace(0, 1, 60) ** 3 * 9
        >>> regressor = SupCRRegressor(epochs=(2, 2), random_state=0)
        >>> report = evaluate_shots(regressor, ImbalancedSet((X, y), (X, y), (X, y)))
        >>> report["medium"]["samples"], report["few"]["samples"]  # 29 targets lie below 1
        (29, 31)
    """
    regressor.fit(*data.train, validation=data.validation)
    X, y = data.test
    return shot_report(data.train[1], y, regressor.predict(X), bin_size)
