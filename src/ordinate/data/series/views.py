"""Views of series: random parts of them, as they are or stretched, with noise."""

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


class SeriesViews:
    """Draw two random parts of every series, stretched to its length, with noise.

    A series that is padded with NaN at its end stays so. SupCR crops its series at random too (Section 4.1), without
    saying how much it keeps.

    Args:
        least: Smallest share of a series that a part holds.
        noise: Deviation of the noise, in units of a channel's deviation.

    Example:
        >>> [view.shape for view in SeriesViews()(torch.zeros(2, 3, 20))]
        [torch.Size([2, 3, 20]), torch.Size([2, 3, 20])]
    """

    def __init__(self, least: float = 0.5, noise: float = 0.1) -> None:
        self.least = least
        self.noise = noise

    def __call__(self, x: Float[Tensor, "n c l"]) -> tuple[Float[Tensor, "n c l"], Float[Tensor, "n c l"]]:
        return self.part(x), self.part(x)

    def part(self, x: Float[Tensor, "n c l"]) -> Float[Tensor, "n c l"]:
        """Return one part of every series."""
        n, _, length = x.shape
        share = self.least + (1 - self.least) * torch.rand(n, 1, device=x.device)
        start = (1 - share) * torch.rand(n, 1, device=x.device)
        steps = torch.arange(length, device=x.device)
        last = (steps * ~x.isnan().all(dim=1)).amax(1, keepdim=True)
        at = start * last + share * steps
        before = at.long().minimum(last)
        after = (before + 1).minimum(last)
        left, right = (x.gather(2, index[:, None].expand_as(x)) for index in (before, after))
        view = left + (at - before)[:, None] * (right - left) + self.noise * torch.randn_like(x)
        return view.masked_fill((steps > last)[:, None], torch.nan)
