import zipfile

import numpy as np
import pandas as pd
import pytest

from ordinate.data.images.labelled import holds_images, read_images, read_labelled_images
from ordinate.data.labels_file import Columns
from ordinate.data.registry import modality_of_files
from ordinate.errors import OrdinateError
from tests.data import pictures

RANKS = np.arange(12) % 3
DRAWN = pictures.draw(RANKS)
NAMES = [f"scans/{i:02}.png" for i in range(12)]
TABLE = pd.DataFrame(
    {
        "path": NAMES,
        "grade": RANKS,
        "split": ["train"] * 6 + ["val"] * 3 + ["test"] * 3,
        "subject": [f"s{i // 2}" for i in range(12)],
    }
)


def as_zip(folder, path, inside=""):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{inside}empty-folder/", "")
        for file in folder.rglob("*"):
            if file.is_file():
                archive.write(file, inside + file.relative_to(folder).as_posix())
        archive.writestr("__MACOSX/._labels.csv", "what an archiver adds")
    return path


@pytest.fixture
def write(tmp_path):
    def write(names=NAMES, table=TABLE):
        folder = tmp_path / "knees"
        pictures.write(folder, DRAWN, names)
        if table is not None:
            table.to_csv(folder / "labels.csv", index=False)
        return folder

    return write


def content(files):
    return np.stack([np.asarray(image) for image in files])[:, None]


@pytest.mark.parametrize("form", ["folder", "zip", "zip of a folder"])
def test_a_labels_csv_names_images_labels_splits_and_groups(write, tmp_path, form):
    path = write()
    if form != "folder":
        path = as_zip(path, tmp_path / "knees.zip", "knees/" if form == "zip of a folder" else "")
    images = read_labelled_images(path, Columns("grade", group="subject"))
    assert holds_images(path)
    assert images.labels.tolist() == RANKS.tolist()
    assert images.splits.tolist() == ["train"] * 6 + ["validation"] * 3 + ["test"] * 3
    assert images.groups.tolist() == TABLE["subject"].tolist()
    assert (content(images.samples) == DRAWN).all()
    assert (content(images.take(np.array([3, 0])).samples) == DRAWN[[3, 0]]).all()
    assert images.take(np.array([3, 0])).splits.tolist() == ["train", "train"]
    assert (content(read_images(path)) == DRAWN).all()


@pytest.mark.parametrize("name", ["image", "id_code"])
@pytest.mark.parametrize("form", ["{:02}", "scans/{:02}"])
def test_a_file_goes_by_its_name_without_the_ending_which_the_first_column_may_hold(write, name, form):
    table = pd.DataFrame({name: [form.format(i) for i in range(12)], "grade": RANKS})
    images = read_labelled_images(write(table=table))
    assert (content(images.samples) == DRAWN).all()
    assert images.labels.tolist() == RANKS.tolist()


def test_a_name_of_two_files_is_refused(write):
    path = write(table=pd.DataFrame({"id_code": ["00"], "grade": [1]}))
    pictures.write(path, DRAWN[:1], ["other/00.png"])
    with pytest.raises(OrdinateError, match=r"'00' is the name of other/00\.png and of scans/00\.png, expected paths"):
        read_labelled_images(path)


@pytest.mark.parametrize("name", ["file", "filename", "image"])
def test_the_column_of_paths_has_several_names_and_either_slash(write, name):
    table = TABLE[["path", "grade"]].rename(columns={"path": name})
    table[name] = "./" + table[name].str.replace("/", "\\")
    images = read_labelled_images(write(table=table))
    assert (content(images.samples) == DRAWN).all()
    assert images.labels.tolist() == RANKS.tolist()
    assert images.splits is images.groups is None


def test_without_a_labels_csv_every_folder_is_a_rank(write):
    path = write([f"{rank}/{i}.png" for i, rank in enumerate(RANKS)], None)
    (path / "9").mkdir()
    images = read_labelled_images(path, Columns("grade"))
    assert sorted(images.labels) == sorted(RANKS)
    assert images.labels.name == "grade"
    assert images.left_out == ("the rank '9', as its folder holds no image",)
    for picture, rank in zip(content(images.samples), images.labels, strict=True):
        assert (picture == DRAWN[rank == RANKS]).all(axis=(1, 2, 3)).any()


