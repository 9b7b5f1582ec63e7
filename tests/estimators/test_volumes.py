"""The estimators on volumes: arrays and NIfTI files, trained, saved, resumed, predicted one by one."""

import signal

import numpy as np
import pytest
import torch

import ordinate
from ordinate.data.streamed import StreamedPixels
from ordinate.data.volumes.options import VolumeOptions
from ordinate.encoders.volume import ResNet3d18
from ordinate.errors import OrdinateError
from ordinate.model.export import export_model
from ordinate.training.staged_method import StagedMethod
from tests import processes
from tests.data import scans
from tests.estimators.examples import CLASSIFIERS, for_every_estimator, otd, supremix

AGES = 40.0 + np.arange(24) % 3 * 20
RANKS = np.arange(24) % 3
DRAWN = scans.draw(AGES)
NEW_AGES = 40.0 + np.arange(12) % 3 * 20
NEW = scans.draw(NEW_AGES, seed=1)


@pytest.fixture(scope="module", autouse=True)
def narrow():
    """A network that is trained in a moment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(ResNet3d18.__init__.__kwdefaults__, "widths", (4, 4, 8, 8))
        yield


@pytest.fixture(scope="module")
def trained(narrow):
    return fit(otd, epochs=1)


def fit(make, X=DRAWN, **options):
    model = make(**{"data": VolumeOptions(workers=0), "batch_size": 16, **options})
    return model.fit(X, RANKS if make in CLASSIFIERS else AGES)


@pytest.mark.thorough
def test_the_age_of_new_volumes_is_learned():
    model = fit(supremix, epochs=(15, 15), learning_rate=3e-3)
    assert np.abs(model.predict(NEW) - NEW_AGES).mean() < 5  # 13 would be the mean's
    assert model.transform(NEW).shape == (12, 8)
    assert model.n_features_in_ == 1
    assert isinstance(model.encoder_, ResNet3d18)


@pytest.mark.typical("2")
@pytest.mark.parametrize("workers", [0, 2])
def test_volumes_that_stream_train_the_weights_of_volumes_in_memory(tmp_path, workers):
    paths = scans.write(tmp_path, DRAWN, [f"{place}.nii" for place in range(24)])
    options = {"epochs": 2, "validation_fraction": 0.25}
    expected = fit(otd, paths, **options)
    model = fit(otd, paths, data=VolumeOptions(workers=workers, stream=True), **options)
    for name, value in expected.method_.state_dict().items():
        assert torch.equal(value, model.method_.state_dict()[name]), name
    assert model.history_ == expected.history_
    assert isinstance(model.fitted.read(paths), StreamedPixels)
    np.testing.assert_array_equal(model.predict(paths), expected.predict(paths))
    paths[5].write_bytes(b"")
    with pytest.raises(OrdinateError, match=f"{paths[5].name}: is empty, expected a NIfTI volume"):
        model.predict(paths)


@for_every_estimator
def test_every_estimator_takes_volumes_and_keeps_them_over_a_save(make, tmp_path):
    model = fit(make, data=VolumeOptions(size=12, intensity=(0, 250), workers=0))
    assert model.reader_.sample_shape == (1, 12, 12, 12)
    model.save(tmp_path / "model")
    loaded = ordinate.load(tmp_path / "model")
    assert loaded.get_params() == model.get_params()
    np.testing.assert_array_equal(loaded.transform(NEW), model.transform(NEW))
    np.testing.assert_array_equal(loaded.predict(NEW), model.predict(NEW))


def test_files_and_arrays_of_the_same_volumes_train_the_same(tmp_path, trained):
    paths = scans.write(tmp_path, DRAWN, [f"{i}.nii.gz" for i in range(24)])
    actual = fit(otd, paths, epochs=1)
    np.testing.assert_array_equal(actual.transform(NEW), trained.transform(NEW))
    np.testing.assert_array_equal(actual.transform([str(path) for path in paths]), trained.transform(DRAWN))


def test_a_prediction_does_not_depend_on_the_batch(trained):
    together = trained.transform(NEW)
    for row in range(12):
        np.testing.assert_array_equal(trained.transform(NEW[row : row + 1])[0], together[row])


def test_unreadable_volumes_are_named_before_an_epoch_is_trained(tmp_path, monkeypatch):
    monkeypatch.setattr(StagedMethod, "training_step", lambda *_: pytest.fail("trained an epoch"))
    paths = scans.write(tmp_path, DRAWN, [f"{i}.nii" for i in range(24)])
    paths[5].write_bytes(b"nothing")
    with pytest.raises(OrdinateError, match=r"X: 1 of 24 volumes cannot be read: .*5\.nii: is no NIfTI volume"):
        fit(otd, paths)


@pytest.mark.parametrize("X", [DRAWN[:, :, 0], DRAWN[:, 0, 0, 0]], ids=["images", "table"])
def test_other_data_than_in_training_is_refused(X, trained):
    with pytest.raises(OrdinateError, match=r"got (images|tables), expected volumes"):
        trained.transform(X)


def test_an_exported_graph_agrees_with_the_estimator(tmp_path):
    model = fit(supremix, epochs=(1, 1))
    exported = export_model(model.fitted, tmp_path / "model.pt2")
    assert exported.input_shape == (1, 16, 16, 16)
    graph = torch.export.load(exported.path).module()
    found = graph(model.reader_.transform(NEW))["prediction"].detach().numpy()
    np.testing.assert_allclose(found, model.predict(NEW), rtol=1e-4)


def fit_and_die(folder, epoch):
    ResNet3d18.__init__.__kwdefaults__["widths"] = (4, 4, 8, 8)
    step = StagedMethod.training_step

    def step_and_die(method, *batch):
        if (method.current_epoch, method.step) == (epoch, 1):
            processes.kill_me()
        return step(method, *batch)

    StagedMethod.training_step = step_and_die
    fit(supremix, checkpoint_dir=folder)


def fit_and_keep(path, folder):
    ResNet3d18.__init__.__kwdefaults__["widths"] = (4, 4, 8, 8)
    torch.save(fit(supremix, checkpoint_dir=folder).method_.state_dict(), path)


@pytest.mark.thorough
def test_a_killed_fit_ends_with_the_weights_of_one_that_was_not(tmp_path):
    assert processes.run(fit_and_die, str(tmp_path / "state"), 1) == -signal.SIGKILL
    for name, folder in (("resumed", str(tmp_path / "state")), ("whole", None)):  # each in a new process, as users do
        assert processes.run(fit_and_keep, str(tmp_path / name), folder) == 0
    resumed, whole = (torch.load(tmp_path / name) for name in ("resumed", "whole"))
    for name, value in whole.items():
        assert torch.equal(resumed[name], value), name
