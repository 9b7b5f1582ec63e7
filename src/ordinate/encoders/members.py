"""Networks for tables that are trained as one: each layer holds the weights of all members."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Float, Num
from torch import Tensor, nn

from ordinate.checks import check_choice
from ordinate.encoders.fine_tuned import FineTunedNetworks
from ordinate.encoders.mlp import ACTIVATIONS
from ordinate.encoders.pixels import ImageComponents
from ordinate.encoders.trees import Trees
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
    """Numbers as waves of random frequencies, which all members share, and features of the waves, which each learns.

    The frequencies are not trained: no member learns through them from samples that it must not see, and the waves of
    a sample are computed once.

    Args:
        in_features: Columns of the input.
        numeric: Positions of the columns that are numbers.
        frequencies: Number of frequencies of each number.
        scale: Deviation of the frequencies, in cycles per standard deviation of the column.

    Example:
        >>> MemberPeriodic(3, numeric=[0, 2])(torch.zeros(5, 3)).shape
        torch.Size([5, 19])
    """

    numeric: Tensor
    frequencies: Tensor

    def __init__(self, in_features: int, numeric: Sequence[int], frequencies: int = 4, scale: float = 0.15) -> None:
        super().__init__()
        self.register_buffer("numeric", torch.tensor(list(numeric), dtype=torch.int64))
        self.register_buffer("frequencies", torch.randn(len(numeric), frequencies) * scale)
        self.out_features = in_features + 2 * len(numeric) * frequencies

    def forward(self, x: Float[Tensor, "... f"]) -> Float[Tensor, "... g"]:
        phase = (2 * math.pi * x[..., self.numeric, None] * self.frequencies).flatten(-2)
        return torch.cat([x, phase.sin(), phase.cos()], dim=-1)


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
        members: int = 8,
        widths: Sequence[int] = (64, 64),
        activation: Activation = "silu",
        numeric: Sequence[int] = (),
    ) -> None:
        super().__init__()
        check_choice(activation, [*ACTIVATIONS], "activation")
        self.members, self.member_dim = members, member_dim
        layers: list[nn.Module] = []
        self.periodic = None
        if numeric:
            periodic = MemberPeriodic(in_features, numeric)
            self.periodic, in_features = periodic, periodic.out_features
        for width, hidden in zip((in_features, *widths), widths, strict=False):
            layers += [MemberLinear(members, width, hidden), ACTIVATIONS[activation]()]
        self.layers = nn.Sequential(*layers, MemberLinear(members, widths[-1], member_dim))

    @property
    def out_features(self) -> int:
        """Columns of the embeddings."""
        return self.members * self.member_dim

    def forward(self, x: Float[Tensor, "n f"]) -> Float[Tensor, "n d"]:
        return self.by_member(x).transpose(0, 1).flatten(1)

    def by_member(self, x: Float[Tensor, "*m n f"]) -> Float[Tensor, "m n d"]:
        """Return the embedding of each member, for samples that all members or each of them have."""
        if self.periodic is not None:
            x = self.periodic(x)
        embeddings: Tensor = self.layers(x.expand(self.members, *x.shape[-2:]))
        return embeddings


class BlendEncoder(nn.Module):
    """The embeddings of members, and the predictions of simple models for the same samples.

    Of images they get the principal components of a network's features; networks that were fine-tuned get the images.
    The last column is then the distance of the features from those of training.

    Args:
        members: The networks, which training trains.
        linear: Linear model with one column, once it is fitted.
        trees: Forest with one column per rank, or with one target, once it is fitted.
        boosting: Boosted trees with one column, once they are fitted.

    Attributes:
        images: Components of images; None for tables.
        fine_tuned: Networks on the images themselves, once they are trained; None without any.
    """

    most_rows = 512  # Each row stands in all members, with dozens of waves per number.

    def __init__(
        self,
        members: MemberEncoder,
        linear: nn.Linear | None = None,
        trees: Trees | None = None,
        boosting: Trees | None = None,
    ) -> None:
        super().__init__()
        self.members = members
        self.linear = linear
        self.trees = trees
        self.boosting = boosting
        self.images: ImageComponents | None = None
        self.fine_tuned: FineTunedNetworks | None = None

    @property
    def parts(self) -> list[Any]:
        """What it has of those that read columns."""
        return [part for part in (self.members, self.linear, self.trees, self.boosting) if part is not None]

    @property
    def out_features(self) -> int:
        """Columns of the embeddings."""
        tuned = [] if self.fine_tuned is None else [self.fine_tuned]
        return sum(part.out_features for part in [*self.parts, *tuned]) + (self.images is not None)

    def config(self) -> dict[str, Any]:
        """Return what :meth:`add_parts` needs, ready for JSON."""
        found: dict[str, Any] = {"linear": None if self.linear is None else {"bias": self.linear.bias is not None}}
        if self.images is not None:
            found["components"] = self.images.axes.shape[1]
        if self.fine_tuned is not None:
            found["fine_tuned"] = {"count": len(self.fine_tuned.networks), "size": self.fine_tuned.size}
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
            self.boosting = Trees(**saved["boosting"])

    def check_restored(self, columns: int) -> None:
        """Raise ValueError if the trees of a saved encoder are not such that samples can pass them."""
        if self.images is not None:
            columns = self.images.axes.shape[1]
        for part in (self.trees, self.boosting):
            if part is not None:
                part.check(columns)

    def forward(self, x: Num[Tensor, "n ..."]) -> Float[Tensor, "n d"]:
        """Return the embeddings (n, d) of rows of a table (n, f), or of images (n, c, h, w)."""
        if self.images is None:
            return torch.cat([part(x) for part in self.parts], dim=1)
        features = self.images.network.features(x)
        columns = self.images.of_features(features)
        embeddings = [part(columns) for part in self.parts]
        if self.fine_tuned is not None:
            embeddings.append(self.fine_tuned(x))
        return torch.cat([*embeddings, self.images.distance(features)], dim=1)
