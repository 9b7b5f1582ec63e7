"""Which part of a network is trained: all of it, its last blocks, or none."""

from collections.abc import Iterator
from typing import Any, Self

from torch import nn

from ordinate.errors import OrdinateError

LISTS = (nn.Sequential, nn.ModuleList)


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
    parts = [part for part in module.children() if any(part.children()) and any(True for _ in part.parameters())]
    for part in parts:
        listed = isinstance(module, LISTS) and not isinstance(part, LISTS)
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
        network: Any = getattr(self, self.network_name)
        self._kept = [] if network is None else freeze(network, trained)
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
            return [] if network is None else list(network.parameters())
    return list(encoder.parameters())
