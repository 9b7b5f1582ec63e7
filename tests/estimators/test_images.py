"""The estimators on pictures: arrays, files, data sets; read, trained, saved, resumed."""

import copy
import signal
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from torch.utils.data import Dataset

import ordinate
from ordinate import ImageOptions, SupCRRegressor, Training
from ordinate.data.images.files import ImageFiles
from ordinate.data.images.pixels import Decoded, ImagePreprocessing
from ordinate.data.training_batches import ViewBatches
from ordinate.errors import OrdinateError
from ordinate.methods.supcr import SupCR
from ordinate.model.export import export_model
from ordinate.model.occlusion import occlusion_map
from ordinate.training import loop as training
from ordinate.training.staged_method import StagedMethod
from tests import processes
from tests.data import pictures
from tests.estimators.examples import CLASSIFIERS, for_every_estimator, otd, supcr

RANKS = np.arange(60) % 3
DRAWN = pictures.draw(RANKS)
NEW_RANKS = np.arange(30) % 3
NEW = pictures.draw(NEW_RANKS, seed=1)
TINY = {"encoder": "test_resnet", "data": ImageOptions(augmentation="none", workers=0)}


def fit(make, X=DRAWN, **options):
    target = RANKS if make in CLASSIFIERS else RANKS.astype(float)
    return make(**{**TINY, **options}).fit(X, target)


@pytest.fixture(scope="module")
def trained():
    return fit(otd, learning_rate=3e-3, epochs=15)


@pytest.fixture(scope="module")
def barely_trained():
    return fit(otd, epochs=1)


@pytest.fixture
def paths(tmp_path):
    return pictures.write(tmp_path, DRAWN, [f"{i}.png" for i in range(60)])


def test_the_grade_of_new_pictures_is_learned(trained):
    assert trained.score(NEW, NEW_RANKS) > 0.9
    assert trained.transform(NEW).shape == (30, 8)
    assert trained.n_features_in_ == 1
    assert trained.reader_.preprocessing == ImagePreprocessing((16, 16), 1)


@for_every_estimator
def test_every_estimator_takes_pictures_and_keeps_them_over_a_save(make, tmp_path):
    images = ImageOptions(workers=0)
    model = fit(make, data=images, epochs=2) if make is otd else fit(make, data=images)
    assert np.isfinite(model.predict(NEW)).all()
    model.save(tmp_path / "model")
    loaded = ordinate.load(tmp_path / "model")
    assert loaded.get_params() == model.get_params()
    np.testing.assert_array_equal(loaded.transform(NEW), model.transform(NEW))
    np.testing.assert_array_equal(loaded.predict(NEW), model.predict(NEW))
    assert np.isfinite(copy.deepcopy(model).predict(NEW)).all()


MIRRORED = np.ascontiguousarray(NEW[..., ::-1])


@for_every_estimator
def test_an_image_and_its_mirror_image_are_one_to_a_model_that_mirrors(make, tmp_path):
    """The mean of the embeddings that the same weights give to both, by every face."""
    model = fit(make, data=ImageOptions(workers=0, mirror=True))
    np.testing.assert_allclose(model.transform(MIRRORED), model.transform(NEW), atol=1e-6)
    np.testing.assert_array_equal(model.predict(MIRRORED), model.predict(NEW))
    model.save(tmp_path / "model")
    loaded = ordinate.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.transform(NEW), model.transform(NEW))
    if make is otd:
        export_model(model.fitted, tmp_path / "model.pt2")  # which compares what it wrote with the model
    loaded.encoder_.mirror = False
    expected = (loaded.transform(NEW) + loaded.transform(MIRRORED)) / 2
    np.testing.assert_allclose(model.transform(NEW), expected, atol=1e-6)
    assert np.abs(loaded.transform(NEW) - expected).max() > 1e-4


def test_training_sees_each_view_alone():
    """The mirror image is for prediction: the first epoch is the same, bit for bit, without validation samples."""
    weights = [
        fit(otd, epochs=1, data=ImageOptions(workers=0, mirror=mirror)).encoder_.state_dict()
        for mirror in (False, True)
    ]
    for name, values in weights[0].items():
        assert torch.equal(values, weights[1][name]), name


