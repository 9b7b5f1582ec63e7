"""Two views of rows and of series, for losses that compare views."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from ordinate.data.modality import Reader
from ordinate.data.series.reader import SeriesScaler
from ordinate.data.tables.features import TableFeatures
from ordinate_papers.methods.drawn_views import DrawViews


def pair_of_views(reader: Reader) -> DrawViews | None:
    """Return what draws two views of a batch; None where they come with the batch, or there are none."""
    if isinstance(reader, TableFeatures):
        return TableViews([column.width for column in reader.columns])
    return SeriesViews() if isinstance(reader, SeriesScaler) else None


class TableViews:
    """Every row, and a copy in which a share of its columns has values of other rows of the batch.

    As in SCARF (Bahri et al., 2022). A column that the encoder sees as several inputs (one per category) is replaced as
    one. The rate, 0.6, is SCARF's.

    Args:
        widths: Number of inputs of each column of the table, in their order.

    Example:
        >>> rows, corrupted = TableViews([1, 2])(torch.arange(12.0).reshape(4, 3))
        >>> bool((corrupted[:, 2] - corrupted[:, 1] == 1).all())
        True
    """

    def __init__(self, widths: Sequence[int], rate: float = 0.6) -> None:
        self.widths = tuple(widths)
        self.rate = rate

    def __call__(self, x: Float[Tensor, "n f"]) -> tuple[Float[Tensor, "n f"], Float[Tensor, "n f"]]:
        shape = len(x), len(self.widths)
        replaced = torch.rand(shape, device=x.device) < self.rate
        source = torch.randint(len(x), shape, device=x.device)
        widths = torch.tensor(self.widths, device=x.device)
        replaced, source = (part.repeat_interleave(widths, dim=1) for part in (replaced, source))
        return x, torch.where(replaced, x.gather(0, source), x)


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
