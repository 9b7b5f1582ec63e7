"""Regressors on tables train on the validation samples too, once these have chosen the epoch and the head."""

import signal

import numpy as np
import pytest
import torch

from ordinate import BlendRegressor, Training
from ordinate.methods.regression import Regression
from ordinate.training import loop as training
from ordinate.training.staged_method import StagedMethod
from ordinate.training.time_budget import TimeBudget, TrainingEnd, training_until
from tests import processes
from tests.estimators.examples import draw_table, supcr, supremix
from tests.estimators.test_kill_and_resume import assert_same_fit

X, TARGET = draw_table(60)
OPTIONS = {"epochs": (6, 3), "schedule": "constant", "validation_fraction": 0.2}


@pytest.fixture
def trained(monkeypatch):
    """Samples, epochs and weights of every training, in turn."""
    seen = []
    train = training.train

    def note(method, data, *arguments, **options):
        history = train(method, data, *arguments, **options)
        seen.append((len(data), len(history), data.weights))
        return history

    monkeypatch.setattr("ordinate.estimators.method.train", note)
    return seen


def stages(model):
    return {epoch["stage"] for epoch in model.history_}


@pytest.mark.parametrize(
    ("make", "head"),
    [(supcr, "ridge"), (supremix, "linear"), (supcr, "neighbours")],
    ids=["ridge", "linear", "neighbours"],
)
def test_all_samples_are_trained_on_for_a_share_of_the_epochs_to_the_best(make, head, trained):
    model = make(**OPTIONS, head=head, refit=0.5).fit(X, TARGET)
    (first, epochs, _), (all_of_them, later, _) = trained
    assert (first, all_of_them) == (48, 60)
    own_head = 3 if head == "linear" else 0
    assert 1 + own_head <= later <= 3 + own_head  # half of the best, at most 6
    assert [epoch["epoch"] for epoch in model.history_] == list(range(epochs + later))
    assert model.n_iter_ == epochs + later
    assert stages(model) == ({0.0, 1.0, 2.0, 3.0} if head == "linear" else {0.0, 1.0})
    if head == "neighbours":
        assert len(model.predictor_.embeddings) == 60
    assert model.head_name_ == head
    assert set(model.head_scores_) == {head}


def test_the_learning_rate_falls_from_where_the_best_epoch_had_it(monkeypatch):
    rates = []
    set_rate = StagedMethod.set_learning_rate

    def note(method, optimizer, time_progress):
        set_rate(method, optimizer, time_progress)
        if method.stage.patience is None:
            rates.append(optimizer.param_groups[0]["lr"])

    monkeypatch.setattr(StagedMethod, "set_learning_rate", note)
    monkeypatch.setattr(Regression, "is_best", lambda method, *_: len(method.history) == 2)
    cosine = {"schedule": "cosine", "warmup": 0.0, "learning_rate": 0.01}
    supcr(**{**OPTIONS, **cosine}, head="ridge", refit=1.0).fit(X, TARGET)
    assert rates == sorted(rates, reverse=True)
    assert 0.004 < rates[0] < 0.005  # half of the highest, in the middle of the schedule
    assert rates[-1] < 0.1 * rates[0]


@pytest.mark.parametrize("weights", [None, np.linspace(1, 2, 60)], ids=["none", "some"])
def test_weights_keep_their_ratios_over_both_parts(weights, trained):
    supcr(**OPTIONS, head="ridge").fit(X, TARGET, sample_weight=weights)
    found = trained[1][2]
    if weights is None:
        assert found is None
    else:
        assert torch.sort(found)[0].numpy() == pytest.approx(weights / weights.mean(), rel=1e-6)


@pytest.mark.parametrize(
    "options",
    [
        {"refit": 0},
        {"patience": None},
        {"validation_fraction": 0.0},
        {"scheme": "fine_tune"},
        {"optimization": "paper"},
    ],
    ids=lambda options: next(iter(options)),
)
def test_there_is_one_training_where_nothing_else_was_asked_for(options, trained):
    paper = {"schedule": "cosine"} if "optimization" in options else {}
    supcr(**{**OPTIONS, **paper, **options}).fit(X, TARGET)
    assert len(trained) == 1


def test_a_blend_has_its_own_stage_for_that(trained):
    training = Training(validation_fraction=0.2, schedule="constant")
    BlendRegressor(members=2, folds=2, epochs=20, trees=False, random_state=0, training=training).fit(X, TARGET)
    assert len(trained) == 1


def test_samples_that_were_given_to_validate_on_are_not_trained_on(trained):
    supcr(**OPTIONS).fit(X[:48], TARGET[:48], validation=(X[48:], TARGET[48:]))
    assert len(trained) == 1


def test_a_training_with_a_time_limit_is_the_only_one(trained):
    with training_until(TrainingEnd(TimeBudget(1000), until=900)):
        supcr(**OPTIONS).fit(X, TARGET)
    assert len(trained) == 1


def test_where_the_learning_rate_has_fallen_only_the_head_sees_the_others(trained):
    model = supcr(**OPTIONS | {"schedule": "cosine", "epochs": (1, 1)}, head="neighbours").fit(X, TARGET)
    assert len(trained) == 1
    assert len(model.predictor_.embeddings) == 60


def fit_and_die_on_all_samples(options):
    step = StagedMethod.training_step

    def step_and_die(method, *batch):
        loss = step(method, *batch)
        if method.stage.patience is None and (method.current_epoch, method.step) == (1, 0):
            processes.kill_me()
        return loss

    StagedMethod.training_step = step_and_die
    supcr(**options).fit(X, TARGET)


def test_a_fit_that_is_killed_on_all_samples_ends_where_it_would_have(tmp_path, trained):
    options = {**OPTIONS, "head": "ridge", "refit": 0.9}
    kept = {**options, "checkpoint_dir": tmp_path}
    process = processes.start(fit_and_die_on_all_samples, kept)
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert (tmp_path / "all samples" / "last.ckpt").exists()
    undisturbed = supcr(**options).fit(X, TARGET)
    for _ in range(2):  # continued, and read from its end
        assert_same_fit(supcr(**kept).fit(X, TARGET), undisturbed, X)


def test_a_share_above_one_is_refused():
    with pytest.raises(ValueError, match=r"refit: got 1\.5, expected a share from 0 to 1"):
        supcr(refit=1.5).fit(X, TARGET)
