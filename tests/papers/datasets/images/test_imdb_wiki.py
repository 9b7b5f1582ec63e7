from datetime import datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.io import savemat

from ordinate.errors import OrdinateError
from ordinate_papers.datasets.images.imdb_wiki import NUMBERS, ages_at, read_imdb_wiki
from tests.papers.datasets.images.trees import rows, write_images

BORN_1950_03 = 712300  # datenum of 1950-03-18
FACES = {  # path: (dob, photo_taken, face_score, second_face_score), age or None where it is left out
    "01/one.jpg": ((BORN_1950_03, 2000, 3.0, np.nan), 50),
    "01/low.jpg": ((BORN_1950_03, 1990, 0.1, np.nan), 40),
    "01/no_face.jpg": ((BORN_1950_03, 2000, -np.inf, np.nan), None),
    "01/below.jpg": ((BORN_1950_03, 2000, -1.0, np.nan), None),
    "01/two.jpg": ((BORN_1950_03, 2000, 3.0, 2.5), None),
    "02/unborn.jpg": ((BORN_1950_03, 1900, 3.0, np.nan), None),
    "02/old.jpg": ((BORN_1950_03, 2051, 3.0, np.nan), None),
    "02/hundred.jpg": ((BORN_1950_03, 2050, 3.0, np.nan), 100),
}


def write_meta(root, source, faces):
    columns = zip(*(values for values, _ in faces.values()), strict=True)
    born, taken, score, second = (np.array(column) for column in columns)
    paths = np.empty(len(faces), dtype=object)
    paths[:] = list(faces)
    meta = dict(zip(NUMBERS, (born, taken, score, second), strict=True)) | {"full_path": paths}
    (root / f"{source}_crop").mkdir(parents=True, exist_ok=True)
    savemat(root / f"{source}_crop/{source}.mat", {source: meta})
    write_images(root / f"{source}_crop", faces)


@pytest.fixture
def root(tmp_path):
    write_meta(tmp_path, "imdb", FACES)
    write_meta(tmp_path, "wiki", {"01/one.jpg": FACES["01/one.jpg"]})
    return tmp_path


def test_images_with_one_face_and_an_age_that_can_be_are_kept(root):
    kept = sorted((f"imdb_crop/{path}", age, None, None) for path, (_, age) in FACES.items() if age is not None)
    assert rows(read_imdb_wiki(root), root) == [*kept, ("wiki_crop/01/one.jpg", 50, None, None)]


def test_one_of_the_two_parts_is_enough(root):
    assert len(read_imdb_wiki(root / "wiki_crop" / "..")) == 4
    (root / "imdb_crop/imdb.mat").unlink()
    assert len(read_imdb_wiki(root)) == 1


@given(days=st.integers(0, 60_000), year=st.integers(1950, 2030))
def test_ages_are_those_on_the_first_of_july(days, year):
    born = datetime(1880, 1, 1) + timedelta(days=days)
    datenum = born.toordinal() + 366
    had_birthday = (born.month, born.day) < (7, 1)
    age = year - born.year - (0 if had_birthday else 1)
    assert ages_at(np.array([float(datenum)]), np.array([year])).tolist() == [age]


def test_what_is_no_mat_file_is_refused(root):
    (root / "imdb_crop/imdb.mat").write_bytes(b"not Matlab" * 50)
    with pytest.raises(OrdinateError, match=r"imdb.mat: .*, expected imdb with the fields"):
        read_imdb_wiki(root)
    (root / "imdb_crop/imdb.mat").write_bytes(b"")
    with pytest.raises(OrdinateError, match=r"imdb.mat: .*, expected imdb with the fields"):
        read_imdb_wiki(root)
