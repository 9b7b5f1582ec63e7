"""Folders of volumes: labels.csv splits, groups."""

import numpy as np
import pandas as pd
import pytest

from ordinate.data.labels_file import Columns
from ordinate.data.volumes.labelled import holds_volumes, read_labelled_volumes, read_volumes
from ordinate.errors import OrdinateError
from tests.data import scans

AGES = [44.0, 51.5, 63.0, 80.0]
DRAWN = scans.draw(AGES, side=6)


def relative(volumes, folder):
    return [path.removeprefix(f"{folder}/") for path in volumes.paths]


def test_labels_csv_names_volumes_labels_splits_and_groups(tmp_path):
    names = ["b/1.nii.gz", "b/2.nii", "a/3.nii.gz", "a/4.nii"]
    scans.write(tmp_path, DRAWN, names)
    table = {"path": names, "age": AGES, "split": ["train", "val", "Test", "train"], "group": [1, 2, 3, 1]}
    pd.DataFrame(table).to_csv(tmp_path / "labels.csv", index=False)
    read = read_labelled_volumes(tmp_path, Columns("age"))
    assert relative(read.samples, tmp_path) == names
    assert read.labels.tolist() == AGES
    assert read.splits.tolist() == ["train", "validation", "test", "train"]
    assert read.groups.tolist() == ["1", "2", "3", "1"]
    np.testing.assert_array_equal(read.samples.read(2), DRAWN[2])
    taken = read.take(np.array([2, 0]))
    assert (relative(taken.samples, tmp_path), taken.labels.tolist()) == ([names[2], names[0]], [63.0, 44.0])
    assert relative(read_volumes(tmp_path), tmp_path) == names


def test_without_labels_all_volumes_are_read_in_order(tmp_path):
    scans.write(tmp_path, DRAWN, ["b/2.nii", "a/1.nii.gz", "c.nii", "a/0.nii"])
    (tmp_path / "a" / "._0.nii").write_bytes(b"of a Mac")
    assert relative(read_volumes(tmp_path), tmp_path) == ["a/0.nii", "a/1.nii.gz", "b/2.nii", "c.nii"]


def test_a_folder_holds_volumes_if_its_first_image_is_one(tmp_path):
    assert not holds_volumes(tmp_path)
    (tmp_path / "._0.nii").write_bytes(b"of a Mac")
    (tmp_path / "labels.csv").write_text("path,age\n")
    assert not holds_volumes(tmp_path)
    scans.write(tmp_path / "b", DRAWN[:1], ["1.nii.gz"])
    assert holds_volumes(tmp_path)
    (tmp_path / "a.png").touch()
    assert not holds_volumes(tmp_path)
    assert not holds_volumes(tmp_path / "labels.csv")
    assert not holds_volumes(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (None, "expected a labels.csv that names the volumes"),
        ({"name": ["9.nii"], "age": [4]}, "expected a column of paths named 'path', 'file'"),
        ({"path": ["9.nii"], "age": [4]}, "1 of its volumes are not there: 9.nii"),
        ({"path": ["1.nii"], "years": [4]}, "no column 'age'"),
        ({"path": ["1.nii"], "age": [None]}, "no row has a label in 'age'"),
        ({"path": [], "age": []}, "names no volume"),
    ],
)
def test_what_is_wrong_with_labels_csv_is_said(tmp_path, table, message):
    scans.write(tmp_path, DRAWN[:1], ["1.nii"])
    if table is not None:
        pd.DataFrame(table).to_csv(tmp_path / "labels.csv", index=False)
    with pytest.raises(OrdinateError, match=message):
        read_labelled_volumes(tmp_path, Columns("age"))


def test_a_folder_without_volumes_is_refused(tmp_path):
    with pytest.raises(OrdinateError, match=r"holds no volume \(.nii, .nii.gz, or a folder of DICOM slices\)"):
        read_volumes(tmp_path)


def test_no_path_leads_out_of_the_folder(tmp_path):
    folder = tmp_path / "a" / "scans"
    folder.mkdir(parents=True)
    (folder / "labels.csv").write_text("path,age\n../../x.nii,1\n")
    (folder / "here.nii").touch()
    scans.write(tmp_path, scans.draw([1, 2])[:1], ["x.nii"])
    for read in (read_volumes, read_labelled_volumes):
        with pytest.raises(OrdinateError, match=r"labels\.csv"):
            read(folder)
