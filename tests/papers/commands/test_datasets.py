"""``ordinate datasets``: what it lists, explains and fetches."""

import numpy as np
import pytest

from ordinate.cli import main
from ordinate_papers.datasets.catalogue import IMAGE_SETS, OTHER_SETS
from ordinate_papers.datasets.images import catalogue
from tests.papers.datasets import trees
from tests.papers.datasets.images.trees import write_images, write_text

SPLITS = ("train", "val", "test")


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    """An empty folder of sets."""
    monkeypatch.setenv("ORDINATE_DATA", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


@pytest.fixture
def said(capsys):
    """Runs the command and returns its lines."""

    def run(*arguments):
        assert main(["datasets", *arguments]) == 0
        out, err = capsys.readouterr()
        assert err == ""
        return out.splitlines()

    return run


@pytest.fixture
def refused(capsys):
    """Runs the command and returns its one line of error."""

    def run(*arguments):
        assert main(["datasets", *arguments]) == 2
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == 1
        return lines[0]

    return run


def write_retinamnist(folder):
    folder.mkdir()
    arrays = {f"{split}_images": np.zeros((n, 2, 2, 3), np.uint8) for split, n in zip(SPLITS, (3, 1, 2), strict=True)}
    arrays |= {f"{split}_labels": np.arange(n)[:, None] for split, n in zip(SPLITS, (3, 1, 2), strict=True)}
    np.savez(folder / "retinamnist.npz", **arrays)


def test_every_set_is_listed_with_what_is_here(said, data):
    write_images(data / "koa", ["train/0/1L.png", "test/1/2R.png"])
    write_images(data / "hid", ["pictures/1.png"])
    write_retinamnist(data / "retinamnist")
    trees.plant_pairs(data, vectors=None)
    trees.plant_matrices(data)
    lines = said()
    listed = {line.split()[0]: line for line in lines[1:-2]}
    assert list(listed) == [*IMAGE_SETS, *OTHER_SETS]
    assert listed["koa"].split()[:5] == ["koa", "8260", "here:", "2", "images"]
    assert listed["retinamnist"].split()[:5] == ["retinamnist", "1600", "here:", "6", "images"]
    assert listed["hid"].split()[:4] == ["hid", "1325", "here,", "unreadable"]
    assert listed["adience"].split()[:4] == ["adience", "-", "not", "here"]
    assert listed["skyfinder"].endswith("temperature in degrees Celsius")
    assert listed["hcp_aging"].split()[:4] == ["hcp_aging", "656", "here", "age"]
    assert listed["stsb_dir"].split()[:4] == ["stsb_dir", "7249", "here,", "unreadable"]
    assert listed["tuab"].split()[:4] == ["tuab", "1385", "not", "here"]


def test_without_the_variable_the_list_says_so(said, monkeypatch):
    monkeypatch.delenv("ORDINATE_DATA")
    lines = said()
    assert sum("not here" in line for line in lines) == len(IMAGE_SETS) + len(OTHER_SETS)
    assert lines[-1].endswith("into $ORDINATE_DATA; ORDINATE_DATA is not set")


@pytest.mark.parametrize("name", [*IMAGE_SETS, *OTHER_SETS])
def test_a_set_that_is_not_here_is_explained(name, said):
    lines = said(name)
    chosen = {**IMAGE_SETS, **OTHER_SETS}[name]
    text = " ".join(" ".join(lines).split())
    parts = (chosen.title, chosen.label, chosen.split, chosen.papers, chosen.terms, chosen.source, *chosen.layout)
    for part in (*parts, *chosen.differs.values()):
        assert part in text
    where = f"the folder {name} of $ORDINATE_DATA" if name in IMAGE_SETS else "$ORDINATE_DATA"
    assert lines[-1] == f"not here: put it into {where}"
    assert any("--download FOLDER" in line for line in lines) == (getattr(chosen, "download", None) is not None)
    assert max(map(len, lines)) <= 110


def test_ranks_are_counted_by_split(said, data):
    write_retinamnist(data / "retinamnist")
    here, header, _, *rows = said("retinamnist")[-6:]
    assert here == f"here: 6 images in {data / 'retinamnist'}"
    assert header.split() == ["split", "0", "1", "2", "all"]
    assert [row.split() for row in rows] == [
        ["train", "1", "1", "1", "3"],
        ["validation", "1", "0", "0", "1"],
        ["test", "1", "1", "0", "2"],
    ]


def test_targets_are_summed_up_by_split(said, data):
    write_text(data / "agedb_dir/agedb.csv", "age,path,split", "20,A/a.png,train", "40,A/b.png,train", "7,A/c.png,test")
    write_images(data / "agedb_dir", ["A/a.png", "A/b.png", "A/c.png"])
    assert [line.split() for line in said("agedb_dir")[-2:]] == [
        ["train", "2", "20.00", "30.00", "40.00"],
        ["test", "1", "7.00", "7.00", "7.00"],
    ]


def test_a_set_that_lacks_something_says_what(data, capsys):
    trees.plant_pairs(data, vectors=None)
    assert main(["datasets", "stsb_dir"]) == 2
    out, err = capsys.readouterr()
    assert "nlp.stanford.edu" in out
    assert err.startswith("ordinate: stsb_dir: $ORDINATE_DATA holds no vectors of words")


def test_an_unknown_name_is_answered_with_the_nearest(refused):
    assert refused("bussi") == "ordinate: data set: got 'bussi'; did you mean 'busi'?"
    assert refused("stsb-dir") == "ordinate: data set: got 'stsb-dir'; did you mean 'stsb_dir'?"


def test_a_set_that_lies_wrongly_is_explained_and_an_error(data, capsys):
    write_images(data / "hid", ["pictures/1.png"])
    assert main(["datasets", "hid"]) == 2
    out, err = capsys.readouterr()
    assert "graphics.cs.cmu.edu" in out
    assert err == f"ordinate: {data / 'hid'}: got pictures, expected folders 1930s to 1970s of images\n"


def test_a_set_is_fetched(said, monkeypatch, data):
    asked = []
    monkeypatch.setattr(catalogue, "fetch", lambda file, folder: asked.append(folder) or folder / file.file)
    line = said("retinamnist", "--download", "new")[0]
    assert line.startswith("new/retinamnist/retinamnist.npz: fetched and checked; with ORDINATE_DATA=new it is read by")
    assert [str(folder) for folder in asked] == ["new/retinamnist"]
