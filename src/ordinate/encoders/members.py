"""Networks for tables that are trained as one: each layer holds the weights of all members."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Float, Num
from torch import Tensor, nn
from torch.nn.functional import relu

from ordinate.checks import check_choice
from ordinate.encoders.mlp import ACTIVATIONS
from ordinate.encoders.pixels import ImageComponents
from ordinate.encoders.trees import BoostedTrees, Trees
from ordinate.options import Activation


class MemberLinear(nn.Module):
    """A linear layer of each of ``members`` networks, from (members, n, in_features) to (members, n, out_features).

    Example:
        >>> MemberLinear(3, 5, 2)(torch.zeros(3, 7, 5)).shape
        torch.Size([3, 7, 2])
    """

    def __init__(self, members: int, in_features: int, out_features: int) -> None:
        super().__init__()
        bound = in_features**-0.5
        self.weight = nn.Parameter(torch.empty(members, in_features, out_features).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(members, 1, out_features).uniform_(-bound, bound))

    def forward(self, x: Float[Tensor, "m n i"]) -> Float[Tensor, "m n o"]:
        return torch.baddbmm(self.bias, x, self.weight)


class MemberPeriodic(nn.Module):
    """A :class:`~ordinate.encoders.mlp.PeriodicEmbedding` of each member, (members, n, f) to (members, n, g).

    Example:
        >>> MemberPeriodic(2, 3, numeric=[0, 2])(torch.zeros(2, 5, 3)).shape
        torch.Size([2, 5, 11])
    """

    numeric: Tensor

    def __init__(
        self,
        members: int,
        in_features: int,
        numeric: Sequence[int],
        frequencies: int = 16,
        features: int = 4,
        scale: float = 0.1,
    ) -> None:
        super().__init__()
        count = len(numeric)
        self.register_buffer("numeric", torch.tensor(list(numeric), dtype=torch.int64))
        self.frequencies = nn.Parameter(torch.randn(members, 1, count, frequencies) * scale)
        self.weight = nn.Parameter(torch.randn(members, count, 2 * frequencies, features) / (2 * frequencies) ** 0.5)
        self.bias = nn.Parameter(torch.zeros(members, 1, count, features))
        self.out_features = in_features + count * features

    def forward(self, x: Float[Tensor, "m n f"]) -> Float[Tensor, "m n g"]:
        numbers = 2 * math.pi * x[:, :, self.numeric].transpose(1, 2)[..., None]
        phase = numbers * self.frequencies.transpose(1, 2)  # (m, f, n, k), whose products need no copy.
        waves = torch.cat([phase.sin(), phase.cos()], dim=3)
        embedded = relu(waves @ self.weight + self.bias.transpose(1, 2)).transpose(1, 2)
        return torch.cat([x, embedded.flatten(2)], dim=2)


class MemberEncoder(nn.Module):
    """Multilayer perceptrons that share nothing but the batch; their embeddings stand side by side.

    Args:
        in_features: Columns of the input (n, in_features).
        member_dim: Dimension d of the embedding of each member.
        members: Number of networks.
        widths: Numbers of units of the hidden layers of each.
        activation: ``"relu"``, ``"silu"``, ``"gelu"`` or ``"tanh"``.
        numeric: Positions of the columns that are numbers; they get a periodic embedding.

    Example:
        >>> MemberEncoder(5, member_dim=8, members=4)(torch.zeros(2, 5)).shape
        torch.Size([2, 32])
    """

    def __init__(
        self,
        in_features: int,
        member_dim: int,
        members: int = 16,
        widths: Sequence[int] = (64, 64, 64),
        activation: Activation = "silu",
        numeric: Sequence[int] = (),
    ) -> None:
        super().__init__()
        check_choice(activation, [*ACTIVATIONS], "activation")
        self.members, self.member_dim = members, member_dim
        layers: list[nn.Module] = []
        if numeric:
            periodic = MemberPeriodic(members, in_features, numeric)
            layers, in_features = [periodic], periodic.out_features
        for width, hidden in zip((in_features, *widths), widths, strict=False):
            layers += [MemberLinear(members, width, hidden), ACTIVATIONS[activation]()]
        self.layers = nn.Sequential(*layers, MemberLinear(members, widths[-1], member_dim))

    @property
    def out_features(self) -> int:
        """Columns of the embeddings."""
        return self.members * self.member_dim

    def forward(self, x: Float[Tensor, "n f"]) -> Float[Tensor, "n d"]:
        return self.of_own_samples(x.expand(self.members, *x.shape)).transpose(0, 1).flatten(1)

    def of_own_samples(self, x: Float[Tensor, "m n f"]) -> Float[Tensor, "m n d"]:
        """Return the embedding of samples of which each member has its own."""
        embeddings: Tensor = self.layers(x)
        return embeddings


class BlendEncoder(nn.Module):
    """The embeddings of members, and the predictions of simple models for the same samples.

    Of images they get the principal components of a network's features.

    Args:
        members: The networks, which training trains.
        linear: Linear model with one column, once it is fitted.
        trees: Trees with one column per rank, or with one target, once they are fitted.
        boosting: Boosted trees with such columns, once they are fitted.

    Attributes:
        images: Components of images; None for tables.
    """

    most_rows = 512  # Each row stands in all members, with dozens of waves per number.

    def __init__(
        self,
        members: MemberEncoder,
        linear: nn.Linear | None = None,
        trees: Trees | None = None,
        boosting: BoostedTrees | None = None,
    ) -> None:
        super().__init__()
        self.members = members
        self.linear = linear
        self.trees = trees
        self.boosting = boosting
        self.images: ImageComponents | None = None

    @property
    def parts(self) -> list[Any]:
        """What it has of the four."""
        return [part for part in (self.members, self.linear, self.trees, self.boosting) if part is not None]

    @property
    def out_features(self) -> int:
        """Columns of the embeddings."""
        return sum(part.out_features for part in self.parts)

    def config(self) -> dict[str, Any]:
        """Return what :meth:`add_parts` needs, ready for JSON."""
        found: dict[str, Any] = {"linear": None if self.linear is None else {"bias": self.linear.bias is not None}}
        if self.images is not None:
            found["components"] = self.images.axes.shape[1]
        for name in ("trees", "boosting"):
            part: Trees | None = getattr(self, name)
            found[name] = None if part is None else part.config()
        return found

    def add_parts(self, saved: Mapping[str, Any], in_features: int) -> None:
        """Add the simple models of a saved encoder, which then gets their weights."""
        if saved["linear"] is not None:
            self.linear = nn.Linear(in_features, 1, bias=saved["linear"]["bias"])
        if saved["trees"] is not None:
            self.trees = Trees(**saved["trees"])
        if saved["boosting"] is not None:
            self.boosting = BoostedTrees(**saved["boosting"])

    def check_restored(self, columns: int) -> None:
        """Raise ValueError if the trees of a saved encoder are not such that samples can pass them."""
        if self.images is not None:
            columns = self.images.axes.shape[1]
        for part in (self.trees, self.boosting):
            if part is not None:
                part.check(columns)

    def forward(self, x: Num[Tensor, "n ..."]) -> Float[Tensor, "n d"]:
        """Return the embeddings (n, d) of rows of a table (n, f), or of images (n, c, h, w)."""
        columns = x if self.images is None else self.images(x)
        return torch.cat([part(columns) for part in self.parts], dim=1)
