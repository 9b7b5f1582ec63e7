import inspect

import pytest

from ordinate.errors import OrdinateError
from ordinate_papers.datasets.catalogue import IMAGE_SETS
from ordinate_papers.datasets.images import catalogue
from ordinate_papers.datasets.images.catalogue import download, find, image_set, load, reader
from ordinate_papers.datasets.named import read_images
from tests.papers.datasets.images.trees import write_images, zipped

KNEES = ["train/0/1L.png", "train/1/2R.png", "test/0/3L.png"]


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    """An empty folder of sets."""
    monkeypatch.setenv("ORDINATE_DATA", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


def test_every_reader_takes_the_root_first():
    assert all(next(iter(inspect.signature(reader(chosen)).parameters)) == "root" for chosen in IMAGE_SETS.values())


@pytest.mark.parametrize("name", IMAGE_SETS)
def test_a_set_that_is_not_there_says_where_to_get_it(name, data):
    with pytest.raises(
        OrdinateError, match=f"^{name}: ORDINATE_DATA={data} holds no folder {name}; get it from "
    ) as error:
        load(name)
    assert IMAGE_SETS[name].source in str(error.value)
    assert f"ordinate datasets {name}" in str(error.value)
    assert find(name) is None


@pytest.mark.parametrize("name", IMAGE_SETS)
def test_another_layout_says_what_is_expected_and_what_is_there(name, tmp_path):
    write_images(tmp_path / "mine", ["pictures/one.bmp"])
    with pytest.raises(OrdinateError, match=r"mine: got pictures, expected .*$"):
        load(name, tmp_path / "mine")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("adiense", "image set: got 'adiense'; did you mean 'adience'?"),
        ("mnist", "image set: got 'mnist'; did you mean 'retinamnist'?"),
        ("x", "image set: got 'x', expected one of adience, hid, koa, "),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(name, message):
    for use in (image_set, find, load, lambda name: download(name, "folder")):
        with pytest.raises(OrdinateError) as error:
            use(name)
        assert str(error.value).startswith(message)


def test_a_set_is_found_in_a_folder_and_in_a_zip(data, tmp_path):
    write_images(tmp_path / "knees", KNEES)
    (data / "koa").mkdir()
    assert find("koa") is None
    path = zipped(tmp_path / "knees").rename(data / "koa" / "knees.zip")
    (data / "koa" / "SOURCE.txt").write_text("from a zip")
    assert find("koa") == path
    assert len(load("koa")) == 3
    write_images(data / "koa", KNEES)
    assert find("koa") == data / "koa"
    assert len(load("koa")) == 3


def test_options_reach_the_reader_and_a_fold_is_held_out(data):
    write_images(data / "busi", [f"normal/{i}.png" for i in range(20)])
    images = load("busi", seed=3)
    assert not images.splits.equals(load("busi").splits)
    held = load("busi", fold=1, seed=3)
    assert (held.splits == "test").equals(images.splits == "1")
    named = read_images("busi")
    assert named.splits.equals(load("busi", fold=0).splits)
    assert named.notes == ("the first of five folds is held out",)


def test_a_download_goes_into_the_folder_of_its_name(monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(catalogue, "fetch", lambda file, folder: asked.append((file.file, folder)))
    download("retinamnist", tmp_path)
    assert asked == [("retinamnist.npz", tmp_path / "retinamnist")]
