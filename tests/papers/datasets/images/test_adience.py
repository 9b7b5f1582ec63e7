import pytest

from ordinate.errors import OrdinateError
from ordinate_papers.datasets.images.adience import AGES, read_adience
from ordinate_papers.datasets.images.folds import hold_out
from tests.papers.datasets.images.trees import rows, write_images, write_text

HEADER = "user_id\toriginal_image\tface_id\tage\tgender\tx\ty\tdx\tdy\ttilt_ang\tfiducial_yaw_angle\tfiducial_score"
FACES = {  # fold: (user, image, face, age)
    0: [("7@N0", "a_o.jpg", 1, "(25, 32)"), ("7@N0", "a_o.jpg", 2, "None"), ("7@N0", "b_o.jpg", 1, "(0, 2)")],
    1: [("8@N0", "a_o.jpg", 3, "(60, 100)")],
    2: [("9@N0", "c_o.jpg", 4, "35"), ("9@N0", "d_o.jpg", 4, "(8, 12)")],
    3: [("5@N0", "e_o.jpg", 5, "(38, 42)")],
    4: [("6@N0", "f_o.jpg", 6, "")],
}


@pytest.fixture
def root(tmp_path):
    for fold, faces in FACES.items():
        lines = [f"{user}\t{image}\t{face}\t{age}\tm" + "\t0" * 7 for user, image, face, age in faces]
        write_text(tmp_path / f"fold_{fold}_data.txt", HEADER, *lines)
        write_text(tmp_path / f"fold_frontal_{fold}_data.txt", HEADER)
        names = [f"aligned/{user}/landmark_aligned_face.{face}.{image}" for user, image, face, _ in faces]
        write_images(tmp_path, names)
    return tmp_path


def test_faces_have_age_groups_folds_and_users_and_those_without_an_age_are_left_out(root):
    assert rows(read_adience(root), root / "aligned") == [
        ("5@N0/landmark_aligned_face.5.e_o.jpg", 5, "3", "5@N0"),
        ("7@N0/landmark_aligned_face.1.a_o.jpg", 4, "0", "7@N0"),
        ("7@N0/landmark_aligned_face.1.b_o.jpg", 0, "0", "7@N0"),
        ("8@N0/landmark_aligned_face.3.a_o.jpg", 7, "1", "8@N0"),
        ("9@N0/landmark_aligned_face.4.c_o.jpg", 5, "2", "9@N0"),
        ("9@N0/landmark_aligned_face.4.d_o.jpg", 2, "2", "9@N0"),
    ]


def test_a_fold_is_held_out(root):
    assert hold_out(read_adience(root), 2).splits.value_counts().to_dict() == {"train": 4, "test": 2}


def test_odd_ages_go_to_the_group_that_holds_them_or_to_the_nearest():
    bounds = [(0, 2), (4, 6), (8, 13), (15, 20), (25, 32), (38, 43), (48, 53), (60, 100)]
    assert len(bounds) == len(set(AGES.values()))
    for age, group in AGES.items():
        numbers = [int(number) for number in age.strip("()").split(",")]
        middle = sum(numbers) / len(numbers)
        off = [max(low - middle, middle - high, 0) for low, high in bounds]
        assert off[group] == min(off), age


def test_an_age_that_is_none_is_named(root):
    file = root / "fold_1_data.txt"
    file.write_text(file.read_text().replace("(60, 100)", "old"))
    with pytest.raises(OrdinateError, match="got the age 'old' in the fold files"):
        read_adience(root)
