"""What a file says of its size is held to the memory and to its bytes before anything is read."""

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.lib.format import write_array_header_1_0

from ordinate.data import memory
from ordinate.data.file_tree import FileTree
from ordinate.data.images.files import ImageFiles
from ordinate.data.images.pixels import choose_preprocessing
from ordinate.data.tables.files import read_table_samples
from ordinate.data.volumes.options import VolumeOptions
from ordinate.data.volumes.voxels import VolumeFiles, choose_volume_preprocessing
from ordinate.errors import OrdinateError
from tests.data import pictures, scans


@pytest.fixture
def little_memory(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 100)


@pytest.mark.parametrize("size", [0, 100])
def test_what_memory_holds_is_read(little_memory, size):
    memory.require_memory(size, "X")


def test_where_the_system_does_not_say_everything_is(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: None)
    memory.require_memory(2**60, "X")


def read_zip(folder):
    with zipfile.ZipFile(folder / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("0.png", bytes(101))
    with pytest.raises(OrdinateError, match=r"a\.zip/0\.png: takes .* GiB of memory, expected at most"):
        ImageFiles(["0.png"], folder / "a.zip").open(0)
    FileTree.of(folder / "a.zip").content("0.png")


def read_folder(folder):
    (folder / "labels.csv").write_text("path,age\n" + "0.png,1\n" * 20)
    FileTree.of(folder).content("labels.csv")


def read_npz(folder):
    np.savez_compressed(folder / "a.npz", X=np.zeros((50, 2)))
    read_table_samples(folder / "a.npz")


def read_volume(folder):
    (path,) = scans.write(folder, scans.draw([1, 2])[:1], ["a.nii.gz"])
    VolumeFiles([path]).read(0)


@pytest.mark.parametrize("read", [read_zip, read_folder, read_npz, read_volume])
def test_what_it_does_not_hold_is_named(tmp_path, little_memory, read):
    with pytest.raises(OrdinateError, match=r"(a\.zip/0\.png|labels\.csv|a\.npz|a\.nii\.gz): takes .* GiB of memory"):
        read(tmp_path)


@pytest.mark.parametrize("shape", [(2**40, 2), (9, 2)])
def test_an_array_is_no_larger_than_its_bytes(tmp_path, shape):
    content = io.BytesIO()
    write_array_header_1_0(content, {"descr": "<f8", "fortran_order": False, "shape": shape})
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("X.npy", content.getvalue() + bytes(16))
    with pytest.raises(OrdinateError, match=rf"a\.npz: .*X\.npy is not of shape \({shape[0]}, 2\)"):
        read_table_samples(tmp_path / "a.npz")


def test_an_image_above_the_limit_is_not_decoded(tmp_path, monkeypatch):
    (path,) = pictures.write(tmp_path, pictures.draw([1]), ["a.png"])
    files = ImageFiles([path])
    assert files.open(0, max_pixels=256).size == (16, 16)
    monkeypatch.setattr("PIL.ImageFile.ImageFile.load", lambda _: pytest.fail("decoded"))
    with pytest.raises(OrdinateError, match=r"a\.png: got 16 x 16 pixels, expected at most 255; max_pixels=N allows N"):
        files.open(0, max_pixels=255)


def test_the_limit_can_be_above_pillows(tmp_path, monkeypatch):
    (path,) = pictures.write(tmp_path, pictures.draw([1]), ["a.png"])
    monkeypatch.setattr("PIL.Image.MAX_IMAGE_PIXELS", 10)
    assert ImageFiles([path]).open(0).size == (16, 16)


def test_a_spacing_that_makes_too_much_of_a_volume_is_refused(tmp_path):
    (path,) = scans.write(tmp_path, scans.draw([1, 2])[:1], ["a.nii"])
    with pytest.raises(OrdinateError, match=r"a\.nii at a spacing of 1e-06 x 1e-06 x 1e-06 mm: takes 1.53e\+13 GiB"):
        VolumeFiles([path]).read(0, (1e-6,) * 3)


@pytest.mark.parametrize(
    "choose",
    [
        lambda folder: choose_preprocessing(pictures.draw([1]), size=99_999_999),
        lambda folder: choose_volume_preprocessing(scans.draw([1, 2]), VolumeOptions(size=99_999)),
    ],
    ids=["image", "volume"],
)
def test_a_size_that_no_batch_could_have_is_refused(tmp_path, choose):
    with pytest.raises(OrdinateError, match=r"a size of 9999.* for the encoder: takes .* GiB of memory"):
        choose(tmp_path)


def test_a_volume_whose_sum_is_wrong_is_damaged(tmp_path):
    (path,) = scans.write(tmp_path, scans.draw([1, 2])[:1], ["a.nii.gz"])
    content = bytearray(Path(path).read_bytes())
    content[-8] ^= 1
    Path(path).write_bytes(content)
    with pytest.raises(OrdinateError, match=r"a\.nii\.gz: is damaged or truncated: CRC check failed"):
        VolumeFiles([path]).read(0)
