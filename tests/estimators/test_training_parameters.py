"""Optimizer and trainer of users: what is given is what trains."""

import csv

import numpy as np
import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from ordinate import ImageOptions, TextOptions, Training, load
from ordinate.encoders.image import build_image_encoder
from ordinate.errors import OrdinateError
from ordinate.training.callback import Callback
from ordinate.training.loggers import CSVLogger, TensorBoardLogger
from ordinate.training.optimization import Optimization
from ordinate.training.staged_method import StagedMethod
from ordinate.training.time_budget import TimeBudget, TrainingEnd, training_until
from tests.data import pictures
from tests.data.small_transformer import write_transformer
from tests.estimators.examples import REGRESSORS, cloc, draw_table, for_every_estimator, otd, ranks_of, supcr

X, TARGET = draw_table()
SGD = {"optimizer": "sgd", "learning_rate": 0.01, "accelerator": "cpu"}


def labels_for(make):
    return TARGET if make in REGRESSORS else ranks_of(TARGET)


def weights(model):
    return torch.cat([value.flatten().double() for value in model.method_.state_dict().values()])


class Steps(Callback):
    """What the optimizer was at each step."""

    def __init__(self):
        self.seen = []

    def on_batch_end(self, loop):
        if loop.is_between_steps or loop.method.step == loop.method.n_batches:
            group = loop.optimizer.param_groups[0]
            self.seen.append((type(loop.optimizer), group["lr"], group["weight_decay"], group.get("momentum")))


def steps_of(model, labels, samples=X):
    steps = Steps()
    model.set_params(training__callbacks=[steps]).fit(samples, labels)
    return steps.seen


@for_every_estimator
def test_a_parameter_changes_the_papers_optimization_and_the_usual_one(make):
    for optimization in ("usual", "paper"):
        given = {"optimizer": torch.optim.RAdam, "learning_rate": 0.02, "schedule": "constant", "warmup": 0.0}
        seen = steps_of(make(optimization=optimization, weight_decay=0.25, **given), labels_for(make))
        assert seen[0][:3] == (torch.optim.RAdam, 0.02, 0.25)
        assert {step[0] for step in seen} == {torch.optim.RAdam}


def test_the_head_keeps_its_ratio_to_the_learning_rate():
    rates = {}
    for learning_rate in (0.5, 0.05):
        paper = {"optimization": "paper", "learning_rate": learning_rate, "schedule": "constant"}
        seen = steps_of(supcr(**paper, head="linear"), TARGET)
        rates[learning_rate] = (seen[0][1], seen[-1][1])
    assert rates[0.5] == pytest.approx((0.5, 0.05))
    assert rates[0.05] == pytest.approx((0.05, 0.005))


@pytest.mark.parametrize("scheme", ["linear_probe", "fine_tune"])
def test_the_second_stage_may_have_a_learning_rate_of_its_own(scheme):
    options = {"scheme": scheme, "head_learning_rate": 0.002, "schedule": "constant", "warmup": 0.0, "refit": 0}
    options["head"] = "linear"
    seen = steps_of(supcr(**options), TARGET)
    assert (seen[0][1], seen[-1][1]) == (0.003, 0.002)
    usual = steps_of(supcr(**options | {"head_learning_rate": None}), TARGET)
    assert (usual[0][1], usual[-1][1]) == (0.003, 0.01)
    with pytest.raises(OrdinateError, match="head_learning_rate: got 0"):
        supcr(head_learning_rate=0).fit(X, TARGET)


def test_gradients_are_clipped():
    untrained, clipped, free = (
        weights(cloc(**SGD, epochs=(1, 1), **options).fit(X, ranks_of(TARGET)))
        for options in ({"gradient_clip_val": 1e-12}, {"gradient_clip_val": 1e-3}, {})
    )
    assert 0 < (clipped - untrained).norm() < 1e-3
    assert (free - untrained).norm() > 10 * (clipped - untrained).norm()


