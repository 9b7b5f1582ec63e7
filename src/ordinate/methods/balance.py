"""A part of an extension that makes up for rare targets in the training of a regressor."""

from abc import ABC, abstractmethod

from jaxtyping import Float
from torch import Tensor, nn


class Balance(nn.Module):
    """What a regressor's training asks of the part in every batch and epoch; this one changes nothing.

    Example:
        >>> import torch
        >>> Balance().extra_loss(torch.randn(4, 2), torch.rand(4, 1))
        tensor(0.)
    """

    def weights(self, targets: Float[Tensor, "n *p"]) -> Float[Tensor, " n"] | None:
        """Return the weights of training samples, of mean 1 over all of them; None for equal ones."""
        return None

    def calibrated(self, embeddings: Float[Tensor, "n d"], targets: Float[Tensor, "n *p"]) -> Float[Tensor, "n d"]:
        """Return the embeddings of a training batch as the head is trained on them."""
        return embeddings

    def extra_loss(self, embeddings: Float[Tensor, "n d"], targets: Float[Tensor, "n *p"]) -> Float[Tensor, ""]:
        """Return what is added to the loss of a batch that trains the encoder."""
        return embeddings.new_zeros(())

    def end_epoch(self) -> None:
        """Take note that an epoch is over."""


class BalanceOptions(ABC):
    """Options of a :class:`Balance`: the value of a regressor's parameter ``imbalance``.

    Example:
        >>> import torch
        >>> class Nothing(BalanceOptions):
        ...     needs_trained_head = False
        ...
        ...     def build(self, targets, embedding_dim):
        ...         return Balance()
        >>> type(Nothing().build(torch.rand(4, 1), embedding_dim=8)).__name__
        'Balance'
    """

    @property
    @abstractmethod
    def needs_trained_head(self) -> bool:
        """Whether it acts on the head in training, so that a head in closed form would lose its effect."""

    @abstractmethod
    def build(self, targets: Float[Tensor, "n p"], embedding_dim: int) -> Balance:
        """Return the part for these training targets (n, p) and embeddings of d dimensions."""
