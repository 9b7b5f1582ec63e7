"""Steps shared by the four losses: checks of the arguments, and the reduction of the anchors' values to a loss."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypedDict

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from ordinate.counts import counted
from ordinate.errors import OrdinateError, warn
from ordinate.functional.anchor_blocks import RowSums, SampleOrder, in_order, reduced, rows_of
from ordinate.functional.global_batch import Group, gathered, joined_value, processes
from ordinate.functional.inputs import (
    check_devices,
    check_embeddings,
    check_self_index,
    check_weights,
    shape_or_type,
)
from ordinate.functional.numerics import to_accumulation_dtype
from ordinate.functional.similarity import units
from ordinate.options import Similarity

CheckLabels = Callable[..., Tensor]


class Inputs(TypedDict):
    """Arguments of every loss in addition to embeddings, labels and options."""

    ref_emb: Float[Tensor, "m d"] | None
    ref_labels: Shaped[Tensor, "m *q"] | None
    weights: Shaped[Tensor, " n"] | None
    self_index: Int[Tensor, " n"] | None
    group: Group


@dataclass(frozen=True)
class Contrast:
    """Checked anchors, and the references that they are contrasted with: those given, or the batches of the group."""

    anchors: Float[Tensor, "n d"]
    references: Float[Tensor, "m d"]
    labels: Shaped[Tensor, "n *p"]
    ref_labels: Shaped[Tensor, "m *p"]
    self_index: Int[Tensor, " n"] | None  # The position of each anchor among the references, if it is one of them.
    weights: Shaped[Tensor, " n"] | None
    group: Group
    given: bool  # Whether the references are given, instead of the batch.

    def ascending(
        self, labels: Shaped[Tensor, " n"], ref_labels: Shaped[Tensor, " m"], *, stable: bool = False
    ) -> SampleOrder:
        """Return the order of anchors and of references by these labels, and where anchors stand in it."""
        order = ref_order = labels.argsort(stable=stable)
        if ref_labels is not labels:
            ref_order = ref_labels.argsort(stable=stable)
        place = self.self_index
        if place is not None:
            place = ref_order.argsort()[place[order]]
        return SampleOrder(order, ref_order, place)

    def units(self, steepest: float = 1.0) -> tuple[Float[Tensor, "n d"], Float[Tensor, "m d"]]:
        """Return anchors and references scaled to norm 1; an anchor's value rises with a cosine by ``steepest``."""
        largest = 1.0
        if self.weights is not None:
            largest = max(1.0, float(self.weights.detach().max()))
        return units(self.anchors, self.references, max(1.0, largest * steepest))

    def coefficients(self, reduction: str, counted: Bool[Tensor, " n"]) -> Float[Tensor, " n"]:
        """Return the factor of each anchor's value: its weight, over their sum except for ``"sum"`` and ``"none"``.

        Raises:
            OrdinateError: All ``counted`` anchors have weight 0: no mean exists, and a sum is always 0.
        """
        share = to_accumulation_dtype(counted)
        if self.weights is not None:
            share = counted * to_accumulation_dtype(self.weights)
        total = gathered(share.sum()[None], self.group)[0].sum()  # It carries the gradient of the weights.
        if not bool(total > 0):
            raise OrdinateError("weights", "zero for every anchor that has a loss", "some above 0")
        if reduction == "none":
            return share
        share = share * processes(self.group)
        if reduction == "sum":
            return share
        return share / total

    def loss(
        self,
        row_sums: RowSums,
        coefficients: Float[Tensor, " n"],
        *tensors: Tensor,
        reduction: str,
        order: SampleOrder | None = None,
        offset: float = 0.0,
    ) -> Float[Tensor, "*n"]:
        """Return the sum over anchors of ``coefficients * (value - offset)``, or each summand for ``"none"``.

        Args:
            row_sums: Function of values and gradients, see :func:`~ordinate.functional.anchor_blocks.reduced`.
            coefficients: Coefficients (n,) of :meth:`coefficients`.
            tensors: Arguments of ``row_sums``: anchors, references, and all else that takes a gradient.
            reduction: ``"none"``, or one of those that give a scalar.
            order: Order in which ``row_sums`` wants anchors and references; None for the one they came in.
            offset: Number to subtract from every value.
        """
        if order is not None:
            row_sums = in_order(row_sums, order)
        if reduction == "none":
            values = reduced(row_sums, None, *tensors) - offset
            if order is not None:
                values = values[order.anchors.argsort()]
            return (values * coefficients).to(self.anchors.dtype)
        ordered = coefficients
        if order is not None:
            ordered = coefficients[order.anchors]
        loss = reduced(row_sums, ordered, *tensors)
        if offset:
            loss = loss - offset * coefficients.sum()
        return joined_value(loss, self.group).to(self.anchors.dtype)


