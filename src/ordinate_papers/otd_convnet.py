"""OTD's network for images."""

from typing import Any

from jaxtyping import Float
from torch import Tensor, nn

from ordinate.encoders.given import build_given_encoder


def otd_convnet(reader: Any, embedding_dim: int | None) -> nn.Module:
    """Return a new encoder of OTD for images of the reader."""
    network = OTDConvNet(reader.sample_shape[0])
    return build_given_encoder(network, reader.sample_shape, embedding_dim, mean=reader.mean, std=reader.scale)


class OTDConvNet(nn.Module):
    """Four pairs of 3x3 convolutions, the mean over the remaining pixels, two dense layers (OTD, Appendix B, Table 3).

    The paper's last layer, the embedding, is left to :class:`~ordinate.encoders.ImageEncoder`, where it is linear.
    After the paper's ReLU no cosine is below 0, so that the ranks cannot spread over a half circle.

    Args:
        in_channels: Number of channels c of the images (n, c, h, w), h and w at least 42 pixels.
        width: Number of filters of the first convolutions, doubled by each further pair; the paper has 64.
        hidden: Number of units of each dense layer, and of the output (n, hidden); the paper has 4096.
        batch_norm: Whether batch normalisation follows the last three pairs, as in the paper.

    Example:
        >>> import torch
        >>> OTDConvNet(1, width=4, hidden=16)(torch.zeros(2, 1, 48, 48)).shape
        torch.Size([2, 16])
    """

    def __init__(self, in_channels: int, width: int = 64, hidden: int = 4096, batch_norm: bool = True) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        self.out_channels = hidden
        channels = in_channels
        for pair in range(4):
            filters = width * 2**pair
            layers += [nn.Conv2d(channels, filters, kernel_size=3), nn.ReLU()]
            layers += [nn.Conv2d(filters, filters, kernel_size=3), nn.ReLU()]
            layers.append(nn.MaxPool2d(2) if pair == 0 else nn.MaxPool2d(3, stride=1))
            if batch_norm and pair > 0:
                layers.append(nn.BatchNorm2d(filters))
            channels = filters
        self.convolutions = nn.Sequential(*layers)
        self.dense = nn.Sequential(nn.Linear(channels, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())

    def forward(self, images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n f"]:
        return self.dense(self.convolutions(images).mean(dim=(2, 3)))
