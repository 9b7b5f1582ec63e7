import numpy as np
import pytest

from ordinate.errors import OrdinateError
from ordinate_papers.datasets.images.retinamnist import read_retinamnist

SIZES = {"train": 5, "val": 2, "test": 3}


def write(path, **changes):
    random = np.random.default_rng(0)
    arrays = {f"{part}_images": random.integers(0, 256, (n, 4, 6, 3), dtype=np.uint8) for part, n in SIZES.items()}
    arrays |= {f"{part}_labels": np.full((n, 1), n - 1, dtype=np.uint8) for part, n in SIZES.items()}
    arrays |= changes
    np.savez(path / "retinamnist.npz", **{name: array for name, array in arrays.items() if array is not None})
    return arrays


@pytest.mark.parametrize("file", ["", "retinamnist.npz"])
def test_images_come_channels_first_with_grades_and_splits(tmp_path, file):
    arrays = write(tmp_path)
    read = read_retinamnist(tmp_path / file)
    assert (read.samples.shape, read.samples.dtype) == ((10, 3, 4, 6), np.uint8)
    np.testing.assert_array_equal(read.samples[6], arrays["val_images"][1].transpose(2, 0, 1))
    assert read.labels.tolist() == [4] * 5 + [1] * 2 + [2] * 3
    assert read.splits.tolist() == ["train"] * 5 + ["validation"] * 2 + ["test"] * 3
    assert read.groups is None
    assert len(read) == 10


@pytest.mark.parametrize(
    "changes", [{"val_labels": None}, {"val_labels": np.array([{}])}, {"test_images": np.zeros(3)}]
)
def test_other_arrays_are_refused(tmp_path, changes):
    write(tmp_path, **changes)
    with pytest.raises(OrdinateError, match=r"retinamnist.npz: .*, expected train_images, train_labels, val_"):
        read_retinamnist(tmp_path)


def test_what_is_no_npz_is_refused(tmp_path):
    (tmp_path / "retinamnist.npz").write_bytes(b"PK half a file")
    with pytest.raises(OrdinateError, match=r"retinamnist.npz: .*, expected train_images"):
        read_retinamnist(tmp_path)
