"""The sweep of the embedding's size: what is trained, what is measured, in which order."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score
from sklearn.preprocessing import normalize
from sklearn.svm import SVC

from ordinate.errors import OrdinateError
from ordinate_papers.figures.embedding_sizes import mean_by_size, sweep_embedding_dim
from tests.estimators.examples import draw_table, otd, ranks_of

X, TARGET = draw_table(60)
Y = ranks_of(TARGET)


def build(size, seed):
    return otd(embedding_dim=size, random_state=seed)


def test_every_size_is_trained_once_a_seed_in_their_order():
    runs = sweep_embedding_dim(build, X, Y, X[:20], Y[:20], [4, 2], [1, 0])
    assert [(run["embedding_dim"], run["seed"]) for run in runs] == [(4, 1), (4, 0), (2, 1), (2, 0)]


def test_a_record_holds_what_scikit_learn_measures_of_the_same_training():
    (run,) = sweep_embedding_dim(build, X[20:], Y[20:], X[:20], Y[:20], [3], [0])
    model = build(3, 0).fit(X[20:], Y[20:])
    seen, unseen = normalize(model.transform(X[20:])), normalize(model.transform(X[:20]))
    machine = SVC().fit(seen, Y[20:])
    assert run["svm_accuracy"] == accuracy_score(Y[:20], machine.predict(unseen))
    near = np.argsort(-(unseen @ unseen.T - 9 * np.eye(20)), axis=1, kind="stable")[:, :3]
    assert run["knn_accuracy"] == pytest.approx((Y[near] == Y[:20, None]).mean(), abs=1e-12)


def test_two_test_samples_have_one_neighbour_each():
    (run,) = sweep_embedding_dim(build, X, Y, X[:2], Y[:2], [2], [0])
    assert run["knn_accuracy"] == float(Y[0] == Y[1])


def test_means_are_over_the_seeds_of_a_size_with_sizes_ascending():
    runs = [
        {"embedding_dim": size, "seed": seed, "svm_accuracy": accuracy, "knn_accuracy": 0.0}
        for size, seed, accuracy in [(8, 0, 0.5), (8, 1, 1.0), (2, 0, 0.25)]
    ]
    sizes, accuracies = mean_by_size(runs)
    assert sizes == [2, 8]
    assert accuracies.tolist() == [0.25, 0.75]


@pytest.mark.parametrize(
    ("sizes", "rows", "message"),
    [
        ([4, 0], 5, r"sizes: got 0, expected dimensions"),
        ([4], 1, r"y_test: got 1 sample\(s\), expected at"),
    ],
)
def test_what_cannot_be_measured_is_an_error_before_any_training(sizes, rows, message):
    with pytest.raises(OrdinateError, match=message):
        sweep_embedding_dim(lambda size, seed: pytest.fail("trained"), X, Y, X[:rows], Y[:rows], sizes, [0])
