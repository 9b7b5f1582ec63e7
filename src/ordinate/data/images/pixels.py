"""From image files or arrays to pixels of one size: crop, resize, equalise."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ordinate.counts import counted
from ordinate.data.decoded import DecodedSamples, check_size, decode_samples, evenly_spread
from ordinate.data.images.deep import DeepImage
from ordinate.data.images.files import ImageFiles
from ordinate.data.images.pillow import MAX_PIXELS
from ordinate.errors import OrdinateError

if TYPE_CHECKING:
    from PIL.Image import Image

    Picture = Image | DeepImage

Images = ImageFiles | NDArray[np.uint8]

CHUNK = 32  # A worker decodes so many images at a time.


@dataclass(frozen=True)
class ImagePreprocessing:
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
        >>> ImagePreprocessing(size=(4, 6), channels=1)(Image.new("RGB", (30, 20))).shape
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

    def __call__(self, image: "Picture") -> NDArray[np.uint8]:
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

    preprocessing: ImagePreprocessing


def choose_preprocessing(
    images: Images,
    size: int | tuple[int, int] | None = None,
    channels: int | None = None,
    crop: tuple[int, int] | None = None,
    equalize: bool = False,
    max_pixels: int = MAX_PIXELS,
    max_kept_side: int = 256,
    longer_side: int = 224,
) -> ImagePreprocessing:
    """Return the preprocessing with what was left open chosen from up to 256 images, evenly spread.

    The size is the images' own (or the crop's) if they share one of at most ``max_kept_side`` pixels per side, and
    otherwise has ``longer_side`` for the longer side of a usual one. Images that are all grey get one channel. The
    range of values of those that have more than 8 bits becomes 0 to 255; if everything else is given, only images whose
    first has more are looked at.
    """
    sizes: list[tuple[int, int]] = []
    ranges: list[tuple[float, float]] = []
    are_grey = True
    rows = evenly_spread(len(images))
    first = _readable(images, rows[:1] if isinstance(images, ImageFiles) else [], max_pixels)
    is_deep = any(isinstance(image, DeepImage) for image in first)
    if is_deep or channels is None or (size is None and crop is None):
        for image in _readable(images, rows, max_pixels):
            sizes.append((image.height, image.width))
            are_grey = are_grey and (channels is not None or _is_grey(image))
            if isinstance(image, DeepImage):
                ranges += filter(None, [image.extremes()])
    if not sizes:
        sizes = [(1, 1)]  # Decoding names what cannot be read.
    if channels is None:
        channels = 1 if are_grey else 3
    if isinstance(size, int):
        size = (size, size)
    elif size is None:
        size = crop or usual_size(sizes)
        if max(size) > max_kept_side or (crop is None and len(set(sizes)) > 1):
            scale = longer_side / max(size)
            size = (max(1, round(size[0] * scale)), max(1, round(size[1] * scale)))
    chosen = ImagePreprocessing(size, channels, crop, equalize, max_pixels, _joint(ranges))
    check_size(chosen, CHUNK)
    return chosen


def own_size(images: Images, preprocessing: ImagePreprocessing) -> tuple[int, int]:
    """Return a usual size (height, width) of up to 32 images that can be read, or of the part that is cropped."""
    if preprocessing.crop is not None:
        return preprocessing.crop
    if isinstance(images, np.ndarray):
        height, width = as_images(images[:1]).shape[-2:]
        return height, width
    sizes = sizes_of(images, preprocessing.max_pixels)
    return usual_size(sizes) if sizes else preprocessing.size


def sizes_of(files: ImageFiles, max_pixels: int, most: int = 32) -> list[tuple[int, int]]:
    """Return the sizes (height, width) of some files that can be read, evenly spread."""
    return [(image.height, image.width) for image in _readable(files, evenly_spread(len(files), most), max_pixels)]


def usual_size(sizes: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return one of some sizes (height, width): a commonest one, the least extreme in shape among equally common ones.

    Example:
        >>> usual_size([(30, 20), (20, 30), (20, 30)]), usual_size([(10, 40), (20, 30), (40, 10)])
        ((20, 30), (20, 30))
    """
    counts = Counter(sizes)
    most = max(counts.values())
    ordered = sorted((size for size, count in counts.items() if count == most), key=lambda size: size[0] / size[1])
    return ordered[(len(ordered) - 1) // 2]


def note_on_shapes(sizes: Sequence[tuple[int, int]], chosen: tuple[int, int], tolerance: float = 1.1) -> str | None:
    """Return a note on images (height, width) whose shape is not the chosen one, to which they are stretched."""
    shape = chosen[0] / chosen[1]
    others = sum(max(height / width / shape, shape * width / height) > tolerance for height, width in sizes)
    if others == 0:
        return None
    share = f"{others:,} of {counted(len(sizes), 'image')} that were looked at"
    return f"{share} have another shape than {chosen[1]} x {chosen[0]}, to which they are stretched"


def decode(
    images: Images | Decoded, preprocessing: ImagePreprocessing, workers: int = 2, progress: bool = False
) -> tuple[NDArray[np.uint8], dict[int, str]]:
    """Return the pixels (n, c, h, w) of images, see :func:`~ordinate.data.decoded.decode_samples`."""
    return decode_samples(images, preprocessing, "image", workers=workers, progress=progress, chunk=CHUNK)


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
        hint = "pixels are normalised after they are read; an encoder of one's own may do it in its forward"
        raise OrdinateError("X", f"{array.dtype} from {low} to {high}", "uint8, or floats from 0 to 1", hint)
    raise OrdinateError("X", f"images of {array.dtype} or not finite", "uint8, or floats from 0 to 1")


def _readable(images: Images, rows: Sequence[int], max_pixels: int) -> Iterator["Picture"]:
    for row in rows:
        with suppress(OrdinateError):
            yield _open(images, row, max_pixels)


def _open(images: Images, index: int, max_pixels: int) -> "Picture":
    if isinstance(images, ImageFiles):
        return images.open(index, max_pixels)
    return as_picture(images[index])


def as_picture(pixels: NDArray[np.uint8]) -> "Image":
    """Return pixels (c, h, w), c 1 or 3, as a picture of Pillow."""
    from PIL import Image

    if len(pixels) == 1:
        return Image.fromarray(pixels[0])
    return Image.fromarray(np.ascontiguousarray(pixels.transpose(1, 2, 0)))


def _joint(ranges: Sequence[tuple[float, float]]) -> tuple[float, float] | None:
    """Return the lowest and the highest value of all ranges; None if there are none, or one value."""
    low = min((low for low, _ in ranges), default=0.0)
    high = max((high for _, high in ranges), default=0.0)
    return (low, high) if low < high else None


def _eight_bits(image: "Picture", mode: str, intensity: tuple[float, float] | None) -> "Image":
    """Convert to grey or RGB: more bits from ``intensity``, or the range of their kind, transparency over black."""
    from PIL import Image

    picture = _scaled(image, intensity)
    if picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info:
        picture = picture.convert("RGBA")
        picture = Image.alpha_composite(Image.new("RGBA", picture.size, (0, 0, 0, 255)), picture)
    if picture.mode != mode:
        picture = picture.convert(mode)
    return picture


def _scaled(image: "Picture", intensity: tuple[float, float] | None) -> "Image":
    """Return an image as a picture of Pillow in 8 bits."""
    if not isinstance(image, DeepImage):
        deep = DeepImage.of(image)
        if deep is None:
            return image
        image = deep
    return image.scaled(*(intensity or image.own_range()))


def _is_grey(image: "Picture", tolerance: int = 3) -> bool:
    """Return whether an image is grey; some formats keep grey as colour, and round its channels."""
    if isinstance(image, DeepImage):
        return image.is_grey(tolerance / 255)
    if image.mode in ("1", "L", "LA"):
        return True
    pixels = np.asarray(image.convert("RGB")).astype(np.int16)
    return bool(np.ptp(pixels, axis=2).max() <= tolerance)
