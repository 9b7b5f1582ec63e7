import pytest

from ordinate.errors import OrdinateError
from ordinate.papers.datasets.images.rank_folders import read_bracs, read_busi, read_hid, read_koa
from tests.papers.datasets.images.trees import rows, write_images, zipped

# Knee Osteoarthritis

KNEES = ["train/0/9001695L.png", "train/4/9001695R.png", "val/2/9003126L.png", "test/1/9011115R.png"]
READ_KNEES = [
    ("test/1/9011115R.png", 1, "test", "9011115"),
    ("train/0/9001695L.png", 0, "train", "9001695"),
    ("train/4/9001695R.png", 4, "train", "9001695"),
    ("val/2/9003126L.png", 2, "validation", "9003126"),
]


@pytest.fixture
def root(tmp_path):
    return tmp_path / "set"


def test_koa_has_grades_splits_and_subjects_in_a_folder_and_in_a_zip(root):
    write_images(root, [*KNEES, "auto_test/1/9011115R.png"])
    assert rows(read_koa(root), root) == READ_KNEES
    read = read_koa(zipped(root))
    assert rows(read) == READ_KNEES
    assert read.samples.open(0).size == (3, 2)


def test_koa_is_found_below_the_owners_folders(root):
    write_images(root / "KneeXrayData/ClsKLData/kneeKL224", KNEES)
    assert len(read_koa(root)) == 4


def test_koa_in_two_sizes_is_refused(root):
    for size in ("kneeKL224", "kneeKL299"):
        write_images(root / "ClsKLData" / size, KNEES)
    with pytest.raises(
        OrdinateError, match="more than once; give one of the folders ClsKLData/kneeKL224/, ClsKLData/k"
    ):
        read_koa(root)


def test_koa_one_level_too_deep_is_refused(root):
    write_images(root, KNEES)
    with pytest.raises(OrdinateError, match=r"train: takes train, val and test with folders 0 to 4.*; it holds 0, 4$"):
        read_koa(root / "train")


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


def test_bracs_of_an_earlier_version_with_other_folders_is_refused(root):
    write_images(root, ["train/3_ADH/BRACS_264_ADH_1.png"])
    with pytest.raises(OrdinateError, match="takes train, val and test with folders 0_N to 6_IC"):
        read_bracs(root)


# Historical Colour Images


def test_hid_has_decades_and_five_folds(root):
    write_images(root / "data/imgs/decade_database", [f"19{d}0s/{i}.jpg" for d in range(3, 8) for i in range(6)])
    read = read_hid(root)
    assert read.labels.value_counts().to_dict() == dict.fromkeys(range(5), 6)
    assert read.splits.value_counts().to_dict() == dict.fromkeys("01234", 5) | {"train": 5}
    assert "1930s" in read.samples.paths[read.labels.tolist().index(0)]
    assert not read.splits.equals(read_hid(root, seed=1).splits)


def test_hid_without_decades_is_refused(root):
    write_images(root, ["images/1.jpg"])
    with pytest.raises(OrdinateError, match="takes folders 1930s to 1970s of images; it holds images"):
        read_hid(root)


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


def test_busi_without_its_folders_is_refused(root):
    write_images(root, ["cancer/1.png"])
    with pytest.raises(OrdinateError, match="takes folders normal, benign and malignant"):
        read_busi(root)
