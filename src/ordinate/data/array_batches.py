"""Samples and labels in memory, as training reads them."""

from torch import Tensor
from torch.utils.data import Dataset


class ArrayBatches(Dataset[tuple[Tensor, ...]]):
    """Inputs and labels in memory, and where samples are weighted their weights, a whole batch of indices at a time."""

    def __init__(self, x: Tensor, y: Tensor, weights: Tensor | None = None) -> None:
        self.x = x
        self.y = y
        self.weights = weights

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: list[int]) -> tuple[Tensor, ...]:
        weights = () if self.weights is None else (self.weights[index],)
        return self.x[index], self.y[index], *weights
