"""The augmentation for images of which nothing is known, drawn for a whole batch at once."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, UInt8
from torch import Tensor
from torch.nn.functional import grid_sample

# Changes go up to these values in both directions; shifts are shares of the sides.
DEGREES, SHIFT, SCALE, LIGHT = 10.0, 0.08, 0.1, 0.2
SHARP = 0.5  # Share of the images that are neither turned nor scaled.


@dataclass(frozen=True)
class Changes:
    """How each of n images is changed; degrees are clockwise, shifts to the right and down in shares of the sides."""

    mirrored: Bool[Tensor, " n"]
    degrees: Float[Tensor, " n"]
    shift: Float[Tensor, "n 2"]
    scale: Float[Tensor, " n"]
    brightness: Float[Tensor, " n"]
    contrast: Float[Tensor, " n"]

    @classmethod
    def draw(cls, n: int, height: int, width: int) -> "Changes":
        """Draw what hardly any picture's grade depends on: mirror images, small moves, a little light.

        Turning and scaling blur an image. Half of the images are only shifted, by whole pixels, so that they stay as
        sharp as images that are predicted: a network that has seen blurred images alone is biased on others.
        """

        def around(middle: float, extent: float, *shape: int) -> Tensor:
            return middle + extent * (2 * torch.rand(n, *shape) - 1)

        sharp, pixels = torch.rand(n) < SHARP, torch.tensor([width, height])
        return cls(
            mirrored=torch.rand(n) < 0.5,
            degrees=around(0, DEGREES).masked_fill(sharp, 0.0),
            shift=(around(0, SHIFT, 2) * pixels).trunc() / pixels,
            scale=around(1, SCALE).masked_fill(sharp, 1.0),
            brightness=around(1, LIGHT),
            contrast=around(1, LIGHT),
        )

    def apply(self, images: UInt8[Tensor, "n c h w"]) -> UInt8[Tensor, "n c h w"]:
        """Return the changed images, black where they show nothing of the image."""
        moved = grid_sample(images.float(), self._sources(images), align_corners=False)
        bright = moved.mul_(self.brightness[:, None, None, None]).clamp_(0, 255)
        middle = _mean_grey(bright)[:, None, None, None]
        bright.sub_(middle).mul_(self.contrast[:, None, None, None]).add_(middle)
        return bright.round_().clamp_(0, 255).to(torch.uint8)

    def _sources(self, images: Tensor) -> Float[Tensor, "n h w 2"]:
        """Return where in an image each pixel of its view comes from; -1 and 1 are the borders."""
        height, width = images.shape[2:]
        right, down = centres(width)[None, None, :], centres(height)[None, :, None]
        right = right - 2 * self.shift[:, 0, None, None]
        down = down - 2 * self.shift[:, 1, None, None]
        angles = self.degrees * (math.pi / 180)
        cos, sin = ((values / self.scale)[:, None, None] for values in (angles.cos(), angles.sin()))
        sides = torch.where(self.mirrored, -1.0, 1.0)[:, None, None]
        sources = right.new_empty(len(images), height, width, 2)
        torch.add(cos * sides * right, sin * sides * (height / width) * down, out=sources[..., 0])
        torch.sub(cos * down, sin * (width / height) * right, out=sources[..., 1])
        return sources


def automatic_views(images: UInt8[Tensor, "n c h w"]) -> UInt8[Tensor, "n c h w"]:
    """Return a view of every image; torch's random state draws them.

    Example:
        >>> automatic_views(torch.zeros(2, 1, 8, 8, dtype=torch.uint8)).shape
        torch.Size([2, 1, 8, 8])
    """
    return in_parts(images, lambda part: Changes.draw(len(part), *part.shape[2:]).apply(part))


def in_parts(
    images: UInt8[Tensor, "n c h w"], draw: Callable[[Tensor], Tensor], values_at_once: int = 2**17
) -> UInt8[Tensor, "n c h w"]:
    """Return the views that a function draws of some images at a time, whose values stay in the cache."""
    at_once = max(1, values_at_once // images[0].numel())
    return torch.cat([draw(part) for part in images.split(at_once)])


def centres(pixels: int) -> Float[Tensor, " n"]:
    """Return the middles of pixels along a side that reaches from -1 to 1."""
    return (2 * torch.arange(pixels) + 1) / pixels - 1


def _mean_grey(images: Float[Tensor, "n c h w"]) -> Float[Tensor, " n"]:
    means = images.mean(dim=(2, 3))
    # The weights are those of ITU-R BT.601.
    return means @ torch.tensor([0.299, 0.587, 0.114]) if means.shape[1] == 3 else means.mean(1)
