"""Pictures that are decoded as batches need them: the same models, other errors, and less memory."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from ordinate import ImageOptions
from ordinate.data import streamed
from ordinate.data.decoded import PixelReader
from ordinate.data.streamed import StreamedPixels
from ordinate.errors import OrdinateError
from tests.data import pictures
from tests.estimators.examples import CLASSIFIERS, otd, supcr

RANKS = np.arange(60) % 3
DRAWN = pictures.draw(RANKS)
VIEWS = ImageOptions(augmentation="auto", views=2, workers=0)


@pytest.fixture
def paths(tmp_path):
    return pictures.write(tmp_path, DRAWN, [f"{i}.png" for i in range(60)])


def fit(make, X, data=VIEWS, y=RANKS, **options):
    target = y if make in CLASSIFIERS else y.astype(float)
    return make(encoder="test_resnet", data=data, **options).fit(X, target)


def same(actual, expected):
    for name, value in expected.method_.state_dict().items():
        assert torch.equal(value, actual.method_.state_dict()[name]), name
    assert actual.history_ == expected.history_


@pytest.mark.parametrize("make", [otd, supcr], ids=["otd", "supcr"])
def test_streamed_pictures_train_the_weights_of_pictures_in_memory(make, paths):
    options = {"validation_fraction": 0.2}
    expected = fit(make, paths, **options)
    model = fit(make, paths, replace(VIEWS, stream=True), **options)
    same(model, expected)
    np.testing.assert_array_equal(model.predict(paths), expected.predict(DRAWN))


def test_worker_processes_change_nothing(paths):
    expected = fit(supcr, paths, validation_fraction=0.2)
    model = fit(supcr, paths, replace(VIEWS, stream=True, workers=2), validation_fraction=0.2)
    same(model, expected)
    np.testing.assert_array_equal(model.transform(paths), expected.transform(DRAWN))


def test_pixels_stream_by_themselves_where_memory_does_not_hold_them(paths, monkeypatch):
    def streams(model, X=None):
        return isinstance(model.fitted.read(paths if X is None else X), StreamedPixels)

    assert not streams(fit(otd, paths, epochs=1))
    monkeypatch.setattr(streamed, "available_memory", lambda: 2 * DRAWN.nbytes - 2)
    model = fit(otd, paths, epochs=1)
    assert streams(model)
    assert any(note.startswith("60 samples are decoded as they are needed") for note in model.notes_)
    assert not streams(model, paths[:30])
    assert not streams(fit(otd, paths, replace(VIEWS, stream=False), epochs=1))


def test_nothing_is_decoded_twice_or_kept(paths, monkeypatch):
    at_once = []
    read = StreamedPixels.__getitem__
    monkeypatch.setattr(StreamedPixels, "__getitem__", lambda x, rows: at_once.append(len(rows)) or read(x, rows))
    model = fit(otd, paths, replace(VIEWS, stream=True), epochs=2)
    monkeypatch.setattr(PixelReader, "embedded_at_once", lambda *_: 7)
    at_once.clear()
    assert model.transform(paths).shape == (60, 8)
    assert at_once == [7] * 8 + [4]


def test_a_file_that_cannot_be_read_is_named_when_it_is_met(paths):
    paths[33].write_bytes(b"")
    for workers in (0, 2):
        with pytest.raises(OrdinateError, match=r"33\.png: is empty, expected an image$"):
            fit(otd, paths, replace(VIEWS, stream=True, workers=workers), epochs=1)


def test_the_digest_follows_names_sizes_and_times_and_reads_no_pixel(paths, tmp_path):
    folder = tmp_path / "state"
    folder.mkdir()
    options = {"checkpoint_dir": folder, "epochs": 1}
    first = fit(otd, paths, replace(VIEWS, stream=True), **options)
    same(fit(otd, paths, replace(VIEWS, stream=True), **options), first)
    paths[3].touch()
    with pytest.raises(OrdinateError, match="of a fit with other data or settings"):
        fit(otd, paths, replace(VIEWS, stream=True), **options)
