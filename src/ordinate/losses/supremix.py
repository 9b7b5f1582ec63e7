"""SupReMix's loss as a module."""

from collections.abc import Sequence
from typing import Any

from jaxtyping import Float, Int, Shaped
from torch import Generator, Tensor

from ordinate.functional.supremix import supremix
from ordinate.losses.formula_loss import FormulaLoss
from ordinate.options import Reduction, SupReMixOptions


class SupReMixLoss(FormulaLoss):
    """Contrastive regression with mixtures, :func:`ordinate.functional.supremix`.

    Args:
        window, temperature, beta, mix_negatives: Options, see :class:`~ordinate.options.SupReMixOptions`.
        mix_positives, distance_magnifying, label_range: Options, see there.
        renormalize, detach_mixtures, reduction, block_size: Options, see there.
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
        """Return the loss, see :meth:`FormulaLoss.forward`; ``generator`` draws the mixtures."""
        given = {"ref_labels": ref_labels, "weights": weights, "generator": generator}
        return self.joined(embeddings, labels, ref_emb, self_index, **given)

    def formula(self, embeddings: Tensor, labels: Tensor, **inputs: Any) -> Tensor:
        return supremix(embeddings, labels, **vars(self.options), **inputs)
