"""The 19 common corruptions of images at 5 severities (Hendrycks and Dietterich, ICLR 2019; SupCR, Section 4.2).

They are ImageNet-C's 15 and its 4 extra ones, written for images of any size, in grey or colour. Strengths of noise,
light and compression are ImageNet-C's. Lengths (radii of blurs, sizes of flakes and drops) are ImageNet-C's, which
are for 224 pixels, times the image's shorter side over 224: what one would see in a large image that was corrupted
and then made small. Where ImageNet-C needs what is not available, or does not grow worse with every severity, this does
otherwise:

- ``frost`` lies over the image as a generated texture of ice needles, instead of photographs of frost;
- ``fog`` and ``frost`` take clouds of value noise, octave by octave, instead of the diamond-square algorithm;
- ``glass_blur`` moves every pixel once, by up to (ImageNet-C's distance) x sqrt(its rounds), instead of rounds of
  swaps;
- ``elastic_transform`` shears the frame and bends it smoothly, both more with every severity; ImageNet-C's first two
  severities mostly shift the frame, further than the other three;
- ``spatter`` covers the shares of the image that ImageNet-C's thresholds amount to at 224 pixels.

A higher severity takes an image further away, except that ``snow``, ``frost`` and ``fog`` trade brightness for
texture in between, and ``saturate`` takes colour away first and then adds it. It leaves grey images of one channel as
they are.
"""

import io
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage, signal

from ordinate.checks import check_whole
from ordinate.errors import OrdinateError

if TYPE_CHECKING:
    from PIL import Image

SEVERITIES = (1, 2, 3, 4, 5)

Pixels = NDArray[np.float64]  # (c, h, w), from 0 to 1
Layer = NDArray[np.float64]  # (h, w)


def corrupt(images: NDArray[np.uint8], name: str, severity: int, seed: int = 0) -> NDArray[np.uint8]:
    """Corrupt every image.

    What is drawn for an image follows from the seed, the corruption and the image's place, and is the same at all
    severities.

    Args:
        images: (n, c, h, w) uint8, grey or RGB.
        name: Name of the corruption, one of :data:`CORRUPTIONS`.
        severity: Strength of the corruption, 1 to 5.
        seed: Seed of what is drawn, at least 0.

    Example:
        >>> images = np.full((2, 3, 32, 32), 128, dtype=np.uint8)
        >>> corrupt(images, "brightness", severity=1)[0, :, 0, 0]
        array([154, 154, 154], dtype=uint8)
    """
    if name not in CORRUPTIONS:
        raise OrdinateError("name", repr(name), f"one of {', '.join(map(repr, CORRUPTIONS))}")
    if isinstance(severity, bool) or severity not in SEVERITIES:
        raise OrdinateError("severity", repr(severity), "1, 2, 3, 4 or 5")
    check_whole(seed, "seed", least=0)
    if images.dtype != np.uint8 or images.ndim != 4 or images.shape[1] not in (1, 3) or 0 in images.shape:
        raise OrdinateError("images", f"{images.dtype} of shape {images.shape}", "uint8 (n, c, h, w) with c of 1 or 3")
    corrupted = np.empty_like(images)
    for index, image in enumerate(images):
        random = np.random.default_rng([seed, zlib.crc32(name.encode()), index])
        values = CORRUPTIONS[name](image / 255.0, severity - 1, random)
        corrupted[index] = np.round(values.clip(0, 1) * 255)
    return corrupted


# Noise


def _gaussian_noise(image: Pixels, level: int, random: np.random.Generator) -> Pixels:
    return image + random.normal(size=image.shape) * (0.08, 0.12, 0.18, 0.26, 0.38)[level]


def _shot_noise(image: Pixels, level: int, random: np.random.Generator) -> Pixels:
    photons = (60, 25, 12, 5, 3)[level]
    return random.poisson(image * photons) / photons


def _impulse_noise(image: Pixels, level: int, random: np.random.Generator) -> Pixels:
    share = (0.03, 0.06, 0.09, 0.17, 0.27)[level]
    place, salt = random.random(image.shape), random.random(image.shape) < 0.5
    return np.where(place < share, salt, image)


def _speckle_noise(image: Pixels, level: int, random: np.random.Generator) -> Pixels:
    return image * (1 + random.normal(size=image.shape) * (0.15, 0.2, 0.35, 0.45, 0.6)[level])


# Blur


def _gaussian_blur(image: Pixels, level: int, _: np.random.Generator) -> Pixels:
    return _smooth(image, (1, 2, 3, 4, 6)[level] * _scale(image))


