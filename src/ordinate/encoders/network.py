"""An encoder around any network: one vector of features per sample, and a linear layer to the embedding."""

from collections.abc import Mapping, Sequence
from textwrap import shorten
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ordinate.encoders.blocks import PartlyTrained
from ordinate.errors import OrdinateError

OUTPUT_FIELDS = ("pooler_output", "last_hidden_state")  # The first one that an output of transformers has is read.


class NetworkEncoder(PartlyTrained):
    """A network, its features pooled to one vector per sample, and a linear layer to the embedding.

    Args:
        backbone: Network from a batch to features, see :func:`pooled`.
        out_channels: Width of the pooled features.
        embedding_dim: Dimension d of the embeddings (n, d); None leaves the features as they are.

    Example:
        >>> NetworkEncoder(nn.Conv1d(3, 6, kernel_size=5), 6, embedding_dim=2)(torch.zeros(4, 3, 20)).shape
        torch.Size([4, 2])
    """

    def __init__(self, backbone: nn.Module, out_channels: int, embedding_dim: int | None) -> None:
        super().__init__()
        self.out_channels = out_channels
        self.embedding_dim = embedding_dim
        self.backbone = backbone
        self.embedding: nn.Module = nn.Identity() if embedding_dim is None else nn.Linear(out_channels, embedding_dim)

    def forward(self, x: Tensor) -> Float[Tensor, "n d"]:
        embeddings: Tensor = self.embedding(self.features(x))
        return embeddings

    def features(self, x: Tensor) -> Float[Tensor, "n f"]:
        """Return what the network makes of samples, from which the embedding is made."""
        return pooled(self.backbone(x), of_series=x.dim() == 3)


class TableEncoder(NetworkEncoder):
    """A :class:`NetworkEncoder` whose network gets some columns of a table.

    Args:
        backbone: Network from some columns of a batch to features.
        out_channels: Width of the pooled features.
        embedding_dim: Dimension d of the embeddings (n, d); None leaves the features as they are.
        columns: Places of the columns among those of the batch.
    """

    columns: Tensor

    def __init__(
        self, backbone: nn.Module, out_channels: int, embedding_dim: int | None, columns: Sequence[int]
    ) -> None:
        super().__init__(backbone, out_channels, embedding_dim)
        self.register_buffer("columns", torch.tensor(columns))

    def features(self, x: Float[Tensor, "n c"]) -> Float[Tensor, "n f"]:
        return super().features(x[:, self.columns])


def pooled(output: Any, *, of_series: bool = False) -> Float[Tensor, "n f"]:
    """Return one vector per sample of what a network gives, see :func:`features_in`.

    Args:
        output: Output of the network; maps and tokens are averaged.
        of_series: Whether three dimensions are a map (n, f, t), as a convolution over series gives, not tokens (n, t,
            f).

    Example:
        >>> pooled(torch.ones(2, 5, 4, 4)).shape, pooled((torch.ones(2, 7, 5), None)).shape
        (torch.Size([2, 5]), torch.Size([2, 5]))
    """
    features = features_in(output)
    if features.dim() == 2:
        return features
    if features.dim() == 3 and not of_series:
        return features.mean(1)
    return features.flatten(2).mean(2)


def features_in(output: Any) -> Float[Tensor, "n ..."]:
    """Return the features in what a network gives: vectors (n, f), maps (n, f, ...) or tokens (n, t, f).

    Args:
        output: These; a tuple whose first entry they are; or an output of transformers, whose ``pooler_output`` or else
            ``last_hidden_state`` they are.

    Raises:
        OrdinateError: another output.
    """
    if isinstance(output, Mapping):
        found = [output[name] for name in OUTPUT_FIELDS if output.get(name) is not None]
        if not found:
            raise OrdinateError("encoder", f"an output of {', '.join(output)}", " or ".join(OUTPUT_FIELDS))
        output = found[0]
    elif isinstance(output, tuple | list) and output:
        output = output[0]
    if not isinstance(output, Tensor) or output.dim() < 2 or not output.is_floating_point():
        got = f"{output.dtype} of shape {tuple(output.shape)}" if isinstance(output, Tensor) else type(output).__name__
        raise OrdinateError(
            "encoder", f"an output that is {got}", "features (n, f), maps (n, f, ...) or tokens (n, t, f)"
        )
    return output


def feature_width(
    network: nn.Module, samples: Tensor, name: str, *, of_series: bool = False, hint: str | None = None
) -> int:
    """Return the width of the pooled features of a network, which is tried on samples, and left in training mode.

    Raises:
        OrdinateError: it fails on such samples, or does not give a vector for each.
    """
    network.eval()
    try:
        with torch.no_grad():
            features = pooled(network(samples), of_series=of_series)
    except OrdinateError:
        raise
    except Exception as error:  # Networks of users fail in any way.
        shape = f"samples of shape {tuple(samples.shape[1:])} in {str(samples.dtype).removeprefix('torch.')}"
        raise OrdinateError("encoder", problem=f"{name} does not take {shape}: {reason(error)}", hint=hint) from error
    if len(features) != len(samples):
        raise OrdinateError(
            "encoder", f"{len(features)} outputs of {name} for {len(samples)} samples", "one per sample"
        )
    if samples.is_floating_point() and features.dtype != samples.dtype:
        raise OrdinateError("encoder", f"{features.dtype} from {name} for samples of {samples.dtype}", "the same dtype")
    network.train()
    return features.shape[1]


def reason(error: Exception) -> str:
    """Return the kind and the start of the message of an error."""
    return shorten(f"{type(error).__name__}: {error}", width=300, placeholder=" ...")
