"""Networks of the papers for tables and series, which estimators know as encoders by their names."""

from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from ordinate.checks import check_whole
from ordinate.data.modality import Reader
from ordinate.encoders.resnet1d import ResNet1d
from ordinate.errors import OrdinateError


class AsInTheFile(nn.Module):
    """From the standardised columns of a table, at some places of a row, back to its numbers."""

    places: Tensor
    means: Tensor
    scales: Tensor

    def __init__(self, places: Tensor, means: Tensor, scales: Tensor) -> None:
        super().__init__()
        self.register_buffer("places", places)
        self.register_buffer("means", means)
        self.register_buffer("scales", scales)

    def forward(self, x: Tensor) -> Tensor:
        return x[:, self.places] * self.scales + self.means


def airfoil(reader: Any, embedding_dim: int | None, *, standardised: bool = False) -> nn.Module:
    """SupReMix's network for airfoil, d-20-30-10 (Section 4), on the numbers of the file: Hz, m and m/s."""
    if not reader.numbers_only:
        raise OrdinateError("encoder", "'airfoil' for other samples", "columns of numbers alone")
    columns = reader.columns
    places = torch.tensor([0, *(column.width for column in columns[:-1])]).cumsum(0)
    means, scales = torch.zeros(len(columns)), torch.ones(len(columns))
    if not standardised:
        means = torch.tensor([column.mean for column in columns])
        scales = torch.tensor([column.scale for column in columns])
    numbers = AsInTheFile(places, means, scales)
    widths = (len(columns), 20, 30, check_whole(embedding_dim or 0, "embedding_dim"))
    layers = [(nn.Linear(low, high), nn.ReLU()) for low, high in pairwise(widths)]
    return nn.Sequential(numbers, *(layer for pair in layers for layer in pair))


def airfoil_standardised(reader: Reader, embedding_dim: int | None) -> nn.Module:
    """The same network on standardised numbers."""
    return airfoil(reader, embedding_dim, standardised=True)


def small_resnet1d(reader: Reader, embedding_dim: int | None) -> nn.Module:
    """Ten layers and a quarter of the width, for a few hundred series."""
    channels = reader.sample_shape[0]
    return ResNet1d(channels, embedding_dim, blocks=(1, 1, 1, 1), width=16)
