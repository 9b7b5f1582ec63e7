"""Classifiers of ranks by later losses: what all promise, and what is their own."""

import numpy as np
import pytest

from ordinate_papers.estimators import RankLossClassifier
from ordinate_papers.methods.rank_losses import LOSSES
from tests.estimators.examples import Make
from tests.estimators.test_persistence import assert_same_model, save_and_load
from tests.papers.estimators.classifier_promises import HELD_OUT, RANKS, X, assert_refused, for_typical_promises

sord = Make(RankLossClassifier, "sord", loss="sord", epochs=6)
for_every_loss = pytest.mark.parametrize("loss", LOSSES)


@for_typical_promises
def test_soft_labels_keep_the_promises_of_a_classifier(promise, tmp_path):
    promise(sord, tmp_path)


@for_every_loss
def test_every_loss_learns_easy_ranks_and_keeps_them_over_a_save(loss, tmp_path):
    model = sord(loss=loss, epochs=100, learning_rate=1e-3, weight_decay=0.0).fit(X, RANKS, validation=(X, RANKS))
    assert model.score(X, RANKS) > 0.9
    assert np.isfinite(model.history_[-1]["val_loss"])
    assert model.history_[-1]["val_loss"] < model.history_[0]["val_loss"]
    assert_same_model(save_and_load(model, tmp_path / "model"), model, HELD_OUT)


@for_every_loss
def test_weights_of_two_are_repeated_samples_for_every_loss(loss):
    options = {"loss": loss, "epochs": 1, "batch_size": 96, "learning_rate": 1e-3}
    doubled = np.concatenate([np.arange(48), np.arange(24)])
    weights = np.where(np.arange(48) < 24, 2.0, 1.0)
    repeated = sord(**options).fit(X[doubled], RANKS[doubled])
    weighted = sord(**options).fit(X, RANKS, sample_weight=weights)
    assert weighted.history_[0]["train_loss"] == pytest.approx(repeated.history_[0]["train_loss"], rel=0.02, abs=2e-4)


def test_a_loss_that_is_unknown_is_refused():
    assert_refused(sord, {"loss": "kappa"}, "loss: got 'kappa', expected one of 'sord', 'squared_emd'")
