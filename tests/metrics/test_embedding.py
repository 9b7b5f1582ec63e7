"""The order of embeddings against loops over pairs."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics.pairwise import cosine_similarity

from ordinate import metrics
from ordinate.errors import OrdinateError
from ordinate.metrics import is_rank_ordered, rank_cosine_matrix


def draw(n, num_classes, seed, d=4):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.integers(0, num_classes, n)


@pytest.mark.parametrize("matrix", [np.full((2, 2), np.nan), [[1.0, np.nan], [np.nan, 1.0]]])
def test_a_matrix_without_two_ranks_to_compare_is_an_error(matrix):
    with pytest.raises(OrdinateError, match="matrix: no row has two cosines"):
        is_rank_ordered(matrix)


@given(st.integers(0, 1000), st.integers(1, 25))
def test_rank_cosine_matrix_is_the_mean_over_pairs(seed, n):
    points, ranks = draw(n, 4, seed)
    points[0] = 0  # a zero embedding has cosine 0 with every other
    cosines = cosine_similarity(points)
    matrix = rank_cosine_matrix(points, ranks, 4)
    for a in range(4):
        for b in range(4):
            pairs = [cosines[i, j] for i in range(n) for j in range(n) if (ranks[i], ranks[j]) == (a, b) and i != j]
            assert matrix[a, b] == pytest.approx(np.mean(pairs) if pairs else np.nan, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("num_classes", [2, 3, 6])
def test_ranks_spread_over_a_half_circle_are_ordered_and_shuffled_ones_are_not(num_classes):
    rng = np.random.default_rng(0)
    ranks = np.repeat(range(num_classes), 20)
    angles = np.pi * ranks / (num_classes - 1) + rng.normal(scale=0.05, size=len(ranks))
    points = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    assert is_rank_ordered(rank_cosine_matrix(points, ranks, num_classes))
    if num_classes > 2:
        swapped = np.where(ranks == 0, 1, np.where(ranks == 1, 0, ranks))
        assert not is_rank_ordered(rank_cosine_matrix(points, swapped, num_classes))


def test_a_rank_without_samples_is_passed_over():
    points = [[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]]
    matrix = rank_cosine_matrix(points, [0, 0, 2, 2], 3)
    assert np.isnan(matrix[1]).all()
    assert np.isnan(matrix[:, 1]).all()
    assert is_rank_ordered(matrix)


GOOD, RANKS = np.eye(3), [0, 1, 1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rank_cosine_matrix(GOOD, [0, 1, 2], 2), "labels: got ranks 0 to 2, expected 0 to 1"),
        (lambda: rank_cosine_matrix(GOOD, RANKS, 1), "num_classes: got 1"),
        (lambda: is_rank_ordered(GOOD[:2]), "matrix: got shape"),
    ],
)
def test_input_that_cannot_be_used_is_named(call, message):
    with pytest.raises(OrdinateError, match=message):
        call()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize(
    ("name", "options"),
    [("rank_cosine_matrix", {"num_classes": 4}), ("distance_rank_correlation", {}), ("knn_accuracy", {"k": 3}),
     ("mean_average_precision", {}), ("ndcg", {"k": 3})],
)  # fmt: skip
def test_tensors_of_a_training_are_measured_as_arrays(name, options, dtype):
    points, ranks = draw(20, 4, 0)
    tensor = torch.tensor(points, dtype=dtype, requires_grad=True)
    metric = getattr(metrics, name)
    expected = metric(tensor.detach().double().numpy(), ranks, **options)
    np.testing.assert_array_equal(metric(tensor, torch.tensor(ranks), **options), expected)
