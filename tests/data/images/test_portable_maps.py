"""Grey maps of more than 8 bits keep their values."""

import numpy as np
import pytest

from ordinate.data.images.formats import open_image
from ordinate.data.images.pillow import MAX_PIXELS


@pytest.mark.parametrize("most", [256, 4095, 65535])
def test_the_largest_value_is_white(most):
    values = np.random.default_rng(0).integers(0, most + 1, (5, 7))
    image = open_image(f"P5 7 5 {most}\n".encode() + values.astype(">u2").tobytes(), "a", MAX_PIXELS)
    np.testing.assert_allclose(image.values, values / most * 65535, atol=0.51)
    assert image.own_range() == (0, 65535)
