"""Folders are walked to their end, whatever their links; what cannot be read is named."""

import zipfile

import pytest

from ordinate.data.file_tree import FileTree
from ordinate.data.images.labelled import ImageTree
from ordinate.data.paths import reading, walk
from ordinate.data.volumes.labelled import holds_volumes
from ordinate.errors import OrdinateError


@pytest.fixture
def tree(tmp_path):
    """Two folders with a file each, linked to themselves, to each other and to one elsewhere."""
    for name in ("data/a", "data/b", "elsewhere"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "x.png").touch()
    for link, target in (("a/self", "data/a"), ("a/up", "data"), ("a/other", "data/b"), ("b/other", "data/a")):
        (tmp_path / "data" / link).symlink_to(tmp_path / target)
    (tmp_path / "data" / "disk").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "data" / "gone").symlink_to(tmp_path / "nowhere")
    return tmp_path / "data"


def test_links_are_followed_but_not_into_a_folder_that_they_stand_in(tree):
    found = {(folder / file).relative_to(tree).as_posix() for folder, _, files in walk(tree) for file in files}
    assert found == {"gone", "a/x.png", "a/other/x.png", "b/x.png", "b/other/x.png", "disk/x.png"}


def test_a_zip_whose_list_of_names_is_damaged_is_not_taken_for_text(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("ä.png", b"x")
    damaged = (tmp_path / "a.zip").read_bytes().replace("ä".encode(), b"\xff\xff")
    (tmp_path / "a.zip").write_bytes(damaged)
    with pytest.raises(OrdinateError, match=r"a\.zip: could not be read: 'utf-8' codec"):
        FileTree.of(tmp_path / "a.zip")


def test_images_and_volumes_are_found_that_way(tree):
    assert ImageTree.of(tree).images == ["a/other/x.png", "a/x.png", "b/other/x.png", "b/x.png", "disk/x.png"]
    assert not holds_volumes(tree)


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (None, "it: is not text in UTF-8: it holds the byte 0xe4; save it as UTF-8"),
        ("model/config.json is damaged", "it: model/config.json is damaged: 'utf-8' codec"),
    ],
)
def test_text_in_another_encoding_is_said_to_be_that_unless_the_reader_says_what_it_is(problem, message):
    with pytest.raises(OrdinateError, match=message), reading("it", problem):
        b"\xe4".decode()