def test_folders_of_splits_stand_above_those_of_ranks(write):
    names = [f"{('Training', 'DEV', 'Test')[i % 3]}/{'mild' if i < 6 else 'severe'}/{i}.png" for i in range(12)]
    images = read_labelled_images(write(names, None))
    assert images.splits.value_counts().to_dict() == {"train": 4, "validation": 4, "test": 4}
    assert images.labels.value_counts().to_dict() == {"mild": 6, "severe": 6}


def test_unlabelled_images_are_all_there_are(write):
    assert len(read_images(write(table=None))) == 12


WRONG = {
    "an unknown column": ({}, {"target": "grad"}, "no column 'grad'; did you mean 'grade'?"),
    "labels to choose from": ({}, {}, "target: got none, expected the column of the label, one of 'grade'"),
    "no label at all": ({"table": TABLE.assign(grade=None)}, {"target": "grade"}, "no row has a label in 'grade'"),
    "an image missing": (
        {"table": TABLE.replace({"path": {NAMES[2]: "scans/x.png"}})}, {"target": "grade"},
        "1 of its images is not there: scans/x.png",
    ),
    "no paths": ({"table": TABLE[["grade"]]}, {"target": "grade"}, "expected a column of paths named 'path', 'file'"),
    "no rows": ({"table": TABLE[:0]}, {"target": "grade"}, "names no image"),
    "no folder a rank": ({"names": [f"{i}.png" for i in range(12)], "table": None}, {}, "expected a labels.csv, or a"),
    "one rank": ({"table": None}, {}, "expected a labels.csv, or a folder of images per rank"),
    "a group without labels.csv": ({"table": None}, {"group": "person"}, "group: got 'person', a column of"),
}  # fmt: skip


@pytest.mark.parametrize(("made", "options", "message"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_said(write, made, options, message):
    with pytest.raises(OrdinateError) as caught:
        read_labelled_images(write(**made), Columns(**options))
    assert message in str(caught.value)


def test_images_that_are_not_there_can_be_left_out(write):
    path = write(table=TABLE.replace({"path": {NAMES[2]: "scans/x.png"}}))
    with pytest.raises(OrdinateError, match=r"1 of its images is not there: scans/x.png; skip_unreadable=True leaves"):
        read_labelled_images(path, Columns("grade"), skip_unreadable=False)
    images = read_labelled_images(path, Columns("grade"), skip_unreadable=True)
    others = np.arange(12) != 2
    assert (content(images.samples) == DRAWN[others]).all()
    assert images.labels.tolist() == RANKS[others].tolist()
    assert images.left_out == ("scans/x.png: no such file",)
    nowhere = write(table=TABLE.assign(path="gone/" + TABLE["path"]))
    with pytest.raises(OrdinateError, match="12 of its images are not there"):
        read_labelled_images(nowhere, Columns("grade"), skip_unreadable=True)


def test_a_path_without_images_is_named(tmp_path):
    for read in (read_images, read_labelled_images):
        with pytest.raises(OrdinateError, match="no such folder or zip"):
            read(tmp_path / "absent")
        (tmp_path / "broken.zip").write_bytes(b"PK\3\4 and no more")
        with pytest.raises(OrdinateError, match=r"broken\.zip: could not be read"):
            read(tmp_path / "broken.zip")
    (tmp_path / "empty").mkdir()
    with pytest.raises(OrdinateError, match="holds no image"):
        read_images(tmp_path / "empty")
    with pytest.raises(OrdinateError, match=r"holds neither labels\.csv nor images"):
        read_labelled_images(tmp_path / "empty")


def test_an_image_by_its_path_is_one_image(write):
    path = write() / "scans/03.png"
    assert modality_of_files(path).name == "images"
    images = read_images(path)
    assert (len(images), images.paths.tolist()) == (1, [str(path)])
    with pytest.raises(OrdinateError, match=r"expected a labels.csv, or a folder of images per rank"):
        read_labelled_images(path)