@pytest.mark.parametrize(
    ("optimizer", "precision"), [("adam", "bf16-mixed"), ("adamw", "32-true"), ("sgd", "bf16-mixed")]
)
def test_every_optimizer_and_precision_goes_with_clipping(optimizer, precision):
    options = {"optimizer": optimizer, "precision": precision, "gradient_clip_val": 1.0}
    assert weights(cloc(epochs=(1, 1), **options).fit(X, ranks_of(TARGET))).isfinite().all()


def test_gradients_accumulate_over_batches():
    alone, joined = (steps_of(supcr(accumulate_grad_batches=count), TARGET) for count in (1, 2))
    assert len(alone) == 2 * len(joined)


def test_training_in_half_precision_ends_near_that_in_full():
    full, half = (supcr(precision=precision).fit(X, TARGET) for precision in ("32-true", "bf16-mixed"))
    assert not torch.equal(weights(full), weights(half))
    np.testing.assert_allclose(half.predict(X), full.predict(X), atol=0.2)


@for_every_estimator
def test_what_trains_in_half_precision_is_validated(make):
    labels = labels_for(make)
    model = make(precision="bf16-mixed", accelerator="cpu").fit(X, labels, validation=(X, labels))
    assert np.isfinite([epoch["val_loss"] for epoch in model.history_ if "val_loss" in epoch]).all()


def test_a_logger_has_every_epoch_and_the_learning_rate(tmp_path):
    loggers = [CSVLogger(tmp_path / "c"), TensorBoardLogger(tmp_path / "t")]
    model = cloc(callbacks=loggers).fit(X, ranks_of(TARGET))
    with (tmp_path / "c" / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    logged = [float(row["train_loss"]) for row in rows]
    assert logged == pytest.approx([epoch["train_loss"] for epoch in model.history_])
    assert all(0 < float(row["learning_rate"]) < 1e-3 for row in rows)
    events = EventAccumulator(str(tmp_path / "t")).Reload()
    assert [event.value for event in events.Scalars("train_loss")] == pytest.approx(logged)


def test_a_model_is_saved_without_logger_callbacks_and_code(tmp_path):
    model = cloc(callbacks=[CSVLogger(tmp_path), Steps()], optimizer=torch.optim.RAdam)
    model.fit(X, ranks_of(TARGET))
    with pytest.warns(UserWarning, match=r"optimizer: .*RAdam.* is code, which is not saved: set it again"):
        model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert (loaded.training.callbacks, loaded.training.optimizer) == (None, None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"optimization": "best"}, "optimization: got 'best', expected one of 'usual', 'paper'"),
        ({"optimizer": "lion"}, "optimizer: got 'lion', expected one of 'adam', 'adamw', 'sgd'"),
        ({"schedule": "steps"}, "schedule: got 'steps'"),
        ({"warmup": 1.0}, "warmup: got 1.0, expected a share from 0 to below 1"),
        ({"gradient_clip_val": 0.0}, "gradient_clip_val: got 0.0"),
        ({"accumulate_grad_batches": 0}, "accumulate_grad_batches: got 0"),
        ({"precision": "8"}, "precision: got '8', expected one of '32-true', '16-mixed', 'bf16-mixed'"),
        ({"accelerator": "tpu"}, "accelerator: got 'tpu', expected one of 'auto', 'cpu', "),
        ({"callbacks": [print]}, "callbacks: got builtin_function_or_method, expected a callback of ordinate.training"),
    ],
)
def test_what_cannot_be_is_refused_before_training(options, message, monkeypatch):
    monkeypatch.setattr(StagedMethod, "training_step", lambda *_: pytest.fail("trained"))
    with pytest.raises(OrdinateError, match=message):
        cloc(**options).fit(X, ranks_of(TARGET))


