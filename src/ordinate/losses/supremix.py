"""SupReMix's loss as a module."""

from collections.abc import Sequence
from typing import Any

from jaxtyping import Float, Int, Shaped
from torch import Generator, Tensor

from ordinate.functional import supremix
from ordinate.functional.supremix import check_supremix_options
from ordinate.losses.formula_loss import FormulaLoss
from ordinate.options import Reduction


class SupReMixLoss(FormulaLoss):
    """Contrastive regression with mixtures; options as in :func:`ordinate.functional.supremix`.

    In several processes it is the loss of their joined batches, unless ``gather_distributed`` is False.

    Example:
        >>> import torch
        >>> loss = SupReMixLoss(temperature=0.5, window=3.0)
        >>> loss(torch.randn(8, 4), torch.arange(8.0)).shape
        torch.Size([])
    """

    def __init__(
        self,
        *,
        temperature: float,
        window: float,
        beta: Sequence[float] = (2.0, 8.0),
        mix_negatives: bool = True,
        mix_positives: bool = True,
        distance_magnifying: bool = True,
        label_range: float | None = None,
        renormalize: bool = True,
        detach_mixtures: bool = False,
        reduction: Reduction = "sum",
        block_size: int | None = None,
        gather_distributed: bool = True,
    ) -> None:
        options: dict[str, Any] = {
            "temperature": temperature, "window": window, "beta": beta, "mix_negatives": mix_negatives,
            "mix_positives": mix_positives, "distance_magnifying": distance_magnifying, "label_range": label_range,
            "renormalize": renormalize, "detach_mixtures": detach_mixtures, "reduction": reduction,
            "block_size": block_size,
        }  # fmt: skip
        check_supremix_options(**options)
        super().__init__(supremix, gather_distributed=gather_distributed, **options)

    def forward(
        self,
        embeddings: Float[Tensor, "n d"],
        labels: Shaped[Tensor, "n *p"],
        ref_emb: Float[Tensor, "m d"] | None = None,
        ref_labels: Shaped[Tensor, "m *q"] | None = None,
        weights: Shaped[Tensor, " n"] | None = None,
        own: Int[Tensor, " n"] | None = None,
        generator: Generator | None = None,
    ) -> Float[Tensor, "*n"]:
        return self.loss(embeddings, labels, ref_emb, own, ref_labels=ref_labels, weights=weights, generator=generator)
