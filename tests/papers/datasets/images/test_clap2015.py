import pytest

from ordinate.errors import OrdinateError
from ordinate_papers.datasets.images.clap2015 import read_clap2015
from tests.papers.datasets.images.trees import write_images, write_text

ABSENT = (77, 79, 81, 83)
AGES = {
    "Train": range(3, 60),
    "Validation": range(50, 76),
    "Test": [age for age in range(70, 86) if age not in ABSENT],
}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A set of 79 ages from 3 to 85."""
    root = tmp_path_factory.mktemp("clap2015")
    for split, ages in AGES.items():
        lines = [f"{split[0]}_{age}.jpg;{age};5.2" for age in ages]
        write_text(root / f"{split}.csv", *lines)
        write_images(root / split, [line.split(";")[0] for line in lines])
    return root


@pytest.mark.parametrize(("bin_size", "ranks"), [(1, 79), (2, 42), (3, 28), (4, 22), (5, 18)])
def test_bins_of_every_size_give_the_ranks_of_clocs_table_5(root, bin_size, ranks):
    read = read_clap2015(root, bin_size)
    assert sorted(set(read.labels)) == list(range(ranks))
    assert read.splits.value_counts().to_dict() == {"train": 57, "validation": 26, "test": 12}


def small(root, *lines, tables=("Train.csv", "Valid.csv", "Test.csv")):
    for name in tables:
        write_text(root / name, *lines)
        write_images(root, [f"{name.removesuffix('.csv')}/1.jpg"])
    return root


def test_means_are_rounded_and_a_header_and_commas_are_understood(tmp_path):
    root = small(tmp_path, "image,mean,stdv", "1.jpg,20.5,3", tables=("gt_train.csv", "gt_valid.csv", "gt_test.csv"))
    write_images(root, [f"{split}/1.jpg" for split in ("train", "valid", "test")])
    assert read_clap2015(root).labels.tolist() == [0, 0, 0]
    write_text(root / "gt_test.csv", "1.jpg,20.4,3")
    assert sorted(read_clap2015(root).labels) == [0, 1, 1]


def test_an_age_that_is_no_number_is_refused(tmp_path):
    root = small(tmp_path, "1.jpg;nan;3")
    with pytest.raises(OrdinateError, match=r"got a mean age that is not finite"):
        read_clap2015(root)
