"""SupCR, the supervised contrastive regression loss (Rank-N-Contrast)."""

from typing import Any

import torch
from jaxtyping import Float, Shaped
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import pad

from ordinate.errors import OrdinateError
from ordinate.functional.inputs import (
    check_choice,
    check_embeddings,
    check_positive,
    check_references,
    check_targets,
    check_weights,
)
from ordinate.functional.label_distance import LABEL_DISTANCES, LabelDistance, pairwise_label_distance
from ordinate.functional.reduction import mean_over_anchors, weigh
from ordinate.functional.similarity import SIMILARITIES, pairwise_similarity

EXP_RANGE = 600.0  # how far below a row's peak exp() in float64 keeps every digit


def supcr(
    embeddings: Float[Tensor, "n d"],
    labels: Shaped[Tensor, "n *p"],
    *,
    temperature: float = 2.0,
    similarity: str = "neg_l2",
    label_distance: LabelDistance = "l1",
    num_positives: int | None = None,
    tie_tolerance: float = 0.0,
    ref_emb: Float[Tensor, "m d"] | None = None,
    ref_labels: Shaped[Tensor, "m *p"] | None = None,
    weights: Float[Tensor, " n"] | None = None,
    reduction: str = "mean",
) -> Float[Tensor, "*n"]:
    r"""Supervised contrastive regression loss (SupCR, eq. 1).

    .. math::
        L = \frac1n \sum_i \frac{1}{n-1} \sum_{j \ne i} -\log
            \frac{\exp(s_{ij}/\tau)}{\sum_{k \ne i,\; d_{ik} \ge d_{ij}} \exp(s_{ik}/\tau)}

    with similarities s of embeddings and distances d of labels. Every sample is a positive once, contrasted
    with all that lie at least as far from the anchor in label space, itself and its ties included.

    Exact in O(n^2 log n) time and O(n^2) memory: each anchor's row is ordered by label distance once, all its
    denominators are one running sum from the far end, and the gradient is a second one from the near end.

    Args:
        embeddings: (n, d), floating point, finite, not normalised (the paper uses them as they are).
        labels: (n,) or (n, p), real and finite.
        temperature: tau > 0; 2.0 in the paper.
        similarity: ``"neg_l2"`` (the paper's), ``"neg_l1"`` or ``"cosine"``.
        label_distance: ``"l1"`` (the paper's), ``"l2"``, ``"angular"`` for (pitch, yaw) in radians, or a callable
            of (n, p) and (m, p) labels that returns (n, m) distances.
        num_positives: contrast only the K closest samples as positives (Table 13), those that tie with the
            K-th included; None takes all.
        tie_tolerance: distances that differ by no more than this count as equal. Labels such as 0.1 k lose
            their ties to rounding; 0 compares floats as they are.
        ref_emb: (m, d), what the anchors are contrasted with instead of the batch; nothing is left out of it.
        ref_labels: (m,) or (m, p), given with ``ref_emb``.
        weights: (n,), one an anchor, >= 0.
        reduction: ``"mean"`` (weighted mean over anchors), ``"sum"``, or ``"none"`` for one value an anchor.

    Returns:
        A scalar, or (n,) for ``"none"``, in the dtype of ``embeddings``.

    Raises:
        OrdinateError: input that the formula has no value for, such as a single sample with nothing to contrast.

    Example:
        >>> import torch
        >>> embeddings = torch.tensor([[0.0], [1.0], [3.0]])
        >>> round(supcr(embeddings, torch.tensor([10.0, 20.0, 40.0])).item(), 4)
        0.2102
    """
    check_embeddings(embeddings)
    check_choice(similarity, SIMILARITIES, "similarity")
    check_choice(reduction, ("mean", "sum", "none"), "reduction")
    temperature = check_positive(temperature, "temperature")
    if not callable(label_distance):
        check_choice(label_distance, LABEL_DISTANCES, "label_distance")
    tie_tolerance = check_positive(tie_tolerance, "tie_tolerance", or_zero=True)
    if num_positives is not None and (type(num_positives) is not int or num_positives < 1):
        raise OrdinateError(f"num_positives: got {num_positives!r}, takes a whole number of at least 1, or None")
    weights = check_weights(weights, len(embeddings))
    targets = check_targets(labels, len(embeddings))
    refs, ref_labels = check_references(embeddings, labels, ref_emb, ref_labels)
    ref_targets = check_targets(ref_labels, len(refs), "ref_labels", dimensions=targets.shape[1])
    leave_out_self = ref_emb is None
    if leave_out_self and len(embeddings) == 1:
        raise OrdinateError("embeddings: got a single sample and no ref_emb, takes at least two samples to contrast")

    distance = pairwise_label_distance(targets, ref_targets, label_distance)
    logits = pairwise_similarity(embeddings, refs, similarity) / temperature
    values = _Rows.apply(logits, distance, num_positives, tie_tolerance, leave_out_self)
    if reduction == "mean":
        loss = mean_over_anchors(values, weights, torch.ones_like(values, dtype=torch.bool))
    else:
        loss = weigh(values, weights)
        loss = loss.sum() if reduction == "sum" else loss
    return loss.to(embeddings.dtype)


