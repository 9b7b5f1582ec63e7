"""Encoders of images and volumes: a network between normalised pixels or voxels and an embedding."""

import math
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Num
from torch import Tensor, nn

from ordinate.encoders.network import NetworkEncoder, PartlyTrained, freeze


class PixelEncoder(NetworkEncoder):
    """Pixels to 0..1, normalised by channel, through a network to features, through a linear layer to the embedding.

    The end is linear, so that embeddings reach the whole space: OTD's half circle needs cosines below 0.

    Args:
        backbone: Network from normalised images (n, c, h, w) or volumes (n, c, d, h, w) to features, see
            :func:`~ordinate.encoders.network.pooled`.
        out_channels: Width of these features.
        embedding_dim: Dimension d of the embeddings (n, d); None leaves the features as they are.
        mean: Mean of each channel, on the scale 0..1.
        std: Deviation of each channel, on the same scale.

    Samples are uint8, or floating in the same range 0..255; the weights' dtype is the one computed in.
    """

    mean: Tensor
    std: Tensor

    def __init__(
        self,
        backbone: nn.Module,
        out_channels: int,
        embedding_dim: int | None,
        mean: Sequence[float],
        std: Sequence[float],
    ) -> None:
        super().__init__(backbone, out_channels, embedding_dim)
        self.register_buffer("mean", torch.tensor(mean, dtype=torch.get_default_dtype()))
        self.register_buffer("std", torch.tensor(std, dtype=torch.get_default_dtype()))

    def features(self, x: Num[Tensor, "n c ..."]) -> Float[Tensor, "n f"]:
        return super().features(self.normalised(x))

    def normalised(self, x: Num[Tensor, "n c ..."]) -> Float[Tensor, "n c ..."]:
        """Return samples as the network gets them."""
        by_channel = (-1, *[1] * (x.dim() - 2))
        return (x.to(self.mean.dtype) / 255 - self.mean.view(by_channel)) / self.std.view(by_channel)