def _defocus_blur(image: Pixels, level: int, _: np.random.Generator) -> Pixels:
    radius, softness = ((3, 0.1), (4, 0.5), (6, 0.5), (8, 0.5), (10, 0.5))[level]
    scale = _scale(image)
    side = np.linspace(-1, 1, 41)
    points = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    disc = points[np.hypot(*points.T) <= 1] * radius * scale
    return _smooth(_spread(image, disc, np.ones(len(disc))), softness * scale)


def _glass_blur(image: Pixels, level: int, random: np.random.Generator) -> Pixels:
    blur, distance, rounds = ((0.7, 1, 2), (0.9, 2, 1), (1, 2, 3), (1.1, 3, 2), (1.5, 4, 2))[level]
    scale = _scale(image)
    shifts = random.uniform(-1, 1, (2, *image.shape[1:])) * distance * np.sqrt(rounds) * scale
    return _smooth(_sample(_smooth(image, blur * scale), _grid(image) + shifts), blur * scale)


def _motion_blur(image: Pixels, level: int, random: np.random.Generator) -> Pixels:
    radius, sigma = ((10, 3), (15, 5), (15, 8), (15, 12), (20, 15))[level]
    return _streak(image, radius * _scale(image), sigma * _scale(image), random.uniform(-45, 45))


def _zoom_blur(image: Pixels, level: int, _: np.random.Generator) -> Pixels:
    step, farthest = ((0.01, 1.1), (0.01, 1.15), (0.02, 1.2), (0.02, 1.25), (0.03, 1.3))[level]
    grid = _grid(image)
    centre = _centre(image)
    zooms = [_sample(image, centre + (grid - centre) / zoom) for zoom in np.arange(1, farthest + step / 2, step)]
    return np.mean([image, *zooms], axis=0)


# Weather


