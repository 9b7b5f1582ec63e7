"""Views of the rows of a table."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor


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