def prepare(
    embeddings: Float[Tensor, "n d"],
    labels: Shaped[Tensor, "n *p"],
    check_labels: CheckLabels,
    inputs: Inputs,
    *,
    are_chosen: bool = False,
) -> Contrast:
    """Check the arguments that every loss has, and gather the batches of the group.

    ``check_labels``, called with labels, their number and the ``name`` of the argument, returns the formula's labels.
    The caller may have chosen which references an anchor is contrasted with, and so left out itself.

    Raises:
        OrdinateError: Values, shapes or dtypes that no loss can use.
    """
    ref_emb, ref_labels, group = inputs["ref_emb"], inputs["ref_labels"], inputs["group"]
    self_index = inputs["self_index"]
    if self_index is None and ref_emb is embeddings and ref_labels is labels:
        self_index = torch.arange(len(embeddings), device=embeddings.device)  # The batch itself.
    check_devices(
        embeddings, labels=labels, ref_emb=ref_emb, ref_labels=ref_labels, weights=inputs["weights"],
        self_index=self_index,
    )  # fmt: skip
    anchors = check_embeddings(embeddings)
    weights = check_weights(inputs["weights"], len(anchors))
    checked = check_labels(labels, len(anchors), name="labels")
    if isinstance(ref_emb, tuple):  # As the losses of pytorch-metric-learning take indices of pairs or triplets.
        hint = "MetricLearningLoss of ordinate.adapters takes indices of pairs and triplets"
        raise OrdinateError("ref_emb", "a tuple", "a tensor (m, d)", hint)
    pairs = (("ref_emb", ref_emb, "ref_labels", ref_labels), ("ref_labels", ref_labels, "ref_emb", ref_emb))
    for name, given, counterpart, other in pairs:
        if given is None and other is not None:
            raise OrdinateError(name, "None", f"a tensor, because there is {counterpart}, the third or fourth argument")
    if ref_emb is None or ref_labels is None:
        if self_index is not None:
            raise OrdinateError("self_index", "positions without ref_emb", "None: every anchor is left out already")
        references, start = gathered(anchors, group)
        ref_labels = gathered(labels, group)[0]
        self_index = torch.arange(start, start + len(anchors), device=anchors.device)
    else:
        references = check_embeddings(ref_emb, "ref_emb")
        if references.shape[1] != anchors.shape[1]:
            expected = f"{anchors.shape[1]}, those of embeddings"
            raise OrdinateError("ref_emb", counted(references.shape[1], "dimension"), expected)
        if self_index is not None:
            self_index = check_self_index(self_index, labels, ref_labels)
        elif not are_chosen:
            _warn_of_own(anchors, references)
    ref_checked = checked
    if ref_labels is not labels:
        ref_checked = check_labels(ref_labels, len(references), name="ref_labels")
    if ref_checked.shape[1:] != checked.shape[1:]:
        raise OrdinateError("ref_labels", f"{counted(ref_checked.shape[1], 'dimension')} per label", checked.shape[1])
    return Contrast(anchors, references, checked, ref_checked, self_index, weights, group, given=ref_emb is not None)


