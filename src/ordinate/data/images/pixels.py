"""From image files or arrays to pixels of one size: crop, resize, equalise."""

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ordinate.data.decoded import DecodedChunks, DecodedSamples, check_size, decode_samples, evenly_spread, stream
from ordinate.data.images.files import MAX_PIXELS, ImageFiles
from ordinate.data.images.options import ImageOptions
from ordinate.data.loader import workers_for
from ordinate.data.streamed import StreamedPixels
from ordinate.errors import OrdinateError

if TYPE_CHECKING:
    from PIL.Image import Image

Images = ImageFiles | NDArray[np.uint8]

CHUNK = 32  # A worker decodes so many images at a time.


@dataclass(frozen=True)
class Preprocessing:
    """What is done to every image, the same in training and in prediction.

    Args:
        size: Size (height, width) in pixels of the images that the encoder sees.
        channels: 1 for grey, 3 for RGB.
        crop: Size (height, width) of the central part that is cropped first, at the image's own resolution; None uses
            all.
        equalize: Whether to equalise the histogram (of the luminance, for colours) after the crop.
        max_pixels: Largest number of pixels of a file's image; a larger one is an error and not decoded.
        intensity: Lowest and highest value of images of more than 8 bits, which become 0 and 255; None if training had
            none: such an image is an error then, unless its values fill the range of its kind.

    Example:
        >>> from PIL import Image
        >>> Preprocessing(size=(4, 6), channels=1)(Image.new("RGB", (30, 20))).shape
        (1, 4, 6)
    """

    size: tuple[int, int]
    channels: int
    crop: tuple[int, int] | None = None
    equalize: bool = False
    max_pixels: int = MAX_PIXELS
    intensity: tuple[float, float] | None = None

    def read(self, images: Images, index: int) -> NDArray[np.uint8]:
        """Return the pixels (channels, height, width) of one of several images."""
        return self(_open(images, index, self.max_pixels))

    def __call__(self, image: "Image") -> NDArray[np.uint8]:
        """Return the pixels (channels, height, width)."""
        from PIL import Image, ImageOps

        image = _eight_bits(image, "RGB" if self.channels == 3 else "L", self.intensity)
        if self.crop is not None:
            height, width = self.crop
            left, top = (image.width - width) // 2, (image.height - height) // 2
            image = image.crop((left, top, left + width, top + height))
        if self.equalize:
            if image.mode == "L":
                image = ImageOps.equalize(image)
            else:
                luminance, *colour = image.convert("YCbCr").split()
                image = Image.merge("YCbCr", [ImageOps.equalize(luminance), *colour]).convert("RGB")
        height, width = self.size
        if image.size != (width, height):
            image = image.resize((width, height), Image.Resampling.BILINEAR, reducing_gap=2.0)
        pixels = np.asarray(image, dtype=np.uint8)
        if pixels.ndim == 2:
            return pixels[None]
        return np.ascontiguousarray(pixels.transpose(2, 0, 1))


class Decoded(DecodedSamples):
    """Pixels (n, c, h, w) of images."""

    preprocessing: Preprocessing


def choose_preprocessing(
    images: Images,
    size: int | tuple[int, int] | None = None,
    channels: int | None = None,
    crop: tuple[int, int] | None = None,
    equalize: bool = False,
    max_pixels: int = MAX_PIXELS,
    max_kept_side: int = 256,
    longer_side: int = 224,
) -> Preprocessing:
    """Return the preprocessing with what was left open chosen from up to 256 images, evenly spread.

    The size is the images' own (or the crop's) if they share one of at most ``max_kept_side`` pixels per side, and
    otherwise has ``longer_side`` for the longer side of the first. Images that are all grey get one channel. If the
    first has more than 8 bits, the range of values of those images becomes 0 to 255.
    """
    seen: list[Image] = []
    rows = evenly_spread(len(images))
    may_be_deep = isinstance(images, ImageFiles) and not images.has_eight_bits
    is_deep = may_be_deep and any(map(_is_deep, _readable(images, rows[:1], max_pixels)))
    if is_deep or channels is None or (size is None and crop is None):
        seen = list(_readable(images, rows, max_pixels))
        sizes = [(image.height, image.width) for image in seen] or [(1, 1)]  # Decoding names what cannot be read.
        if channels is None:
            channels = 1 if all(map(_is_grey, seen)) else 3
    if isinstance(size, int):
        size = (size, size)
    elif size is None:
        size = crop or sizes[0]
        if max(size) > max_kept_side or (crop is None and len(set(sizes)) > 1):
            scale = longer_side / max(size)
            size = (max(1, round(size[0] * scale)), max(1, round(size[1] * scale)))
    intensity = None
    if is_deep:
        intensity = _intensity(seen)
    chosen = Preprocessing(size, channels, crop, equalize, max_pixels, intensity)
    check_size(chosen, CHUNK)
    return chosen


def own_size(images: Images, preprocessing: Preprocessing) -> tuple[int, int]:
    """Return the size (height, width) of the first image that can be read, or of the part that is cropped."""
    first = next(_readable(images, range(len(images)), preprocessing.max_pixels), None)
    if preprocessing.crop is not None or first is None:
        return preprocessing.crop or preprocessing.size
    return first.height, first.width


def decode(
    images: Images | Decoded, preprocessing: Preprocessing, workers: int = 2, progress: bool = False
) -> tuple[NDArray[np.uint8], dict[int, str]]:
    """Return the pixels (n, c, h, w) of images, see :func:`~ordinate.data.decoded.decode_samples`."""
    return decode_samples(images, preprocessing, "image", workers=workers, progress=progress, chunk=CHUNK)


