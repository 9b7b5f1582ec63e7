"""The four losses written out for one anchor at a time, over all its pairs of pairs, and differentiated by torch.

Independent of the library, slow, and in whatever dtype and on whatever device the embeddings are.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import normalize


@dataclass(frozen=True)
class Anchor:
    """An anchor and what it is contrasted with.

    Args:
        index: Index of the anchor in its batch.
        embedding: (d,).
        label: Label of the anchor, a scalar.
        refs: (m, d).
        ref_labels: (m,).
        others: (m,), False for the anchor itself.
    """

    index: int
    embedding: Tensor
    label: Tensor
    refs: Tensor
    ref_labels: Tensor
    others: Tensor


Formula = Callable[..., tuple[Tensor, int]]  # It returns the value of each anchor and the divisor of their sum.


def supcr(a: Anchor, *, temperature: float) -> tuple[Tensor, int]:
    """Eq. 1: every positive against all that lie at least as far."""
    logits = -(a.embedding - a.refs[a.others]).norm(dim=1) / temperature
    distance = (a.label.double() - a.ref_labels[a.others].double()).abs()
    at_least_as_far = distance >= distance[:, None]
    denominators = torch.where(at_least_as_far, logits, -torch.inf).logsumexp(1)
    return (denominators - logits).mean(), 1


def mmnp(a: Anchor, *, margins: Tensor) -> tuple[Tensor, int]:
    """Eq. 2, the mean over the anchor's pairs; 0 where it has none."""
    cosine = normalize(a.refs) @ normalize(a.embedding, dim=0)
    position = torch.cat([margins.new_zeros(1), margins]).cumsum(0)
    positive, negative = (a.ref_labels == a.label) & a.others, a.ref_labels != a.label
    if not positive.any() or not negative.any():
        return a.embedding.sum() * 0, 0
    shifted = (cosine + (position[a.ref_labels] - position[a.label]).abs())[negative]
    return (shifted[:, None] - cosine[positive]).relu().mean(), 1


def supremix(
    a: Anchor,
    *,
    temperature: float,
    window: float,
    label_range: float,
    neg_mix: Tensor | None = None,
    renormalize: bool = True,
    detach_mixtures: bool = False,
) -> tuple[Tensor, int]:
    """Eq. 6, the mean over the anchor's positives; 0 where it has none. Without ``neg_mix``, without Mix-neg."""

    def similarity(mixtures: Tensor) -> Tensor:
        mixtures = normalize(mixtures, dim=-1) if renormalize else mixtures
        return (mixtures.detach() if detach_mixtures else mixtures).flatten(0, -2) @ anchor / temperature

    anchor, u = normalize(a.embedding, dim=0), normalize(a.refs)
    difference = a.label.double() - a.ref_labels.double()
    below, above = (difference > 0) & (difference <= window), (difference < 0) & (-difference <= window)
    same = (difference == 0) & a.others
    up, down = -difference[above], difference[below][:, None]
    share = (up / (up + down))[..., None]
    mixed = similarity(share * u[below][:, None] + (1 - share) * u[above])
    positive = torch.cat([mixed, u[same] @ anchor / temperature])
    if len(positive) == 0:
        return a.embedding.sum() * 0, 0
    contrasts = [u[a.others] @ anchor / temperature + difference[a.others].abs().log1p(), mixed]
    if neg_mix is not None:
        negative = difference != 0
        share = neg_mix[a.index, negative].to(u)
        mixtures = share[:, None] * anchor + (1 - share[:, None]) * u[negative]
        contrasts.append(similarity(mixtures) + ((1 - share) * difference[negative].abs()).log1p())
    return torch.cat(contrasts).logsumexp(0) - math.log(label_range) - positive.mean(), 1


def angular_triangle(a: Anchor, *, num_classes: int) -> tuple[Tensor, int]:
    """The squared errors of all triplets around the anchor, and how many there are."""
    angle = torch.acos(normalize(a.refs[a.others]) @ normalize(a.embedding, dim=0)) / math.pi
    rank = a.ref_labels[a.others]
    error = (angle - (rank - a.label).abs().double() / (num_classes - 1)).square()
    alike = error[rank == a.label]
    pairs = (alike[:, None] + alike)[~torch.eye(len(alike), dtype=torch.bool, device=alike.device)]
    if a.label > 0:
        ends = error[rank == 0][:, None] + error[rank == num_classes - 1]
        pairs = torch.cat([pairs, ends.flatten()])
    return pairs.sum(), len(pairs)


def brute_force(
    formula: Formula,
    embeddings: Tensor,
    labels: Tensor,
    *,
    ref_emb: Tensor | None = None,
    ref_labels: Tensor | None = None,
    weights: Tensor | None = None,
    **options: Any,
) -> tuple[Tensor, list[Tensor]]:
    """Return the mean over the anchors, and its gradient for every tensor that requires one: one anchor at a time.

    Args:
        formula: Formula of one anchor.
        embeddings: (n, d).
        labels: (n,).
        ref_emb: (m, d), what the anchors are contrasted with in the place of the batch.
        ref_labels: (m,).
        weights: (n,), of the anchors.
        options: Options of the formula.
    """
    within = ref_emb is None
    refs, ref_labels = (embeddings, labels) if ref_emb is None or ref_labels is None else (ref_emb, ref_labels)
    leaves = [x for x in (embeddings, ref_emb, *options.values()) if isinstance(x, Tensor) and x.requires_grad]
    gradients = [torch.zeros_like(leaf) for leaf in leaves]
    total, count = torch.zeros_like(embeddings[0, 0]), 0.0
    for i in range(len(embeddings)):
        others = torch.ones(len(refs), dtype=torch.bool, device=refs.device)
        others[i if within else slice(0)] = False
        value, counted = formula(Anchor(i, embeddings[i], labels[i], refs, ref_labels, others), **options)
        weight = 1.0 if weights is None else float(weights[i])
        if counted and weight:
            found = torch.autograd.grad(value, leaves, allow_unused=True)
            for gradient, of_anchor in zip(gradients, found, strict=True):
                if of_anchor is not None:
                    gradient.add_(of_anchor, alpha=weight)
            total, count = total + weight * value.detach(), count + weight * counted
    return total / count, [gradient / count for gradient in gradients]
