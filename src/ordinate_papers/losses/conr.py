"""ConR: embeddings of near targets attract each other, and those that the predictions confuse repel each other."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import normalize

from ordinate.checks import check_positive
from ordinate.functional.inputs import check_embeddings


def conr_losses(
    embeddings: Float[Tensor, "n d"],
    targets: Float[Tensor, "n p"],
    predicted: Float[Tensor, "n p"],
    weights: Float[Tensor, " n"] | None = None,
    *,
    window: float,
    push: float,
    temperature: float = 0.2,
) -> Float[Tensor, " n"]:
    """Return ConR's loss of every anchor (Keramati, Meng and Evans, ICLR 2024).

    Positives of an anchor have a target at most ``window`` away. Its negatives are farther, but their predictions are
    at most ``window`` from the anchor's. The loss is the mean over the positives of ``-log(exp(s_ip) / (sum of
    exp(s_ip') over positives + sum of S_iq exp(s_iq) over negatives))`` with cosines s over the temperature, and is 0
    without a positive or without a negative. ``S_iq = weight_i exp(push * distance of the targets)`` and the weight of
    the anchor's loss are those of the published code, which also adds 1 to the denominator for every sample that is no
    positive; here it has the terms of the formula alone.

    Args:
        embeddings: (n, d).
        targets: (n, p), whose distance is the mean absolute difference over dimensions.
        predicted: (n, p), predictions in the units of the targets; no gradient passes through them.
        weights: (n,), what anchors count, such as those of LDS; None for 1 each.
        window: Largest distance of targets, or of predictions, that counts as near, >= 0.
        push: Growth of the weights of negatives with the distance of the targets, >= 0.
        temperature: Temperature of the cosines, > 0.

    Raises:
        OrdinateError: An option outside its range, or embeddings with values that are not finite.

    Example:
        >>> embeddings = torch.tensor([[1.0, 0.0], [1.0, 0.0], [1.0, 0.1]])
        >>> targets, predicted = torch.tensor([[0.0], [0.0], [5.0]]), torch.zeros(3, 1)
        >>> conr_losses(embeddings, targets, predicted, window=1.0, push=0.0) > 0
        tensor([ True,  True, False])
    """
    check_positive(temperature, "temperature")
    check_positive(push, "push", or_zero=True)
    check_embeddings(embeddings)
    apart = _distances(targets)
    near = apart <= check_positive(window, "window", or_zero=True)
    negatives = ~near & (_distances(predicted.detach()) <= window)
    positives = near & ~torch.eye(len(near), dtype=torch.bool, device=near.device)
    units = normalize(embeddings)
    logits = units @ units.T / temperature
    own = torch.ones_like(logits[:, 0]) if weights is None else weights.to(logits.dtype)
    pushed = logits + own.log()[:, None] + push * apart.to(logits.dtype)
    contrasted = torch.cat([_only(logits, positives), _only(pushed, negatives)], dim=1)
    usable = positives.any(1) & negatives.any(1)
    contrasted = torch.where(usable[:, None], contrasted, 0)  # Rows without a finite entry would have NaN gradients.
    mean_positive = (logits * positives).sum(1) / positives.sum(1).clamp(min=1)
    return own * torch.where(usable, contrasted.logsumexp(1) - mean_positive, 0)


def _distances(values: Float[Tensor, "n p"]) -> Float[Tensor, "n n"]:
    return (values[:, None] - values).abs().mean(2)


def _only(values: Float[Tensor, "n n"], wanted: Bool[Tensor, "n n"]) -> Float[Tensor, "n n"]:
    return values.masked_fill(~wanted, -torch.inf)
