"""Decision rules: the rank that is predicted from probabilities, for every model and interface.

The mode is wrong least often, the median is off by the fewest ranks on average, and least expected cost weighs mistakes
as its matrix says (Berger, *Statistical Decision Theory and Bayesian Analysis*, 1985).
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinate.decisions.costs import TIE, check_costs, decide
from ordinate.errors import OrdinateError
from ordinate.metrics.inputs import check_probabilities

RULES = ("mode", "median")


def check_decision(decision: str | ArrayLike, num_classes: int | None = None) -> str | NDArray[np.float64]:
    """Return a decision once it is known to be one: ``"mode"``, ``"median"``, or costs (C, C) as float64.

    Raises:
        OrdinateError: An unknown name, or an invalid cost matrix.

    Example:
        >>> check_decision("median"), check_decision([[0, 1], [5, 0]]).tolist()
        ('median', [[0.0, 1.0], [5.0, 0.0]])
    """
    if isinstance(decision, str):
        if decision not in RULES:
            raise OrdinateError(
                "decision", repr(decision), f"{', '.join(map(repr, RULES))}, or a matrix of costs (C, C)"
            )
        return decision
    try:
        return check_costs(decision, num_classes)
    except OrdinateError as error:
        raise OrdinateError("decision", problem=error) from error


def predict_ranks(probabilities: ArrayLike, decision: str | ArrayLike = "mode") -> NDArray[np.int64]:
    """Predict a rank for every sample from the probabilities of its ranks.

    Args:
        probabilities: (n, C), of the ranks from lowest to highest; rows sum to 1.
        decision: ``"mode"`` predicts the most probable rank (fewest wrong ranks), ``"median"`` the first rank at which
            the running sum of the probabilities reaches one half (least mean distance of ranks), a matrix (C, C) of
            costs, true by predicted rank, the rank of least expected cost.

    Returns:
        (n,), ranks 0..C-1; of equally good ranks, to 12 digits, the lowest.

    Raises:
        OrdinateError: values that are no probabilities, or no decision.

    Example:
        >>> probabilities = [[0.4, 0.25, 0.35], [0.1, 0.8, 0.1]]
        >>> predict_ranks(probabilities).tolist(), predict_ranks(probabilities, "median").tolist()
        ([0, 1], [1, 1])
    """
    values, _ = check_probabilities(probabilities)
    rule = check_decision(decision, values.shape[1])
    if not isinstance(rule, str):
        return decide(values, rule)
    if rule == "mode":
        return (values >= values.max(axis=1, keepdims=True) - TIE).argmax(axis=1)
    return (values.cumsum(axis=1)[:, :-1] < 0.5 - TIE).sum(axis=1)


def compare_rules(
    y_true: ArrayLike, probabilities: ArrayLike, sample_weight: ArrayLike | None = None
) -> dict[str, dict[str, float]]:
    """Compare the accuracy and MAE of mode and median, and the significance of their difference.

    Args:
        y_true: (n,), ranks 0..C-1 of two samples or more that the model has not seen.
        probabilities: (n, C), of their ranks.
        sample_weight: (n,), weights of the samples; None for equal weights.

    Returns:
        For ``"mode"`` and ``"median"`` the ``accuracy``, the ``mae`` in ranks, and ``gain``: by how much the rule is
        better than the other in its own metric (the mode in accuracy, the median in MAE), in standard errors of the
        paired difference; 0 if the two differ on fewer than ten samples.

    Raises:
        OrdinateError: shapes that do not fit, values that are no ranks or probabilities, or one sample.

    Example:
        >>> compared = compare_rules([2, 1, 0, 2], [[0.4, 0.25, 0.35]] * 4)
        >>> compared["mode"]["mae"], compared["median"]["mae"]
        (1.25, 0.75)
    """
    values, true = check_probabilities(probabilities, y_true)
    if len(true) < 2:
        raise OrdinateError("y_true", "1 sample", "at least two, as one difference has no standard error")
    weights = np.ones(len(true))
    if sample_weight is not None:
        weights = np.asarray(sample_weight, dtype=np.float64)
    weights = weights / weights.mean()
    off = {rule: np.abs(predict_ranks(values, rule) - true) for rule in RULES}
    gained = {"mode": (off["mode"] == 0) * 1.0 - (off["median"] == 0), "median": off["mode"] - off["median"]}
    return {
        rule: {
            "accuracy": float((weights * (off[rule] == 0)).mean()),
            "mae": float((weights * off[rule]).mean()),
            "gain": _in_standard_errors(weights * gained[rule]),
        }
        for rule in RULES
    }


def better_rule(compared: dict[str, dict[str, float]], used: str | ArrayLike) -> str | None:
    """Return the rule that is better than the one in use by more than two standard errors, or None.

    Args:
        compared: Result of :func:`compare_rules`.
        used: Decision rule in use; costs are set by the user, and no other rule is suggested for them.

    Example:
        >>> compared = compare_rules([1] * 20, [[0.4, 0.25, 0.35]] * 20)
        >>> better_rule(compared, "mode"), better_rule(compared, "median")
        ('median', None)
    """
    if not isinstance(used, str):
        return None
    other = {"mode": "median", "median": "mode"}[used]
    return other if compared[other]["gain"] > 2.0 else None


def _in_standard_errors(differences: NDArray[np.float64], least_differing: int = 10) -> float:
    """Return the mean over its standard error, which needs at least ten samples in which the two rules differ."""
    if np.count_nonzero(differences) < least_differing:
        return 0.0
    error = float(differences.std(ddof=1)) / np.sqrt(len(differences))
    return float(differences.mean() / max(error, TIE))  # The result stays finite if all differences are equal.
