"""The metrics of runs, and the direction of better values."""

from collections.abc import Mapping

from ordinate.estimators.registry import models

KS = (1, 3, 5, 10, 20, 30, 40, 50)  # Numbers of neighbours in OTD's Fig. 4.
SHARES = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)  # Logits are measured after these shares of the encoder's epochs.
RANK_METRICS = {
    "accuracy": "higher", "mae": "lower", "quadratic_weighted_kappa": "higher", "adjacent_error_rates": "lower",
    "knn_error": "lower", "knn_accuracy": "higher", "svm_accuracy": "higher",
}  # fmt: skip
CONTINUOUS_METRICS = {
    "mae": "lower", "mse": "lower", "rmse": "lower", "geometric_mean_error": "lower", "r2": "higher",
    "pearson": "higher", "spearman": "higher", "angular_error": "lower",
}  # fmt: skip
METRICS: Mapping[str, str] = {
    **RANK_METRICS,
    **CONTINUOUS_METRICS,
    **{
        f"{name}_{group}": better
        for group in ("all", "many", "medium", "few", "seen", "unseen", "genuine", "permuted")
        for name, better in CONTINUOUS_METRICS.items()
    },
    **dict.fromkeys(("order_genuine", "genuine_order_permuted", "order", "neighbour_accuracy"), "higher"),
    **dict.fromkeys(("positive_logits", "logit_gap"), "higher"),
    "hard_negative_logits": "lower",
    **dict.fromkeys(("corrupted_mae", "critical_error", "seconds", "seconds_n_pair_1000",
                     *(f"seconds_{name}" for name in models())), "lower"),
    **dict.fromkeys((f"{what}_{name}" for what in ("ratio", "stages", "all_stages") for name in models()), "lower"),
    **dict.fromkeys(("margins", "margin_history"), ""),
}  # fmt: skip
