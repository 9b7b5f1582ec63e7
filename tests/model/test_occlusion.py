"""Occlusion maps: against predictions of images that were hidden by hand, and by the command."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from ordinate import CLOCClassifier, ImageOptions, SupCRRegressor
from ordinate.cli import main
from ordinate.errors import OrdinateError
from ordinate.model import occlusion
from ordinate.model.occlusion import occlusion_map
from tests.data import pictures

RANKS = np.arange(24) % 3
X = pictures.draw(RANKS, channels=3)
QUICK = {"encoder": "test_resnet", "epochs": (1, 1), "random_state": 0}


@pytest.fixture(scope="module", params=[CLOCClassifier, SupCRRegressor])
def model(request):
    return request.param(**QUICK).fit(X, RANKS.astype(float))


def in_its_mean_colour(image):
    """Every pixel as the mean of its channel."""
    return np.stack([np.full(channel.shape, round(channel.mean()), np.uint8) for channel in image])


def test_a_patch_as_large_as_the_image_hides_all_of_it(model):
    image = model.fitted.read(X)[0]
    both = np.stack([X[0], in_its_mean_colour(X[0])])
    if isinstance(model, CLOCClassifier):
        whole, hidden = model.predict_proba(both) @ [0, 1, 2]
    else:
        whole, hidden = model.predict(both)
    np.testing.assert_allclose(occlusion_map(model.fitted, image, patches=1), whole - hidden, atol=1e-6)


def test_only_what_the_prediction_depends_on_is_marked(model, monkeypatch):
    monkeypatch.setattr(occlusion, "expected_label", lambda _, x: x[:, :, 4:6, 10:12].double().mean((1, 2, 3)).numpy())
    image = torch.zeros(3, 16, 24, dtype=torch.uint8)
    image[:, 4:6, 10:12] = 200
    found = occlusion_map(model.fitted, image, patches=8)  # Patches of 2 x 3 pixels, one apart.
    rows, columns = np.nonzero(found)
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (3, 6, 8, 13)
    assert found.min() == 0 < found.max()
    assert np.unravel_index(found.argmax(), found.shape)[0] in (4, 5)


def test_a_plain_background_is_not_marked(model):
    image = torch.zeros(3, 16, 24, dtype=torch.uint8)
    image[:, :, 16:] = torch.from_numpy(X[0])[:, :, :8]
    found = occlusion_map(model.fitted, image, patches=8)  # Patches of 2 x 3 pixels.
    np.testing.assert_allclose(found[:, :13], 0, atol=1e-6)
    assert np.abs(found[:, 16:]).max() > 1e-3


def test_several_targets_and_other_samples_are_refused():
    two = SupCRRegressor(**QUICK).fit(X, np.column_stack([RANKS, RANKS]).astype(float))
    with pytest.raises(OrdinateError, match="model: got 2 targets, expected a model of ranks or of one target"):
        occlusion_map(two.fitted, two.fitted.read(X)[0])
    table = CLOCClassifier(epochs=(1, 1), random_state=0).fit(X[:, 0, 0].astype(float), RANKS)
    with pytest.raises(OrdinateError, match=r"model: got a model of .*, expected a model of images"):
        occlusion_map(table.fitted, torch.zeros(3, 8, 8, dtype=torch.uint8))


def test_the_command_draws_the_first_images(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    CLOCClassifier(**QUICK, data=ImageOptions()).fit(X, RANKS).save("model")
    pictures.write(Path("scans"), X, [f"{place:02}.png" for place in range(24)])
    assert main(["explain", "model", "scans", "--images", "3", "--out", "explained"]) == 0
    assert sorted(path.name for path in Path("explained").iterdir()) == ["0_00.png", "1_01.png", "2_02.png"]
    with Image.open("explained/0_00.png") as drawn:
        assert drawn.mode == "RGB"
        assert min(drawn.size) >= 480
        left, right = np.hsplit(np.asarray(drawn.crop((0, 50, drawn.width, 500))), 2)
        assert np.ptp(right, axis=2).max() > np.ptp(left, axis=2).max()  # The map has colours of its own.
    out = capsys.readouterr().out
    assert "expected rank, 0 to 2" in out
    assert "3 pictures: explained" in out


def test_what_cannot_be_explained_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.savez("series.npz", X=np.zeros((3, 2, 9)))
    series = np.random.default_rng(0).normal(size=(24, 2, 9))
    CLOCClassifier(epochs=(1, 1), random_state=0).fit(series, RANKS).save("of-series")
    CLOCClassifier(**QUICK).fit(X, RANKS).save("of-images")
    pictures.write(Path("scans"), X[:2], ["a.png", "b.png"])
    for words, message in (
        (["of-series", "series.npz"], "model: got a model of series, expected a model of a table (columns)"),
        (["of-images", "scans"], "--out: is missing, expected a new folder for the pictures"),
        (["of-images", "scans", "--out", "scans"], "--out: scans already holds something, expected a new"),
        (["of-images", "scans", "--images", "0"], "--images: got 0, expected a whole number of at least 1"),
    ):  # fmt: skip
        assert main(["explain", *words]) == 2
        assert message in capsys.readouterr().err
