"""SupReMix's loss as a module."""

from collections.abc import Sequence
from typing import Any

from jaxtyping import Float, Int, Shaped
from torch import Generator, Tensor

from ordinate.functional.supremix import supremix
from ordinate.losses.formula_loss import FormulaLoss
from ordinate.options import Reduction, SupReMixOptions


class SupReMixLoss(FormulaLoss):
    r"""Contrastive regression with mixtures, :func:`ordinate.functional.supremix`.

    Args:
        window: Largest difference gamma > 0, inclusive, between an anchor's label and the labels that its Mix-pos are
            made of; differences that pass it by rounding, 1e-6 of it, lie inside.
        temperature: Temperature tau of the softmax, > 0; 0.3 to 1.0 in the paper (Table 13).
        beta: Parameters (alpha, beta) of the Beta distribution of :math:`\lambda_1`; (2, 8) is the paper's best
            (Table 11).
        mix_negatives: Whether anchors are contrasted with Mix-neg; with the next two, the paper's three parts
            (Tables 9, 10).
        mix_positives: Whether anchors have Mix-pos as positives.
        distance_magnifying: Whether eq. 5 weighs the contrasts.
        label_range: Range y_max - y_min of eq. 5; None takes the range of the batch and its references (1 where all
            labels are equal). A constant factor of all weights: it moves the value, not the gradient.
        renormalize: Whether mixtures get unit norm, as in the paper's text but not in its later code.
        detach_mixtures: Whether no gradient passes into mixtures, as in the paper's later code.
        reduction: ``"sum"`` is eq. 6; ``"mean"`` averages over an anchor's positives, then over the anchors that have
            one, so that its size does not depend on the batch; ``"none"`` is that average for each anchor, 0 for one
            that has no positive.
        block_size: Number of anchors per block, which bounds the memory; None chooses it.
        gather_distributed: Whether, in several processes, it is the loss of their joined batches.

    Example:
        >>> import torch
        >>> loss = SupReMixLoss(temperature=0.5, window=3.0)
        >>> loss(torch.randn(8, 4), torch.arange(8.0)).shape
        torch.Size([])
    """

    options: SupReMixOptions

    def __init__(
        self,
        *,
        window: float,
        temperature: float = SupReMixOptions.temperature,
        beta: Sequence[float] = SupReMixOptions.beta,
        mix_negatives: bool = SupReMixOptions.mix_negatives,
        mix_positives: bool = SupReMixOptions.mix_positives,
        distance_magnifying: bool = SupReMixOptions.distance_magnifying,
        label_range: float | None = SupReMixOptions.label_range,
        renormalize: bool = SupReMixOptions.renormalize,
        detach_mixtures: bool = SupReMixOptions.detach_mixtures,
        reduction: Reduction = SupReMixOptions.reduction,
        block_size: int | None = SupReMixOptions.block_size,
        gather_distributed: bool = True,
    ) -> None:
        options = SupReMixOptions(
            window=window, temperature=temperature, beta=beta, mix_negatives=mix_negatives,
            mix_positives=mix_positives, distance_magnifying=distance_magnifying, label_range=label_range,
            renormalize=renormalize, detach_mixtures=detach_mixtures, reduction=reduction, block_size=block_size,
        )  # fmt: skip
        super().__init__(options, gather_distributed=gather_distributed)

    def forward(
        self,
        embeddings: Float[Tensor, "n d"],
        labels: Shaped[Tensor, "n *p"],
        ref_emb: Float[Tensor, "m d"] | None = None,
        ref_labels: Shaped[Tensor, "m *q"] | None = None,
        weights: Shaped[Tensor, " n"] | None = None,
        self_index: Int[Tensor, " n"] | None = None,
        generator: Generator | None = None,
    ) -> Float[Tensor, "*n"]:
        """Return the loss, a scalar, or (n,) with ``reduction="none"``.

        Args:
            embeddings: Embeddings (n, d) of the anchors.
            labels: Targets (n,).
            ref_emb: Embeddings (m, d) that anchors are contrasted with; None for each other.
            ref_labels: Labels of ``ref_emb``.
            weights: Weights (n,) of the anchors.
            self_index: Place (n,) of each anchor in ``ref_emb``, so that it is not contrasted with itself.
            generator: Source of the mixtures; None for torch's own.
        """
        given = {"ref_labels": ref_labels, "weights": weights, "generator": generator}
        return self._joined(embeddings, labels, ref_emb, self_index, **given)

    def formula(self, embeddings: Tensor, labels: Tensor, **inputs: Any) -> Tensor:
        return supremix(embeddings, labels, **vars(self.options), **inputs)
