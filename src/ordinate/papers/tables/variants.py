"""Variants of a method that a paper's table measures and that no estimator has a setting for."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import relu

from ordinate.checks import check_whole
from ordinate.encoders.resnet1d import ResNet1d
from ordinate.errors import OrdinateError
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.losses import MMNPLoss
from ordinate.methods.optimization import Optimization
from ordinate.methods.staged import Stage, StagedMethod
from ordinate.methods.supcr import SupCR


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


def _airfoil_network(estimator: EmbeddingEstimator, *, standardised: bool = False) -> nn.Module:
    """SupReMix's network for airfoil, d-20-30-10 (Section 4), on the numbers of the file: Hz, m and m/s."""
    if not estimator.reader_.numbers_only:
        raise OrdinateError("network", "'airfoil' for other samples", "columns of numbers alone")
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


def _small_resnet1d(estimator: EmbeddingEstimator) -> nn.Module:
    """Ten layers and a quarter of the width, for a few hundred series."""
    channels = estimator.reader_.sample_shape[0]
    return ResNet1d(channels, estimator.embedding_dim, blocks=(1, 1, 1, 1), width=16)


NETWORKS: Mapping[str, Callable[[EmbeddingEstimator], nn.Module]] = {
    "airfoil": _airfoil_network,
    "airfoil_standardised": partial(_airfoil_network, standardised=True),
    "small_resnet1d": _small_resnet1d,
}


class BareMargins(MMNPLoss):
    """Margins without the precautions of CLOC's Section 3.3: behind a ReLU, and started close to 0."""

    def __init__(self, num_classes: int) -> None:
        super().__init__(num_classes)
        self.raw.data.uniform_(0.0, 0.5)

    @property
    def margins(self) -> Tensor:
        return relu(self.raw) + 1e-6  # the loss needs them above 0


def _set_loss(_: Any, method: Any, options: Mapping[str, Any]) -> None:
    """Other options of SupReMix's loss: its parts (Table 9)."""
    loss = method.supremix
    for name, value in options.items():
        if not hasattr(loss, name):
            raise OrdinateError("loss", f"the option {name!r}, which the loss of {type(method).__name__} lacks")
        setattr(loss, name, value)


class ProjectedSupCR(SupCR):
    """SupCR whose loss sees a projection of the embeddings (SupCR, Table 7)."""

    projection: nn.Module

    def contrast(self, embeddings: Tensor, y: Tensor, weights: Tensor | None = None) -> Tensor:
        return super().contrast(self.projection(embeddings), y, weights)

    def contrast_parameters(self) -> list[nn.Parameter]:
        return list(self.projection.parameters())


def _add_projection(estimator: Any, method: Any, dimensions: int) -> None:
    """A projection head between SupCR's embeddings and its loss."""
    width = estimator.embedding_dim_
    method.projection = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, dimensions))
    method.__class__ = ProjectedSupCR


def _set_optimization(_: Any, method: StagedMethod, options: Mapping[str, Any]) -> None:
    """Another optimizer, of all stages alike."""
    method.stages = tuple(replace(stage, optimization=Optimization(**options)) for stage in method.stages)


def _set_margins(estimator: Any, method: Any, margin: float) -> None:
    """One value that all margins are fixed at (CLOC, Table 4)."""
    ranks = range(len(estimator.ordered_classes_))
    method.mmnp = MMNPLoss(len(ranks), {(low, low + 1): margin for low in ranks[:-1]})


def _set_stages(_: Any, method: StagedMethod, count: int) -> None:
    """The first stages alone (CLOC, Table 4: the end of phase one)."""
    method.stages = method.stages[:count]


def _learn_to_the_end(estimator: Any, method: Any, precautions: bool) -> None:
    """A phase one that nothing ends, and bare margins without ``precautions`` (CLOC, Fig. 4)."""
    method.target_accuracy = 2.0  # is never reached
    if not precautions:
        method.mmnp = BareMargins(len(estimator.ordered_classes_))


VARIANTS: Mapping[str, Callable[[Any, Any, Any], None]] = {
    "loss": _set_loss,
    "projection": _add_projection,
    "optimization": _set_optimization,
    "margins": _set_margins,
    "stages": _set_stages,
    "precautions": _learn_to_the_end,
}


def varied(kind: type[Any], variants: Mapping[str, Any], network: str | None) -> type[Any]:
    """Return an estimator class whose method differs by ``variants``, from names of :data:`VARIANTS` to their values.

    ``network`` is the name of another encoder, of :data:`NETWORKS`; None keeps the estimator's.
    """
    if network is not None and network not in NETWORKS:
        raise OrdinateError("network", repr(network), f"one of {', '.join(map(repr, NETWORKS))}")

    class Varied(kind):
        def _build_method(self, encoder: nn.Module) -> StagedMethod:
            method: StagedMethod = super()._build_method(encoder)
            for name, value in variants.items():
                VARIANTS[name](self, method, value)
            return method

        def _optimized(self, stages: tuple[Stage, ...]) -> tuple[Stage, ...]:
            optimized: tuple[Stage, ...] = super()._optimized(stages)
            return stages if "optimization" in variants else optimized

        def _new_encoder(self, *, for_saved_weights: bool = False) -> nn.Module:
            if network is None:
                return super()._new_encoder(for_saved_weights=for_saved_weights)
            return NETWORKS[network](self)

    Varied.__name__ = kind.__name__
    return Varied
