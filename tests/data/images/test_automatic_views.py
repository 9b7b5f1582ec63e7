"""The automatic augmentation, against torchvision's transforms an image at a time."""

from dataclasses import replace

import pytest
import torch
from torchvision.transforms.v2 import InterpolationMode, functional

from ordinate.data.images.automatic_views import DEGREES, LIGHT, SCALE, SHIFT, Changes, automatic_views

HEIGHT, WIDTH = 40, 60
NOTHING = {"mirrored": False, "degrees": 0.0, "shift": (0.0, 0.0), "scale": 1.0, "brightness": 1.0, "contrast": 1.0}


def smooth_images(n, channels):
    """Noise without edges, of which every way to interpolate makes the same."""
    torch.manual_seed(0)
    coarse = 255 * torch.rand(n, channels, 6, 8)
    return torch.nn.functional.interpolate(coarse, (HEIGHT, WIDTH), mode="bicubic").clamp(0, 255).to(torch.uint8)


def changes(**given):
    values = [torch.tensor([value]) for value in {**NOTHING, **given}.values()]
    return Changes(*values)


def by_torchvision(image, mirrored, degrees, shift, scale, brightness, contrast):
    image = functional.hflip(image) if mirrored else image
    pixels = [shift[0] * WIDTH, shift[1] * HEIGHT]
    light = image.double() / 255
    moved = functional.affine(light, degrees, pixels, scale, [0.0, 0.0], interpolation=InterpolationMode.BILINEAR)
    return 255 * functional.adjust_contrast(functional.adjust_brightness(moved, brightness), contrast)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"mirrored": True},
        {"degrees": 9.0},
        {"shift": (0.05, -0.075)},
        {"scale": 0.9},
        {"scale": 1.1},
        {"brightness": 1.2},
        {"brightness": 0.8, "contrast": 1.2},
        {"contrast": 0.8},
        {"mirrored": True, "degrees": -7.0, "shift": (-0.05, 0.025), "scale": 1.07, "brightness": 1.1, "contrast": 0.9},
    ],
)
def test_each_change_is_torchvisions(given, channels):
    image = smooth_images(1, channels)
    view = changes(**given).apply(image)[0].double()
    expected = by_torchvision(image[0], **{**NOTHING, **given})
    assert (view - expected).abs().max() <= 0.5 + 0.01  # a view is rounded


def test_every_image_of_a_batch_has_changes_of_its_own():
    images = smooth_images(1, 3).expand(8, 3, HEIGHT, WIDTH)
    torch.manual_seed(1)
    drawn = Changes.draw(8, HEIGHT, WIDTH)
    views = drawn.apply(images)
    for place in range(8):
        own = (drawn.mirrored, drawn.degrees, drawn.shift, drawn.scale, drawn.brightness, drawn.contrast)
        alone = Changes(*(values[place : place + 1] for values in own)).apply(images[:1])[0]
        assert (views[place].int() - alone.int()).abs().max() <= 1
    assert len({view.numpy().tobytes() for view in views}) == 8


def test_changes_stay_within_their_limits_and_reach_them():
    torch.manual_seed(2)
    drawn = Changes.draw(4000, 1000, 2000)
    assert 0.45 < drawn.mirrored.float().mean() < 0.55
    assert 0.45 < (drawn.scale == 1).float().mean() < 0.55
    for values, middle, extent in (
        (drawn.degrees, 0, DEGREES),
        (drawn.shift, 0, SHIFT),
        (drawn.scale, 1, SCALE),
        (drawn.brightness, 1, LIGHT),
        (drawn.contrast, 1, LIGHT),
    ):
        assert 0.98 * extent < (values - middle).abs().max() <= extent + 1e-6
        assert (values - middle).mean().abs() < 0.05 * extent


def test_torchs_random_state_draws_the_views():
    images = smooth_images(4, 1)
    torch.manual_seed(3)
    first = automatic_views(images)
    torch.manual_seed(3)
    assert torch.equal(first, automatic_views(images))
    assert not torch.equal(first, automatic_views(images))


def test_half_of_the_views_are_as_sharp_as_their_image():
    """A network that has seen interpolated pixels alone is biased on images as they are."""
    torch.manual_seed(4)
    image = torch.randint(0, 256, (1, 1, HEIGHT, WIDTH), dtype=torch.uint8)
    drawn = replace(Changes.draw(400, HEIGHT, WIDTH), brightness=torch.ones(400), contrast=torch.ones(400))
    views = drawn.apply(image.expand(400, 1, HEIGHT, WIDTH))
    right, down = (drawn.shift * torch.tensor([WIDTH, HEIGHT])).round().long().T
    is_sharp = torch.zeros(400, dtype=torch.bool)
    for place, view in enumerate(views):
        source = image[0].flip(-1) if drawn.mirrored[place] else image[0]
        expected = torch.zeros_like(source)
        rows, columns = slice_of(int(down[place]), HEIGHT), slice_of(int(right[place]), WIDTH)
        expected[:, rows[0], columns[0]] = source[:, rows[1], columns[1]]
        is_sharp[place] = (view.int() - expected.int()).abs().max() <= 1
    assert torch.equal(is_sharp, (drawn.degrees == 0) & (drawn.scale == 1))
    assert 150 < is_sharp.sum() < 250


def slice_of(shift, size):
    """Where a shifted side is seen, and where it comes from."""
    return slice(max(0, shift), size + min(0, shift)), slice(max(0, -shift), size - max(0, shift))
