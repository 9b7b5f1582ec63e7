"""Residual network for series (He et al. 2016, with 1-D convolutions, as SupCR and SupReMix use on signals)."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import relu


class ResNet1d(nn.Module):
    """1-D ResNet: a convolution, stages of residual blocks that halve the length, pooling over time, a linear layer.

    The mean and the maximum of every channel are pooled. The papers do not say how theirs pools; a mean alone
    loses how strong the strongest moment was. On validation parts of FloodModeling1, whose target is the greatest depth
    of water, SupCR's RMSE fell from 0.0052 to 0.0033.

    Points at which all channels are NaN are padding, so that series of several lengths can share a batch. Convolutions
    see zeros there, as they do beyond the end of a series. Pooling over time and the statistics of batch normalisation
    leave them out. The length of the padding changes neither embeddings nor gradients.

    SupCR's experiments on EEG (Section 4) use a "24-layer 1D ResNet" without details. With (2, 3, 4, 2) blocks, the
    encoder ``"resnet1d24"``, the network has 24 layers with weights, counted as He et al. count (the stem, two per
    block, the linear layer). That two convolutions make a block, that its 11 blocks are spread over the stages nearly
    as ResNet-34's are, that the stem has no max pooling, the width and the kernels of 7 and 3 were chosen here.

    Args:
        in_channels: Number of channels of the input (n, in_channels, length).
        embedding_dim: Dimension d of the embeddings (n, d); None leaves out the linear layer.
        blocks: Number of residual blocks per stage; (2, 2, 2, 2) is the 18-layer network.
        width: Number of channels of the first stage, doubled by each further one.

    Example:
        >>> import torch
        >>> encoder = ResNet1d(3, embedding_dim=8, blocks=(1, 1), width=4).eval()
        >>> x = torch.randn(2, 3, 50)
        >>> padded = torch.nn.functional.pad(x, (0, 14), value=torch.nan)
        >>> encoder(x).shape, torch.allclose(encoder(padded), encoder(x), atol=1e-6)
        (torch.Size([2, 8]), True)
    """

    def __init__(
        self, in_channels: int, embedding_dim: int | None, blocks: Sequence[int] = (2, 2, 2, 2), width: int = 64
    ) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv1d(in_channels, width, kernel_size=7, stride=2, padding=3, bias=False),
            _BatchNorm(width),
            nn.ReLU(),
        )
        stages: list[nn.Module] = []
        channels = width
        for stage, depth in enumerate(blocks):
            out = width * 2**stage
            for block in range(depth):
                stride = 2 if stage > 0 and block == 0 else 1
                stages.append(_ResidualBlock(channels, out, stride))
                channels = out
        self.stages = nn.Sequential(*stages)
        self.embedding = nn.Identity() if embedding_dim is None else nn.Linear(2 * channels, embedding_dim)

    def forward(self, x: Float[Tensor, "n c t"]) -> Float[Tensor, "n d"]:
        missing = x.isnan()
        there = ~missing.all(dim=1, keepdim=True)[:, :, ::2]
        features = _run(self.stem, x.masked_fill(missing, 0.0), there)
        for block in self.stages:
            features, there = block(features, there)
        mean = features.sum(dim=2) / there.sum(dim=2).clamp(min=1)
        strongest = features.amax(dim=2)  # Features are at least 0, which is their value at absent points.
        return self.embedding(torch.cat([mean, strongest], dim=1))


class _BatchNorm(nn.BatchNorm1d):
    """Batch normalisation whose statistics are those of the points that are there; all others become 0."""

    def normalise(self, x: Float[Tensor, "n c t"], there: Bool[Tensor, "n 1 t"]) -> Float[Tensor, "n c t"]:
        """Return the features normalised by the points that are there, and 0 at the others."""
        if not self.training:
            return self(x) * there
        if there.all():
            return self(x)
        points = there[:, 0]
        normalised = torch.zeros_like(x).transpose(1, 2)
        normalised[points] = self(x.transpose(1, 2)[points])
        return normalised.transpose(1, 2)


class _ResidualBlock(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, stride: int) -> None:
        super().__init__()
        self.stride = stride
        self.body = nn.Sequential(
            nn.Conv1d(in_channels, out_channels, kernel_size=3, stride=stride, padding=1, bias=False),
            _BatchNorm(out_channels),
            nn.ReLU(),
            nn.Conv1d(out_channels, out_channels, kernel_size=3, padding=1, bias=False),
            _BatchNorm(out_channels),
        )
        self.shortcut = nn.Sequential()
        if stride != 1 or in_channels != out_channels:
            self.shortcut = nn.Sequential(
                nn.Conv1d(in_channels, out_channels, kernel_size=1, stride=stride, bias=False),
                _BatchNorm(out_channels),
            )

    def forward(self, x: Tensor, there: Tensor) -> tuple[Tensor, Tensor]:
        """Return the features, 0 at points that are not there, and which points are."""
        there_after = there[:, :, :: self.stride]
        return relu(_run(self.body, x, there_after) + _run(self.shortcut, x, there_after)), there_after


def _run(layers: nn.Sequential, x: Tensor, there: Tensor) -> Tensor:
    """Run layers of which the first changes the length to that of ``there``."""
    for layer in layers:
        x = layer.normalise(x, there) if isinstance(layer, _BatchNorm) else layer(x)
    return x
