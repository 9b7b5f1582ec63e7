"""The four losses as their authors write them in PyTorch: loops over whole matrices, in the embeddings' dtype.

They give the values of :mod:`ordinate.functional` on batches in which every anchor has a positive and a negative.
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import normalize


def supcr(embeddings: Float[Tensor, "n d"], labels: Float[Tensor, " n"], temperature: float) -> Float[Tensor, ""]:
    """SupCR: for each of the n - 1 positive columns one mask of numbers and one masked sum over the whole batch."""
    n = len(embeddings)
    others = ~torch.eye(n, dtype=torch.bool, device=embeddings.device)
    distance = (labels[:, None] - labels).abs()[others].view(n, n - 1)
    apart = (embeddings[:, None] - embeddings).norm(dim=2)
    logits = (-apart / temperature)[others].view(n, n - 1)
    logits = logits - logits.amax(1, keepdim=True).detach()
    exp = logits.exp()
    loss = embeddings.new_zeros(())
    for k in range(n - 1):
        at_least_as_far = (distance >= distance[:, k : k + 1]).to(exp.dtype)
        loss = loss - (logits[:, k] - (at_least_as_far * exp).sum(1).log()).sum()
    return loss / (n * (n - 1))


def mmnp(
    embeddings: Float[Tensor, "n d"], labels: Int[Tensor, " n"], margins: Float[Tensor, " c-1"]
) -> Float[Tensor, ""]:
    """MMNP, mean over pairs: all shifted negatives against one positive column after the other."""
    z = normalize(embeddings)
    cosine = z @ z.T
    position = torch.cat([margins.new_zeros(1), margins]).cumsum(0)[labels]
    shifted = (position[:, None] - position).abs() + cosine
    negative = labels[:, None] != labels
    positive = (~negative).fill_diagonal_(False)
    total = embeddings.new_zeros(len(z))
    for j in range(len(z)):
        hinge = (shifted - cosine[:, j : j + 1]).relu()
        total = total + (hinge * (positive[:, j : j + 1] & negative)).sum(1)
    return (total / (positive.sum(1) * negative.sum(1))).mean()


def supremix(
    embeddings: Float[Tensor, "n d"],
    labels: Float[Tensor, " n"],
    temperature: float,
    window: float,
    neg_mix: Float[Tensor, "n n"] | None = None,
) -> Float[Tensor, ""]:
    """SupReMix: every mixture a unit vector of d dimensions. All labels differ."""
    z = normalize(embeddings)
    difference = labels[:, None] - labels
    distance = difference.abs()
    if neg_mix is None:
        neg_mix = torch.distributions.Beta(z.new_tensor(2.0), z.new_tensor(8.0)).sample(distance.shape)
    share = neg_mix[:, :, None]
    mixed_negatives = normalize(share * z[:, None] + (1 - share) * z, dim=2)
    mixed_similarity = (mixed_negatives @ z[:, :, None])[:, :, 0]
    itself = torch.eye(len(z), dtype=torch.bool, device=z.device)
    real = (z @ z.T / temperature + distance.log1p()).masked_fill(itself, -torch.inf)
    mixed = (mixed_similarity / temperature + ((1 - neg_mix) * distance).log1p()).masked_fill(itself, -torch.inf)
    losses = []
    for i in range(len(z)):
        below = (difference[i] > 0) & (difference[i] <= window)
        above = (difference[i] < 0) & (difference[i] >= -window)
        up, down = -difference[i, above], difference[i, below]
        if len(up) == 0 or len(down) == 0:
            continue
        share = (up / (up + down[:, None]))[:, :, None]
        mixed_positives = normalize(share * z[below][:, None] + (1 - share) * z[above], dim=2)
        similarity = (mixed_positives @ z[i]).flatten() / temperature
        losses.append(torch.cat([real[i], mixed[i], similarity]).logsumexp(0) - similarity.mean())
    return torch.stack(losses).mean() - (labels.max() - labels.min()).log()


def angular_triangle(
    embeddings: Float[Tensor, "n d"], labels: Int[Tensor, " n"], num_classes: int
) -> Float[Tensor, ""]:
    """OTD: for one middle sample after the other, the two angles of every triplet around it."""
    z = normalize(embeddings)
    cosine = z @ z.T
    position = labels / (num_classes - 1)
    rows = torch.arange(len(z), device=z.device)
    lowest = rows[labels == 0]
    total, count = z.new_zeros(()), 0
    for j in range(len(z)):
        others = rows[rows != j]
        alike = others[labels[others] == labels[j]]
        triplets = torch.cartesian_prod(alike, alike)
        triplets = triplets[triplets[:, 0] != triplets[:, 1]]
        if labels[j] > 0:
            highest = others[labels[others] == num_classes - 1]
            triplets = torch.cat([triplets, torch.cartesian_prod(lowest, highest)])
        angles = cosine[j][triplets].acos() / math.pi
        total = total + (angles - (position[triplets] - position[j]).abs()).square().sum()
        count += len(triplets)
    return total / count
