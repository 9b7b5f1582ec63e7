import pytest

from ordinate import ImageOptions
from ordinate.errors import OrdinateError


def test_pairs_may_be_lists():
    assert ImageOptions(size=[4, 6], crop=[8, 8]) == ImageOptions(size=(4, 6), crop=(8, 8))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 0}, "size: got 0, expected a whole number of at least 1"),
        ({"size": (1, 2, 3)}, r"size: got \(1, 2, 3\), expected \(height, width\)"),
        ({"size": "64"}, "size: got '64', expected"),
        ({"crop": 120}, "crop: got 120, expected"),
        ({"crop": (0, 10)}, "crop: got 0"),
        ({"resize": 12, "size": 16}, "resize: got 12, expected at least the size that the encoder sees, 16"),
        ({"resize": 12}, "resize: got 12, expected at least the size"),
        ({"channels": 2}, r"channels: got 2, expected 1 \(grey\) or 3 \(RGB\)"),
        ({"augmentation": "heavy"}, "augmentation: got 'heavy'"),
        ({"views": 0}, "views: got 0"),
        ({"workers": -1}, "workers: got -1"),
    ],
)
def test_what_it_cannot_be_is_refused(options, message):
    with pytest.raises(OrdinateError, match=message):
        ImageOptions(**options)
