import numpy as np
import pytest

from ordinate.errors import OrdinateError
from ordinate_papers.datasets.images.mpiifacegaze import read_mpiifacegaze
from tests.papers.datasets.images.trees import write_images, write_text


def line(image, centre, target):
    numbers = [*([0] * 20), *centre, *target]
    return " ".join([image, *map(str, numbers), "left"])


@pytest.fixture
def root(tmp_path):
    for participant in range(15):
        name = f"p{participant:02d}"
        down = line("day01/0005.jpg", (10, 20, 600), (10, 20 + 600, 0))  # 45 degrees down, straight ahead
        side = line("day02/0001.jpg", (0, 0, 500), (-500, 0, 0))  # 45 degrees to the left of the image
        write_text(tmp_path / name / f"{name}.txt", down, side)
        write_images(tmp_path / name, ["day01/0005.jpg", "day02/0001.jpg"])
    return tmp_path


def test_gaze_is_pitch_and_yaw_from_the_face_to_the_target(root):
    read = read_mpiifacegaze(root)
    assert read.labels.columns.tolist() == ["pitch", "yaw"]
    quarter = np.pi / 4
    np.testing.assert_allclose(read.labels, [[-quarter, 0], [0, quarter]] * 15, atol=1e-12)
    assert read.samples.paths[1] == str(root / "p00/day02/0001.jpg")
    assert read.groups.value_counts().to_dict() == {f"p{i:02d}": 2 for i in range(15)}


def test_no_participant_stands_in_two_splits(root):
    read = read_mpiifacegaze(root)
    assert read.groups.groupby(read.splits).nunique().to_dict() == {"train": 11, "validation": 2, "test": 2}
    assert (read.splits.groupby(read.groups).nunique() == 1).all()
    assert read.splits.equals(read_mpiifacegaze(root).splits)
    assert not read.splits.equals(read_mpiifacegaze(root, seed=1).splits)


@pytest.mark.parametrize("end", ["day03/1.jpg 1 2 3", "day03/1.jpg " + "x " * 26 + "left"])
@pytest.mark.parametrize("mode", ["a", "w"])
def test_a_line_that_is_amiss_is_refused(root, mode, end):
    with (root / "p03/p03.txt").open(mode) as file:
        file.write(end)
    with pytest.raises(OrdinateError, match=r"p03.txt: .*, expected lines of a path, 26 numbers and an eye"):
        read_mpiifacegaze(root)
