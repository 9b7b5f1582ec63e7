"""A map of numbers, drawn over the image that it belongs to."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ordinate.data.images.pixels import as_picture

if TYPE_CHECKING:
    from PIL.Image import Image


def heat_map(
    pixels: NDArray[np.uint8],
    values: NDArray[np.float64],
    largest: float,
    *,
    opacity: float = 0.75,
    least_side: int = 256,
) -> "Image":
    """Return an image in grey, with positive values in red and negative ones in blue.

    Args:
        pixels: (c, h, w), the image.
        values: (h, w), the map.
        largest: Absolute value that has the full colour, > 0.
        opacity: Opacity of the full colour, 0 to 1.
        least_side: Side in pixels up to which small images are enlarged.
    """
    from PIL import Image

    grey = np.asarray(as_picture(pixels).convert("L").convert("RGB"), dtype=np.float64)
    colours = np.where(values[:, :, None] > 0, (214, 39, 40), (31, 119, 220))
    share = opacity * np.minimum(np.abs(values) / largest, 1)[:, :, None]
    drawn = Image.fromarray(((1 - share) * grey + share * colours).round().astype(np.uint8))
    factor = max(1, least_side // max(drawn.size))
    return drawn.resize((factor * drawn.width, factor * drawn.height), Image.Resampling.NEAREST)
