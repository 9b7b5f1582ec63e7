"""CLOC's loss as a module that holds the margins."""

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import softplus

from ordinate.checks import check_num_classes, check_positive
from ordinate.errors import OrdinateError
from ordinate.functional.mmnp import mmnp
from ordinate.losses.formula_loss import TripletFormulaLoss
from ordinate.options import MMNPOptions, PairReduction

Boundaries = Mapping[tuple[int, int], float]


class MMNPLoss(TripletFormulaLoss):
    """Multi-margin n-pair loss with one margin per boundary, learned, fixed or both (CLOC, Sections 3.2 and 3.3).

    A learned margin is ``floor + softplus(raw)``, drawn so that the softplus is uniform from 0.5 to 1.0 at the
    start. A hinge can only shrink its margin; :meth:`freeze` ends the learning, as the second phase does.

    Args:
        num_classes: Number C of ranks, at least 2.
        margins: Margins that are fixed, such as ``{(1, 2): 0.8}`` for the boundary between the ranks 1 and 2, while the
            others are learned; None learns all.
        floor: Value rho of eq. 1 that learned margins stay above; fixed margins must not lie below it.
        shared: Whether all boundaries learn a single margin (Table 4, ablation 2).
        reduction: ``"pair_mean"`` averages over an anchor's (positive, negative) pairs, then over the anchors
            that have one, weighted; ``"published"``, the reduction of the authors' code, divides an anchor's pair mean
            by its number of negatives as well; ``"sum"`` is eq. 2, summed over pairs, times the weight, averaged over
            all n anchors; ``"none"`` is eq. 2 times the weight for each anchor, 0 for one that has no pair.
        block_size: Number of anchors per block, which bounds the memory; None chooses it.
        gather_distributed: Whether, in several processes, it is the loss of their joined batches.

    Example:
        >>> import torch
        >>> loss = MMNPLoss(num_classes=4, margins={(1, 2): 0.8})
        >>> loss(torch.randn(8, 4), torch.arange(8) % 4).shape
        torch.Size([])
        >>> round(loss.margins[1].item(), 3)
        0.8
    """

    options: MMNPOptions
    fixed: Tensor
    fixed_margins: Tensor

    def __init__(
        self,
        num_classes: int,
        margins: Boundaries | None = None,
        *,
        floor: float = MMNPOptions.floor,
        shared: bool = MMNPOptions.shared,
        reduction: PairReduction = MMNPOptions.reduction,
        block_size: int | None = MMNPOptions.block_size,
        gather_distributed: bool = True,
    ) -> None:
        options = MMNPOptions(floor=floor, shared=shared, reduction=reduction, block_size=block_size)
        super().__init__(options, gather_distributed=gather_distributed)
        self.num_classes = check_num_classes(num_classes)
        fixed_margins = torch.full((num_classes - 1,), torch.nan)
        for boundary, margin in _boundaries(margins):
            fixed_margins[_boundary_index(boundary, num_classes)] = check_positive(margin, f"margins[{boundary}]")
            if not floor <= margin <= 2:
                expected = f"from {float(floor)}, the floor, to 2, the largest difference of two cosines"
                raise OrdinateError(f"margins[{boundary}]", margin, expected)
        fixed = ~fixed_margins.isnan()
        self.register_buffer("fixed", fixed)
        self.register_buffer("fixed_margins", torch.where(fixed, fixed_margins, 0))
        start = torch.empty(1 if shared else num_classes - 1).uniform_(0.5, 1.0)
        self.raw = nn.Parameter(start.expm1().log(), requires_grad=not bool(fixed.all()))

    def extra_repr(self) -> str:
        fixed = {(h, h + 1): round(float(self.fixed_margins[h]), 6) for h in self.fixed.nonzero()[:, 0].tolist()}
        return f"num_classes={self.num_classes}, margins={fixed or None}, {super().extra_repr()}"

    def formula(self, embeddings: Tensor, labels: Tensor, **inputs: Any) -> Tensor:
        reduction, block_size = self.options.reduction, self.options.block_size
        return mmnp(embeddings, labels, self.margins, reduction=reduction, block_size=block_size, **inputs)

    @property
    def floor(self) -> float:
        """The value that learned margins stay above."""
        return float(self.options.floor)

    @property
    def margins(self) -> Float[Tensor, " boundaries"]:
        """(C-1,), the margins now, learned and fixed; those learned carry a gradient."""
        return torch.where(self.fixed, self.fixed_margins, self.floor + softplus(self.raw))

    def freeze(self) -> None:
        """Hold all margins where they are (phase two).

        As of any parameter, ``state_dict`` does not hold that it is frozen: call this again after loading one.
        """
        self.raw.requires_grad_(False)
        self.raw.grad = None  # An optimizer would go on with it.

    def unfreeze(self) -> None:
        """Learn the margins that are not fixed (phase one)."""
        self.raw.requires_grad_(not bool(self.fixed.all()))


def _boundaries(margins: Boundaries | None) -> list[tuple[tuple[int, int], float]]:
    """Return each boundary and its margin."""
    if margins is None:
        return []
    if not isinstance(margins, Mapping):
        raise OrdinateError("margins", repr(margins), "boundaries and their margins, such as {(1, 2): 0.8}")
    return list(margins.items())


def _boundary_index(boundary: Any, num_classes: int) -> int:
    """Return h for the boundary (h, h + 1)."""
    ranks = boundary if isinstance(boundary, tuple) and len(boundary) == 2 else ()
    whole = all(isinstance(rank, Integral) and not isinstance(rank, bool) for rank in ranks)
    if not ranks or not whole or ranks[1] - ranks[0] != 1 or not 0 <= ranks[0] < num_classes - 1:
        raise OrdinateError(
            "margins", f"boundary {boundary!r}", f"two adjacent ranks (h, h + 1) from 0 to {num_classes - 1}"
        )
    return int(ranks[0])
