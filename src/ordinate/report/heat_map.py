"""A map of numbers, drawn over the image that it belongs to, next to that image, with a caption and a legend."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ordinate.data.images.pixels import as_picture

if TYPE_CHECKING:
    from PIL.Image import Image

RAISED, LOWERED = (214, 39, 40), (31, 119, 220)  # Red and blue.


def explained(
    pixels: NDArray[np.uint8], values: NDArray[np.float64], largest: float, caption: str, *, side: int = 480
) -> "Image":
    """Return an image and its heat map side by side, with a caption above them and a legend of the colours below.

    Args:
        pixels: (c, h, w), the image.
        values: (h, w), the map.
        largest: Absolute value that has the full colour, > 0.
        caption: Text above the images.
        side: Longer side of each of the two images, in pixels.
    """
    from PIL import Image, ImageDraw, ImageFont

    both = [as_picture(pixels).convert("RGB"), heat_map(pixels, values, largest)]
    height, width = pixels.shape[1:]
    scale = side / max(height, width)
    size = (max(1, round(scale * width)), max(1, round(scale * height)))
    gap, line = 16, 44
    page = Image.new("RGB", (2 * size[0] + 3 * gap, size[1] + 2 * line + gap), "white")
    for place, image in enumerate(both):
        page.paste(image.resize(size, Image.Resampling.BICUBIC), (gap + place * (size[0] + gap), line))
    draw, font = ImageDraw.Draw(page), ImageFont.load_default(18)
    draw.text((gap, line // 2), caption, "black", font, anchor="lm")
    below = line + size[1] + line // 2 + gap // 2
    x = gap
    for colour, text in ((RAISED, "raises the prediction"), (LOWERED, "lowers it")):
        draw.rectangle((x, below - 8, x + 16, below + 8), fill=colour)
        draw.text((x + 24, below), text, "black", font, anchor="lm")
        x += 48 + round(draw.textlength(text, font))
    draw.text((x, below), f"full colour: {largest:.2g}", "black", font, anchor="lm")
    return page


def heat_map(
    pixels: NDArray[np.uint8],
    values: NDArray[np.float64],
    largest: float,
    *,
    opacity: float = 0.75,
) -> "Image":
    """Return an image in grey, with positive values in red and negative ones in blue.

    Args:
        pixels: (c, h, w), the image.
        values: (h, w), the map.
        largest: Absolute value that has the full colour, > 0.
        opacity: Opacity of the full colour, 0 to 1.
    """
    from PIL import Image

    grey = np.asarray(as_picture(pixels).convert("L").convert("RGB"), dtype=np.float64)
    colours = np.where(values[:, :, None] > 0, RAISED, LOWERED)
    share = opacity * np.minimum(np.abs(values) / largest, 1)[:, :, None]
    return Image.fromarray(((1 - share) * grey + share * colours).round().astype(np.uint8))