class ImageEncoder(PixelEncoder):
    """A :class:`PixelEncoder` of images (n, c, h, w).

    Attributes:
        seen: Size (height, width) of the central part of larger images that the network gets; None for all of them.
        mirror: Whether features are the mean of those of an image and its mirror image, except in training.

    Example:
        >>> pool = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
        >>> encoder = ImageEncoder(pool, out_channels=3, embedding_dim=8, mean=[0.5] * 3, std=[0.25] * 3)
        >>> encoder(torch.zeros(2, 3, 16, 16, dtype=torch.uint8)).shape
        torch.Size([2, 8])
    """

    seen: tuple[int, int] | None = None
    mirror: bool = False

    def features(self, x: Num[Tensor, "n c h w"]) -> Float[Tensor, "n f"]:
        found = super().features(x)
        if self.mirror and not self.training:
            return (found + super().features(x.flip(-1))) / 2
        return found

    def normalised(self, x: Num[Tensor, "n c h w"]) -> Float[Tensor, "n c h w"]:
        if self.seen is not None:
            top, left = ((side - kept) // 2 for side, kept in zip(x.shape[-2:], self.seen, strict=True))
            x = x[..., top : top + self.seen[0], left : left + self.seen[1]]
        x = super().normalised(x)
        # With channels last, a training step of EfficientNet-Lite0 on a CPU is 1.4 to 1.7 times faster. With a single
        # channel, x.contiguous would leave the order as it is.
        return torch.empty_like(x, memory_format=torch.channels_last).copy_(x)

    def train_only(self, trained: int | str) -> PartlyTrained:
        if trained != "none":
            return super().train_only(trained)
        frozen = FrozenImageEncoder(
            self.backbone, self.out_channels, self.embedding_dim, self.mean.tolist(), self.std.tolist()
        )
        frozen.seen = self.seen
        frozen.mirror = self.mirror
        return frozen


class FrozenImageEncoder(ImageEncoder):
    """A network that stays as it is, and an embedding of its features that is trained.

    Args:
        backbone: Network from normalised images to features, which stays as it is.
        out_channels: Width of these features.
        embedding_dim: Dimension d of the embeddings (n, d); None leaves the features as they are.
        mean: Mean of each channel, on the scale 0..1.
        std: Deviation of each channel, on the same scale.
        hidden: Units of the hidden layer of the embedding.

    It also takes features (n, out_channels) of :meth:`features` instead of images, so that they are computed once.

    Example:
        >>> pool = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
        >>> encoder = FrozenImageEncoder(pool, out_channels=3, embedding_dim=8, mean=[0.5] * 3, std=[0.25] * 3).eval()
        >>> images = torch.arange(2 * 3 * 4 * 4).reshape(2, 3, 4, 4).to(torch.uint8)
        >>> torch.equal(encoder(encoder.features(images)), encoder(images))
        True
    """

    def __init__(
        self,
        backbone: nn.Module,
        out_channels: int,
        embedding_dim: int | None,
        mean: Sequence[float],
        std: Sequence[float],
        hidden: int = 256,
    ) -> None:
        super().__init__(backbone, out_channels, embedding_dim, mean, std)
        self._kept = freeze(self.backbone, "none")
        if embedding_dim is not None:
            self.embedding = nn.Sequential(
                nn.BatchNorm1d(out_channels, affine=False),
                nn.Linear(out_channels, hidden),
                nn.ReLU(),
                nn.Linear(hidden, embedding_dim),
            )

    def train_only(self, trained: int | str) -> PartlyTrained:
        return self

    def forward(self, images: Tensor) -> Float[Tensor, "n d"]:
        if images.dim() > 2:
            images = self.features(images)
        embeddings: Tensor = self.embedding(images)
        return embeddings


class ImageComponents(nn.Module):
    """Principal components of the standardised features of a network that stays as it is, the first of variance 1.

    The others keep their smaller variance, so that a penalty weighs on them more.

    Args:
        network: Encoder of the images, whose features are used.
        components: Number of components k, at most as many as features.

    Example:
        >>> pool = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
        >>> network = FrozenImageEncoder(pool, out_channels=3, embedding_dim=None, mean=[0.5] * 3, std=[0.25] * 3)
        >>> ImageComponents(network.eval(), 2)(torch.zeros(4, 3, 8, 8, dtype=torch.uint8)).shape
        torch.Size([4, 2])
    """

    centre: Tensor
    units: Tensor
    axes: Tensor

    def __init__(self, network: FrozenImageEncoder, components: int) -> None:
        super().__init__()
        self.network = network
        self.register_buffer("centre", torch.zeros(network.out_channels))
        self.register_buffer("units", torch.ones(network.out_channels))
        self.register_buffer("axes", torch.eye(network.out_channels, components))

    def fit(self, features: Float[Tensor, "n f"]) -> None:
        """Find the axes of the largest variance; one along which features do not vary becomes 0."""
        from sklearn.decomposition import PCA  # A saved model needs none.

        values = features.double().numpy()
        centre, deviation = values.mean(0), values.std(0)
        units = np.maximum(deviation, 1e-3 * deviation.max() + np.finfo(np.float32).tiny)  # Rarely active ones are few.
        found = PCA(self.axes.shape[1], random_state=0).fit((values - centre) / units)
        scale = np.sqrt(found.explained_variance_)
        varies = scale > np.finfo(np.float32).eps * max(scale.max(), 1)
        axes = varies[:, None] * found.components_ / (scale.max() or 1.0)
        self.centre.copy_(torch.from_numpy(centre))
        self.units.copy_(torch.from_numpy(units))
        self.axes.copy_(torch.from_numpy((axes / units).T))

    def keep(self, count: int) -> None:
        """Keep so many components; the others become 0."""
        self.axes[:, count:] = 0

    def of_features(self, features: Float[Tensor, "n f"]) -> Float[Tensor, "n k"]:
        """Return the components of images whose features are known."""
        return (features - self.centre) @ self.axes

    def distance(self, features: Float[Tensor, "n f"]) -> Float[Tensor, "n 1"]:
        """Return the root mean square of the features, each in deviations from its mean in training."""
        return ((features - self.centre) / self.units).square().mean(1, keepdim=True).sqrt()

    def forward(self, images: Num[Tensor, "n c h w"]) -> Float[Tensor, "n k"]:
        return self.of_features(self.network.features(images))


def by_channel(values: Sequence[float], channels: int) -> list[float]:
    """Return one value per channel: the given ones, or their average if there are more or fewer channels."""
    if len(values) == channels:
        return list(values)
    return [math.fsum(values) / len(values)] * channels
