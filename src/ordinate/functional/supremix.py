"""SupReMix, supervised contrastive regression with mixtures as hard negatives and hard positives."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Shaped
from torch import Tensor
from torch.autograd.function import once_differentiable

from ordinate.errors import OrdinateError
from ordinate.functional.inputs import (
    check_choice,
    check_embeddings,
    check_positive,
    check_references,
    check_targets,
    check_weights,
)
from ordinate.functional.reduction import mean_over_anchors, weigh
from ordinate.functional.similarity import unit

BLOCK = 1 << 20  # mixtures of the Mix-pos kind held at a time
EDGE = 1e-6  # how far, relative to the window, a difference may pass it by rounding and still lie inside
VANISHED = 1e-12  # squared norm below which a mixture has no direction: its similarity counts as 0


def supremix(
    embeddings: Float[Tensor, "n d"],
    labels: Shaped[Tensor, " n"],
    *,
    temperature: float,
    window: float,
    beta: tuple[float, float] = (2.0, 8.0),
    neg_mix: Float[Tensor, "n m"] | None = None,
    generator: torch.Generator | None = None,
    mix_negatives: bool = True,
    mix_positives: bool = True,
    distance_magnifying: bool = True,
    label_range: float | None = None,
    renormalize: bool = True,
    detach_mixtures: bool = False,
    ref_emb: Float[Tensor, "m d"] | None = None,
    ref_labels: Shaped[Tensor, " m"] | None = None,
    weights: Float[Tensor, " n"] | None = None,
    reduction: str = "mean",
) -> Float[Tensor, "*n"]:
    r"""Supervised contrastive regression loss with mixtures (SupReMix, eqs. 1 to 6).

    .. math::
        L = \sum_m \frac{-1}{k_m} \sum_{i: y_i = m} \sum_{p \in P_i}
            \log \frac{\exp(z_i \cdot z_p / \tau)}{\sum_{c \ne i} w_{ic} \exp(z_i \cdot z_c / \tau)},
        \qquad w_{ic} = \frac{1 + |y_i - y_c|}{y_{max} - y_{min}}

    An anchor's positives P are the samples of its own label and its Mix-pos (eqs. 3, 4): one mixture for every
    sample below and every sample above it within the window, in the proportion that gives it the anchor's label.
    Its contrasts c are all other samples, its Mix-pos, and its Mix-neg (eqs. 1, 2): one mixture of itself, with
    share :math:`\lambda_1 \sim` Beta, with every sample of another label. The weight w (eq. 5) magnifies the
    label distance; a shift of all labels changes nothing.

    Exact without building a mixture: its similarity to the anchor and its norm are linear in the Gram matrix.
    Memory is O(n^2); time is O(n^2) and one step for each Mix-pos, whose number the window bounds.

    Args:
        embeddings: (n, d), floating point, finite; normalised here.
        labels: (n,), real and finite.
        temperature: tau > 0; 0.3 to 1.0 in the paper (Table 13).
        window: gamma > 0, the largest difference, inclusive, between the anchor's label and those that its Mix-pos
            are made of; differences that pass it by rounding, 1e-6 of it, lie inside.
        beta: (alpha, beta) of the Beta distribution of :math:`\lambda_1`; (2, 8) is the paper's best (Table 11).
        neg_mix: (n, n), or (n, m) with references: :math:`\lambda_1` of anchor i with negative j, from 0 to 1;
            drawn when None.
        generator: source of the drawing.
        mix_negatives: contrast with Mix-neg; with the next two, the paper's three parts (Tables 9, 10).
        mix_positives: take Mix-pos as positives.
        distance_magnifying: weigh the contrasts by eq. 5.
        label_range: y_max - y_min of eq. 5; None takes that of the batch and its references
            (1 where all labels are equal). A constant
            factor of all weights: it moves the value, not the gradient.
        renormalize: give mixtures unit norm, as the paper's text does; its later code does not.
        detach_mixtures: pass no gradient into mixtures, as the paper's later code does.
        ref_emb: (m, d), what the anchors are contrasted and mixed with instead of the batch; nothing is left out.
        ref_labels: (m,), given with ``ref_emb``.
        weights: (n,), one an anchor, >= 0.
        reduction: ``"sum"`` is eq. 6; ``"mean"`` averages over an anchor's positives, then over the anchors that
            have one; ``"none"`` is that average for each anchor, 0 for one that has no positive.

    Returns:
        A scalar, or (n,) for ``"none"``, in the dtype of ``embeddings``.

    Raises:
        OrdinateError: input that the formula has no value for, such as a batch in which no anchor has a positive.

    Example:
        >>> import torch
        >>> angle = torch.tensor([0.0, 0.5, 1.0])
        >>> embeddings = torch.stack([angle.cos(), angle.sin()], 1)
        >>> loss = supremix(embeddings, torch.tensor([1.0, 2.0, 3.0]), temperature=1.0, window=1.0,
        ...                 mix_negatives=False)
        >>> round(loss.item(), 4)
        0.8196
    """
    check_embeddings(embeddings)
    check_choice(reduction, ("mean", "sum", "none"), "reduction")
    temperature = check_positive(temperature, "temperature")
    window = check_positive(window, "window")
    weights = check_weights(weights, len(embeddings))
    y = check_targets(labels, len(embeddings), dimensions=1)[:, 0].double()
    refs, ref_labels = check_references(embeddings, labels, ref_emb, ref_labels)
    ref_y = check_targets(ref_labels, len(refs), "ref_labels", dimensions=1)[:, 0].double()
    log_range = _log_range(label_range, y, ref_y) if distance_magnifying else 0.0

    if neg_mix is None:
        neg_mix = _draw_beta(beta, len(y), len(ref_y), generator, embeddings.device) if mix_negatives else None
    else:
        neg_mix = _check_neg_mix(neg_mix, len(y), len(ref_y))
    order, ref_order = y.argsort(stable=True), ref_y.argsort(stable=True)  # windows become slices
    z, r = unit(embeddings)[order], unit(refs)[ref_order]
    if detach_mixtures:
        gram_mixed, gram_refs = z @ r.detach().T, (r @ r.T).detach()
        gram = z @ r.T
    else:
        gram_mixed = gram = z @ r.T
        gram_refs = r @ r.T
    batch = _Batch(
        y=y[order],
        ref_y=ref_y[ref_order],
        neg_mix=neg_mix[order][:, ref_order] if mix_negatives and neg_mix is not None else None,
        window=window if mix_positives else None,
        magnify=distance_magnifying,
        temperature=temperature,
        renormalize=renormalize,
        detached=detach_mixtures,
        leave_out_self=ref_emb is None,
    )
    in_order, positives_in_order = _Rows.apply(gram, gram_mixed, gram_refs, batch)
    values = torch.empty_like(in_order).index_copy(0, order, in_order)
    positives = torch.empty_like(positives_in_order).index_copy(0, order, positives_in_order)
    if not bool((positives > 0).any()):
        raise OrdinateError(
            f"labels, window: no anchor has a positive: no two labels are equal and no window of {window:g} holds "
            "samples on both sides of an anchor; takes a wider window or a larger batch"
        )
    values = torch.where(positives > 0, values - log_range, 0)
    if reduction == "mean":
        loss = mean_over_anchors(values, weights, positives > 0)
    elif reduction == "sum":
        label_sizes = (y[:, None] == y).sum(1)
        loss = weigh(values * positives / label_sizes, weights).sum()
    else:
        loss = weigh(values, weights)
    return loss.to(embeddings.dtype)


def _log_range(label_range: float | None, y: Tensor, ref_y: Tensor) -> float:
    if label_range is not None:
        return float(torch.tensor(check_positive(label_range, "label_range"), dtype=torch.float64).log())
    both = torch.cat([y, ref_y])
    width = both.max() - both.min()
    if not bool(torch.isfinite(width)):
        raise OrdinateError("labels: their range passes that of float64; rescale them")
    return float(torch.where(width > 0, width, 1).log())


def _draw_beta(
    beta: tuple[float, float], n: int, m: int, generator: torch.Generator | None, device: torch.device
) -> Tensor:
    """Beta(alpha, beta) as the share of two Gamma draws, so that a generator can be given."""
    if not isinstance(beta, tuple | list) or len(beta) != 2:
        raise OrdinateError(f"beta: got {beta!r}, takes the two parameters of a Beta distribution")
    alpha, other = (check_positive(value, "beta") for value in beta)
    first, second = (
        torch._standard_gamma(torch.full((n, m), shape, dtype=torch.float64, device=device), generator=generator)
        for shape in (alpha, other)
    )
    return first / (first + second)


def _check_neg_mix(neg_mix: Tensor, n: int, m: int) -> Tensor:
    if not isinstance(neg_mix, Tensor) or neg_mix.shape != (n, m):
        got = tuple(neg_mix.shape) if isinstance(neg_mix, Tensor) else type(neg_mix).__name__
        raise OrdinateError(f"neg_mix: got {got}, takes a tensor ({n}, {m}), the share of each anchor in its Mix-neg")
    if not bool(((neg_mix >= 0) & (neg_mix <= 1)).all()):
        raise OrdinateError("neg_mix: got values outside 0 to 1, takes shares")
    return neg_mix.double()


@dataclass(frozen=True)
class _Batch:
    """What the rows are made of besides the Gram matrices; anchors and references ascend in label."""

    y: Tensor
    ref_y: Tensor
    neg_mix: Tensor | None
    window: float | None
    magnify: bool
    temperature: float
    renormalize: bool
    detached: bool
    leave_out_self: bool

    def difference(self) -> Tensor:
        return self.y[:, None] - self.ref_y

    def log_weight(self, label_distance: Tensor) -> Tensor:
        return label_distance.log1p() if self.magnify else torch.zeros_like(label_distance)

    def norm(self, share: Tensor, cosine: Tensor) -> tuple[Tensor, Tensor]:
        """Norm of ``share a + (1 - share) b`` for unit a and b with this cosine, and where it has a direction."""
        squared = share.square() + (1 - share).square() + 2 * share * (1 - share) * cosine
        lives = squared > VANISHED
        if not self.renormalize:
            return torch.ones_like(squared), torch.ones_like(lives)
        return torch.where(lives, squared, 1).sqrt(), lives


@dataclass(frozen=True)
class _MixPositives:
    """The Mix-pos of a block of b anchors: each of up to u samples below with each of up to v samples above."""

    anchors: slice
    below: Tensor  # (b, u) positions among the references
    above: Tensor  # (b, v)
    exists: Tensor  # (b, u, v)
    share: Tensor  # (b, u, v) lambda_2, of the sample below
    norm: Tensor  # (b, u, v)
    similarity: Tensor  # (b, u, v) to the anchor


def _mix_positives(gram_mixed: Tensor, gram_refs: Tensor, batch: _Batch) -> Iterator[_MixPositives]:
    if batch.window is None:
        return
    difference, window = batch.difference(), batch.window * (1 + EDGE)
    bounds = (difference > window, difference > 0, difference >= 0, difference >= -window)
    low, below_end, above_start, high = (bound.sum(1) for bound in bounds)
    widest = int((below_end - low).max()) * int((high - above_start).max())
    if widest == 0:
        return
    rows = max(1, BLOCK // widest)
    for start in range(0, len(batch.y), rows):
        anchors = slice(start, start + rows)
        below, below_exists = _ranges(low[anchors], below_end[anchors])
        above, above_exists = _ranges(above_start[anchors], high[anchors])
        if below.shape[1] == 0 or above.shape[1] == 0:
            continue
        exists = below_exists[:, :, None] & above_exists[:, None, :]
        up = (batch.ref_y[above] - batch.y[anchors, None])[:, None, :]
        down = (batch.y[anchors, None] - batch.ref_y[below])[:, :, None]
        share = torch.where(exists, up / torch.where(exists, up + down, 1), 0.5)
        norm, lives = batch.norm(share, gram_refs[below[:, :, None], above[:, None, :]])
        rows_mixed = gram_mixed[anchors]
        mixed = share * rows_mixed.gather(1, below)[:, :, None] + (1 - share) * rows_mixed.gather(1, above)[:, None, :]
        yield _MixPositives(anchors, below, above, exists, share, norm, torch.where(lives, mixed / norm, 0))


def _ranges(start: Tensor, end: Tensor) -> tuple[Tensor, Tensor]:
    """Positions ``start..end`` of each row side by side, and which of them belong to their row."""
    position = start[:, None] + torch.arange(int((end - start).max()), device=start.device)
    exists = position < end[:, None]
    return torch.where(exists, position, 0), exists


class _Rows(torch.autograd.Function):
    """For each anchor the mean of eq. 6 over its positives (without the label range), and their number."""

    @staticmethod
    def forward(ctx: Any, gram: Tensor, gram_mixed: Tensor, gram_refs: Tensor, batch: _Batch) -> tuple[Tensor, Tensor]:
        real, is_positive, mixed_negative = _pair_logits(gram, gram_mixed, batch)
        parts = [real.logsumexp(1)]
        positives = is_positive.sum(1).double()
        attraction = torch.where(is_positive, gram, 0).sum(1) / batch.temperature
        if mixed_negative is not None:
            parts.append(mixed_negative.logsumexp(1))
        mixed_positive = torch.full_like(positives, -torch.inf)
        for mix in _mix_positives(gram_mixed, gram_refs, batch):
            logits = mix.similarity / batch.temperature
            mixed_positive[mix.anchors] = logits.masked_fill(~mix.exists, -torch.inf).flatten(1).logsumexp(1)
            attraction[mix.anchors] += logits.masked_fill(~mix.exists, 0).sum((1, 2))
            positives[mix.anchors] += mix.exists.sum((1, 2))
        denominator = torch.stack([*parts, mixed_positive]).logsumexp(0)
        has_positive = positives > 0
        ctx.save_for_backward(gram, gram_mixed, gram_refs, denominator, positives)
        ctx.batch = batch
        ctx.mark_non_differentiable(positives)
        return torch.where(has_positive, denominator - attraction / positives.clamp(min=1), 0), positives

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, _: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        gram, gram_mixed, gram_refs, denominator, positives = ctx.saved_tensors
        batch: _Batch = ctx.batch
        pull = torch.where(positives > 0, grad, 0) / batch.temperature
        per_positive = 1 / positives.clamp(min=1)
        real, is_positive, mixed_negative = _pair_logits(gram, gram_mixed, batch)
        grad_gram = pull[:, None] * ((real - denominator[:, None]).exp() - is_positive * per_positive[:, None])
        grad_mixed = torch.zeros_like(gram)
        grad_refs = torch.zeros_like(gram_refs)
        if mixed_negative is not None and batch.neg_mix is not None:
            push = pull[:, None] * (mixed_negative - denominator[:, None]).exp()
            share = batch.neg_mix
            norm, lives = batch.norm(share, gram)
            push = torch.where(lives, push / norm, 0)
            grad_mixed += push * (1 - share)
            if batch.renormalize and not batch.detached:
                similarity = (share + (1 - share) * gram_mixed) / norm
                grad_gram -= push * similarity * share * (1 - share) / norm
        for mix in _mix_positives(gram_mixed, gram_refs, batch):
            rows = mix.anchors
            push = (mix.similarity / batch.temperature - denominator[rows, None, None]).exp()
            push = pull[rows, None, None] * (push - per_positive[rows, None, None])
            push = torch.where(mix.exists, push / mix.norm, 0)
            grad_mixed[rows].scatter_add_(1, mix.below, (push * mix.share).sum(2))
            grad_mixed[rows].scatter_add_(1, mix.above, (push * (1 - mix.share)).sum(1))
            if batch.renormalize and not batch.detached:
                through_norm = -push * mix.similarity * mix.share * (1 - mix.share) / mix.norm
                at = mix.below[:, :, None] * len(gram_refs) + mix.above[:, None, :]
                grad_refs.view(-1).index_add_(0, at.flatten(), through_norm.flatten())
        return grad_gram, grad_mixed, grad_refs, None


def _pair_logits(gram: Tensor, gram_mixed: Tensor, batch: _Batch) -> tuple[Tensor, Tensor, Tensor | None]:
    """Weighted logits of the real samples and of the Mix-neg, and which real samples are positives."""
    label_distance = batch.difference().abs()
    is_positive = label_distance == 0
    real = gram / batch.temperature + batch.log_weight(label_distance)
    mixed_negative = None
    if batch.neg_mix is not None:
        share = batch.neg_mix
        norm, lives = batch.norm(share, gram)
        similarity = torch.where(lives, (share + (1 - share) * gram_mixed) / norm, 0)
        mixed_negative = similarity / batch.temperature + batch.log_weight((1 - share) * label_distance)
        mixed_negative = mixed_negative.masked_fill(is_positive, -torch.inf)
    if batch.leave_out_self:
        real = real.clone().fill_diagonal_(-torch.inf)
        is_positive = is_positive.clone().fill_diagonal_(False)
    return real, is_positive, mixed_negative
