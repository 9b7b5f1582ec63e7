"""Time that is spent, over all runs, and trainings that end with it: in every stage of every method, a usable model."""

import json

import numpy as np
import pytest
import torch

import ordinate
from ordinate import CLOCClassifier, OTDClassifier, SupCRRegressor, SupReMixRegressor, Training
from ordinate.training.staged_method import StagedMethod
from ordinate.training.time_budget import TimeBudget, TrainingEnd, training_until
from tests.estimators.examples import draw_table, ranks_of
from tests.methods.examples import Snapshots

X, TARGET = draw_table(120)
RANKS = ranks_of(TARGET)
OWN = {"batch_size": 16, "random_state": 0}
SEVERAL = {  # with all epochs, 6 batches each (regressors hold samples out)
    "cloc": (lambda: CLOCClassifier(epochs=(6, 6), target_accuracy=1.0, decision="mode", **OWN), RANKS),
    "otd": (lambda: OTDClassifier(epochs=12, **OWN), RANKS),
    "supcr": (lambda: SupCRRegressor(epochs=(12, 6), **OWN), TARGET),
    "supremix": (lambda: SupReMixRegressor(epochs=(12, 6), **OWN), TARGET),
}


class Steps:
    """A clock that every training step moves on by a second, or by more from a step on."""

    def __init__(self, monkeypatch, slower_from=10**9, slow=1.0):
        self.now = 0.0
        self.steps = 0
        step = StagedMethod.training_step

        def timed(method, *batch):
            self.steps += 1
            self.now += slow if self.steps > slower_from else 1.0
            return step(method, *batch)

        monkeypatch.setattr(StagedMethod, "training_step", timed)

    def end(self, until):
        return TrainingEnd(TimeBudget(1000, clock=lambda: self.now, start=0.0), until)


def test_time_of_earlier_runs_counts(tmp_path):
    now = [0.0]
    first = TimeBudget(60, clock=lambda: now[0])
    now[0] = 20.0
    assert first.spent == 20.0
    assert not any(tmp_path.iterdir())  # nothing is written before the run has its folder
    first.keep_in(tmp_path / "spent.json")
    assert first.left == 40.0
    now[0] = 500.0  # a new run, on another clock
    second = TimeBudget(60, clock=lambda: now[0])
    second.continue_from(tmp_path / "spent.json")
    second.keep_in(tmp_path / "spent.json")
    now[0] = 510.0
    assert second.spent == 30.0
    assert json.loads((tmp_path / "spent.json").read_text()) == {"spent": 30.0}


@pytest.mark.parametrize("name", SEVERAL)
@pytest.mark.parametrize("until", [0, 15, 39, 41])
def test_a_training_that_is_cut_anywhere_leaves_a_usable_model(name, until, monkeypatch, tmp_path):
    build, labels = SEVERAL[name]
    clock = Steps(monkeypatch)
    with training_until(clock.end(until)):
        model = build().fit(X, labels)
    assert clock.now <= until + 2  # a batch for each stage at least
    assert "passed" in model.history_[-1]
    constant = np.abs(labels - np.median(labels)).mean()
    if until >= 15:
        assert np.abs(np.asarray(model.predict(X), dtype=float) - labels).mean() < constant
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(ordinate.load(tmp_path / "model").predict(X), model.predict(X))


def test_the_only_epoch_says_that_time_cut_it(monkeypatch):
    with training_until(Steps(monkeypatch).end(3)):
        model = CLOCClassifier(epochs=(1, 1), **OWN).fit(X, RANKS)
    assert 0 < model.history_[-1]["passed"] < 1


@pytest.mark.parametrize("name", ["supcr", "supremix"])
def test_a_head_that_was_not_trained_does_not_predict(name, monkeypatch):
    build, labels = SEVERAL[name]
    given = {"training__validation_fraction": 0.0, "head": "linear"}
    clock = Steps(monkeypatch)
    with (
        training_until(clock.end(1)),
        pytest.warns(UserWarning, match="ridge regression .* replaces it"),
    ):
        model = build().set_params(**given).fit(X, labels)
    assert model.head_name_ == "ridge"
    assert build().set_params(**given).fit(X, labels).head_name_ == "linear"


@pytest.mark.typical("cloc")
@pytest.mark.parametrize("name", SEVERAL)
def test_with_time_enough_nothing_changes(name, monkeypatch):
    build, labels = SEVERAL[name]
    free = build().fit(X, labels)
    with training_until(Steps(monkeypatch).end(10_000)):
        timed = build().fit(X, labels)
    assert timed.history_ == free.history_
    for key, value in free.method_.state_dict().items():
        assert torch.equal(value, timed.method_.state_dict()[key])
    assert (timed.predict(X) == free.predict(X)).all()


def test_stages_share_the_time_by_their_epochs(monkeypatch):
    clock = Steps(monkeypatch)
    with training_until(clock.end(20)):
        model = CLOCClassifier(epochs=(10, 30), target_accuracy=1.0, **OWN).fit(X, RANKS)
    stages = [epoch["stage"] for epoch in model.history_]
    passed = [epoch.get("passed", 1.0) for epoch in model.history_]
    batches = model.n_batches_
    first = batches * sum(share for share, stage in zip(passed, stages, strict=True) if stage == 0)
    assert first == pytest.approx(5)
    assert clock.now <= 21


def test_on_a_machine_that_becomes_slow_the_learning_rate_still_ends_at_zero(monkeypatch):
    clock = Steps(monkeypatch, slower_from=10, slow=2.0)
    watched = Snapshots()
    with training_until(clock.end(60)):
        OTDClassifier(epochs=8, training=Training(callbacks=[watched]), **OWN).fit(X, RANKS)
    rates = watched.rates
    assert clock.now <= 62
    assert max(rates) > 5e-4
    assert rates[-1] < 1e-4


def test_a_training_that_was_stopped_keeps_its_end(monkeypatch, tmp_path):
    clock = Steps(monkeypatch)

    def build():
        return OTDClassifier(epochs=30, training=Training(checkpoint_dir=tmp_path), **OWN)

    def die(method):
        if method.current_epoch == 2:
            raise ConnectionError
        return original(method)

    original = StagedMethod.begin_epoch
    monkeypatch.setattr(StagedMethod, "begin_epoch", die)
    with pytest.raises(ConnectionError), training_until(clock.end(40)):
        build().fit(X, RANKS)
    monkeypatch.setattr(StagedMethod, "begin_epoch", original)
    clock.now += 10  # of reading the data again
    with training_until(clock.end(40)):
        model = build().fit(X, RANKS)
    assert clock.now <= 41
    assert sum(epoch.get("passed", 1.0) for epoch in model.history_) * model.n_batches_ == pytest.approx(30)


def test_a_training_that_starts_too_late_still_has_the_least_time(monkeypatch):
    clock = Steps(monkeypatch)
    late = TrainingEnd(clock.end(0).budget, until=0, least=20)
    with training_until(late):
        model = OTDClassifier(epochs=100, **OWN).fit(X, RANKS)
    assert clock.now == 20
    assert model.score(X, RANKS) > 0.7