def test_a_training_that_a_callback_ends_is_over(tmp_path):
    class StopAfter(Callback):
        def on_epoch_end(self, loop):
            if loop.logs["epoch"] == 2:
                loop.stop()

    options = {"epochs": 4, "callbacks": [StopAfter()], "checkpoint_dir": tmp_path}
    first = otd(**options).fit(X, ranks_of(TARGET))
    again = otd(**options).fit(X, ranks_of(TARGET))
    assert first.n_iter_ == again.n_iter_ == 3
    assert torch.equal(weights(first), weights(again))


class Counter(Callback):
    """Counts batches, over a training and those that continue it."""

    def __init__(self, dies_after=None):
        self.count = 0
        self.dies_after = dies_after
        self.ended = []

    def on_batch_end(self, loop):
        self.count += 1

    def on_epoch_end(self, loop):
        if self.count == self.dies_after:
            raise ConnectionError

    def on_end(self, loop):
        self.ended.append(loop.finished)

    def state_dict(self):
        return {"count": self.count}

    def load_state_dict(self, state):
        self.count = state["count"]


def test_the_state_of_a_callback_is_in_the_checkpoint(tmp_path):
    options = {"epochs": 4, "checkpoint_dir": tmp_path}
    killed, whole = Counter(dies_after=6), Counter()
    with pytest.raises(ConnectionError):
        otd(callbacks=[killed], **options).fit(X, ranks_of(TARGET))
    otd(callbacks=[whole], **options).fit(X, ranks_of(TARGET))
    assert whole.count == 8  # four epochs of two batches
    assert (killed.ended, whole.ended) == ([False], [True])


def test_a_cut_training_takes_a_step_with_accumulated_gradients():
    with training_until(TrainingEnd(TimeBudget(1, start=0.0), 0.0)):
        steps = steps_of(otd(accumulate_grad_batches=2, batch_size=8, epochs=3), ranks_of(TARGET))
    assert len(steps) == 1


def test_networks_from_random_weights_learn_with_higher_rates_than_others(tmp_path):
    """benchmarks/grid.py and table_rates.py: with 1e-3, losses end above what they reach with these rates."""
    images = np.asarray(pictures.draw(np.arange(12) % 3), dtype=np.uint8)
    torch.manual_seed(0)
    weights = tmp_path / "test_resnet.pth"
    torch.save(build_image_encoder("test_resnet", (1, 16, 16), 8).backbone.state_dict(), weights)
    own = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(256, 4))
    transformer, texts = write_transformer(tmp_path / "bert"), np.array(["a dog runs", "rain again", "a red car"] * 4)
    steady = {"schedule": "constant", "warmup": 0.0, "epochs": (1, 1)}
    given = [
        ({"encoder": "test_resnet"}, images, 1e-2), ({"encoder": "test_resnet", "learning_rate": 3e-4}, images, 3e-4),
        ({"encoder": "test_resnet", "data": ImageOptions(pretrained=str(weights))}, images, 1e-3),
        ({"encoder": own}, images.astype(np.float32) / 255, 1e-3), ({}, X[:12], 3e-3),
        ({"encoder": "resnet1d"}, X[:12, None, :].repeat(8, axis=2), 3e-3),
        ({"encoder": transformer, "data": TextOptions()}, texts, 3e-3),
        ({"encoder": transformer, "data": TextOptions(frozen=False)}, texts, 1e-3),
    ]  # fmt: skip
    for options, samples, expected in given:
        seen = steps_of(cloc(**steady, **options), np.arange(12) % 3, samples)
        assert {step[1] for step in seen} == {expected}


@pytest.mark.parametrize("declared", [Training, Optimization])
def test_an_optimizer_that_is_made_already_is_named_by_its_class(declared):
    with pytest.raises(OrdinateError, match=r"optimizer: got SGD, expected 'adam', .*such as torch\.optim\.RAdam"):
        declared(optimizer=torch.optim.SGD([torch.zeros(1)], lr=0.1))
