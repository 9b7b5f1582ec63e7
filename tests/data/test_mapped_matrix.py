"""A matrix in a file: what is written is read, nothing is left behind, a full disk is an error."""

import errno
import os
from pathlib import Path

import numpy as np
import pytest
import torch

from ordinate.data.mapped_matrix import mapped_matrix
from ordinate.errors import OrdinateError


def test_it_starts_as_zeros_and_keeps_what_is_written(tmp_path):
    matrix = mapped_matrix((500, 7), tmp_path)
    assert (matrix.dtype, matrix.shape, float(np.abs(matrix).max())) == (np.float32, (500, 7), 0)
    values = np.random.default_rng(0).normal(size=(500, 7)).astype(np.float32)
    matrix[:] = values
    assert torch.equal(torch.from_numpy(matrix)[[3, 499, 3]], torch.from_numpy(values[[3, 499, 3]]))


def test_its_file_has_no_name_and_its_folder_is_made(tmp_path):
    matrix = mapped_matrix((500, 7), tmp_path / "new" / "folder")
    assert list((tmp_path / "new" / "folder").iterdir()) == []
    assert isinstance(matrix, np.memmap)


def test_its_file_stays_open_no_longer_than_it_is_mapped(tmp_path):
    def mapped():
        return sum(str(tmp_path) in line for line in Path("/proc/self/maps").read_text().splitlines())

    matrix = mapped_matrix((500, 7), tmp_path)
    assert mapped() == 1
    del matrix
    assert mapped() == 0


def test_a_full_disk_is_an_error_before_anything_is_written(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OrdinateError, match=rf"^checkpoint_dir: {tmp_path} cannot hold the 1 GiB .*No space left"):
        mapped_matrix((2**26, 4), tmp_path)
    with pytest.raises(OrdinateError, match=r"^the folder of temporary files \(TMPDIR\) cannot hold"):
        mapped_matrix((2**26, 4))
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_is_too_small_is_an_error(tmp_path):
    with pytest.raises(OrdinateError, match="cannot hold"):
        mapped_matrix((2**42, 4), tmp_path)


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OrdinateError, match=r"file/folder cannot hold"):
        mapped_matrix((2, 2), tmp_path / "file" / "folder")
