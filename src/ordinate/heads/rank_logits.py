"""Probabilities of ranks from the logits of a trained head."""

from typing import Any

from jaxtyping import Float
from torch import Tensor, nn

from ordinate.checks import check_choice
from ordinate.heads.classifier import Classifier
from ordinate.heads.coral import CORALLayer
from ordinate.heads.corn import corn_above
from ordinate.heads.extended_binary import rank_probabilities
from ordinate.heads.temperature import Temperature
from ordinate.options import OrdinalLoss


class RankLogits(nn.Module):
    """A head and the probabilities that its loss gives to ranks.

    Args:
        head: Module that maps embeddings (n, d) to logits: (n, C) for ``"cross_entropy"``, (n, C-1) for the other
            losses.
        loss: Loss that trained the head: ``"cross_entropy"``, ``"or"``, ``"corn"`` or ``"coral"``.
        temperature: Temperature of the logits, for ``"cross_entropy"``; None for the probabilities of the loss itself.

    Example:
        >>> import torch
        >>> RankLogits(nn.Linear(4, 3), "cross_entropy")(torch.zeros(2, 4)).shape
        torch.Size([2, 3])
    """

    def __init__(self, head: nn.Module, loss: OrdinalLoss, temperature: Temperature | None = None) -> None:
        super().__init__()
        self.head = head
        self.loss = loss
        self.temperature = temperature

    def forward(self, embeddings: Float[Tensor, "n d"]) -> Float[Tensor, "n c"]:
        """Return the probability of every rank; rows sum to 1."""
        logits = self.head(embeddings)
        if self.temperature is None:
            return probabilities_of(logits, self.loss)
        probabilities: Tensor = self.temperature(logits)
        return probabilities

    def config(self) -> dict[str, Any]:
        """Return what :meth:`restore` needs in addition to the weights."""
        return {"head": type(self.head).__name__, "loss": self.loss}

    @classmethod
    def restore(cls, config: dict[str, Any], tensors: dict[str, Tensor]) -> "RankLogits":
        """Return the predictor of a saved model."""
        kind = check_choice(config["head"], ("Classifier", "CORALLayer", "Linear"), "head")
        weights = [value for name, value in sorted(tensors.items()) if name.endswith("weight")]
        embedding_dim = weights[0].shape[1]
        if kind == "Classifier":
            head: nn.Module = Classifier(embedding_dim, len(weights[-1]))
        elif kind == "CORALLayer":
            head = CORALLayer(embedding_dim, len(tensors["head.biases"]) + 1)
        else:
            head = nn.Linear(embedding_dim, len(weights[0]))
        temperature = Temperature() if "temperature.scale" in tensors else None
        predictor = cls(head, config["loss"], temperature).double()
        predictor.load_state_dict(tensors)
        return predictor


def probabilities_of(logits: Float[Tensor, "n k"], loss: OrdinalLoss) -> Float[Tensor, "n c"]:
    """Return the probability of every rank from the logits of a head that a loss has trained; rows sum to 1."""
    if loss == "cross_entropy":
        return logits.softmax(1)
    above = corn_above(logits) if loss == "corn" else logits.sigmoid()
    return rank_probabilities(above)
