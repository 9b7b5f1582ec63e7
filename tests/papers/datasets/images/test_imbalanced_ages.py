import pytest

from ordinate.errors import OrdinateError
from ordinate_papers.datasets.images.imbalanced_ages import read_agedb_dir, read_imdb_wiki_dir
from tests.papers.datasets.images.trees import rows, write_images, write_text

TABLE = ("age,path,split", "31,AgeDB/0_A_31_f.jpg,train", "59,AgeDB/1_B_59_m.jpg,val", "4,AgeDB/2_C_4_m.jpg,test")
READ = [
    ("AgeDB/0_A_31_f.jpg", 31, "train", None),
    ("AgeDB/1_B_59_m.jpg", 59, "validation", None),
    ("AgeDB/2_C_4_m.jpg", 4, "test", None),
]


@pytest.fixture
def root(tmp_path):
    write_text(tmp_path / "agedb.csv", *TABLE)
    write_images(tmp_path, [row[0] for row in READ])
    return tmp_path


def test_agedb_dir_has_the_ages_and_splits_of_its_table(root):
    assert rows(read_agedb_dir(root), root) == READ


def test_imdb_wiki_dir_has_the_ages_and_splits_of_its_table(tmp_path):
    write_text(
        tmp_path / "imdb_wiki.csv", "age,path,split", "186,imdb_crop/01/a.jpg,train", "20,wiki_crop/01/a.jpg,test"
    )
    write_images(tmp_path, ["imdb_crop/01/a.jpg", "wiki_crop/01/a.jpg"])
    assert rows(read_imdb_wiki_dir(tmp_path), tmp_path) == [
        ("imdb_crop/01/a.jpg", 186, "train", None),
        ("wiki_crop/01/a.jpg", 20, "test", None),
    ]


def test_an_unknown_split_is_named(root):
    write_text(root / "agedb.csv", *TABLE, "3,AgeDB/0_A_31_f.jpg,later")
    with pytest.raises(OrdinateError, match="got the split 'later', expected train, val and test"):
        read_agedb_dir(root)
