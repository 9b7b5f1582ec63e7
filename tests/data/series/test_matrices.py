"""Folders of matrices with a labels.csv."""

import numpy as np
import pytest

from ordinate.data.series.matrices import holds_matrices, read_matrices, read_unlabelled_matrices
from ordinate.errors import OrdinateError

MATRICES = [np.random.default_rng(length).normal(size=(3, length)) for length in (5, 8, 6)]


@pytest.fixture
def folder(tmp_path):
    """Three subjects: two csv files, and an npy in a folder."""
    (tmp_path / "labels.csv").write_text(
        "path,age,split,group\na.csv,40,train,x\nsub/b.npy,50.5,val,y\nc.csv,61,test,z\n"
    )
    (tmp_path / "sub").mkdir()
    np.savetxt(tmp_path / "a.csv", MATRICES[0], delimiter=",", fmt="%.17g")
    np.save(tmp_path / "sub" / "b.npy", MATRICES[1])
    np.savetxt(tmp_path / "c.csv", MATRICES[2], delimiter=",", fmt="%.17g")
    return tmp_path


def test_matrices_are_read_with_labels_splits_and_groups(folder):
    read = read_matrices(folder)
    assert read.samples.shape == (3, 3, 8)
    for series, matrix in zip(read.samples, MATRICES, strict=True):
        np.testing.assert_array_equal(series[:, : matrix.shape[1]], matrix)
        assert np.isnan(series[:, matrix.shape[1] :]).all()
    assert read.labels.tolist() == [40, 50.5, 61]
    assert read.splits.tolist() == ["train", "validation", "test"]
    assert read.groups.tolist() == ["x", "y", "z"]
    assert [path.rsplit("/", 1)[1] for path in read.paths] == ["a.csv", "b.npy", "c.csv"]


def test_labels_are_not_needed_to_read_matrices(folder):
    expected = read_matrices(folder).samples
    (folder / "labels.csv").write_text("path\na.csv\nsub/b.npy\nc.csv\n")
    np.testing.assert_array_equal(read_unlabelled_matrices(folder), expected)


def test_a_missing_value_is_nan(folder):
    (folder / "a.csv").write_text("1,,3\n4,5,6\n7,8,9\n")
    np.testing.assert_array_equal(read_matrices(folder).samples[0, 0, :3], [1, np.nan, 3])


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"time,region\n1,2\n", "could not convert"),
        (b"", "No columns"),
        (b"1,2,inf\n1,2,3\n1,2,3\n", "holds infinity"),
    ],
)
def test_files_that_cannot_be_read_are_named_and_left_out_if_asked(folder, content, reason):
    (folder / "a.csv").write_bytes(content)
    with pytest.raises(OrdinateError, match=rf"1 of 3 files cannot be read: .*a\.csv: .*{reason}.*skip_unreadable"):
        read_matrices(folder)
    read = read_matrices(folder, skip_unreadable=True)
    assert read.labels.tolist() == [50.5, 61]
    assert len(read.left_out) == 1
    with pytest.raises(OrdinateError, match=r"1 of 3 files cannot be read") as refused:  # of prediction, which has none
        read_unlabelled_matrices(folder)
    assert "skip_unreadable" not in str(refused.value)


def test_an_npy_is_never_unpickled(folder):
    np.save(folder / "sub" / "b.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(OrdinateError, match=r"b\.npy: .*Python objects"):
        read_matrices(folder)


def test_matrices_of_other_regions_are_an_error(folder):
    np.save(folder / "sub" / "b.npy", np.zeros((4, 5)))
    with pytest.raises(OrdinateError, match=r"a\.csv has 3 rows and .*b\.npy 4, expected the same regions"):
        read_matrices(folder)


def test_a_folder_of_matrices_is_told_from_one_of_images(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("images")
    assert holds_matrices(folder)
    assert not holds_matrices(other)
    (other / "labels.csv").write_text("path,grade\na.png,1\n")
    assert not holds_matrices(other)
