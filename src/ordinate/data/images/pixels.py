"""From image files or arrays to pixels of one size: crop, resize, equalise."""

import hashlib
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ordinate.data.decoded import (
    MAX_CHUNKS_HERE,
    MAX_SAMPLES_TO_CHOOSE,
    DecodedChunks,
    DecodedSamples,
    check_size,
    decode_samples,
    evenly_spread,
)
from ordinate.data.images.files import MAX_PIXELS, ImageFiles
from ordinate.data.loader import usable_workers
from ordinate.errors import OrdinateError

if TYPE_CHECKING:
    from PIL.Image import Image

Images = ImageFiles | NDArray[np.uint8]

KEPT_SIDE, LARGEST_SIDE = 256, 224  # of images whose size is not given: kept up to here, and made so large beyond
GREY_TOLERANCE = 3  # between channels: some formats keep grey as colour, and round
CHUNK = 32  # images that a worker decodes at a time
FILLED = 16  # an image of 16 bits whose values reach a smaller part of the range has 12 bits or fewer
TIMED = 16  # images that tell how long decoding takes


@dataclass(frozen=True)
class Preprocessing:
    """What is done to every image, in training and in prediction alike.

    Args:
        size: (height, width) in pixels of what the encoder sees.
        channels: 1 for grey, 3 for RGB.
        crop: (height, width) of the central part that is cropped first, at the image's own resolution; None uses all.
        equalize: equalise the histogram (of the luminance, for colours) after the crop.
        max_pixels: of a file's image; a larger one is not decoded, and an error.
        intensity: lowest and highest value of images of more than 8 bits, which become 0 and 255; None where training
            had none: such an image is an error then, unless its values fill the range of its kind.

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
        return pixels[None] if pixels.ndim == 2 else np.ascontiguousarray(pixels.transpose(2, 0, 1))


class Decoded(DecodedSamples):
    """Pixels (n, c, h, w) of images."""


def choose_preprocessing(
    images: Images,
    size: int | tuple[int, int] | None = None,
    channels: int | None = None,
    crop: tuple[int, int] | None = None,
    equalize: bool = False,
    max_pixels: int = MAX_PIXELS,
) -> Preprocessing:
    """Return the preprocessing with what was left open chosen from up to 256 images, evenly spread.

    The size is the images' own (or the crop's) if they share one of at most 256 pixels per side, and otherwise has 224
    for the longer side of the first; one channel serves where every image looked at is grey. Where the first has more
    than 8 bits, the range of those looked at becomes 0 to 255.
    """
    seen: list[Image] = []
    rows = evenly_spread(len(images), MAX_SAMPLES_TO_CHOOSE)
    is_deep = _may_be_deep(images) and any(map(_is_deep, _readable(images, rows[:1], max_pixels)))
    if is_deep or channels is None or (size is None and crop is None):
        seen = list(_readable(images, rows, max_pixels))
        sizes = [(image.height, image.width) for image in seen] or [(1, 1)]  # decoding will name what cannot be read
        if channels is None:
            channels = 1 if all(_is_grey(image) for image in seen) else 3
    if isinstance(size, int):
        size = (size, size)
    elif size is None:
        kept = crop or sizes[0]
        keep = max(kept) <= KEPT_SIDE and (crop is not None or len(set(sizes)) == 1)
        scale = 1.0 if keep else LARGEST_SIDE / max(kept)
        size = (max(1, round(kept[0] * scale)), max(1, round(kept[1] * scale)))
    chosen = Preprocessing(size, channels, crop, equalize, max_pixels, _intensity(seen) if is_deep else None)
    check_size(chosen, CHUNK)
    return chosen


def decode(
    images: Images | Decoded, preprocessing: Preprocessing, workers: int = 2, progress: bool = False
) -> tuple[NDArray[np.uint8], dict[int, str]]:
    """Return the pixels (n, c, h, w) of images, see :func:`~ordinate.data.decoded.decode_samples`."""
    return decode_samples(images, preprocessing, "image", workers=workers, progress=progress, chunk=CHUNK)


def seconds_to_decode(images: Images, preprocessing: Preprocessing, workers: int = 2) -> float:
    """Return how long :func:`decode` takes on this machine, from a few images evenly spread over them."""
    rows = evenly_spread(len(images), TIMED)
    start = time.perf_counter()
    DecodedChunks(images, preprocessing, [rows])[0]
    processes = usable_workers(workers) if len(images) > MAX_CHUNKS_HERE * CHUNK else 0
    return (time.perf_counter() - start) / len(rows) * len(images) / max(1, processes)


def duplicates(pixels: NDArray[np.uint8]) -> list[list[int]]:
    """Return the groups of images (indices, ascending) whose pixels are all the same.

    Example:
        >>> duplicates(np.array([[1], [2], [1], [3]], dtype=np.uint8)[:, :, None, None])
        [[0, 2]]
    """
    groups: dict[bytes, list[int]] = {}
    for index, image in enumerate(pixels):
        groups.setdefault(hashlib.sha256(image.tobytes()).digest(), []).append(index)
    return [group for group in groups.values() if len(group) > 1]


def as_images(array: NDArray[Any]) -> NDArray[np.uint8]:
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
    return images.open(index, max_pixels) if isinstance(images, ImageFiles) else as_picture(images[index])


def as_picture(pixels: NDArray[np.uint8]) -> "Image":
    """Return pixels (c, h, w), c 1 or 3, as a picture of Pillow."""
    from PIL import Image

    return Image.fromarray(pixels[0] if len(pixels) == 1 else np.ascontiguousarray(pixels.transpose(1, 2, 0)))


def _may_be_deep(images: Images) -> bool:
    return isinstance(images, ImageFiles) and not images.has_eight_bits


def _is_deep(image: "Image") -> bool:
    """Whether an image has more than 8 bits."""
    return image.mode.startswith(("I", "F"))


def _finite(image: "Image") -> NDArray[np.float64]:
    values = np.asarray(image, dtype=np.float64)
    return values[np.isfinite(values)]


def _intensity(images: Sequence["Image"]) -> tuple[float, float] | None:
    """Return the lowest and the highest value of images of more than 8 bits."""
    ends = [
        end for image in images if _is_deep(image) and (held := _finite(image)).size for end in (held.min(), held.max())
    ]
    return (float(min(ends)), float(max(ends))) if ends and min(ends) < max(ends) else None


def _own_range(image: "Image") -> tuple[float, float]:
    """Return the range of an image's kind: 16 or 8 bits, floats to 1 or 255; an error if it is not filled."""
    values = _finite(image)
    low, high = (0.0, 0.0) if values.size == 0 else (float(values.min()), float(values.max()))
    kinds = (1.0, 255.0) if image.mode == "F" else (255.0,) if image.mode == "I" and high <= 255 else (65535.0,)
    top = next((kind for kind in kinds if high <= kind), None)
    if low < 0 or top is None or (top == 65535.0 and 0 < high < top / FILLED):
        raise OrdinateError(
            "image",
            f"values from {low:g} to {high:g}",
            "8 bits, as in training, or the whole range of 16 bits or 0 to 1",
        )
    return 0.0, top


def _eight_bits(image: "Image", mode: str, intensity: tuple[float, float] | None) -> "Image":
    """Convert to grey or RGB: more bits from ``intensity``, or the range of their kind, transparency over black."""
    from PIL import Image

    if _is_deep(image):
        low, high = _own_range(image) if intensity is None else intensity
        scaled = (np.asarray(image, dtype=np.float64) - low) / (high - low) * 255
        image = Image.fromarray(np.nan_to_num(scaled).clip(0, 255).round().astype(np.uint8))
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, (0, 0, 0, 255)), image)
    return image if image.mode == mode else image.convert(mode)


def _is_grey(image: "Image") -> bool:
    if image.mode in ("1", "L", "LA", "F") or image.mode.startswith("I"):
        return True
    pixels = np.asarray(image.convert("RGB")).astype(np.int16)
    return bool(np.ptp(pixels, axis=2).max() <= GREY_TOLERANCE)
