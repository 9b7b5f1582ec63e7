import pytest

from ordinate_papers.datasets.images.idrid import read_idrid
from tests.papers.datasets.images.trees import rows, write_images, write_text, zipped

IMAGES, TABLES = "1. Original Images", "2. Groundtruths"
HEADER = "Image name,Retinopathy grade,Risk of macular edema ,,,"


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "B. Disease Grading"
    write_images(root / IMAGES, [f"a. Training Set/IDRiD_00{i}.jpg" for i in (1, 2)] + ["b. Testing Set/IDRiD_001.jpg"])
    write_text(
        root / TABLES / "a. IDRiD_Disease Grading_Training Labels.csv", HEADER, "IDRiD_001,3,2,,,", "IDRiD_002,0,0,,,"
    )
    write_text(root / TABLES / "b. IDRiD_Disease Grading_Testing Labels.csv", HEADER, "IDRiD_001 ,4,0,,,")
    return root


READ = [
    ("a. Training Set/IDRiD_001.jpg", 3, "train", None),
    ("a. Training Set/IDRiD_002.jpg", 0, "train", None),
    ("b. Testing Set/IDRiD_001.jpg", 4, "test", None),
]


def test_grades_and_splits_are_the_owners(root):
    assert rows(read_idrid(root), root / IMAGES) == READ


def test_it_is_found_in_a_zip_and_below_the_folder_of_part_b(root):
    assert [row[1:] for row in rows(read_idrid(root.parent))] == [row[1:] for row in READ]
    assert [row[1:] for row in rows(read_idrid(zipped(root)))] == [row[1:] for row in READ]


def test_images_beside_a_table_are_read(tmp_path):
    root = tmp_path / "idrid"
    write_images(root, ["train_IDRiD_001.jpg", "test_IDRiD_001.jpg"])
    write_text(
        root / "labels.csv",
        "file,split,dr_grade,dme_risk",
        "test_IDRiD_001.jpg,test,4,0",
        "train_IDRiD_001.jpg,train,3,2",
    )
    expected = [("test_IDRiD_001.jpg", 4, "test", None), ("train_IDRiD_001.jpg", 3, "train", None)]
    assert rows(read_idrid(root), root) == expected
    assert [row[1:] for row in rows(read_idrid(zipped(root)))] == [row[1:] for row in expected]
