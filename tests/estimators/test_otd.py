"""OTD's settings of the paper: the plain mean over triplets, the best epoch by accuracy, the end in ReLU."""

import numpy as np
import pytest

import ordinate
from ordinate.errors import OrdinateError
from ordinate.model.export import export_model
from ordinate.training.callback import Callback
from tests.estimators.examples import draw_table, otd


def draw_ranks(n=48, seed=0):
    X, target = draw_table(n, seed)
    return X, np.digitize(target + np.random.default_rng(9).normal(size=n), [-1, 0, 1])


X, Y = draw_ranks()


class StopAfter(Callback):
    """End training after an epoch, whose weights are kept."""

    def __init__(self, epoch):
        self.epoch = epoch

    def on_epoch_end(self, loop):
        if loop.logs["epoch"] == self.epoch:
            loop.stop()


def test_by_default_ranks_count_the_same_and_on_demand_triplets():
    ours, papers = otd().fit(X, Y), otd(by_rank=False).fit(X, Y)
    assert ours.method_.by_rank
    assert papers.method_.loss.reduction == "mean"
    assert (ours.transform(X) != papers.transform(X)).any()


def test_the_weights_of_the_epoch_of_the_highest_accuracy_are_kept():
    """All epochs are trained, and a validation loss that is lower elsewhere does not matter."""
    held_out = draw_ranks(40, seed=1)
    model = otd(epochs=12, monitored="accuracy", patience=12, learning_rate=0.03).fit(X, Y, validation=held_out)
    accuracies = [epoch["val_accuracy"] for epoch in model.history_]
    best = int(np.argmax(accuracies))
    assert len(model.history_) == 12
    assert best < 11  # else the test shows nothing
    shorter = otd(epochs=12, learning_rate=0.03, callbacks=[StopAfter(best)]).fit(X, Y, validation=held_out)
    np.testing.assert_array_equal(model.transform(X), shorter.transform(X))


def test_an_end_in_relu_keeps_embeddings_at_or_above_0_through_saving_and_export(tmp_path):
    model = otd(ends_in_relu=True).fit(X, Y)
    embeddings = model.transform(X)
    assert embeddings.min() == 0 < embeddings.max()
    assert otd().fit(X, Y).transform(X).min() < 0
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(ordinate.load(tmp_path / "model").transform(X), embeddings)
    assert export_model(model.fitted, tmp_path / "model.pt2").differences["embedding"] < 1e-9


def test_an_unknown_criterion_is_refused():
    with pytest.raises(OrdinateError, match="monitored: got 'kappa', expected one of 'loss', 'accuracy'"):
        otd(monitored="kappa").fit(X, Y)


def test_neighbours_vote_on_demand():
    assert otd(n_neighbors=5).fit(X, Y).predictor_.vote.k == 5


def test_a_saved_model_gives_the_same_probabilities(tmp_path):
    table = otd().fit(X, Y)
    table.save(tmp_path / "model")
    np.testing.assert_array_equal(ordinate.load(tmp_path / "model").predict_proba(X), table.predict_proba(X))
