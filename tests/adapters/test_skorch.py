"""The losses as criteria of skorch's nets, as they are, and in scikit-learn's pipelines."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skorch import NeuralNet
from torch import nn

from ordinate import functional
from ordinate.adapters import EmbeddingNet
from ordinate.losses import AngularTriangleLoss, MMNPLoss, SupCRLoss, SupReMixLoss

X = np.random.default_rng(0).normal(size=(64, 3))
TARGETS = X @ [1.0, -2.0, 0.5]
RANKS = np.digitize(TARGETS, [-1.5, 0, 1.5])
CRITERIA = {
    "supcr": (SupCRLoss, {}),
    "supremix": (SupReMixLoss, {"criterion__temperature": 0.5, "criterion__window": 2.0}),
    "mmnp": (MMNPLoss, {"criterion__num_classes": 4}),
    "angular_triangle": (AngularTriangleLoss, {"criterion__num_classes": 4}),
}


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2)).double()

    def forward(self, x):
        return self.layers(x)


def net(criterion, kind=EmbeddingNet, **options):
    settings = {"lr": 0.01, "optimizer": torch.optim.Adam, "batch_size": 32, "train_split": None, "verbose": 0}
    torch.manual_seed(0)
    return kind(Network, criterion, **settings | options)


@pytest.mark.parametrize("name", CRITERIA)
def test_a_loss_is_a_criterion_as_it_is(name):
    criterion, options = CRITERIA[name]
    plain = net(criterion, NeuralNet, lr=0.0, batch_size=-1, max_epochs=1, **options)
    plain.fit(X, RANKS)
    torch.manual_seed(0)
    expected = plain.criterion_(torch.from_numpy(plain.predict(X)), torch.from_numpy(RANKS))
    if name != "supremix":  # which draws
        assert plain.history[-1, "train_loss"] == pytest.approx(expected.item(), rel=1e-12)
    plain = net(criterion, NeuralNet, max_epochs=30, **options).fit(X, RANKS)
    assert plain.history[-1, "train_loss"] < plain.history[0, "train_loss"]


def test_margins_are_trained_without_weight_decay_and_data_frames_are_arrays():
    options = {"criterion__num_classes": 4, "optimizer": torch.optim.AdamW, "optimizer__weight_decay": 0.3}
    fitted = net(MMNPLoss, max_epochs=1, **options).fit(pd.DataFrame(X, columns=list("abc")), RANKS)
    of_network, of_loss = fitted.optimizer_.param_groups
    assert len(of_network["params"]) == len(list(fitted.module_.parameters()))
    assert of_loss["params"] == [fitted.criterion_.raw]
    assert (of_network["weight_decay"], of_loss["weight_decay"]) == (0.3, 0.0)
    assert fitted.transform(pd.DataFrame(X, columns=list("abc"))).shape == (64, 2)
    assert len(net(SupCRLoss, max_epochs=1).fit(X, TARGETS).optimizer_.param_groups) == 1


def test_a_step_follows_the_gradient_of_the_formula():
    fitted = net(SupCRLoss, max_epochs=1, batch_size=-1, optimizer=torch.optim.SGD, lr=0.5).initialize()
    weight = fitted.module_.layers[0].weight
    before = weight.detach().clone()
    value = functional.supcr(fitted.module_(torch.from_numpy(X)), torch.from_numpy(TARGETS))
    (gradient,) = torch.autograd.grad(value, weight)
    fitted.partial_fit(X, TARGETS)
    torch.testing.assert_close(weight.detach(), before - 0.5 * gradient, rtol=0, atol=1e-12)


def test_embeddings_feed_the_next_step_of_a_pipeline():
    embedded = make_pipeline(StandardScaler(), net(SupCRLoss, max_epochs=60), Ridge()).fit(X, TARGETS)
    np.testing.assert_array_equal(
        embedded[:-1].transform(X), embedded[1].module_(torch.from_numpy(embedded[0].transform(X))).detach()
    )
    untrained = make_pipeline(StandardScaler(), net(SupCRLoss, max_epochs=0), Ridge()).fit(X, TARGETS)
    assert embedded.score(X, TARGETS) > 0.97 > untrained.score(X, TARGETS)


def test_margins_are_trained():
    fitted = net(MMNPLoss, max_epochs=0, criterion__num_classes=4).fit(X, RANKS)
    start = fitted.criterion_.margins.detach().clone()
    fitted.partial_fit(X, RANKS, epochs=5)
    assert not torch.isclose(fitted.criterion_.margins, start, atol=1e-3).any()


def test_samples_in_float64_reach_a_network_in_float32():
    torch.manual_seed(0)
    given = {"module__in_features": 3, "module__out_features": 2, "train_split": None, "max_epochs": 2, "verbose": 0}
    pipeline = make_pipeline(StandardScaler(), EmbeddingNet(nn.Linear, criterion=SupCRLoss, **given), Ridge())
    assert pipeline.fit(X, TARGETS).predict(X).shape == (64,)
    assert pipeline[1].transform(X).dtype == np.float32
