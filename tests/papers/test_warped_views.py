"""The warps of whole batches, against torchvision's transforms an image at a time."""

import pytest
import torch
from torchvision.transforms.v2 import InterpolationMode, functional

from ordinate_papers import warped_views
from ordinate_papers.warped_views import WarpedViews, blur
from tests.data.images.test_automatic_views import HEIGHT, WIDTH, smooth_images

BILINEAR = InterpolationMode.BILINEAR


@pytest.fixture
def highest(monkeypatch):
    """Every value that is drawn between two bounds is the upper one, and nothing happens to half of the images only."""
    monkeypatch.setattr(warped_views, "_between", lambda low, high, *shape: torch.full(shape, float(high)))
    monkeypatch.setattr(torch, "rand", lambda *shape: torch.zeros(shape))


@pytest.mark.parametrize(
    "given",
    [
        {"degrees": 9.0}, {"shift": 0.05}, {"scale": 0.1}, {"flips": True},
        {"flips": True, "degrees": 25.0, "shift": 0.05, "scale": 0.1},
    ],
)  # fmt: skip
def test_moves_are_torchvisions(given, highest):
    image = smooth_images(2, 3)
    view = WarpedViews(**given)(image).double()
    moves = {"degrees": 0.0, "shift": 0.0, "scale": 0.0, "flips": False} | given
    expected = image.double()
    if moves["flips"]:
        expected = functional.vflip(functional.hflip(expected))
    pixels = [moves["shift"] * WIDTH, moves["shift"] * HEIGHT]
    size = 1 + moves["scale"]
    expected = functional.affine(expected, moves["degrees"], pixels, size, [0.0, 0.0], interpolation=BILINEAR)
    assert (view - expected).abs().max() <= 0.5 + 0.02  # A view is rounded.


def test_a_perspective_is_torchvisions(monkeypatch):
    image, shares = smooth_images(1, 1), torch.tensor([[0.3, 0.9], [0.5, 0.1], [0.8, 0.4], [0.2, 0.6]])
    monkeypatch.setattr(torch, "rand", lambda *shape: shares[None] if shape[-2:] == (4, 2) else torch.zeros(shape))
    view = WarpedViews(perspective=0.2)(image)[0].double()
    start, end = (
        (corners + 1)
        / 2
        * torch.tensor([WIDTH, HEIGHT])  # torchvision's points are pixels, from the image's border on.
        for corners in (warped_views.CORNERS, warped_views.CORNERS * (1 - 0.2 * shares))
    )
    expected = functional.perspective(image[0].double(), start.tolist(), end.tolist(), interpolation=BILINEAR)
    assert (view - expected).abs().max() <= 0.5 + 0.05


@pytest.mark.parametrize("sigma", [0.1, 0.7, 1.5])
def test_a_blur_is_torchvisions(sigma):
    images = torch.rand(2, 3, HEIGHT, WIDTH)
    ours = blur(images, torch.tensor([sigma, 0.0]))
    torch.testing.assert_close(ours[0], functional.gaussian_blur(images[0], 3, [sigma]), rtol=0, atol=1e-6)
    assert torch.equal(ours[1], images[1])


def test_perspective_and_blur_happen_to_half_of_the_images():
    torch.manual_seed(0)
    images = smooth_images(1, 1).expand(400, 1, HEIGHT, WIDTH)
    for views in (WarpedViews(perspective=0.3)(images), WarpedViews(sigma=(1.0, 1.5))(images)):
        same = (views == images).all(dim=(1, 2, 3)).float().mean()
        assert 0.4 < same < 0.6
