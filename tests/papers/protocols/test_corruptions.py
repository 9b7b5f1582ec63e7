"""The 19 corruptions: on any image, repeatable, worse with severity, and equal to what others compute."""

import numpy as np
import pytest
from matplotlib.colors import hsv_to_rgb, rgb_to_hsv
from scipy import ndimage
from scipy.fft import dctn, idctn

from ordinate.errors import OrdinateError
from ordinate_papers.protocols.corruptions import CORRUPTIONS, SEVERITIES, corrupt

OF_IMAGENET_C = {
    "gaussian_noise", "shot_noise", "impulse_noise", "defocus_blur", "glass_blur", "motion_blur", "zoom_blur", "snow",
    "frost", "fog", "brightness", "contrast", "elastic_transform", "pixelate", "jpeg_compression",
}  # fmt: skip
EXTRA = {"speckle_noise", "gaussian_blur", "spatter", "saturate"}
DRAWN = {
    "gaussian_noise", "shot_noise", "impulse_noise", "speckle_noise", "glass_blur", "motion_blur", "snow", "frost",
    "fog", "elastic_transform", "spatter",
}  # fmt: skip
NOT_MONOTONE = {"snow", "frost", "fog", "saturate"}
LUMINANCE = np.array([  # the quantisation table of the standard (ITU T.81, table K.1)
    [16, 11, 10, 16, 24, 40, 51, 61], [12, 12, 14, 19, 26, 58, 60, 55], [14, 13, 16, 24, 40, 57, 69, 56],
    [14, 17, 22, 29, 51, 87, 80, 62], [18, 22, 37, 56, 68, 109, 103, 77], [24, 35, 55, 64, 81, 104, 113, 92],
    [49, 64, 78, 87, 103, 121, 120, 101], [72, 92, 95, 98, 112, 100, 103, 99],
])  # fmt: skip
for_every_corruption = pytest.mark.parametrize("name", CORRUPTIONS)


def draw_images(n=3, channels=3, height=64, width=64, seed=0):
    """Smooth coloured blobs with sharp edges between them."""
    rng = np.random.default_rng(seed)
    smooth = ndimage.gaussian_filter(rng.normal(size=(n, channels, height, width)), (0, 0, 4, 4), mode="wrap")
    smooth = 0.5 + 0.2 * smooth / smooth.std() + 0.15 * (smooth[:, :1] > 0)
    return (smooth.clip(0.02, 0.98) * 255).round().astype(np.uint8)


def distances(images, name):
    """Mean distance to the original at every severity."""
    return [np.abs(corrupt(images, name, s).astype(float) - images).mean() for s in SEVERITIES]


def test_there_are_the_15_and_the_4_extra_of_imagenet_c():
    assert set(CORRUPTIONS) == OF_IMAGENET_C | EXTRA


@for_every_corruption
@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 33, 50), (3, 1, 1)])
def test_every_corruption_takes_images_of_any_size(name, shape):
    images = draw_images(2, *shape)
    for severity in (1, 5):
        corrupted = corrupt(images, name, severity)
        assert corrupted.shape == images.shape
        assert corrupted.dtype == np.uint8


@for_every_corruption
def test_a_corruption_is_the_same_again_and_does_not_depend_on_the_images_beside(name):
    images = draw_images(3)
    before = images.copy()
    corrupted = corrupt(images, name, 3, seed=7)
    assert (corrupt(images[:2], name, 3, seed=7) == corrupted[:2]).all()
    assert (images == before).all()
    assert (corrupt(images, name, 3, seed=8) != corrupted).any() == (name in DRAWN)


@pytest.mark.parametrize("name", sorted(set(CORRUPTIONS) - NOT_MONOTONE))
def test_a_higher_severity_takes_images_further_away(name):
    side = 64 if name == "pixelate" else 28  # in 28 pixels two by two are nearer than whole parts of 1.75
    found = distances(draw_images(4, 3, side, side), name)
    assert found[0] > 0
    assert (np.diff(found) > 0).all(), found


# against others


@pytest.mark.parametrize(("severity", "offset"), [(1, 0.1), (5, 0.5)])
def test_brightness_is_added_to_the_value_of_hsv(severity, offset):
    images = draw_images(1)
    hsv = rgb_to_hsv(images[0].transpose(1, 2, 0) / 255)
    hsv[..., 2] = (hsv[..., 2] + offset).clip(0, 1)
    expected = np.round(hsv_to_rgb(hsv) * 255).transpose(2, 0, 1)
    assert np.abs(corrupt(images, "brightness", severity)[0] - expected).max() <= 1


@pytest.mark.parametrize(("severity", "factor", "offset"), [(1, 0.3, 0), (2, 0.1, 0), (3, 2, 0), (5, 20, 0.2)])
def test_saturate_scales_the_saturation_of_hsv(severity, factor, offset):
    images = draw_images(1)
    images[0, :, :4] = 90  # grey, which has no hue
    hsv = rgb_to_hsv(images[0].transpose(1, 2, 0) / 255)
    hsv[..., 1] = (hsv[..., 1] * factor + offset).clip(0, 1)
    expected = np.round(hsv_to_rgb(hsv) * 255).transpose(2, 0, 1)
    assert np.abs(corrupt(images, "saturate", severity)[0] - expected).max() <= 1


