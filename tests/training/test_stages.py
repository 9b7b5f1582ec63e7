"""Stages: their lengths, their early stop, the weights they keep and the learning rates they train with."""

import math

import pytest
import torch
from torch import nn
from torch.optim import RAdam

from ordinate.errors import OrdinateError
from ordinate.methods import CLOC, OTD, SupCR, SupReMix
from ordinate.training.adam import FusedAdam
from ordinate.training.optimization import Optimization
from ordinate.training.staged_method import Stage, StagedMethod
from tests.methods.examples import DIM, encoder, ranks, targets, train, watch

STEP = Optimization("adam", 1.0, 0.0, schedule="constant", warmup=0.0)  # one step a batch where gradients stay
CASES = {
    "cloc": lambda: (CLOC(encoder(), DIM, 4, phase_epochs=(2, 3), target_accuracy=1.0), ranks()),
    "otd": lambda: (OTD(encoder(), 4, epochs=5), ranks()),
    "supcr": lambda: (SupCR(encoder(), DIM, epochs=(3, 2)), targets()),
    "supremix": lambda: (SupReMix(encoder(), DIM, window=1.0, epochs=(3, 2)), targets()),
}
for_every_method = pytest.mark.parametrize("build", CASES.values(), ids=CASES)


class Counter(StagedMethod):
    """A weight for each stage that counts the batches trained in it; its validation loss is dictated."""

    def __init__(self, *stages, values=()):
        super().__init__(stages)
        self.counts = nn.ParameterList([nn.Parameter(torch.zeros(1)) for _ in stages])
        self.values = values
        self.begun = []

    def forward(self, x):
        return x

    def parameters_of_stage(self, index):
        return [self.counts[index]]

    def begin_stage(self):
        self.begun.append(self.stage_index)

    def batch_loss(self, x, y):
        return -self.counts[self.stage_index].sum().expand(()) + 0 * x.sum()

    def validate_embeddings(self, x, y):
        return {"val_loss": torch.tensor(float(self.values[self.current_epoch]))}


def counted(*stages, values=(), data=None):
    """The weights and the history after training with one batch an epoch."""
    data = data or ranks(8)
    method = Counter(*stages, values=values)
    history = train(method, data, data if values else None, batch_size=8)
    return [round(count.item(), 4) for count in method.counts], history


def test_each_stage_trains_its_own_parameters_for_its_own_epochs():
    counts, history = counted(Stage("a", 3, STEP), Stage("b", 2, STEP), Stage("c", 4, STEP))
    assert counts == [3, 2, 4]
    assert [entry["stage"] for entry in history] == [0, 0, 0, 1, 1, 2, 2, 2, 2]


@pytest.mark.parametrize(
    ("values", "epochs", "best"),
    [
        ([3, 2, 1, 2, 2, 2, 0, 0], 6, 3),  # three epochs after the third
        ([5, 4, 3, 2, 1, 0, 9, 9], 8, 6),  # the last epoch comes before patience runs out
        ([1, 1, 1, 1, 0, 0, 0, 0], 4, 1),  # the same value is no improvement
        ([2, 1, 3, 3, 0, 3, 3, 3], 8, 5),  # an improvement starts patience anew
    ],
)
def test_patience_ends_a_stage_and_the_best_weights_come_back(values, epochs, best):
    counts, history = counted(Stage("a", 8, STEP, patience=3), values=values)
    assert len(history) == epochs
    assert [entry["val_loss"] for entry in history] == values[:epochs]
    assert counts == [best]


def test_a_stage_after_one_that_ran_out_of_patience_starts_from_its_best_and_lasts_as_long_as_it_says():
    counts, history = counted(
        Stage("a", 9, STEP, patience=2), Stage("b", 3, STEP), values=[2, 1, 5, 5, 7, 8, 9, 9, 9, 9, 9, 9]
    )
    assert counts == [2, 3]
    assert [entry["stage"] for entry in history] == [0, 0, 0, 0, 1, 1, 1]


def test_each_stage_has_a_best_of_its_own():
    counts, _ = counted(Stage("a", 2, STEP, patience=2), Stage("b", 4, STEP, patience=2), values=[0, 0, 9, 8, 9, 9])
    assert counts == [1, 2]


def test_without_patience_the_last_weights_are_kept():
    counts, history = counted(Stage("a", 4, STEP), values=[1, 2, 3, 4])
    assert counts == [4]
    assert len(history) == 4