class Pictures(Dataset):
    def __init__(self, form, labelled=True):
        self.form = form
        self.labelled = labelled

    def __len__(self):
        return len(DRAWN)

    def __getitem__(self, index):
        picture = self.form(DRAWN[index])
        return (picture, RANKS[index]) if self.labelled else picture


FORMS = {
    "channels last": lambda: DRAWN.transpose(0, 2, 3, 1),
    "floats": lambda: (DRAWN / 255).astype(np.float32),
    "decoded": lambda: Decoded(DRAWN, ImagePreprocessing((16, 16), 1)),
    "a Dataset of arrays": lambda: Pictures(lambda picture: picture, labelled=False),
    "a Dataset of tensors": lambda: Pictures(torch.from_numpy),
    "a Dataset of floats": lambda: Pictures(lambda picture: torch.from_numpy(picture) / 255),
    "a Dataset of PIL images": lambda: Pictures(lambda picture: Image.fromarray(picture[0])),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_every_form_of_the_same_pictures_trains_the_same(form, barely_trained):
    actual = fit(otd, form(), epochs=1)
    np.testing.assert_array_equal(actual.transform(NEW), barely_trained.transform(NEW))
    np.testing.assert_array_equal(actual.transform(form()), barely_trained.transform(DRAWN))


def test_files_are_read_from_paths_of_any_kind(paths, tmp_path, barely_trained):
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for path in paths:
            archive.write(path, path.name)
    expected = barely_trained.transform(NEW)
    for X in (
        paths,
        [str(path) for path in paths],
        np.array([str(path) for path in paths]),
        pd.Series([str(path) for path in paths], index=range(7, 67)),
        ImageFiles([path.name for path in paths], tmp_path / "all.zip"),
    ):
        np.testing.assert_array_equal(fit(otd, X, epochs=1).transform(NEW), expected)


def test_what_was_done_to_the_training_images_is_done_to_new_ones(tmp_path):
    images = ImageOptions(size=(12, 10), crop=(14, 14), equalize=True, channels=1, augmentation="none", workers=0)
    model = fit(otd, np.repeat(DRAWN, 3, axis=1), epochs=1, data=images)
    assert model.reader_.sample_shape == (1, 12, 10)
    large = np.repeat(np.repeat(NEW, 3, axis=2), 3, axis=3)
    assert model.transform(large).shape == model.transform(NEW).shape == (30, 8)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(ordinate.load(tmp_path / "model").transform(large), model.transform(large))


def test_the_encoder_sees_the_middle_of_images_that_are_resized_to_more_than_its_size(tmp_path):
    images = ImageOptions(size=12, resize=16, augmentation="hid", workers=0)
    model = fit(otd, epochs=1, data=images)
    batches = ViewBatches(
        model.fitted.read(DRAWN), torch.arange(60), *model.reader_.views(images, model.checked_method().views)
    )
    views = {view.shape for view in batches[0, [1, 2]][0]}
    assert views == {(1, 12, 12)}
    framed = NEW.copy()
    framed[:, :, :2], framed[:, :, -2:], framed[..., :2], framed[..., -2:] = 255, 255, 255, 255
    np.testing.assert_array_equal(model.transform(framed), model.transform(NEW))
    framed[:, :, 2] = 255
    assert (model.transform(framed) != model.transform(NEW)).any()
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(ordinate.load(tmp_path / "model").transform(NEW), model.transform(NEW))


def test_supcr_contrasts_two_views_and_the_others_one(monkeypatch):
    seen = []
    contrast = SupCR.contrast

    def watched(method, x, y, weights):
        seen.append((x.detach(), y))
        return contrast(method, x, y, weights)

    monkeypatch.setattr(SupCR, "contrast", watched)

    images = ImageOptions(augmentation="supcr", workers=0)
    options = {"batch_size": 16, "epochs": (1, 1), "data": images, "training": Training(validation_fraction=0)}
    SupCRRegressor(encoder="test_resnet", embedding_dim=8, random_state=0, **options).fit(DRAWN, RANKS.astype(float))
    embeddings, labels = seen[0]
    assert len(labels) in (30, 32)
    assert torch.equal(labels[::2], labels[1::2])
    assert not torch.equal(embeddings[::2], embeddings[1::2])


def test_pretrained_weights_are_started_from_and_saved(tmp_path):
    options = {"encoder": "efficientnet_lite0", "data": ImageOptions(size=32, channels=3, pretrained=True, workers=0)}
    model = fit(otd, epochs=1, learning_rate=1e-12, **options)
    other = fit(otd, epochs=1, learning_rate=1e-12, random_state=7, **options)
    for name, value in model.encoder_.backbone.named_parameters():
        torch.testing.assert_close(value, dict(other.encoder_.backbone.named_parameters())[name])
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(ordinate.load(tmp_path / "model").transform(NEW), model.transform(NEW))


def test_a_small_pretrained_residual_network_is_loaded_with_its_own_stem(tmp_path):
    import timm

    torch.save(timm.create_model("resnet18", num_classes=0, in_chans=3).state_dict(), tmp_path / "weights.pth")
    images = ImageOptions(channels=3, pretrained=str(tmp_path / "weights.pth"), augmentation="none", workers=0)
    model = fit(otd, epochs=1, encoder="resnet18", data=images)
    assert model.encoder_.backbone.conv1.kernel_size == (7, 7)
    model.save(tmp_path / "model")
    (tmp_path / "weights.pth").unlink()
    np.testing.assert_array_equal(ordinate.load(tmp_path / "model").transform(NEW), model.transform(NEW))


# what cannot be used is said before an epoch is trained


@pytest.fixture
def no_epoch(monkeypatch):
    monkeypatch.setattr(StagedMethod, "training_step", lambda *_: pytest.fail("trained an epoch"))


class Uneven(Pictures):
    def __getitem__(self, index):
        return DRAWN[index, :, : 10 + index % 2], RANKS[index]


UNUSABLE = {
    "no such network": ({"encoder": "resnet19"}, DRAWN, "encoder: got 'resnet19'"),
    "a network for tables": ({"encoder": "mlp"}, DRAWN, "encoder: 'mlp' does not take samples of shape (1, 16, 16)"),
    "options of another kind": ({"data": {"size": 8}}, DRAWN, "data: got {'size': 8}, expected "),
    "five channels": ({}, np.zeros((60, 5, 8, 8)), "expected images of 1 or 3 channels"),
    "bright floats": ({}, DRAWN / 2.0, "expected uint8, or floats from 0 to 1"),
    "no such files": ({}, [f"absent/{i}.png" for i in range(60)], "60 of 60 images cannot be read: absent/0.png"),
    "uneven samples": ({}, Uneven(None), "X: got a Dataset of samples of different shapes"),
    "too few labels": ({}, DRAWN[:50], "y: got 60 labels for 50 samples"),
    "weights that are not there": (
        {"data": ImageOptions(pretrained="absent.pth")}, DRAWN, "pretrained: there is no file absent.pth"
    ),
}  # fmt: skip


@pytest.mark.usefixtures("no_epoch")
@pytest.mark.parametrize(("options", "X", "message"), UNUSABLE.values(), ids=UNUSABLE)
def test_what_cannot_be_used_is_refused(options, X, message):
    with pytest.raises(OrdinateError) as caught:
        fit(otd, X, **options)
    assert message in str(caught.value)


@pytest.mark.usefixtures("no_epoch")
def test_files_that_cannot_be_read_are_named_before_training(paths):
    paths[3].write_bytes(b"")
    paths[8].write_bytes(paths[9].read_bytes()[:50])
    with pytest.raises(OrdinateError) as caught:
        fit(otd, paths)
    assert "X: 2 of 60 images cannot be read" in str(caught.value)
    assert f"{paths[3]}: is empty, expected an image; {paths[8]}: is" in str(caught.value)


def test_a_model_of_images_takes_no_table_and_the_other_way_round(trained):
    with pytest.raises(OrdinateError, match="X: got tables, expected images: paths, or"):
        trained.predict(np.zeros((3, 4)))
    table = otd(epochs=1).fit(np.random.default_rng(0).normal(size=(60, 3)), RANKS)
    with pytest.raises(OrdinateError, match="X: got images, expected tables"):
        table.predict(NEW)


# killed and resumed


def fit_and_die(folder, epoch):
    training.CHECKPOINT_SECONDS = 0.0  # after every batch
    step = StagedMethod.training_step

    def step_and_die(method, *data):
        loss = step(method, *data)
        if (method.current_epoch, method.step) == (epoch, 1):
            processes.kill_me()
        return loss

    StagedMethod.training_step = step_and_die
    fit(supcr, data=ImageOptions(augmentation="supcr", workers=0), checkpoint_dir=folder)


def fit_and_keep(path, folder):
    model = fit(supcr, data=ImageOptions(augmentation="supcr", workers=2), checkpoint_dir=folder)
    torch.save(model.method_.state_dict(), path)


@pytest.mark.thorough
@pytest.mark.typical("1")
@pytest.mark.parametrize("epoch", [0, 1])
def test_a_killed_fit_on_views_ends_with_the_weights_of_one_that_was_not(tmp_path, epoch):
    assert processes.run(fit_and_die, str(tmp_path / "state"), epoch) == -signal.SIGKILL
    for name, folder in (("resumed", str(tmp_path / "state")), ("whole", None)):  # each in a new process, as users do
        assert processes.run(fit_and_keep, str(tmp_path / name), folder, daemon=False) == 0
    resumed, whole = (torch.load(tmp_path / name) for name in ("resumed", "whole"))
    for name, value in whole.items():
        assert torch.equal(resumed[name], value), name


def coloured(ranks, seed=0):
    """Pictures whose channels have different means."""
    grey = pictures.draw(ranks, seed=seed)
    return np.concatenate([grey, grey // 2, grey // 4], axis=1)


def test_grey_images_are_told_to_a_model_of_coloured_ones():
    model = fit(otd, coloured(RANKS), epochs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(coloured(NEW_RANKS, seed=1))
    grey = coloured(NEW_RANKS, seed=1)
    grey[5:] = np.clip(grey[5:, :1], 0, 252) + np.arange(3, dtype=np.uint8)[:, None, None]  # As lossy formats round.
    with pytest.warns(UserWarning, match=r"images are grey, and those of training were coloured \(25 of 30 rows\)"):
        model.predict(grey)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(np.concatenate([coloured(NEW_RANKS, seed=1), grey[5:]]))  # Most are coloured.
        fit(otd, epochs=1).predict(NEW)  # Grey ones to a model of grey ones.
        some = coloured(RANKS)
        some[:40] = some[:40, :1]
        fit(otd, some, epochs=1).predict(grey)  # Some of training were grey, too.


def test_a_saved_model_knows_that_its_images_were_coloured(tmp_path):
    fit(otd, coloured(RANKS), epochs=1).save(tmp_path / "model")
    with pytest.warns(UserWarning, match=r"images are grey, and those of training were coloured \(30 of 30 rows\)"):
        ordinate.load(tmp_path / "model").predict(NEW)


@pytest.mark.parametrize("make", [otd, supcr])
def test_images_are_explained_by_maps(make, tmp_path):
    model = fit(make, epochs=1 if make is otd else (1, 1))
    pictures.write(tmp_path / "scans", NEW[:2], ["a.png", "b.png"])
    maps = model.explain(NEW[:2])
    assert maps.shape == (2, 16, 16)
    np.testing.assert_array_equal(maps, model.explain(tmp_path / "scans"))
    np.testing.assert_array_equal(maps[1], occlusion_map(model.fitted, model.fitted.read(NEW[:2])[1]))