def decoded_at(
    size: tuple[int, int], images: ImageFiles, known: Decoded, options: ImageOptions, progress: bool
) -> Decoded:
    """Return images at another size than the ``known`` ones; they stream if memory does not hold them."""
    preprocessing = replace(known.preprocessing, size=size)
    if preprocessing == known.preprocessing:
        return known
    pixels: NDArray[np.uint8] | StreamedPixels | None = stream(images, preprocessing, options)
    if pixels is None:
        pixels, _ = decode(images, preprocessing, options.workers, progress)
    return Decoded(pixels, preprocessing)


def seconds_to_decode(images: Images, preprocessing: Preprocessing, workers: int = 2, timed: int = 16) -> float:
    """Return how long :func:`decode` takes on this machine, measured on ``timed`` images evenly spread over all."""
    rows = evenly_spread(len(images), timed)
    start = time.perf_counter()
    DecodedChunks(images, preprocessing, [rows])[0]
    processes = workers_for(math.ceil(len(images) / CHUNK), workers)
    return (time.perf_counter() - start) / len(rows) * len(images) / max(1, processes)


def as_images(array: np.ndarray) -> NDArray[np.uint8]:
    """Return images (n, c, h, w) or (n, h, w, c), c 1 or 3, uint8 or floats from 0 to 1, as uint8 (n, c, h, w)."""
    if array.ndim != 4 or len(array) == 0 or min(array.shape) == 0:
        raise OrdinateError("X", f"shape {array.shape}", "images (n, channels, height, width)")
    if array.shape[1] not in (1, 3):
        if array.shape[3] not in (1, 3):
            raise OrdinateError("X", f"shape {array.shape}", "images of 1 or 3 channels, (n, c, h, w)")
        array = array.transpose(0, 3, 1, 2)
    if array.dtype == np.uint8:
        return array
    if array.dtype.kind in "biu" or (array.dtype.kind == "f" and np.isfinite(array).all()):
        low, high = array.min(), array.max()
        if array.dtype.kind == "f" and low >= 0 and high <= 1:
            return (array * 255).round().astype(np.uint8)
        if array.dtype.kind in "iu" and low >= 0 and high <= 255:
            return array.astype(np.uint8)
        raise OrdinateError("X", f"{array.dtype} from {low} to {high}", "uint8, or floats from 0 to 1")
    raise OrdinateError("X", f"images of {array.dtype} or not finite", "uint8, or floats from 0 to 1")


def _readable(images: Images, rows: Sequence[int], max_pixels: int) -> Iterator["Image"]:
    for row in rows:
        with suppress(OrdinateError):
            yield _open(images, row, max_pixels)


def _open(images: Images, index: int, max_pixels: int) -> "Image":
    if isinstance(images, ImageFiles):
        return images.open(index, max_pixels)
    return as_picture(images[index])


def as_picture(pixels: NDArray[np.uint8]) -> "Image":
    """Return pixels (c, h, w), c 1 or 3, as a picture of Pillow."""
    from PIL import Image

    if len(pixels) == 1:
        return Image.fromarray(pixels[0])
    return Image.fromarray(np.ascontiguousarray(pixels.transpose(1, 2, 0)))


def _is_deep(image: "Image") -> bool:
    """Return whether an image has more than 8 bits."""
    return image.mode.startswith(("I", "F"))


def _finite(image: "Image") -> NDArray[np.float64]:
    values = np.asarray(image, dtype=np.float64)
    return values[np.isfinite(values)]


def _intensity(images: Sequence["Image"]) -> tuple[float, float] | None:
    """Return the lowest and the highest value of images of more than 8 bits."""
    held = [values for values in map(_finite, filter(_is_deep, images)) if values.size]
    if not held:
        return None
    low = min(float(values.min()) for values in held)
    high = max(float(values.max()) for values in held)
    return (low, high) if low < high else None


def _own_range(image: "Image", least_filled: float = 1 / 16) -> tuple[float, float]:
    """Return the range of an image's kind: 16 or 8 bits, floats to 1 or 255; an error if it is not filled.

    An image of 16 bits whose values fill less than ``least_filled`` of the range has 12 bits or fewer.
    """
    values = _finite(image)
    if values.size == 0:
        values = np.zeros(1)
    low, high = float(values.min()), float(values.max())
    tops: tuple[float, ...] = (65535.0,)
    if image.mode == "F":
        tops = (1.0, 255.0)
    elif image.mode == "I" and high <= 255:
        tops = (255.0,)
    top = next((top for top in tops if high <= top), None)
    if low < 0 or top is None or (top == 65535.0 and 0 < high < top * least_filled):
        expected = "8 bits, as in training, or the whole range of 16 bits or 0 to 1"
        raise OrdinateError("image", f"values from {low:g} to {high:g}", expected)
    return 0.0, top


def _eight_bits(image: "Image", mode: str, intensity: tuple[float, float] | None) -> "Image":
    """Convert to grey or RGB: more bits from ``intensity``, or the range of their kind, transparency over black."""
    from PIL import Image

    if _is_deep(image):
        low, high = intensity or _own_range(image)
        scaled = (np.asarray(image, dtype=np.float64) - low) / (high - low) * 255
        image = Image.fromarray(np.nan_to_num(scaled).clip(0, 255).round().astype(np.uint8))
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, (0, 0, 0, 255)), image)
    if image.mode != mode:
        image = image.convert(mode)
    return image


def _is_grey(image: "Image", tolerance: int = 3) -> bool:
    """Return whether an image is grey; some formats keep grey as colour, and round its channels."""
    if image.mode in ("1", "L", "LA", "F") or image.mode.startswith("I"):
        return True
    pixels = np.asarray(image.convert("RGB")).astype(np.int16)
    return bool(np.ptp(pixels, axis=2).max() <= tolerance)
