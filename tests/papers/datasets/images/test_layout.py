import numpy as np
import pytest

from ordinate.errors import OrdinateError
from ordinate_papers.datasets.images.layout import IMAGE, Layout
from tests.papers.datasets.images.trees import write_images, write_text, zipped


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "set"
    write_images(root, ["b/2.png", "b/1.JPG", "a/1.png"])
    write_text(root / "table.csv", " size ,name", "1, one ", "2,None")
    write_text(root / ".hidden", "")
    write_text(root / "__MACOSX" / "b" / "1.png", "")
    return root


@pytest.fixture(params=["folder", "zip"])
def layout(root, request):
    return Layout.of(root if request.param == "folder" else zipped(root))


def test_links_to_folders_are_followed(root, tmp_path):
    write_images(tmp_path / "elsewhere", ["1.png"])
    (root / "linked").symlink_to(tmp_path / "elsewhere")
    assert "linked/1.png" in Layout.of(root).names


@pytest.mark.parametrize("above", ["", "deep/er"])
def test_a_layout_is_found_at_any_level(root, above, tmp_path):
    (tmp_path / above).mkdir(parents=True, exist_ok=True)
    root.rename(tmp_path / above / "moved")
    matches = Layout.of(tmp_path).match(rf"b/(?P<name>{IMAGE})", "a folder b")
    assert [match["name"] for match in matches] == ["1.JPG", "2.png"]


def test_a_layout_that_is_not_there_says_what_is(layout):
    with pytest.raises(OrdinateError, match=r"set(\.zip)?: got a, b, table.csv, expected a folder c$"):
        layout.match(rf"c/{IMAGE}", "a folder c")


def test_a_layout_that_is_there_twice_is_refused(root):
    write_images(root, ["copy/b/1.png"])
    with pytest.raises(OrdinateError, match=r"got a folder b more than once, expected one of the folders \., copy/$"):
        Layout.of(root).match(rf"b/{IMAGE}", "a folder b")


def test_images_are_located_by_the_end_of_their_names(layout):
    assert layout.locate(["b/2.png", "2.png", "a/1.png"], "table.csv") == ["b/2.png", "b/2.png", "a/1.png"]


def test_a_table_is_text_without_blanks_around_it(layout):
    frame = layout.table("table.csv", ["size", "name"])
    assert frame.to_dict("list") == {"size": ["1", "2"], "name": ["one", "None"]}
    assert layout.numbers(frame, "size", "table.csv").tolist() == [1, 2]
    with pytest.raises(OrdinateError, match=r"table.csv: got 'one' in column 'name', expected numbers"):
        layout.numbers(frame, "name", "table.csv")


def test_a_table_that_lacks_a_column_says_what_it_has(layout):
    with pytest.raises(OrdinateError, match=r"table.csv: got the columns 'size', 'name'.*, expected 'age'"):
        layout.table("table.csv", ["size", "age"])


def test_what_is_no_folder_and_no_zip_is_refused(tmp_path):
    with pytest.raises(OrdinateError, match="absent: no such folder or zip"):
        Layout.of(tmp_path / "absent")
    np.save(tmp_path / "array.npy", np.zeros(3))
    with pytest.raises(OrdinateError, match=r"array.npy: could not be read"):
        Layout.of(tmp_path / "array.npy")
