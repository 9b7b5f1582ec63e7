"""Pixels that are decoded when they are read, in the place of a tensor of them."""

import numpy as np
import pytest
import torch

from ordinate.data import streamed
from ordinate.data.decoded import unreadable_samples
from ordinate.data.images.files import ImageFiles
from ordinate.data.images.pixels import ImagePreprocessing
from ordinate.data.loader import Loader
from ordinate.data.streamed import StreamedPixels
from ordinate.data.training_batches import ArrayBatches
from ordinate.errors import OrdinateError
from tests.data import pictures

DRAWN = pictures.draw(np.arange(30) % 3)


@pytest.fixture
def paths(tmp_path):
    return pictures.write(tmp_path, DRAWN, [f"{i}.png" for i in range(30)])


def stream(paths, **options):
    return StreamedPixels(ImageFiles(paths), ImagePreprocessing((16, 16), 1), **options)


@pytest.mark.parametrize("rows", [[4, 2, 4], np.array([4, 2]), torch.tensor([3]), slice(5, None, 7), slice(None)])
def test_rows_are_those_of_a_tensor_of_all(paths, rows):
    x = stream(paths)
    assert torch.equal(x[rows], torch.from_numpy(DRAWN)[rows])
    assert (x.shape, x.dim(), x.dtype, len(x)) == ((30, 1, 16, 16), 4, torch.uint8, 30)


@pytest.mark.parametrize("workers", [0, 2])
def test_all_are_read_in_their_order_some_at_a_time(paths, workers):
    state = torch.get_rng_state()
    parts = list(stream(paths, workers=workers).part(np.arange(2, 30)).split(12))
    assert [len(part) for part in parts] == [12, 12, 4]
    assert (torch.cat(parts).numpy() == DRAWN[2:]).all()
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_file_that_cannot_be_read_is_named_whichever_process_reads_it(paths, workers):
    paths[17].write_bytes(b"")
    data = ArrayBatches(stream(paths, workers=workers), torch.arange(30))
    loader = Loader(data, sampler=[[0, 1], [16, 17]], batch_size=None, num_workers=workers)
    batches = iter(loader)
    assert next(batches)[1].tolist() == [0, 1]
    with pytest.raises(OrdinateError) as caught:
        next(batches)
    assert str(caught.value) == f"{paths[17]}: is empty, expected an image"


@pytest.mark.parametrize("workers", [0, 2])
def test_files_that_cannot_be_read_are_found_before_training(paths, workers):
    for row in (4, 17):
        paths[row].write_bytes(b"")
    found = unreadable_samples(stream(paths, workers=workers), "image", progress=False)
    assert found == {row: f"{paths[row]}: is empty, expected an image" for row in (4, 17)}


def test_pixels_are_too_large_for_more_than_half_of_the_memory(monkeypatch):
    monkeypatch.setattr(streamed, "available_memory", lambda: 2**31)
    assert streamed.too_large((1024, 1, 1024, 1024)) is None
    assert streamed.too_large((1025, 1, 1024, 1024)) == (
        "1,025 samples are decoded as they are needed: in memory they would take 1 GiB, more than 1 GiB, which is half "
        "of what is available"
    )
    monkeypatch.setattr(streamed, "available_memory", lambda: None)
    assert streamed.too_large((4 * 1024, 1, 1024, 1024)) is None
    assert streamed.too_large((4 * 1024 + 1, 1, 1024, 1024)) is not None


def test_the_memory_that_is_available_is_known_on_linux():
    known = streamed.available_memory()
    assert known is None or known > 2**20
