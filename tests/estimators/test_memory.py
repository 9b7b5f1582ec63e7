"""A training that memory cannot hold is refused before it begins, and one that takes much says how much."""

import pytest
import torch
from torch import nn

from ordinate.data import memory
from ordinate.errors import OrdinateError
from ordinate.estimators.pipeline import Fit
from ordinate.training.step_cost import training_memory
from tests.estimators.examples import cloc, draw_table, ranks_of

X, TARGET = draw_table()


def test_what_memory_cannot_hold_is_refused_before_the_first_epoch(monkeypatch):
    model = cloc(random_state=0)
    monkeypatch.setattr(memory, "available_memory", lambda: 1000)
    monkeypatch.setattr(Fit, "_train", lambda *_, **__: pytest.fail("trained"))
    with pytest.raises(OrdinateError, match=r"training: takes .* GiB of memory, expected at most .*; fewer columns"):
        model.fit(X, ranks_of(TARGET))


def test_it_is_that_of_the_gradients_and_of_adams_moments():
    network = nn.Sequential(nn.Linear(10, 5), nn.Linear(5, 2, dtype=torch.float64))
    network[0].bias.requires_grad = False
    assert training_memory(network) == 3 * (4 * 50 + 8 * 12)


def test_much_is_announced(monkeypatch, capsys):
    monkeypatch.setattr("ordinate.estimators.pipeline.training_memory", lambda _: 2**31)
    monkeypatch.setattr(memory, "available_memory", lambda: 2**40)
    cloc(random_state=0, verbose=1).fit(X, ranks_of(TARGET))
    assert "training takes about 2 GiB" in capsys.readouterr().out
