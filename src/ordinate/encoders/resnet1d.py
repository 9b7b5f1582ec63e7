"""Residual network for series (He et al. 2016, with 1-D convolutions, as SupCR and SupReMix use on signals)."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import relu


class ResNet1d(nn.Module):
    """1-D ResNet: a convolution, stages of residual blocks that halve the length, mean over time, a linear layer.

    Args:
        in_channels: channels of the input (n, in_channels, length).
        embedding_dim: d of the embeddings (n, d).
        blocks: residual blocks a stage; (2, 2, 2, 2) is the 18-layer network.
        width: channels of the first stage, doubled by each further one.

    Example:
        >>> import torch
        >>> ResNet1d(3, embedding_dim=8, blocks=(1, 1), width=4)(torch.zeros(2, 3, 50)).shape
        torch.Size([2, 8])
    """

    def __init__(
        self, in_channels: int, embedding_dim: int, blocks: Sequence[int] = (2, 2, 2, 2), width: int = 64
    ) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv1d(in_channels, width, kernel_size=7, stride=2, padding=3, bias=False),
            nn.BatchNorm1d(width),
            nn.ReLU(),
        )
        stages: list[nn.Module] = []
        channels = width
        for stage, depth in enumerate(blocks):
            out = width * 2**stage
            for block in range(depth):
                stages.append(_ResidualBlock(channels, out, stride=2 if stage > 0 and block == 0 else 1))
                channels = out
        self.stages = nn.Sequential(*stages)
        self.embedding = nn.Linear(channels, embedding_dim)

    def forward(self, x: Float[Tensor, "n c t"]) -> Float[Tensor, "n d"]:
        return self.embedding(self.stages(self.stem(x)).mean(dim=2))


class _ResidualBlock(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(in_channels, out_channels, kernel_size=3, stride=stride, padding=1, bias=False),
            nn.BatchNorm1d(out_channels),
            nn.ReLU(),
            nn.Conv1d(out_channels, out_channels, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm1d(out_channels),
        )
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or in_channels != out_channels:
            self.shortcut = nn.Sequential(
                nn.Conv1d(in_channels, out_channels, kernel_size=1, stride=stride, bias=False),
                nn.BatchNorm1d(out_channels),
            )

    def forward(self, x: Tensor) -> Tensor:
        return relu(self.body(x) + self.shortcut(x))
