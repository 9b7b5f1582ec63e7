"""An encoder around any network: its blocks, one vector of features per sample, and a linear layer to the embedding."""

from collections.abc import Iterator, Mapping, Sequence
from textwrap import shorten
from threading import Lock
from typing import Self

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ordinate.counts import counted
from ordinate.errors import OrdinateError

_HOOKING = Lock()


def blocks_of(network: nn.Module) -> list[nn.Module]:
    """Return the blocks of a network, in the order in which it registers them.

    Blocks are what its lists of composite layers hold: residual blocks, transformer layers, stages. Where it has no
    such list, they are its layers with weights.

    Example:
        >>> layer = nn.TransformerEncoderLayer(8, 2, batch_first=True)
        >>> len(blocks_of(nn.TransformerEncoder(layer, 3)))
        3
        >>> blocks_of(nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2)))[-1]
        Linear(in_features=8, out_features=2, bias=True)
    """
    layers = [layer for layer in network.modules() if any(True for _ in layer.parameters(recurse=False))]
    return list(_composite_blocks(network)) or layers


def _composite_blocks(module: nn.Module) -> Iterator[nn.Module]:
    lists = (nn.Sequential, nn.ModuleList)
    parts = [part for part in module.children() if any(part.children()) and any(True for _ in part.parameters())]
    for part in parts:
        listed = isinstance(module, lists) and not isinstance(part, lists)
        if listed and len(parts) > 1:
            yield part
        else:  # The blocks of a list of one, such as a network and a linear layer, are within it.
            within = list(_composite_blocks(part))
            if listed and not within:
                within = [part]
            yield from within


def freeze(network: nn.Module, trained: int | str) -> list[nn.Module]:
    """Freeze what comes before the blocks that are trained, and return the modules that are to stay in evaluation mode.

    Args:
        network: Network, which is changed in place.
        trained: ``"none"``, or k for the last k blocks and what the network registers after them.

    Raises:
        OrdinateError: the network has fewer blocks.
    """
    if trained == "none":
        network.requires_grad_(False)
        return list(network.modules())
    blocks = blocks_of(network)
    if int(trained) > len(blocks):
        raise OrdinateError("train_encoder", trained, f"'all', 'none', or at most {len(blocks)}, the encoder's blocks")
    first = blocks[-int(trained)]
    kept: list[nn.Module] = []
    for module in network.modules():
        if module is first:
            break
        for parameter in module.parameters(recurse=False):
            parameter.requires_grad_(False)
        if all(part is not first for part in module.modules()):
            kept.append(module)
    return kept


class PartlyTrained(nn.Module):
    """An encoder around a network that may be trained in part, or stay as it is.

    Attributes:
        network_name: Name of the network among the encoder's modules, which may be None.
    """

    network_name = "backbone"

    def __init__(self) -> None:
        super().__init__()
        self._kept: list[nn.Module] = []

    def train_only(self, trained: int | str) -> "PartlyTrained":
        """Return an encoder of which all but the last blocks of the network are frozen, see :func:`freeze`."""
        network: nn.Module | None = getattr(self, self.network_name)
        self._kept = []
        if network is not None:
            self._kept = freeze(network, trained)
        return self.train()

    def train(self, mode: bool = True) -> Self:
        super().train(mode)
        for module in self._kept:
            module.training = False
        return self


def network_parameters(encoder: nn.Module) -> list[nn.Parameter]:
    """Return the parameters of an encoder without those of the embedding on its network, where it has such parts."""
    for module in encoder.modules():
        if isinstance(module, PartlyTrained):
            network = getattr(module, module.network_name)
            if network is None:
                return []
            return list(network.parameters())
    return list(encoder.parameters())


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


def pooled(output: object, *, of_series: bool = False) -> Float[Tensor, "n f"]:
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


class StageMoments(nn.Module):
    """The mean and the deviation of each map of features after the last stages of a network, side by side.

    A network that was trained on other images describes lesions and textures better by these than by its last layer.

    Args:
        network: Network with stages, see :func:`stages_of`.
        most: Number of the last stages that count.

    Example:
        >>> blocks = [nn.Sequential(nn.Sequential(nn.Conv2d(c, 2 * c, 3), nn.ReLU())) for c in (3, 6)]
        >>> StageMoments(nn.Sequential(*blocks))(torch.zeros(2, 3, 8, 8)).shape
        torch.Size([2, 36])
    """

    def __init__(self, network: nn.Module, most: int = 5) -> None:
        super().__init__()
        self.network = network
        self.stages = most

    def forward(self, x: Tensor) -> Float[Tensor, "n f"]:
        maps: list[Tensor] = []

        def keep(_: nn.Module, __: object, output: object) -> None:
            maps.append(features_in(output))

        with _HOOKING:  # The hooks of another thread would add its maps.
            hooks = [stage.register_forward_hook(keep) for stage in stages_of(self.network)[-self.stages :]]
            try:
                last = self.network(x)
            finally:
                for hook in hooks:
                    hook.remove()
        has_channels_last = getattr(self.network, "output_fmt", "NCHW") == "NHWC"
        moments = []
        for output in maps:
            if output.dim() < 3:
                continue
            places = output.flatten(1, -2) if output.dim() == 3 or has_channels_last else output.flatten(2).mT
            mean = places.mean(1, keepdim=True)
            moments += [mean[:, 0], (places - mean).square().mean(1).sqrt()]
        return torch.cat(moments, dim=1) if moments else pooled(last)


def stages_of(network: nn.Module) -> list[nn.Module]:
    """Return the stages of a network: its parts with several layers each, or those of the only part that has some.

    Example:
        >>> layers = [nn.Sequential(nn.Conv2d(3, 3, 1), nn.ReLU()) for _ in range(4)]
        >>> len(stages_of(nn.Sequential(nn.Conv2d(3, 3, 1), nn.Sequential(*layers))))
        4
    """
    stages = [part for part in network.children() if any(map(_has_layers, part.children()))]
    return list(stages[0].children()) if len(stages) == 1 else stages


def _has_layers(module: nn.Module) -> bool:
    return any(True for _ in module.children()) and any(True for _ in module.parameters())


def features_in(output: object) -> Float[Tensor, "n ..."]:
    """Return the features in what a network gives: vectors (n, f), maps (n, f, ...) or tokens (n, t, f).

    Args:
        output: These; a tuple whose first entry they are; or an output of transformers, whose ``pooler_output`` or else
            ``last_hidden_state`` they are.

    Raises:
        OrdinateError: another output.
    """
    if isinstance(output, Mapping):
        fields = ("pooler_output", "last_hidden_state")
        found = [output[name] for name in fields if output.get(name) is not None]
        if not found:
            raise OrdinateError("encoder", f"an output of {', '.join(output)}", " or ".join(fields))
        output = found[0]
    elif isinstance(output, tuple | list) and output:
        output = output[0]
    if not isinstance(output, Tensor) or output.dim() < 2 or not output.is_floating_point():
        got = type(output).__name__
        if isinstance(output, Tensor):
            got = f"{output.dtype} of shape {tuple(output.shape)}"
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
            "encoder",
            f"{counted(len(features), 'output')} of {name} for {counted(len(samples), 'sample')}",
            "one per sample",
        )
    if samples.is_floating_point() and features.dtype != samples.dtype:
        raise OrdinateError("encoder", f"{features.dtype} from {name} for samples of {samples.dtype}", "the same dtype")
    network.train()
    return features.shape[1]


def reason(error: Exception) -> str:
    """Return the kind and the start of the message of an error."""
    return shorten(f"{type(error).__name__}: {error}", width=300, placeholder=" ...")
