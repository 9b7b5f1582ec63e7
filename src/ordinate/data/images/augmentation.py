"""Augmentations of images by name: an automatic one, and what the papers list, from torchvision's v2 transforms.

A paper that names a transform without its strength gets a moderate one; the strengths are all here.
"""

from collections.abc import Callable
from math import prod
from types import ModuleType
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ordinate.checks import check_choice
from ordinate.data.images.automatic_views import automatic_views
from ordinate.data.images.warped_views import WarpedViews
from ordinate.optional import optional

if TYPE_CHECKING:
    from torchvision.transforms.v2 import Transform

Size = tuple[int, int]


def _crop_and_colour(v2: ModuleType, size: Size) -> list["Transform"]:
    """Without the flip, which would change the direction of a gaze (SupCR, MPIIFaceGaze)."""
    return [
        v2.RandomResizedCrop(size, scale=(0.2, 1.0), antialias=True),
        v2.RandomApply([v2.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8),
        v2.RandomGrayscale(p=0.2),
    ]


def _supcr(v2: ModuleType, size: Size) -> list["Transform"]:
    """SupCR's views for AgeDB, IMDB-WIKI and SkyFinder."""
    crop, *colour = _crop_and_colour(v2, size)
    return [crop, v2.RandomHorizontalFlip(), *colour]


def _adience(v2: ModuleType, _: Size) -> list["Transform"]:
    return [*_flips(v2), _affine(v2), v2.ColorJitter(0.2, 0.2, 0.2, 0.05)]


def _historical(v2: ModuleType, size: Size) -> list["Transform"]:
    return [
        v2.RandomCrop(size, pad_if_needed=True, padding_mode="reflect"),
        *_flips(v2),
        _affine(v2),
        v2.RandomPerspective(0.2, p=0.5),
        v2.RandomApply([v2.AutoAugment()], p=0.01),
    ]


def _fundus(v2: ModuleType, _: Size) -> list["Transform"]:
    return [
        *_flips(v2),
        v2.RandomRotation(30, interpolation=v2.InterpolationMode.BILINEAR),
        v2.RandomApply([v2.GaussianBlur(3, sigma=(0.1, 1.5))], p=0.5),
        v2.ColorJitter(0.2, 0.2, 0.2, 0.05),
    ]


def _flips(v2: ModuleType) -> list["Transform"]:
    return [v2.RandomHorizontalFlip(), v2.RandomVerticalFlip()]


def _affine(v2: ModuleType) -> "Transform":
    return v2.RandomAffine(15, (0.1, 0.1), (0.9, 1.1), interpolation=v2.InterpolationMode.BILINEAR)


BATCHED: dict[str, Callable[[Tensor], Tensor]] = {
    "auto": automatic_views,
    "none": lambda images: images,
    "koa": WarpedViews(degrees=10, shift=0.05, scale=0.1, perspective=0.2, sigma=(0.1, 1.5)),
    "bracs": WarpedViews(flips=True, degrees=30, perspective=0.2, sigma=(0.1, 1.5)),
}
ONE_BY_ONE: dict[str, Callable[[ModuleType, Size], list["Transform"]]] = {
    "flip": lambda v2, _: [v2.RandomHorizontalFlip()],
    "supcr": _supcr,
    "gaze": _crop_and_colour,
    "adience": _adience,
    "hid": _historical,
    "idrid": _fundus,
}
AUGMENTATIONS = (*BATCHED, *ONE_BY_ONE)


class Augmentation:
    """Draws views of images.

    Args:
        name: ``"auto"`` (a mirror image, small turns, shifts and scales, a little light), ``"none"`` (the image
            itself), ``"flip"``, or a paper's recipe: ``"supcr"`` (AgeDB, IMDB-WIKI, SkyFinder), ``"gaze"``
            (MPIIFaceGaze), ``"adience"``, ``"hid"``, ``"koa"``, ``"idrid"``, ``"bracs"`` (CLOC, Section 4.2).
        size: Size (height, width) of the view.

    Example:
        >>> import torch
        >>> Augmentation("auto", (8, 8))(torch.zeros(2, 3, 8, 8, dtype=torch.uint8)).shape
        torch.Size([2, 3, 8, 8])
    """

    def __init__(self, name: str, size: Size) -> None:
        check_choice(name, AUGMENTATIONS, "augmentation")
        self.name = name
        self.size = size
        self.transforms: list[Transform] = []
        if name in ONE_BY_ONE:
            v2 = optional("torchvision.transforms.v2", "images", f"augmentation {name!r}")
            self.transforms = ONE_BY_ONE[name](v2, size)

    def __call__(self, images: Tensor) -> Tensor:
        """Return a view of each image (n, c, h, w), uint8 (n, c, height, width), drawn from torch's random state."""
        if self.name in BATCHED:
            return BATCHED[self.name](images)
        return torch.stack([self._view(image) for image in images])

    def _view(self, image: Tensor) -> Tensor:
        for transform in self.transforms:
            image = transform(image)
        return image

    @property
    def changes(self) -> bool:
        """Whether a view differs from its image."""
        return self.name != "none"

    @property
    def takes_long(self) -> bool:
        """Whether drawing is slow enough for worker processes to pay."""
        # Drawing a batch of so few pixels takes less time than a transfer from a worker.
        is_small = prod(self.size) <= 32 * 32
        return self.changes and (self.name in ONE_BY_ONE or not is_small)
