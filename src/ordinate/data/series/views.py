"""Views of series: random parts of them."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import pad


class RandomCrop:
    """Draw a part of each series, all parts of the same length.

    Args:
        points: Number of points of the part. A shorter series is kept whole and padded with NaN to this length.

    Example:
        >>> RandomCrop(3)(torch.tensor([[[1.0, 2.0]]])).tolist()
        [[[1.0, 2.0, nan]]]
    """

    name = "crop"
    changes = True
    takes_long = False

    def __init__(self, points: int) -> None:
        self.points = points

    def __call__(self, series: Float[Tensor, "n c t"]) -> Float[Tensor, "n c points"]:
        """Return a part of each series, which may end in NaN; torch's random state draws it."""
        return torch.stack([self._part(one) for one in series])

    def _part(self, series: Float[Tensor, "c t"]) -> Float[Tensor, "c points"]:
        there = (~series.isnan().all(dim=0)).nonzero()
        length = int(there.max()) + 1 if len(there) else 1
        start = int(torch.randint(max(length - self.points, 0) + 1, ()))
        part = series[:, start : start + self.points]
        return pad(part, (0, self.points - part.shape[1]), value=torch.nan)
