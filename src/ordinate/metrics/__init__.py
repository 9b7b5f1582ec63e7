"""Metrics of predictions and embeddings: pure functions of NumPy arrays."""

from ordinate.metrics.continuous import (
    continuous_report,
    geometric_mean_error,
    mae,
    pearson,
    r2,
    rmse,
    spearman,
)
from ordinate.metrics.embedding import is_rank_ordered, rank_cosine_matrix
from ordinate.metrics.neighbours import knn_accuracy, knn_accuracy_curve, nearest_neighbours
from ordinate.metrics.order import distance_rank_correlation
from ordinate.metrics.ranks import (
    accuracy,
    adjacent_error_rates,
    amae,
    mmae,
    quadratic_weighted_kappa,
    rank_report,
    rank_scorer,
    ranked_probability_score,
)
from ordinate.metrics.retrieval import mean_average_precision, ndcg

__all__ = [
    "accuracy", "adjacent_error_rates", "amae", "continuous_report", "distance_rank_correlation",
    "geometric_mean_error", "is_rank_ordered", "knn_accuracy", "knn_accuracy_curve", "mae",
    "mean_average_precision", "mmae", "ndcg", "nearest_neighbours", "pearson",
    "quadratic_weighted_kappa", "r2", "rank_cosine_matrix", "rank_report", "rank_scorer", "ranked_probability_score",
    "rmse", "spearman",
]  # fmt: skip
