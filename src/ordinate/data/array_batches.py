"""Samples and labels in memory, as training reads them."""

from torch import Tensor
from torch.utils.data import Dataset


class ArrayBatches(Dataset[tuple[Tensor, Tensor]]):
    """Inputs and labels in memory, read a whole batch of indices at a time."""

    def __init__(self, x: Tensor, y: Tensor) -> None:
        self.x = x
        self.y = y

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: list[int]) -> tuple[Tensor, Tensor]:
        return self.x[index], self.y[index]