def test_contrast_falls_towards_the_mean_of_each_channel():
    image = draw_images(1)
    corrupted = corrupt(image, "contrast", 3)[0].astype(float)
    np.testing.assert_allclose(corrupted.mean((1, 2)), image[0].mean((1, 2)), atol=0.5)
    np.testing.assert_allclose(corrupted.std((1, 2)), 0.2 * image[0].std((1, 2)), rtol=0.02)


def test_pixelate_takes_the_means_of_blocks():
    image = draw_images(1, 1)
    blocks = image[0, 0].reshape(16, 4, 16, 4).mean((1, 3))
    expected = np.repeat(np.repeat(blocks, 4, 0), 4, 1)
    assert np.abs(corrupt(image, "pixelate", 5)[0, 0] - expected).max() <= 1


def test_jpeg_compression_rounds_the_cosine_transform_of_blocks():
    image = draw_images(1, 1)
    table = ((LUMINANCE * (5000 // 7) + 50) // 100).clip(1, 255)  # quality 7
    blocks = image[0, 0].reshape(8, 8, 8, 8).swapaxes(1, 2) - 128.0
    rounded = np.round(dctn(blocks, axes=(2, 3), norm="ortho") / table) * table
    expected = (idctn(rounded, axes=(2, 3), norm="ortho") + 128).swapaxes(1, 2).reshape(64, 64).clip(0, 255)
    assert np.abs(corrupt(image, "jpeg_compression", 5)[0, 0] - expected).max() < 2


@pytest.mark.parametrize(("severity", "deviation"), [(1, 0.08), (3, 0.18)])
def test_gaussian_noise_has_its_deviation(severity, deviation):
    images = np.full((4, 3, 64, 64), 128, dtype=np.uint8)
    noise = (corrupt(images, "gaussian_noise", severity) / 255.0) - 128 / 255
    assert abs(noise.std() - deviation) < 0.03 * deviation
    assert abs(noise.mean()) < 0.005


def test_impulse_noise_makes_its_share_black_or_white():
    corrupted = corrupt(np.full((4, 3, 64, 64), 128, dtype=np.uint8), "impulse_noise", 5)
    assert abs((corrupted != 128).mean() - 0.27) < 0.01
    assert abs((corrupted == 0).mean() - (corrupted == 255).mean()) < 0.02


@pytest.mark.parametrize(("name", "side"), [("gaussian_blur", 56), ("defocus_blur", 56)])
def test_a_blur_below_a_pixel_is_that_of_the_finely_divided_image(name, side):
    """Pixels taken as squares, blurred at a tenth of a pixel, and averaged again."""
    image, fine = draw_images(1, 1, side, side), 11
    large = np.kron(image[0, 0] / 255, np.ones((fine, fine)))
    scale = fine * side / 224
    if name == "gaussian_blur":
        blurred = ndimage.gaussian_filter(large, 2 * scale, mode="nearest")  # severity 2
    else:
        reach = int(np.ceil(4 * scale))
        rows, columns = np.mgrid[-reach : reach + 1, -reach : reach + 1]
        disc = (np.hypot(rows, columns) <= 4 * scale).astype(float)
        blurred = ndimage.convolve(large, disc / disc.sum(), mode="nearest")
        blurred = ndimage.gaussian_filter(blurred, 0.5 * scale, mode="nearest")
    expected = blurred.reshape(side, fine, side, fine).mean((1, 3)) * 255
    difference = np.abs(corrupt(image, name, 2)[0, 0] - expected)[4:-4, 4:-4]
    assert difference.max() < 3
    assert difference.mean() < 0.6


def test_motion_blur_spreads_a_point_along_one_line():
    image = np.zeros((1, 1, 224, 224), dtype=np.uint8)
    image[0, 0, 110:114, 110:114] = 255
    blurred = corrupt(image, "motion_blur", 3)[0, 0].astype(float)
    rows, columns = np.nonzero(blurred)
    spread = np.linalg.svd(np.stack([rows - rows.mean(), columns - columns.mean()]))[1]
    assert spread[0] > 3 * spread[1]
    assert abs(blurred.sum() / image.sum() - 1) < 0.05


# what is refused


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"name": "rain"}, "name: got 'rain', expected one of 'gaussian_noise'"),
        ({"severity": 0}, "severity: got 0, expected 1, 2, 3, 4 or 5"),
        ({"severity": True}, "severity: got True"),
        ({"seed": -1}, "seed: got -1"),
        ({"images": np.zeros((2, 3, 8, 8))}, "images: got float64 of shape"),
        ({"images": np.zeros((3, 8, 8), np.uint8)}, "images: got uint8 of shape"),
        ({"images": np.zeros((2, 2, 8, 8), np.uint8)}, "images: got uint8 of shape"),
    ],
)
def test_what_cannot_be_corrupted_is_an_error(given, message):
    with pytest.raises(OrdinateError, match=f"^{message}"):
        corrupt(**{"images": draw_images(1), "name": "fog", "severity": 1, **given})