def _snow(image: Pixels, level: int, random: np.random.Generator) -> Pixels:
    mean, deviation, size, threshold, radius, sigma, kept = (
        (0.1, 0.3, 3, 0.5, 10, 4, 0.8),
        (0.2, 0.3, 2, 0.5, 12, 4, 0.7),
        (0.55, 0.3, 4, 0.9, 12, 8, 0.7),
        (0.55, 0.3, 4.5, 0.85, 12, 8, 0.65),
        (0.55, 0.3, 2.5, 0.85, 12, 12, 0.55),
    )[level]
    fine = max(1, round(1 / _scale(image)))  # Flakes are drawn at about 224 pixels and then scaled down.
    height, width = (fine * side for side in image.shape[1:])
    drawn = random.normal(mean, deviation, (1, height, width))
    scale = _scale(drawn)
    centre = _centre(drawn)
    flakes = _sample(drawn, centre + (_grid(drawn) - centre) / max(1, size * scale))
    flakes = np.where(flakes < threshold, 0, flakes).clip(0, 1)
    flakes = _streak(flakes, radius * scale, sigma * scale, random.uniform(-135, -45))
    flakes = flakes.reshape(1, height // fine, fine, width // fine, fine).mean(axis=(2, 4))
    whitened = kept * image + (1 - kept) * np.maximum(image, _grey(image) * 1.5 + 0.5)
    return whitened + flakes + flakes[:, ::-1, ::-1]


def _frost(image: Pixels, level: int, random: np.random.Generator) -> Pixels:
    kept, ice = ((1, 0.4), (0.8, 0.6), (0.7, 0.7), (0.65, 0.7), (0.6, 0.75))[level]
    tint = np.array([0.93])
    if len(image) == 3:
        tint = np.array([0.85, 0.95, 1.0])
    return kept * image + ice * tint[:, None, None] * _ice(image.shape[1:], random)


def _fog(image: Pixels, level: int, random: np.random.Generator) -> Pixels:
    strength, decay = ((1.5, 2), (2, 2), (2.5, 1.7), (2.5, 1.5), (3, 1.4))[level]
    highest = image.max()
    return (image + strength * _clouds(image.shape[1:], decay, random)) * highest / (highest + strength)


def _spatter(image: Pixels, level: int, random: np.random.Generator) -> Pixels:
    """Drops of water, and from severity 4 on splashes of mud."""
    size, share = ((4, 0.03), (3, 0.14), (2, 0.24), (2, 0.12), (2, 0.2))[level]
    layer = _smooth(random.normal(size=(1, *image.shape[1:])), size * _scale(image))
    edge = np.quantile(layer, 1 - share)
    if level >= 3:
        splash = _smooth((layer > edge).astype(np.float64), _scale(image))
        return image * (1 - splash) + _colour(image, (63, 42, 20)) * splash
    drops = (layer - edge).clip(0)
    light = ndimage.sobel(drops, axis=1) + ndimage.sobel(drops, axis=2)  # Light from one side makes drops look round.
    shine = drops / max(drops.max(), 1e-12) + light / max(np.abs(light).max(), 1e-12)
    return image + _colour(image, (175, 238, 238)) * (0.6, 0.6, 0.5)[level] * shine.clip(0, 1) * (drops > 0)


# Light and colour


def _brightness(image: Pixels, level: int, _: np.random.Generator) -> Pixels:
    """Raise the value of hue, saturation and value."""
    value = image.max(axis=0)
    raised = np.minimum(value + (0.1, 0.2, 0.3, 0.4, 0.5)[level], 1)
    return np.where(value > 0, image * raised / np.where(value > 0, value, 1), raised)


def _contrast(image: Pixels, level: int, _: np.random.Generator) -> Pixels:
    means = image.mean(axis=(1, 2), keepdims=True)
    return (image - means) * (0.4, 0.3, 0.2, 0.1, 0.05)[level] + means


def _saturate(image: Pixels, level: int, _: np.random.Generator) -> Pixels:
    """Turn the saturation of hue, saturation and value down, then up; grey pixels have the hue of red."""
    factor, offset = ((0.3, 0), (0.1, 0), (2, 0), (5, 0.1), (20, 0.2))[level]
    if len(image) == 1:
        return image
    value = image.max(axis=0)
    below = value - image
    spread = below.max(axis=0)
    saturation = spread / np.where(value > 0, value, 1)
    direction = np.where(spread > 0, below / np.where(spread > 0, spread, 1), np.array([0, 1, 1])[:, None, None])
    return value * (1 - direction * (saturation * factor + offset).clip(0, 1))


# Digital


def _elastic_transform(image: Pixels, level: int, random: np.random.Generator) -> Pixels:
    bend, shear = ((0.003, 0.01), (0.006, 0.02), (0.009, 0.03), (0.012, 0.04), (0.015, 0.05))[level]
    side = min(image.shape[1:])
    fields = _smooth(random.uniform(-1, 1, (2, *image.shape[1:])), max(1, 0.03 * side))
    fields *= bend * side / fields.std()
    centre = _centre(image)
    matrix = random.uniform(-1, 1, (2, 2)) * 2 * shear  # Corners move by up to 2 x shear of the side.
    grid = _grid(image)
    return _sample(image, grid + np.einsum("ij,jhw->ihw", matrix, grid - centre) + fields)


def _pixelate(image: Pixels, level: int, _: np.random.Generator) -> Pixels:
    from PIL import Image

    share = (0.6, 0.5, 0.4, 0.3, 0.25)[level]
    height, width = image.shape[1:]
    small = (max(1, int(width * share)), max(1, int(height * share)))
    box = Image.Resampling.BOX
    return _through_pillow(image, lambda picture: picture.resize(small, box).resize((width, height), box))


def _jpeg_compression(image: Pixels, level: int, _: np.random.Generator) -> Pixels:
    from PIL import Image

    def compress(picture: Image.Image) -> Image.Image:
        file = io.BytesIO()
        picture.save(file, "JPEG", quality=(25, 18, 15, 10, 7)[level])
        return Image.open(file)

    return _through_pillow(image, compress)


CORRUPTIONS: dict[str, Callable[[Pixels, int, np.random.Generator], Pixels]] = {
    function.__name__.removeprefix("_"): function
    for function in (
        _gaussian_noise, _shot_noise, _impulse_noise, _defocus_blur, _glass_blur, _motion_blur, _zoom_blur, _snow,
        _frost, _fog, _brightness, _contrast, _elastic_transform, _pixelate, _jpeg_compression,
        _speckle_noise, _gaussian_blur, _spatter, _saturate,
    )
}  # fmt: skip


# What they are made of


def _scale(image: Pixels) -> float:
    """Return the shorter side over 224, the one that lengths are given for."""
    return min(image.shape[1:]) / 224


def _smooth(image: Pixels, sigma: float) -> Pixels:
    """Blur by a Gaussian; below a pixel, by what it makes of square pixels, since samples of it would miss them."""
    if sigma >= 1:
        return ndimage.gaussian_filter(image, (0, sigma, sigma), mode="nearest")
    along = np.linspace(-4, 4, 81)
    places = np.abs(along * sigma - np.arange(-5, 6)[:, None])
    kernel = (1 - places).clip(0) @ np.exp(-(along**2) / 2)
    rows = ndimage.convolve1d(image, kernel / kernel.sum(), axis=1, mode="nearest")
    return ndimage.convolve1d(rows, kernel / kernel.sum(), axis=2, mode="nearest")


def _grid(image: Pixels) -> NDArray[np.float64]:
    """Return the row and the column of every pixel, (2, h, w)."""
    return np.asarray(np.mgrid[: image.shape[1], : image.shape[2]], dtype=np.float64)


def _centre(image: Pixels) -> NDArray[np.float64]:
    """Return the row and the column of the middle, (2, 1, 1)."""
    return (np.array(image.shape[1:]) - 1)[:, None, None] / 2


def _sample(image: Pixels, places: NDArray[np.float64]) -> Pixels:
    """Return the image at other places (2, h, w), by linear interpolation; it is mirrored outside."""
    return np.stack([ndimage.map_coordinates(channel, places, order=1, mode="mirror") for channel in image])


def _spread(image: Pixels, offsets: NDArray[np.float64], weights: NDArray[np.float64]) -> Pixels:
    """Return the weighted mean of the image moved by each (row, column) offset, between pixels linearly."""
    reach = int(np.ceil(np.abs(offsets).max(initial=0)))
    kernel = np.zeros((2 * reach + 2, 2 * reach + 2))
    whole = np.floor(offsets).astype(int)
    rest = offsets - whole
    for row in (0, 1):
        for column in (0, 1):
            parts = np.abs(1 - row - rest[:, 0]) * np.abs(1 - column - rest[:, 1])
            np.add.at(kernel, (whole[:, 0] + reach + row, whole[:, 1] + reach + column), weights * parts)
    kernel = kernel[: 2 * reach + 1, : 2 * reach + 1] / weights.sum()
    padded = np.pad(image, ((0, 0), (reach, reach), (reach, reach)), mode="edge")
    return signal.fftconvolve(padded, kernel[None], mode="valid", axes=(1, 2))


def _streak(image: Pixels, radius: float, sigma: float, degrees: float) -> Pixels:
    """Smear the image along a direction, as by a motion that fades: to one side, over twice the radius."""
    along = np.linspace(0, 2 * radius, 8 * int(np.ceil(radius)) + 1)
    angle = np.deg2rad(degrees)
    offsets = along[:, None] * np.array([np.sin(angle), np.cos(angle)])
    return _spread(image, offsets, np.exp(-((along / sigma) ** 2) / 2))


def _clouds(shape: tuple[int, ...], decay: float, random: np.random.Generator) -> Layer:
    """Value noise from 0 to 1, whose amplitude falls by ``decay`` from one octave to the next."""
    total = np.zeros(shape)
    for octave in range(1, int(np.log2(max(2, *shape))) + 1):
        coarse = random.uniform(-1, 1, (1, 2**octave + 1, 2**octave + 1))
        places = np.mgrid[: shape[0], : shape[1]] * (2.0**octave / max(shape))
        total += _sample(coarse, places)[0] / decay**octave
    total -= total.min()
    return total / max(total.max(), 1e-12)


def _ice(shape: tuple[int, ...], random: np.random.Generator) -> Layer:
    """A texture of ice: needles in all directions, thicker in some places than in others, from 0 to 1."""
    side = min(shape)
    needles = np.zeros((1, *shape))
    for degrees in random.uniform(0, 360, 12):
        seeds = (random.random((1, *shape)) < 0.5 / max(4, 0.1 * side)) * random.random((1, *shape))
        grown = _streak(seeds, 0.08 * side, 0.06 * side, degrees)
        needles = np.maximum(needles, grown / max(grown.max(), 1e-12))
    return (0.5 * _clouds(shape, 1.6, random) + 0.8 * needles[0]).clip(0, 1)


def _grey(image: Pixels) -> Pixels:
    """Return the luminance, (1, h, w)."""
    if len(image) == 1:
        return image
    return np.tensordot([[0.299, 0.587, 0.114]], image, axes=1)


def _colour(image: Pixels, rgb: tuple[int, int, int]) -> Pixels:
    """Return a colour as the image has it, (c, 1, 1)."""
    values = np.array(rgb, dtype=np.float64)[:, None, None] / 255
    if len(image) == 1:
        return _grey(values)
    return values


def _through_pillow(image: Pixels, change: Callable[["Image.Image"], "Image.Image"]) -> Pixels:
    from PIL import Image

    pixels = np.round(image * 255).astype(np.uint8)
    if len(pixels) == 1:
        return np.asarray(change(Image.fromarray(pixels[0])))[None] / 255.0
    picture = Image.fromarray(np.ascontiguousarray(pixels.transpose(1, 2, 0)))
    return np.asarray(change(picture)).transpose(2, 0, 1) / 255.0
