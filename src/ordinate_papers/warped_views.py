"""Flips, turns, shifts, scales, perspectives and blurs of a whole batch at once, as the papers' augmentations need."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, UInt8
from torch import Tensor
from torch.nn.functional import grid_sample, pad

from ordinate.data.images.automatic_views import centres, in_parts

CORNERS = torch.tensor([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])


@dataclass(frozen=True)
class WarpedViews:
    """Draws views of images by one warp each, and blurs some of them.

    Args:
        flips: Whether half of the images are mirrored, and half turned upside down.
        degrees: Largest turn to either side, in degrees.
        shift: Largest shift to either side, as a share of the sides.
        scale: Largest change of the size to either side, as a share of it.
        perspective: Largest way of a corner to the middle, as a share of half a side, in half of the images.
        sigma: Lowest and highest standard deviation in pixels of the blur, in half of the images; (0, 0) for none.

    Example:
        >>> WarpedViews(degrees=10)(torch.zeros(2, 1, 8, 8, dtype=torch.uint8)).shape
        torch.Size([2, 1, 8, 8])
    """

    flips: bool = False
    degrees: float = 0.0
    shift: float = 0.0
    scale: float = 0.0
    perspective: float = 0.0
    sigma: tuple[float, float] = (0.0, 0.0)

    def __call__(self, images: UInt8[Tensor, "n c h w"]) -> UInt8[Tensor, "n c h w"]:
        """Return a view of each image, black where it shows nothing of the image; torch's random state draws them."""
        return in_parts(images, self._views)

    def _views(self, images: UInt8[Tensor, "n c h w"]) -> UInt8[Tensor, "n c h w"]:
        n, _, height, width = images.shape
        to_source = self._flip(n) @ self._move(n, height, width) @ self._perspective(n)
        views = grid_sample(images.float(), _sources(to_source, height, width), align_corners=False)
        if self.sigma[1] > 0:
            views = blur(views, torch.where(torch.rand(n) < 0.5, _between(*self.sigma, n), 0.0))
        return views.round_().clamp_(0, 255).to(torch.uint8)

    def _flip(self, n: int) -> Float[Tensor, "n 3 3"]:
        signs = torch.ones(n, 3)
        if self.flips:
            signs[:, :2] -= 2.0 * (torch.rand(n, 2) < 0.5)
        return torch.diag_embed(signs)

    def _move(self, n: int, height: int, width: int) -> Float[Tensor, "n 3 3"]:
        """Return where a turned, scaled and shifted image comes from."""
        angles = _between(-self.degrees, self.degrees, n) * (math.pi / 180)
        sizes = _between(1 - self.scale, 1 + self.scale, n)
        shifts = 2 * _between(-self.shift, self.shift, n, 2)  # The sides are 2 long.
        cos, sin = angles.cos() / sizes, angles.sin() / sizes
        turn = torch.eye(3).repeat(n, 1, 1)
        turn[:, 0, 0], turn[:, 0, 1] = cos, sin * (height / width)
        turn[:, 1, 0], turn[:, 1, 1] = -sin * (width / height), cos
        back = torch.eye(3).repeat(n, 1, 1)
        back[:, :2, 2] = -shifts
        return turn @ back

    def _perspective(self, n: int) -> Float[Tensor, "n 3 3"]:
        inwards = self.perspective * torch.rand(n, 4, 2) * (torch.rand(n) < 0.5)[:, None, None]
        return homography(CORNERS * (1 - inwards), CORNERS.expand(n, 4, 2))


def homography(points: Float[Tensor, "n 4 2"], images: Float[Tensor, "n 4 2"]) -> Float[Tensor, "n 3 3"]:
    """Return the projective map that takes four points to four others.

    Example:
        >>> homography(CORNERS[None], 2 * CORNERS[None])[0].diagonal().tolist()
        [2.0, 2.0, 1.0]
    """
    n = len(points)
    homogeneous = torch.cat([points, points.new_ones(n, 4, 1)], 2)
    equations = points.new_zeros(n, 8, 8)
    equations[:, :4, :3] = homogeneous
    equations[:, 4:, 3:6] = homogeneous
    equations[:, :4, 6:] = -images[:, :, :1] * points
    equations[:, 4:, 6:] = -images[:, :, 1:] * points
    coefficients = torch.linalg.solve(equations, images.transpose(1, 2).reshape(n, 8))
    return torch.cat([coefficients, points.new_ones(n, 1)], 1).reshape(n, 3, 3)


def blur(images: Float[Tensor, "n c h w"], sigma: Float[Tensor, " n"]) -> Float[Tensor, "n c h w"]:
    """Return images blurred by Gaussian kernels of 3 x 3 pixels, mirrored at the borders; sigma 0 changes nothing."""
    beside = torch.exp(-0.5 / sigma.square()) / (1 + 2 * torch.exp(-0.5 / sigma.square()))
    side, middle = beside[:, None, None, None], (1 - 2 * beside)[:, None, None, None]
    wide = pad(images, (1, 1, 0, 0), mode="reflect")
    across = middle * images + side * (wide[..., :-2] + wide[..., 2:])
    high = pad(across, (0, 0, 1, 1), mode="reflect")
    return middle * across + side * (high[..., :-2, :] + high[..., 2:, :])


def _sources(to_source: Float[Tensor, "n 3 3"], height: int, width: int) -> Float[Tensor, "n h w 2"]:
    """Return where in an image each pixel of its view comes from; -1 and 1 are the borders."""
    right, down = centres(width)[None, None, :], centres(height)[None, :, None]
    x, y, depth = (
        row[:, 0, None, None] * right + row[:, 1, None, None] * down + row[:, 2, None, None]
        for row in to_source.unbind(1)
    )
    return torch.stack([x / depth, y / depth], 3)


def _between(low: float, high: float, *shape: int) -> Tensor:
    return low + (high - low) * torch.rand(*shape)
