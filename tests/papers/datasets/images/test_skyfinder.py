import pytest

from ordinate.errors import OrdinateError
from ordinate_papers.datasets.images.skyfinder import read_skyfinder
from tests.papers.datasets.images.trees import write_images, write_text

HEADER = "Filename,CamId,Conds,Year,Month,Day,Hour,Min,TempI,TempM"


def row(name, camera, day, hour, minute, celsius):
    return f"{name},{camera},Clear,2013,1,{day},{hour},{minute},50,{celsius}"


ROWS = [
    row("a.jpg", 10066, 1, 10, 50, -3.5),  # nearest to eleven of its day
    row("b.jpg", 10066, 1, 11, 30, -2.0),
    row("c.jpg", 10066, 2, 12, 0, 4),  # an hour off
    row("d.jpg", 10066, 3, 12, 1, 5),  # more than an hour off
    row("e.jpg", 10066, 4, 11, 0, -9999),  # not measured
    row("f.jpg", 204, 1, 11, 0, 31.5),
    row("a.jpg", 204, 2, 11, 0, 30),
    row("g.jpg", 999, 1, 11, 0, 20),  # a camera without images
    row("h.jpg", 204, 5, 11, 0, ""),
]
KEPT = {"204/a.jpg": 30.0, "204/f.jpg": 31.5, "10066/a.jpg": -3.5, "10066/c.jpg": 4.0}


@pytest.fixture
def root(tmp_path):
    write_text(tmp_path / "complete_table_with_mcr.csv", HEADER, *ROWS)
    write_images(tmp_path / "images", [f"10066/{name}.jpg" for name in "abcde"])
    write_images(tmp_path / "images/204/home/skyfinder/images", ["204/f.jpg", "204/a.jpg", "204/h.jpg"])  # as zipped
    return tmp_path


def test_the_image_nearest_to_eleven_is_kept_of_every_camera_and_day(root):
    read = read_skyfinder(root)
    names = ["/".join(path.split("/")[-2:]) for path in read.samples.paths]
    assert dict(zip(names, read.labels, strict=True)) == KEPT
    assert read.groups.tolist() == [name.split("/")[0] for name in names]
    assert set(read.splits) == {"train"}  # too few for a tenth


def test_splits_are_in_the_shares_of_supcr(tmp_path):
    rows = [row(f"{day}.jpg", 1, day, 11, 0, 10) for day in range(1, 101)]
    write_text(tmp_path / "complete_table_with_mcr.csv", HEADER, *rows)
    write_images(tmp_path, [f"1/{day}.jpg" for day in range(1, 101)])
    read = read_skyfinder(tmp_path)
    assert read.splits.value_counts().to_dict() == {"train": 80, "validation": 10, "test": 10}
    assert read.splits.equals(read_skyfinder(tmp_path).splits)
    assert not read.splits.equals(read_skyfinder(tmp_path, seed=1).splits)


def test_without_an_image_of_the_table_it_is_refused(root):
    write_text(root / "complete_table_with_mcr.csv", HEADER, ROWS[3])
    with pytest.raises(
        OrdinateError, match=r"got no image taken around eleven, expected those of complete_table_with_mcr.csv"
    ):
        read_skyfinder(root)