class _Rows(torch.autograd.Function):
    """One value an anchor from its row of logits and label distances; the gradient is computed alongside."""

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, distance: Tensor, num_positives: int | None, tolerance: float, leave_out_self: bool
    ) -> Tensor:
        m = logits.shape[1]
        if leave_out_self:  # behind every other sample, and without weight
            distance = distance.clone().fill_diagonal_(torch.inf)
        distance, order = distance.sort(dim=1)
        s = logits.gather(1, order)
        if leave_out_self:
            m -= 1
            distance, s, order = distance[:, :m], s[:, :m], order[:, :m]
        tie_start, tie_end = _tie_edges(distance, tolerance)
        running = _running_logsumexp(s.flip(1)).flip(1)
        denominator = running.gather(1, tie_start)
        share = _positive_share(distance, num_positives, tolerance)

        # d value_i / d s_ik = -share_ik + sum of share_ij exp(s_ik - denominator_ij) over positives j no farther than k
        pushed = _running_logsumexp(share.log() - denominator).gather(1, tie_end)
        gradient = torch.exp(s + pushed) - share
        ctx.save_for_backward(torch.zeros_like(logits).scatter_(1, order, gradient))
        return torch.where(share > 0, share * (denominator - s), 0).sum(1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None, None]:
        (gradient,) = ctx.saved_tensors
        return grad[:, None] * gradient, None, None, None, None


def _tie_edges(distance: Tensor, tolerance: float) -> tuple[Tensor, Tensor]:
    """First and last position, in each ascending row, of the samples that tie with each one."""
    if tolerance > 0:  # one comparison, distance >= nearest, for both edges: rounding must not set them apart
        distance = distance.contiguous()
        nearest = distance - tolerance
        return torch.searchsorted(distance, nearest), torch.searchsorted(nearest, distance, right=True) - 1
    last = distance.shape[1] - 1
    position = torch.arange(last + 1, device=distance.device).expand_as(distance)
    rises = distance[:, 1:] > distance[:, :-1]
    start = torch.where(pad(rises, (1, 0), value=True), position, 0).cummax(1).values
    to_end = torch.where(pad(rises, (0, 1), value=True), last - position, 0).flip(1).cummax(1).values.flip(1)
    return start, last - to_end


def _positive_share(distance: Tensor, num_positives: int | None, tolerance: float) -> Tensor:
    """Weight of each sample as a positive of its anchor: they sum to 1 along an ascending row."""
    if num_positives is None or num_positives >= distance.shape[1]:
        return torch.full_like(distance, 1 / distance.shape[1], dtype=torch.float64)
    positive = distance <= distance[:, num_positives - 1 : num_positives] + tolerance
    return positive.double() / positive.sum(1, keepdim=True)


def _running_logsumexp(x: Tensor) -> Tensor:
    """Log-sum-exp of each row's entries up to each position; minus infinity counts for nothing."""
    peak = x.amax(1, keepdim=True)
    below_peak = x - peak
    if bool((below_peak < -EXP_RANGE).logical_and(below_peak > -torch.inf).any()):
        return x.logcumsumexp(1)
    return below_peak.exp_().cumsum(1).log_() + peak