def test_without_validation_data_patience_watches_the_training_loss():
    method = SupCR(encoder(), DIM, scheme="regularise", epochs=(60, 1), patience=2)
    method.head.standardise(targets().y)
    losses = [entry["train_loss"] for entry in train(method, targets())]
    assert len(losses) < 60
    assert losses.index(min(losses)) == len(losses) - 3


@pytest.mark.parametrize("schedule", ["cosine", "constant"])
def test_the_learning_rate_rises_in_the_warmup_and_then_follows_its_schedule(schedule):
    optimization = Optimization(learning_rate=0.2, schedule=schedule, warmup=0.25)
    assert [optimization.learning_rate_at(p) for p in (0, 0.125, 0.25)] == pytest.approx([0, 0.1, 0.2], abs=1e-15)
    later = [optimization.learning_rate_at(0.25 + 0.75 * p) for p in (0.25, 0.5, 0.75, 1)]
    cosine = [0.1 * (1 + math.cos(math.pi * p)) for p in (0.25, 0.5, 0.75, 1)]
    assert later == pytest.approx(cosine if schedule == "cosine" else [0.2] * 4, abs=1e-15)


def test_each_stage_goes_through_its_schedule_batch_by_batch():
    first, second = Optimization("sgd", 0.3, warmup=0.5), Optimization("adam", 0.1, schedule="constant", warmup=0.25)
    watched = watch(Counter(Stage("a", 2, first), Stage("b", 4, second)), ranks(24), batch_size=8)
    expected = [first.learning_rate_at((step + 0.5) / 6) for step in range(6)]
    assert watched.rates[:6] == pytest.approx(expected, abs=1e-12)
    expected = [second.learning_rate_at((step + 0.5) / 12) for step in range(12)]
    assert watched.rates[6:] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "kind"), [("sgd", torch.optim.SGD), ("adam", FusedAdam), ("adamw", FusedAdam), (RAdam, RAdam)]
)
def test_the_optimizer_is_the_one_named(name, kind):
    optimizer = Optimization(name, 0.3, 0.02).build([nn.Parameter(torch.ones(1))])
    assert type(optimizer) is kind
    (group,) = optimizer.param_groups
    assert (group["lr"], group["weight_decay"], group.get("momentum", 0.9)) == (0.3, 0.02, 0.9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"optimizer": "lion"}, "optimizer: got 'lion', expected one of 'adam', 'adamw', 'sgd'"),
        ({"schedule": "linear"}, "schedule: got 'linear'"),
        ({"learning_rate": -1.0}, "learning_rate: got -1.0"),
        ({"weight_decay": -1.0}, "weight_decay: got -1.0"),
        ({"warmup": 1.5}, "warmup: got 1.5"),
    ],
)
def test_an_optimization_that_cannot_be_is_refused(options, message):
    with pytest.raises(OrdinateError, match=message):
        Counter(Stage("a", 2, Optimization(**options)))


def test_a_stage_without_epochs_is_refused():
    with pytest.raises(OrdinateError, match="epochs: got 0 for the stage 'b', expected at least 1"):
        Counter(Stage("a", 2, STEP), Stage("b", 0, STEP))


@for_every_method
def test_a_method_is_trained_in_all_its_stages(build):
    method, data = build()
    watched = watch(method, data)
    assert len(method.history) == method.epochs == 5
    assert all(watched.changes(""))
    assert not any(value.isnan().any() for value in method.state_dict().values() if value.is_floating_point())


@for_every_method
def test_a_method_fitted_again_goes_through_all_its_stages_again(build):
    method, data = build()
    first = watch(method, data)
    again = watch(method, data)
    assert again.stages == first.stages
    assert again.rates == first.rates
    assert again.changes("mmnp.raw") == first.changes("mmnp.raw")


@for_every_method
def test_the_history_has_an_entry_an_epoch_with_what_that_epoch_logged(build):
    method, data = build()
    history = train(method, data, data)
    assert history is method.history
    assert [entry["epoch"] for entry in history] == [0, 1, 2, 3, 4]
    for entry in history:
        in_head_stage = isinstance(method, SupCR | SupReMix) and entry["stage"] == 1
        assert ("val_contrast" in entry) == (isinstance(method, SupCR | SupReMix) and not in_head_stage)
        assert ("val_mae" in entry) == (isinstance(method, CLOC) or in_head_stage)
