"""Classifiers of ranks by later losses: what all promise, and what is their own."""

import numpy as np
import pytest
import torch
from torch import nn

from ordinate_papers.estimators import RankLossClassifier
from ordinate_papers.methods.rank_losses import LOSSES, LaterOrdinal
from tests.estimators.examples import Make
from tests.model.test_saving import assert_same_model, save_and_load
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
    torch.manual_seed(0)
    method = LaterOrdinal(nn.Linear(3, 4), 4, 4, loss=loss).double()
    x, y = torch.randn(12, 3, dtype=torch.float64), torch.arange(12) % 4
    weights = torch.where(torch.arange(12) < 5, 2.0, 1.0).double()
    repeated = torch.cat([torch.arange(12), torch.arange(5)])
    actual, expected = method.batch_loss(x, y, weights), method.batch_loss(x[repeated], y[repeated])
    torch.testing.assert_close(actual, expected, rtol=1e-6, atol=0)
    assert not torch.isclose(actual, method.batch_loss(x, y), rtol=1e-4)


def test_a_loss_that_is_unknown_is_refused():
    assert_refused(sord, {"loss": "kappa"}, "loss: got 'kappa', expected one of 'sord', 'squared_emd'")
