"""What a .ts file holds, and what is refused."""

import numpy as np
import pytest

from ordinate.data.ts_files import read_ts
from ordinate.errors import OrdinateError

HEADER = "#a comment\n@problemName Floods\n@timeStamps false\n@missing {missing}\n@univariate {univariate}\n"
EQUAL = HEADER + "@dimensions {channels}\n@equalLength true\n@seriesLength 3\n@targetLabel true\n@data\n"


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "set.ts"
        path.write_text(text)
        return path

    return write


def equal(rows, missing="false", univariate="true", channels=1):
    return EQUAL.format(missing=missing, univariate=univariate, channels=channels) + "\n".join(rows) + "\n"


def test_series_of_equal_length_are_read_with_their_targets(write):
    X, y = read_ts(write(equal(["1,2,3:0.5", "4,5.5,-6e1:-0.25"])))
    np.testing.assert_array_equal(X, [[[1, 2, 3]], [[4, 5.5, -60]]])
    np.testing.assert_array_equal(y, [0.5, -0.25])


def test_channels_are_separated_by_colons(write):
    X, y = read_ts(write(equal(["1,2,3:4,5,6:7"], univariate="false", channels=2)))
    np.testing.assert_array_equal(X, [[[1, 2, 3], [4, 5, 6]]])
    assert y.tolist() == [7]


def test_a_missing_point_is_nan(write):
    X, _ = read_ts(write(equal(["1,?,3:0"], missing="true")))
    np.testing.assert_array_equal(X, [[[1, np.nan, 3]]])


def test_shorter_series_end_in_nan(write):
    text = HEADER.format(missing="false", univariate="true") + "@equalLength false\n@targetLabel true\n@data\n"
    X, _ = read_ts(write(text + "1,2:0\n3,4,5,6:1\n"))
    np.testing.assert_array_equal(X, [[[1, 2, np.nan, np.nan]], [[3, 4, 5, 6]]])


@pytest.mark.parametrize(("classes", "y"), [(["1", "2", "10"], [1, 2, 10]), (["Low", "Mid", "High"],) * 2])
def test_classes_are_numbers_or_text(write, classes, y):
    rows = [f"1,2,3:{name}" for name in classes]
    text = equal(rows).replace("@targetLabel true", f"@classLabel true {' '.join(classes)}")
    assert read_ts(write(text))[1].tolist() == list(y)


def test_what_is_written_is_read_again(write):
    rng = np.random.default_rng(0)
    series, targets = rng.normal(size=(5, 2, 3)), rng.normal(size=5)
    rows = [
        ":".join([*(",".join(map(repr, map(float, channel))) for channel in one), repr(float(target))])
        for one, target in zip(series, targets, strict=True)
    ]
    X, y = read_ts(write(equal(rows, univariate="false", channels=2)))
    np.testing.assert_array_equal(X, series)
    np.testing.assert_array_equal(y, targets)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (equal(["1,2:0"]), "line 11: has 2 to 2 points per channel, expected 3"),
        (equal(["1,2,3:4,5,6:0"]), "line 11: has 2 channels, expected 1"),
        (equal(["1,?,3:0"]), "line 11: has a missing point, and the header says @missing false"),
        (equal(["1,2,3"]), "line 11: holds no colon"),
        (equal(["1,two,3:0"]), "line 11: a point is no number"),
        (equal(["1,inf,3:0"]), "line 11: a point is not finite"),
        (equal(["1,nan,3:0"]), "line 11: a point is not finite"),
        (equal(["1,2,3:?"]), "as the target, expected one number"),
        (equal(["1,2,3:1,2"]), "as the target, expected one number"),
        (equal(["1,2,3:x"]), "the target is no number"),
        (equal([]), "holds no series"),
        ("@timeStamps true\n@data\n", "line 1: holds time stamps"),
        ("@classLabel true\n@data\n", "line 1: got true, expected @classLabel false, or true and two or more classes"),
        ("@classLabel true a b\n@data\n1,2:c\n", "line 3: got the class 'c', expected one of @classLabel: a, b"),
        ("@targetLabel false\n@data\n", "line 1: holds no targets"),
        ("1,2,3:0\n", "line 1: expected a line of the header"),
        ("", "holds no series"),
    ],
)
def test_what_the_header_does_not_promise_is_refused(write, text, message):
    with pytest.raises(OrdinateError) as error:
        read_ts(write(text))
    assert message in str(error.value)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8-sig"])
def test_comments_are_in_any_encoding(tmp_path, encoding):
    path = tmp_path / "a.ts"
    path.write_bytes("# by Hervé\n@missing false\n@data\n1,2:0.5\n3,4:0.7\n".encode(encoding))
    X, y = read_ts(path)
    assert (X.tolist(), y.tolist()) == ([[[1.0, 2.0]], [[3.0, 4.0]]], [0.5, 0.7])


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(OrdinateError, match=r"nowhere\.ts: could not be read: No such file"):
        read_ts(tmp_path / "nowhere.ts")


def test_a_wrong_count_in_the_header_is_refused(write):
    with pytest.raises(OrdinateError, match="line 1: got two, expected a whole number above 0 for @dimensions"):
        read_ts(write("@dimensions two\n@data\n1:2\n"))
