"""What the loss modules share."""

from collections.abc import Callable
from typing import Any

from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from ordinate.functional.global_batch import joined_processes


def shown(module: nn.Module, *names: str) -> str:
    """Return ``name=value`` of these attributes, for ``extra_repr``.

    Example:
        >>> shown(nn.Linear(3, 2), "in_features", "out_features")
        'in_features=3, out_features=2'
    """
    return ", ".join(f"{name}={getattr(module, name)!r}" for name in names)


class FormulaLoss(nn.Module):
    """A formula of :mod:`ordinate.functional` and its options, which are attributes of the same names.

    In several processes it is the loss of their joined batches, unless ``gather_distributed`` is False.
    """

    def __init__(self, formula: Callable[..., Tensor], *, gather_distributed: bool, **options: Any) -> None:
        super().__init__()
        self.formula = formula
        self.option_names = tuple(options)
        for name, value in options.items():
            setattr(self, name, value)
        self.gather_distributed = gather_distributed

    def options(self) -> dict[str, Any]:
        """Return the arguments of the formula that this module holds."""
        return {name: getattr(self, name) for name in self.option_names}

    def extra_repr(self) -> str:
        return shown(self, *self.option_names, "gather_distributed")

    def forward(
        self,
        embeddings: Float[Tensor, "n d"],
        labels: Shaped[Tensor, "n *p"],
        ref_emb: Float[Tensor, "m d"] | None = None,
        ref_labels: Shaped[Tensor, "m *q"] | None = None,
        weights: Shaped[Tensor, " n"] | None = None,
        own: Int[Tensor, " n"] | None = None,
    ) -> Float[Tensor, "*n"]:
        return self.loss(embeddings, labels, ref_emb=ref_emb, ref_labels=ref_labels, weights=weights, own=own)

    def loss(
        self, embeddings: Tensor, labels: Tensor, ref_emb: Tensor | None, own: Tensor | None, **inputs: Any
    ) -> Tensor:
        """Return the formula's value, of the joined batches where the references are not the caller's own."""
        group = joined_processes(self.gather_distributed, ref_emb, own)
        return self.formula(embeddings, labels, ref_emb=ref_emb, own=own, group=group, **inputs, **self.options())


class TripletFormulaLoss(FormulaLoss):
    """A formula of triplets, which may be those that the caller chose."""

    def forward(
        self,
        embeddings: Float[Tensor, "n d"],
        labels: Shaped[Tensor, "n *p"],
        ref_emb: Float[Tensor, "m d"] | None = None,
        ref_labels: Shaped[Tensor, "m *q"] | None = None,
        weights: Shaped[Tensor, " n"] | None = None,
        own: Int[Tensor, " n"] | None = None,
        triplets: Int[Tensor, "t 3"] | None = None,
    ) -> Float[Tensor, "*n"]:
        return self.loss(embeddings, labels, ref_emb, own, ref_labels=ref_labels, weights=weights, triplets=triplets)
