"""A Dataset that streams is asked for every view of every epoch anew, and two trainings on it are the same."""

import random
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import Dataset

from ordinate import ImageOptions
from ordinate.errors import OrdinateError
from tests.data import pictures
from tests.estimators.examples import labels_for, otd, supcr
from tests.estimators.test_kill_and_resume import assert_same_fit
from tests.methods.examples import StopBefore

RANKS = np.arange(24) % 3
DRAWN = pictures.draw(RANKS)
STREAM = ImageOptions(augmentation="none", stream=True, workers=0)


class Noisy(Dataset):
    """Pictures with noise of the three generators; ``given`` are the rows that this process was asked for."""

    def __init__(self, amount=20):
        self.amount = amount
        self.given = []

    def __len__(self):
        return len(DRAWN)

    def __getitem__(self, row):
        arrays = np.random.randint(self.amount)  # noqa: NPY002
        noise = torch.randint(self.amount, ()).item() + arrays + random.randrange(self.amount)
        pixels = np.clip(DRAWN[row] + float(noise), 0, 255).astype(np.uint8)
        self.given.append((row, noise))
        return torch.from_numpy(pixels), int(RANKS[row])


def fit(make, data, images=STREAM, y=None, **options):
    return make(encoder="test_resnet", data=images, **options).fit(data, y)


@pytest.mark.parametrize("make", [otd, supcr])
def test_a_dataset_without_chance_trains_the_weights_of_its_pictures(make):
    y = labels_for(make, RANKS.astype(float))
    options = {"views": 2, "augmentation": "auto"}
    expected = fit(make, DRAWN, replace(STREAM, stream=False, **options), y, validation_fraction=0.25)
    model = fit(make, Noisy(1), replace(STREAM, **options), y, validation_fraction=0.25)
    assert_same_fit(model, expected, DRAWN)
    np.testing.assert_array_equal(model.predict(Noisy(1)), expected.predict(DRAWN))


def test_every_view_of_every_epoch_is_drawn_and_prediction_is_always_the_same():
    data, views = Noisy(), 2
    frozen = fit(otd, data, replace(STREAM, stream=None), RANKS, epochs=3)
    data.given.clear()
    model = fit(otd, data, replace(STREAM, views=views), RANKS, epochs=3)
    assert model.history_ != frozen.history_
    for row in range(len(DRAWN)):
        assert len({noise for given, noise in data.given if given == row}) > views
    data.given.clear()
    model.predict(data)
    first, data.given = data.given, []
    model.predict(data)
    assert data.given == first


@pytest.mark.filterwarnings("ignore:rows outside what training had seen")  # They are drawn without the noise.
def test_workers_and_a_resumption_change_nothing(tmp_path):
    expected = fit(otd, Noisy(), epochs=3, validation_fraction=0.25)
    before = random.getstate()
    model = fit(otd, Noisy(), replace(STREAM, workers=2), epochs=3, validation_fraction=0.25)
    assert random.getstate() == before
    assert_same_fit(model, expected, DRAWN)
    options = {"epochs": 3, "validation_fraction": 0.25, "checkpoint_dir": tmp_path}
    with pytest.raises(ConnectionError):
        fit(otd, Noisy(), callbacks=[StopBefore(2, 1)], **options)
    assert_same_fit(fit(otd, Noisy(), **options), expected, DRAWN)


class Broken(Noisy):
    def __getitem__(self, row):
        if row == 7:
            raise ZeroDivisionError("no contrast")
        return Image.fromarray(DRAWN[row][0]), RANKS[row]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_sample_that_fails_is_named(workers):
    with pytest.raises(OrdinateError, match="sample 7 of the Dataset: could not be read: no contrast"):
        fit(otd, Broken(), replace(STREAM, workers=workers), y=RANKS)
