"""Views of images as the papers draw them, from torchvision's v2 transforms, or warped a batch at a time.

A paper that names a transform without its strength gets a moderate one; the strengths are all here.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ordinate.data.images.augmentation import Size
from ordinate.optional import optional
from ordinate_papers.warped_views import WarpedViews

if TYPE_CHECKING:
    from torchvision.transforms.v2 import Transform


class OneByOne:
    """Draws the view of each image of a batch by transforms, one after the other.

    Args:
        transforms: Transforms of one image (c, h, w).
    """

    def __init__(self, transforms: Sequence[Callable[[Tensor], Tensor]]) -> None:
        self.transforms = transforms

    def __call__(self, images: Tensor) -> Tensor:
        """Return a view of each image (n, c, h, w), drawn from torch's random state."""
        return torch.stack([self._view(image) for image in images])

    def _view(self, image: Tensor) -> Tensor:
        for transform in self.transforms:
            image = transform(image)
        return image


def supcr(size: Size) -> OneByOne:
    """SupCR's views for AgeDB, IMDB-WIKI and SkyFinder: crops, mirror images, colours."""
    crop, *colour = _crop_and_colour(size)
    return OneByOne([crop, _v2().RandomHorizontalFlip(), *colour])


def gaze(size: Size) -> OneByOne:
    """SupCR's views for MPIIFaceGaze, without the mirror images, which would change the direction of a gaze."""
    return OneByOne(_crop_and_colour(size))


def adience(_: Size) -> OneByOne:
    """CLOC's views for Adience (Section 4.2)."""
    return OneByOne([*_flips(), _affine(), _v2().ColorJitter(0.2, 0.2, 0.2, 0.05)])


def hid(size: Size) -> OneByOne:
    """CLOC's views for HID, crops of larger images (Section 4.2)."""
    v2 = _v2()
    return OneByOne(
        [
            v2.RandomCrop(size, pad_if_needed=True, padding_mode="reflect"),
            *_flips(),
            _affine(),
            v2.RandomPerspective(0.2, p=0.5),
            v2.RandomApply([v2.AutoAugment()], p=0.01),
        ]
    )


def idrid(_: Size) -> OneByOne:
    """CLOC's views for IDRiD (Section 4.2)."""
    v2 = _v2()
    return OneByOne(
        [
            *_flips(),
            v2.RandomRotation(30, interpolation=v2.InterpolationMode.BILINEAR),
            v2.RandomApply([v2.GaussianBlur(3, sigma=(0.1, 1.5))], p=0.5),
            v2.ColorJitter(0.2, 0.2, 0.2, 0.05),
        ]
    )


def koa(_: Size) -> WarpedViews:
    """CLOC's views for X-rays of knees (Section 4.2)."""
    return WarpedViews(degrees=10, shift=0.05, scale=0.1, perspective=0.2, sigma=(0.1, 1.5))


def bracs(_: Size) -> WarpedViews:
    """CLOC's views for BRACS (Section 4.2)."""
    return WarpedViews(flips=True, degrees=30, perspective=0.2, sigma=(0.1, 1.5))


def _v2() -> Any:
    return optional("torchvision.transforms.v2", "images", "augmentation")


def _crop_and_colour(size: Size) -> "list[Transform]":
    v2 = _v2()
    return [
        v2.RandomResizedCrop(size, scale=(0.2, 1.0), antialias=True),
        v2.RandomApply([v2.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8),
        v2.RandomGrayscale(p=0.2),
    ]


def _flips() -> "list[Transform]":
    return [_v2().RandomHorizontalFlip(), _v2().RandomVerticalFlip()]


def _affine() -> "Transform":
    v2 = _v2()
    return v2.RandomAffine(15, (0.1, 0.1), (0.9, 1.1), interpolation=v2.InterpolationMode.BILINEAR)