def _warn_of_own(anchors: Float[Tensor, "n d"], references: Float[Tensor, "m d"]) -> None:
    """Warn where the first or the last references are the anchors, which are then contrasted with themselves."""
    count = len(anchors)
    if len(references) <= count:
        return
    for part, places in ((references[:count], f"arange({count})"), (references[-count:], f"arange(m - {count}, m)")):
        if torch.equal(part, anchors):
            warn(
                f"ref_emb holds embeddings themselves, and each is contrasted with itself: self_index=torch.{places} "
                "leaves it out"
            )


def check_exponents(contrast: Contrast, similarity: Similarity, temperature: float) -> None:
    """Raise where similarities over the temperature are so large that rounding alone decides the gradient."""
    if similarity == "cosine":
        largest = 1.0
    else:
        points = [to_accumulation_dtype(x.detach()) for x in {contrast.anchors, contrast.references}]
        highest, lowest = (torch.stack([end(x, 0) for x in points]) for end in (torch.amax, torch.amin))
        extent = highest.amax(0) - lowest.amin(0)
        largest = float(torch.linalg.vector_norm(extent, ord={"neg_l1": 1, "neg_l2": 2}[similarity]))
    # The exponential of 1e10 keeps six digits in float64. Any weight over 1e-18 still fits in float32.
    least = max(1e-18, largest / 1e10)
    if temperature < least:
        got = f"{temperature:g} for similarities as large as {largest:.2g}"
        hint = (
            "larger exponents leave no digit of the gradient; after some training the encoder has diverged: lower the "
            "learning rate or clip gradients"
        )
        raise OrdinateError("temperature", got, f"at least {least:.2g}", hint)


def check_contrasted(contrast: Contrast) -> None:
    """Raise where an anchor has a single sample to be contrasted with, whose share of the contrasts is always 1."""
    left_out = contrast.self_index is not None
    if len(contrast.references) - left_out > 1:
        return
    name, least = "embeddings", 3
    if contrast.given:
        name, least = "ref_emb", 2 + left_out
    reason = "the loss is constant if an anchor is contrasted with fewer than two others"
    hint = "use larger batches (drop_last=True of a DataLoader where only the last one is so small) or more references"
    raise OrdinateError(name, len(contrast.references), f"at least {counted(least, 'sample')}, because {reason}", hint)


def check_labels_differ(contrast: Contrast) -> None:
    """Raise where all labels are the same: no sample is then nearer to an anchor than another."""
    first = contrast.labels[:1]
    if bool((contrast.labels != first).any()) or bool((contrast.ref_labels != first).any()):
        return
    reason = "an order of equal labels teaches nothing"
    raise OrdinateError(
        "labels", f"the same one for all {len(contrast.labels)}", f"labels that differ, because {reason}"
    )


def check_triplets(triplets: Int[Tensor, "t 3"], contrast: Contrast) -> tuple[Int[Tensor, " t"], ...]:
    """Return i, j and k of triplets: different samples, the middle one an anchor, the outer two references."""
    if not isinstance(triplets, Tensor) or triplets.dim() != 2 or triplets.shape[1] != 3 or len(triplets) == 0:
        raise OrdinateError("triplets", shape_or_type(triplets), "indices (t, 3) with at least one triplet")
    if triplets.is_floating_point() or triplets.dtype == torch.bool:
        raise OrdinateError("triplets", f"dtype {triplets.dtype}", "integer indices")
    check_devices(contrast.anchors, triplets=triplets)
    i, j, k = triplets.long().unbind(1)
    for index, size in ((i, len(contrast.references)), (j, len(contrast.anchors)), (k, len(contrast.references))):
        if int(index.min()) < 0 or int(index.max()) >= size:
            raise OrdinateError("triplets", f"indices {int(index.min())} to {int(index.max())}", f"0 to {size - 1}")
    itself = rows_of(contrast.self_index, j)
    if bool((i == k).any()) or (itself is not None and bool(((i == itself) | (itself == k)).any())):
        raise OrdinateError("triplets", "one sample twice in a triplet", "three different samples")
    return i, j, k
