import pytest

from ordinate.errors import OrdinateError
from ordinate.papers.datasets.images.file_names import read_agedb, read_fgnet, read_fingers
from tests.papers.datasets.images.trees import rows, write_images, zipped


@pytest.fixture
def root(tmp_path):
    return tmp_path / "set"


def test_fingers_are_the_digit_before_the_hand(root):
    write_images(root, ["train/00048bba-979b_0L.png", "train/5_3R.png", "test/00147c9a_5R.png"])
    read = [
        ("test/00147c9a_5R.png", 5, "test", None),
        ("train/00048bba-979b_0L.png", 0, "train", None),
        ("train/5_3R.png", 3, "train", None),
    ]
    assert rows(read_fingers(root), root) == read
    assert rows(read_fingers(zipped(root))) == read


def test_fingers_without_splits_are_refused(root):
    write_images(root, ["all/00048bba_0L.png"])
    with pytest.raises(OrdinateError, match=r"takes train and test, as in train/000e7aa6_4L.png; it holds all"):
        read_fingers(root)


def test_fgnet_has_otds_age_groups_and_subjects(root):
    ages = {"00": 0, "12": 0, "13": 1, "18": 1, "19": 2, "43a": 2, "59": 2, "60": 3, "69": 3}
    write_images(root / "FGNET/images", [f"001A{age}.JPG" for age in ages] + ["082A05.jpg"])
    read = read_fgnet(root)
    assert [row[:2] for row in rows(read, root / "FGNET/images")] == [
        *[(f"001A{age}.JPG", group) for age, group in ages.items()],
        ("082A05.jpg", 0),
    ]
    assert read.groups.value_counts().to_dict() == {"001": 9, "082": 1}
    assert read.splits.value_counts().to_dict() == dict.fromkeys("01234", 2)


def test_fgnet_leaves_what_is_no_image_alone(root):
    write_images(root, ["images/001A02.JPG"])
    (root / "points").mkdir()
    (root / "points/001a02.pts").write_text("n_points: 68")
    assert len(read_fgnet(root)) == 1


def test_agedb_has_ages_and_persons_and_no_splits(root):
    write_images(root / "AgeDB", ["0_MariaCallas_35_f.jpg", "10_GlennClose_62_f.jpg", "2_GeraldFord_101_m.jpg"])
    assert rows(read_agedb(root), root / "AgeDB") == [
        ("0_MariaCallas_35_f.jpg", 35, None, "MariaCallas"),
        ("10_GlennClose_62_f.jpg", 62, None, "GlennClose"),
        ("2_GeraldFord_101_m.jpg", 101, None, "GeraldFord"),
    ]


@pytest.mark.parametrize("read", [read_fgnet, read_agedb])
def test_other_names_are_refused(read, root):
    write_images(root, ["images/portrait.jpg"])
    with pytest.raises(OrdinateError, match=r"takes images named as in .*; it holds images"):
        read(root)
