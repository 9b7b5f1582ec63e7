"""Samples and their labels, as training reads them."""

from typing import Any

from torch import Tensor
from torch.utils.data import Dataset

from ordinate.data.streamed import Streamed, read_rows
from ordinate.data.worker_processes import usable_workers


class ArrayBatches(Dataset[tuple[Tensor, ...]]):
    """Inputs and labels, and where samples are weighted their weights, a whole batch of indices at a time.

    Worker processes read those that are not in memory.
    """

    def __init__(self, x: Tensor | Streamed, y: Tensor, weights: Tensor | None = None) -> None:
        self.x: Any = x
        self.y = y
        self.weights = weights
        self.workers = usable_workers(x.workers) if isinstance(x, Streamed) else 0

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: list[int]) -> tuple[Tensor, ...]:
        x, rows = read_rows(self.x, index)
        weights = () if self.weights is None else (self.weights[rows],)
        return x, self.y[rows], *weights
