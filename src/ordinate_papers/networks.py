"""Networks of the papers for tables and series, which estimators know as encoders by their names."""

from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from ordinate.checks import check_whole
from ordinate.encoders.resnet1d import ResNet1d
from ordinate.errors import OrdinateError
from ordinate.estimators.embedding_estimator import EmbeddingEstimator


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


def airfoil(estimator: EmbeddingEstimator, *, standardised: bool = False) -> nn.Module:
    """SupReMix's network for airfoil, d-20-30-10 (Section 4), on the numbers of the file: Hz, m and m/s."""
    if not estimator.reader_.numbers_only:
        raise OrdinateError("encoder", "'airfoil' for other samples", "columns of numbers alone")
    reader: Any = estimator.reader_
    start, places, means, scales = 0, [], [], []
    for column in reader.columns:
        places.append(start)
        means.append(0.0 if standardised else column.mean)
        scales.append(1.0 if standardised else column.scale)
        start += column.width
    numbers = AsInTheFile(torch.tensor(places), torch.tensor(means), torch.tensor(scales))
    widths = (len(places), 20, 30, check_whole(estimator.embedding_dim or 0, "embedding_dim"))
    layers = [(nn.Linear(low, high), nn.ReLU()) for low, high in pairwise(widths)]
    return nn.Sequential(numbers, *(layer for pair in layers for layer in pair))


def airfoil_standardised(estimator: EmbeddingEstimator) -> nn.Module:
    """The same network on standardised numbers."""
    return airfoil(estimator, standardised=True)


def small_resnet1d(estimator: EmbeddingEstimator) -> nn.Module:
    """Ten layers and a quarter of the width, for a few hundred series."""
    channels = estimator.reader_.sample_shape[0]
    return ResNet1d(channels, estimator.embedding_dim, blocks=(1, 1, 1, 1), width=16)
