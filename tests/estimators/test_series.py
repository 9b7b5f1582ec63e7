"""Series of several lengths, and random crops in training, behind the estimators."""

import numpy as np
import pytest
import torch
from torch.utils.data import Dataset

import ordinate
from ordinate import ImageOptions
from ordinate.data.series.options import SeriesOptions
from ordinate.data.training_batches import ViewBatches
from ordinate.data.ts_files import stack_series
from ordinate.errors import OrdinateError
from ordinate_papers.estimators import RepresentationRegressor
from tests.estimators.examples import labels_for, otd, ranks_of, supcr, supremix

LENGTHS = np.random.default_rng(1).integers(12, 21, size=32)


def draw_uneven():
    """Series (2, 12 to 20), whose first channel's level is the target."""
    rng = np.random.default_rng(0)
    target = rng.normal(size=32)
    levels = np.stack([target, np.zeros(32)], axis=1)
    return [rng.normal(level[:, None], 0.3, size=(2, n)) for n, level in zip(LENGTHS, levels, strict=True)], target


class Uneven(Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, index):
        return torch.from_numpy(SERIES[index]), TARGET[index]


SERIES, TARGET = draw_uneven()


def test_a_list_and_a_padded_array_are_the_same_series():
    model = supcr().fit(SERIES, TARGET)
    assert model.n_features_in_ == 2
    padded = np.pad(stack_series(SERIES), ((0, 0), (0, 0), (0, 5)), constant_values=np.nan)
    np.testing.assert_array_equal(supcr().fit(stack_series(SERIES), TARGET).transform(SERIES), model.transform(SERIES))
    np.testing.assert_allclose(model.transform(padded), model.transform(SERIES), rtol=0, atol=1e-12)


def test_a_series_has_its_embedding_whatever_is_embedded_with_it():
    model = supcr().fit(SERIES, TARGET)
    alone = np.concatenate([model.transform([one]) for one in SERIES])
    np.testing.assert_allclose(model.transform(SERIES), alone, rtol=0, atol=1e-12)
    np.testing.assert_allclose(model.predict(SERIES[:3]), model.predict(SERIES)[:3], rtol=0, atol=1e-10)


@pytest.mark.thorough
def test_a_dataset_of_series_of_several_lengths_is_taken():
    given = otd(epochs=1).fit(SERIES, ranks_of(TARGET)).transform(SERIES)
    dataset = otd(epochs=1).fit(Uneven(), ranks_of(TARGET))
    np.testing.assert_array_equal(dataset.transform(Uneven()), given)
    assert supcr(epochs=(1, 1)).fit(Uneven(), None).predict(Uneven()).shape == (32,)


@pytest.mark.parametrize("make", [otd, supcr], ids=["otd", "supcr"])
def test_crops_train_a_model_that_predicts_whole_series_and_is_saved_with_its_options(make, tmp_path):
    labels = labels_for(make, TARGET)
    model = make(data=SeriesOptions(crop=8)).fit(SERIES, labels)
    model.save(tmp_path / "model")
    restored = ordinate.load(tmp_path / "model")
    assert restored.data == SeriesOptions(crop=8)
    np.testing.assert_array_equal(restored.predict(SERIES), model.predict(SERIES))


@pytest.mark.parametrize(
    ("make", "options", "views"),
    [(supcr, {}, 2), (supremix, {}, 1), (supcr, {"views": 3}, 3)],
    ids=["two of SupCR", "one of SupReMix", "as asked"],
)
def test_a_batch_has_the_views_that_the_paper_takes(make, options, views, monkeypatch):
    drawn = []
    monkeypatch.setattr(
        "ordinate.estimators.pipeline.ViewBatches",
        lambda *args, **options: drawn.append(ViewBatches(*args, **options)) or drawn[-1],
    )
    make(data=SeriesOptions(crop=8, **options)).fit(SERIES, TARGET)
    x, y = drawn[0][0, [0, 1]]
    assert x.shape == (2 * views, 2, 8)
    assert len(y) == 2 * views


@pytest.mark.parametrize("padding", [0, 5])
def test_a_crop_longer_than_every_series_is_refused(padding):
    series = np.pad(stack_series(SERIES), ((0, 0), (0, 0), (0, padding)), constant_values=np.nan)
    with pytest.raises(OrdinateError, match="crop: got 21, expected at most the 20 points of the longest series"):
        supcr(data=SeriesOptions(crop=21), epochs=(1, 1)).fit(series, TARGET)


def test_losses_of_views_take_crops_or_draw_their_own():
    options = {"loss": "simclr", "embedding_dim": 8, "batch_size": 16, "epochs": (1, 1), "random_state": 0}
    own = RepresentationRegressor(**options).fit(SERIES, TARGET).transform(SERIES)
    crops = RepresentationRegressor(data=SeriesOptions(crop=8), **options).fit(SERIES, TARGET).transform(SERIES)
    assert np.isfinite(own).all()
    assert np.isfinite(crops).all()
    with pytest.raises(OrdinateError, match="data: got 1 view of augmentation 'crop', expected two"):
        RepresentationRegressor(data=SeriesOptions(crop=8, views=1), **options).fit(SERIES, TARGET)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([np.zeros((2, 5))] * 31 + [np.zeros((1, 5))], "X: got series of 2 and of 1 channel"),
        ([np.full((2, 5), np.inf)] * 32, "X: got infinity"),
    ],
)
def test_series_that_cannot_be_read_are_an_error(X, message):
    with pytest.raises(OrdinateError, match=message):
        supcr().fit(X, TARGET)


def test_series_takes_its_options_alone():
    with pytest.raises(OrdinateError, match=r"data: got 8, expected one of .*SeriesOptions\(...\), .*or None"):
        supcr(data=8).fit(SERIES, TARGET)
    with pytest.raises(OrdinateError, match="data: got ImageOptions for series, expected options of series, or None"):
        supcr(data=ImageOptions()).fit(SERIES, TARGET)
