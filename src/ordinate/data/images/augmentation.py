"""Augmentations of images by name: an automatic one, simple ones, and those of extensions."""

from collections.abc import Callable
from math import prod

import torch
from torch import Tensor

from ordinate.checks import check_choice
from ordinate.data.images.automatic_views import automatic_views
from ordinate.extensions import added_augmentations, load_object

Size = tuple[int, int]


def _mirrored(images: Tensor) -> Tensor:
    drawn = torch.rand(len(images)) < 0.5
    return torch.where(drawn[:, None, None, None], images.flip(-1), images)


BATCHED: dict[str, Callable[[Tensor], Tensor]] = {
    "auto": automatic_views,
    "none": lambda images: images,
    "flip": _mirrored,
}


def augmentations() -> tuple[str, ...]:
    """Return the names of all augmentations."""
    return (*BATCHED, *added_augmentations())


class Augmentation:
    """Draws views of images.

    Args:
        name: ``"auto"`` (a mirror image, small turns, shifts and scales, a little light), ``"none"`` (the image
            itself), ``"flip"`` (a mirror image), or one of an extension: ``"koa"`` (X-rays of knees: small turns,
            shifts, scales and perspectives, blur), ``"bracs"`` (tissue: also flips, and larger turns), ``"supcr"``,
            ``"gaze"``, ``"adience"``, ``"hid"`` and ``"idrid"`` of :mod:`ordinate_papers.augmentations`.
        size: Size (height, width) of the view.

    Example:
        >>> Augmentation("auto", (8, 8))(torch.zeros(2, 3, 8, 8, dtype=torch.uint8)).shape
        torch.Size([2, 3, 8, 8])
    """

    def __init__(self, name: str, size: Size) -> None:
        check_choice(name, augmentations(), "augmentation")
        self.name = name
        self.size = size
        self.draw: Callable[[Tensor], Tensor]
        if name in BATCHED:
            self.draw = BATCHED[name]
        else:
            self.draw = load_object(added_augmentations()[name])(size)

    def __call__(self, images: Tensor) -> Tensor:
        """Return a view of each image (n, c, h, w), uint8 (n, c, height, width), drawn from torch's random state."""
        return self.draw(images)

    @property
    def changes(self) -> bool:
        """Whether a view differs from its image."""
        return self.name != "none"

    @property
    def takes_long(self) -> bool:
        """Whether drawing is slow enough for worker processes to pay."""
        # Drawing a batch of so few pixels takes less time than a transfer from a worker.
        is_small = prod(self.size) <= 32 * 32
        return self.changes and (self.name not in BATCHED or not is_small)
