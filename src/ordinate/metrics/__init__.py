"""How good predictions and embeddings are: pure functions of arrays, in NumPy."""

from ordinate.metrics.continuous import (
    continuous_report,
    geometric_mean_error,
    mae,
    pearson,
    r2,
    rmse,
    spearman,
)
from ordinate.metrics.embedding import is_rank_ordered, rank_cosine_matrix, svm_accuracy
from ordinate.metrics.neighbours import knn_accuracy, knn_accuracy_curve, knn_error, nearest_neighbours
from ordinate.metrics.ranks import accuracy, adjacent_error_rates, quadratic_weighted_kappa, rank_report

__all__ = [
    "accuracy",
    "adjacent_error_rates",
    "continuous_report",
    "geometric_mean_error",
    "is_rank_ordered",
    "knn_accuracy",
    "knn_accuracy_curve",
    "knn_error",
    "mae",
    "nearest_neighbours",
    "pearson",
    "quadratic_weighted_kappa",
    "r2",
    "rank_cosine_matrix",
    "rank_report",
    "rmse",
    "spearman",
    "svm_accuracy",
]
