import pytest

from ordinate.errors import OrdinateError
from ordinate_papers.datasets.images.named_by_label import (
    read_agedb,
    read_bracs,
    read_busi,
    read_fgnet,
    read_fingers,
    read_hid,
    read_koa,
)
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
    with pytest.raises(OrdinateError, match=r"got images.*, expected images named as in .*"):
        read(root)


# Knee Osteoarthritis

KNEES = ["train/0/9001695L.png", "train/4/9001695R.png", "val/2/9003126L.png", "test/1/9011115R.png"]
READ_KNEES = [
    ("test/1/9011115R.png", 1, "test", "9011115"),
    ("train/0/9001695L.png", 0, "train", "9001695"),
    ("train/4/9001695R.png", 4, "train", "9001695"),
    ("val/2/9003126L.png", 2, "validation", "9003126"),
]


def test_koa_has_grades_splits_and_subjects_in_a_folder_and_in_a_zip(root):
    write_images(root, [*KNEES, "auto_test/1/9011115R.png"])
    assert rows(read_koa(root), root) == READ_KNEES
    read = read_koa(zipped(root))
    assert rows(read) == READ_KNEES
    assert read.samples.open(0).size == (3, 2)


# BRACS


def test_bracs_has_subtypes_splits_and_slides(root):
    write_images(
        root / "BRACS_RoI/latest_version",
        [
            "train/0_N/BRACS_264_N_1.png",
            "train/6_IC/BRACS_264_IC_2.png",
            "val/3_FEA/BRACS_1286_FEA_4.png",
            "test/5_DCIS/BRACS_1003722_DCIS_1.png",
        ],
    )
    assert rows(read_bracs(root), root / "BRACS_RoI/latest_version") == [
        ("test/5_DCIS/BRACS_1003722_DCIS_1.png", 5, "test", "BRACS_1003722"),
        ("train/0_N/BRACS_264_N_1.png", 0, "train", "BRACS_264"),
        ("train/6_IC/BRACS_264_IC_2.png", 6, "train", "BRACS_264"),
        ("val/3_FEA/BRACS_1286_FEA_4.png", 3, "validation", "BRACS_1286"),
    ]


# Historical Colour Images


def test_hid_has_decades_and_five_folds(root):
    write_images(root / "data/imgs/decade_database", [f"19{d}0s/{i}.jpg" for d in range(3, 8) for i in range(6)])
    read = read_hid(root)
    assert read.labels.value_counts().to_dict() == dict.fromkeys(range(5), 6)
    assert read.splits.value_counts().to_dict() == dict.fromkeys("01234", 5) | {"train": 5}
    assert "1930s" in read.samples.paths[read.labels.tolist().index(0)]
    assert not read.splits.equals(read_hid(root, seed=1).splits)


# Breast Ultrasound Images


def test_busi_leaves_masks_out_and_draws_five_blocks(root):
    ranks = {"normal": 2, "benign": 5, "malignant": 3}
    names = [f"{rank}/{rank} ({i + 1}).png" for rank, n in ranks.items() for i in range(n)]
    masks = [name.replace(").png", f")_mask{more}.png") for name in names for more in ("", "_1")]
    write_images(root / "Dataset_BUSI_with_GT", names + masks)
    read = read_busi(root)
    assert read.labels.value_counts().sort_index().tolist() == [2, 5, 3]
    assert read.splits.value_counts().to_dict() == dict.fromkeys("01234", 2)
    assert read.groups is None
    assert not read.splits.equals(read_busi(root, seed=1).splits)
