"""Copies of a network that were fine-tuned on images, side by side, and how images are scaled for them."""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float, Num
from torch import Tensor, nn


class FineTunedNetworks(nn.Module):
    """The embeddings of several networks side by side, of images that are scaled first.

    Args:
        networks: Encoders of images (n, c, height, width) to embeddings (n, d), the same d for all.
        size: Size (height, width) of the images that they see.

    Example:
        >>> from ordinate.encoders.pixels import ImageEncoder
        >>> pool = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
        >>> encoders = [ImageEncoder(pool, 3, embedding_dim=8, mean=[0.5] * 3, std=[0.25] * 3) for _ in range(2)]
        >>> FineTunedNetworks(encoders, (6, 4))(torch.zeros(5, 3, 12, 8, dtype=torch.uint8)).shape
        torch.Size([5, 16])
    """

    def __init__(self, networks: Sequence[Any], size: tuple[int, int]) -> None:
        super().__init__()
        self.networks = nn.ModuleList(networks)
        self.size = size
        self.out_features = sum(network.embedding_dim for network in networks)  # Columns of the embeddings.

    def forward(self, images: Num[Tensor, "n c h w"]) -> Float[Tensor, "n d"]:
        images = scaled(images, self.size)
        return torch.cat([network(images) for network in self.networks], dim=1)


def scaled(images: Num[Tensor, "n c h w"], size: tuple[int, int]) -> Float[Tensor, "n c a b"]:
    """Return images of a size (height, width), bilinear with antialiasing, in float32.

    Example:
        >>> scaled(torch.tensor([[[[0, 100, 200, 100]]]], dtype=torch.uint8), (1, 2))
        tensor([[[[ 71.4286, 142.8571]]]])
    """
    height, width = images.shape[-2:]
    images = images.float()
    if size == (height, width):
        return images
    rows, columns = (_weights(*sides).to(images) for sides in zip((height, width), size, strict=True))
    return rows @ images @ columns.T


def _weights(given: int, wanted: int) -> Float[Tensor, "a b"]:
    """Return the weights with which the pixels of a side of ``given`` pixels make one of ``wanted``: triangles."""
    scale = given / wanted
    centres = (torch.arange(wanted).double() + 0.5) * scale
    distances = (torch.arange(given) + 0.5 - centres[:, None]).abs() / max(scale, 1.0)
    weights = (1 - distances).clamp(min=0)
    return (weights / weights.sum(1, keepdim=True)).float()
