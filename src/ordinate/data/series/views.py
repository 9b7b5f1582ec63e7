"""Two views of series: parts of them, stretched, with noise."""

import torch
from jaxtyping import Float
from torch import Tensor


class SeriesViews:
    """Two random parts of every series, at least ``least`` of its length, stretched to it, with noise.

    ``noise`` is the deviation, where a channel's is 1. A series padded with NaN at its end stays so. SupCR crops its
    series at random too (Section 4.1), without saying how much it keeps.

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
