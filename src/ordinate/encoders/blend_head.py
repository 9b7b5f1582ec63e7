"""The weighted mean of what the parts of a blend predict, from their embeddings side by side."""

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from ordinate.encoders.members import MemberLinear
from ordinate.heads.cumulative_link import CumulativeLink

LINKED = ("linear", "boosting")  # Parts with one column for all ranks.


class BlendHead(nn.Module):
    """From the columns of :class:`~ordinate.encoders.members.BlendEncoder` to probabilities or targets.

    Args:
        members: Last layer of each network whose embeddings come first, with weights (members, d, C or 1), such as
            :class:`~ordinate.encoders.members.MemberLinear`.
        num_classes: C ranks; None for one target.
        shares: Shares of the predictions of ``"members"``, ``"linear"``, ``"trees"``, ``"boosting"`` and
            ``"fine_tuned"``, of sum 1; a part that it lacks has no columns, the members aside.
        fine_tuned: Last layer of each fine-tuned network, such as ``members``; None without any.
        has_distance: Whether the last column, of images, is the distance of their features from those of training.

    Example:
        >>> from ordinate.encoders.members import MemberLinear
        >>> BlendHead(MemberLinear(4, 8, 3), num_classes=3)(torch.zeros(2, 32)).shape
        torch.Size([2, 3])
    """

    target_mean: Tensor
    target_scale: Tensor

    def __init__(
        self,
        members: nn.Module,
        num_classes: int | None,
        shares: Mapping[str, float] | None = None,
        fine_tuned: nn.Module | None = None,
        *,
        has_distance: bool = False,
    ) -> None:
        super().__init__()
        self.num_classes = num_classes
        self.members = members
        self.fine_tuned = fine_tuned
        self.has_distance = has_distance
        self.shares = {"members": 1.0} if shares is None else dict(shares)
        self.links = nn.ModuleDict()  # From a column to probabilities.
        if num_classes is not None:
            self.links.update({name: CumulativeLink(num_classes) for name in LINKED if name in self.shares})
        self.register_buffer("target_mean", torch.zeros(1))
        self.register_buffer("target_scale", torch.ones(1))

    def standardise(self, targets: Shaped[Tensor, "n *p"]) -> None:
        """Take mean and deviation of the training targets as those to predict around."""
        self.target_mean.copy_(targets.double().mean())
        self.target_scale.copy_(targets.double().std(correction=0))

    def config(self) -> dict[str, Any]:
        """Return what :meth:`restore` needs in addition to the tensors."""
        return {"num_classes": self.num_classes, "shares": self.shares, "has_distance": self.has_distance}

    @classmethod
    def restore(cls, config: dict[str, Any], tensors: dict[str, Tensor]) -> "BlendHead":
        """Return the head of a saved model."""
        layers: dict[str, Any] = {
            name: MemberLinear(*tensors[f"{name}.weight"].shape)
            for name in ("members", "fine_tuned")
            if f"{name}.weight" in tensors
        }
        head = cls(**config, **layers).double()
        head.load_state_dict(tensors)
        return head

    def outputs(self, embeddings: Float[Tensor, "n d"]) -> Float[Tensor, "m n o"]:
        """Return the logits of each member, or its standardised targets."""
        return _last(self.members, embeddings[:, : _columns(self.members)])

    def by_member(self, embeddings: Float[Tensor, "n d"]) -> Float[Tensor, "m n o"]:
        """Return what each member predicts: probabilities, or standardised targets."""
        return self._predicted(self.outputs(embeddings))

    def standardised(self, embeddings: Float[Tensor, "n d"]) -> dict[str, Float[Tensor, "n o"]]:
        """Return what each part predicts: probabilities, or standardised targets."""
        found = {"members": self.by_member(embeddings).mean(0)}
        start = _columns(self.members)
        for name in ("linear", "trees", "boosting"):
            if name in self.shares:
                width = 1 if name in LINKED else self.num_classes or 1
                found[name] = embeddings[:, start : start + width]
                start += width
        for name, link in self.links.items():
            found[name] = link(found[name])
        if self.fine_tuned is not None:
            columns = embeddings[:, start : start + _columns(self.fine_tuned)]
            found["fine_tuned"] = self._predicted(_last(self.fine_tuned, columns)).mean(0)
        return found

    def _predicted(self, outputs: Float[Tensor, "m n o"]) -> Float[Tensor, "m n o"]:
        return outputs if self.num_classes is None else outputs.softmax(2)

    def forward(self, embeddings: Float[Tensor, "n d"]) -> Float[Tensor, "n o"]:
        """Return probabilities (n, C), or targets (n, 1) in their own units."""
        parts = self.standardised(embeddings)
        blended = torch.stack([share * parts[name] for name, share in self.shares.items()]).sum(0)
        if self.num_classes is None:
            return blended * self.target_scale + self.target_mean
        return blended / blended.sum(1, keepdim=True)  # Leaves of trees hold rounded probabilities.


def _columns(layer: nn.Module) -> int:
    """Return how many columns of the embedding the last layers of several networks read."""
    networks, dim, _ = layer.get_parameter("weight").shape
    return networks * dim


def _last(layer: nn.Module, embeddings: Float[Tensor, "n d"]) -> Float[Tensor, "m n o"]:
    """Return what the last layer of each network makes of its own columns."""
    networks, dim, _ = layer.get_parameter("weight").shape
    outputs: Tensor = layer(embeddings.unflatten(1, (networks, dim)).transpose(0, 1))
    return outputs
