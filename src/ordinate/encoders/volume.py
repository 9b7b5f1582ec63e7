"""Encoder of volumes: MONAI's 3-D ResNet-18 between normalised voxels and a linear embedding."""

from collections.abc import Sequence

from torch import nn

from ordinate.encoders.pixels import PixelEncoder
from ordinate.errors import OrdinateError
from ordinate.optional import optional


class ResNet3d18(PixelEncoder):
    """3-D ResNet-18 (Hara et al., 2018), SupReMix's encoder of T1 volumes, as MONAI builds it.

    It starts with a 7x7x7 convolution and a max pooling, of stride 2 each; Hara et al. keep the stride of time at 1,
    which volumes have no use for. Where the shortest side is below 32 voxels, it starts with a 3x3x3 convolution of
    stride 1 and no pooling instead.

    Args:
        sample_shape: Shape (c, d, h, w) of a volume.
        embedding_dim: Dimension d of the embeddings (n, d); None leaves out the linear layer.
        mean: Mean of each channel, on the scale 0..1; None for 0.5.
        std: Deviation of each channel, on the same scale; None for 0.25.
        widths: Numbers of channels of the four stages.

    The volumes (n, c, d, h, w) are uint8, or floating in the same range 0..255.

    Raises:
        OrdinateError: a shape or statistics it does not take, or MONAI not installed.

    Example:
        >>> import torch
        >>> encoder = ResNet3d18((1, 8, 8, 8), embedding_dim=4, widths=(2, 4, 4, 8))
        >>> encoder(torch.zeros(2, 1, 8, 8, 8, dtype=torch.uint8)).shape
        torch.Size([2, 4])
    """

    def __init__(
        self,
        sample_shape: Sequence[int],
        embedding_dim: int | None,
        *,
        mean: Sequence[float] | None = None,
        std: Sequence[float] | None = None,
        widths: Sequence[int] = (64, 128, 256, 512),
    ) -> None:
        if len(sample_shape) != 4:
            raise OrdinateError("sample_shape", tuple(sample_shape), "(channels, depth, height, width)")
        channels, *sides = sample_shape
        if mean is None:
            mean = [0.5] * channels
        if std is None:
            std = [0.25] * channels
        if len(mean) != channels or len(std) != channels or min(std) <= 0:
            raise OrdinateError("mean, std", f"{mean} and {std}", "a number and one above 0 for each channel")
        backbone = _backbone(channels, list(widths), small=min(sides) < 32)
        super().__init__(backbone, widths[-1], embedding_dim, mean, std)


def _backbone(channels: int, widths: list[int], *, small: bool) -> nn.Module:
    stem: dict[str, int] = {"conv1_t_size": 7, "conv1_t_stride": 2, "no_max_pool": False}
    if small:
        stem = {"conv1_t_size": 3, "conv1_t_stride": 1, "no_max_pool": True}
    network: nn.Module = optional("monai.networks.nets.resnet", "volumes", "encoder").ResNet(
        "basic", [2, 2, 2, 2], widths, spatial_dims=3, n_input_channels=channels, feed_forward=False,
        bias_downsample=False, **stem,
    )  # fmt: skip
    return network
