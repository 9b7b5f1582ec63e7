"""The bases of the loss modules."""

from abc import abstractmethod
from dataclasses import fields
from typing import Any

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from ordinate.checks import check_flag
from ordinate.functional.global_batch import all_processes
from ordinate.options import AngularTriangleOptions, MMNPOptions, SupCROptions, SupReMixOptions

LossOptions = SupCROptions | MMNPOptions | SupReMixOptions | AngularTriangleOptions


class FormulaLoss(nn.Module):
    """A formula of :mod:`ordinate.functional` with options that were checked on construction.

    Args:
        options: Options of the formula.
        gather_distributed: Whether, in several processes, it is the loss of their joined batches.
    """

    def __init__(self, options: LossOptions, *, gather_distributed: bool) -> None:
        super().__init__()
        self.options = options
        self.gather_distributed = check_flag(gather_distributed, "gather_distributed")

    @property
    def reduction(self) -> str:
        """The reduction of the options."""
        return self.options.reduction

    def extra_repr(self) -> str:
        shown = [f"{option.name}={getattr(self.options, option.name)!r}" for option in fields(self.options)]
        return ", ".join([*shown, f"gather_distributed={self.gather_distributed}"])

    def forward(
        self,
        embeddings: Float[Tensor, "n d"],
        labels: Shaped[Tensor, "n *p"],
        ref_emb: Float[Tensor, "m d"] | None = None,
        ref_labels: Shaped[Tensor, "m *q"] | None = None,
        weights: Shaped[Tensor, " n"] | None = None,
        self_index: Int[Tensor, " n"] | None = None,
    ) -> Float[Tensor, "*n"]:
        """Return the loss, a scalar, or (n,) with ``reduction="none"``.

        Args:
            embeddings: Embeddings (n, d) of the anchors.
            labels: Ranks (n,) or targets (n,) or (n, p).
            ref_emb: Embeddings (m, d) that anchors are contrasted with; None for each other.
            ref_labels: Labels of ``ref_emb``.
            weights: Weights (n,) of the anchors.
            self_index: Place (n,) of each anchor in ``ref_emb``, so that it is not contrasted with itself.
        """
        return self._joined(embeddings, labels, ref_emb, self_index, ref_labels=ref_labels, weights=weights)

    def _joined(
        self, embeddings: Tensor, labels: Tensor, ref_emb: Tensor | None, self_index: Tensor | None, **inputs: Any
    ) -> Tensor:
        """Return the loss, of the joined batches of all processes unless the references are those of the caller."""
        group = None
        if self.gather_distributed and (ref_emb is None or self_index is not None):
            group = all_processes()
        formula = self.formula
        if torch.compiler.is_compiling():
            formula = torch.compiler.disable(formula)  # Graphs would break at each check of the labels.
        return formula(embeddings, labels, ref_emb=ref_emb, self_index=self_index, group=group, **inputs)

    @abstractmethod
    def formula(self, embeddings: Tensor, labels: Tensor, **inputs: Any) -> Tensor:
        """Return the value of the formula with the options."""


class TripletFormulaLoss(FormulaLoss):
    """A formula of triplets, which may be those that the caller chose."""

    def forward(
        self,
        embeddings: Float[Tensor, "n d"],
        labels: Shaped[Tensor, "n *p"],
        ref_emb: Float[Tensor, "m d"] | None = None,
        ref_labels: Shaped[Tensor, "m *q"] | None = None,
        weights: Shaped[Tensor, " n"] | None = None,
        self_index: Int[Tensor, " n"] | None = None,
        triplets: Int[Tensor, "t 3"] | None = None,
    ) -> Float[Tensor, "*n"]:
        """Return the loss, a scalar, or (n,) with ``reduction="none"``.

        Args:
            embeddings: Embeddings (n, d) of the anchors.
            labels: Ranks (n,) from 0.
            ref_emb: Embeddings (m, d) that anchors are contrasted with; None for each other.
            ref_labels: Labels of ``ref_emb``.
            weights: Weights (n,) of the anchors.
            self_index: Place (n,) of each anchor in ``ref_emb``, so that it is not contrasted with itself.
            triplets: Places (t, 3) of positive, anchor and negative that count; None for all.
        """
        chosen = {"ref_labels": ref_labels, "weights": weights, "triplets": triplets}
        return self._joined(embeddings, labels, ref_emb, self_index, **chosen)
