"""Votes of the nearest training embeddings for a rank."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ordinate.data.part import random_part
from ordinate.heads.neighbours import NeighbourVote

NEIGHBOURS = (3, 5, 9, 15, 31, 61)  # Numbers to choose from; OTD, Table 2: 3.


def fit_vote(
    embeddings: Float[Tensor, "m d"],
    ranks: Int[Tensor, " m"],
    num_classes: int,
    n_neighbors: int | None,
    weights: Float[Tensor, " m"] | None = None,
    most_asked: int = 2000,
) -> NeighbourVote:
    """Return the vote of training embeddings, rounded as a saved model holds them.

    Args:
        embeddings: (m, d), of norm 1.
        ranks: (m,), 0 to C-1.
        num_classes: Number of ranks C.
        n_neighbors: Number of neighbours that vote; None for the one that predicts training samples best, each without
            itself, by the ranked probability score.
        weights: (m,), weights of the votes.
        most_asked: Largest number of training samples that are predicted to choose the number of neighbours.
    """
    counted = None if weights is None else weights.double()
    vote = NeighbourVote(embeddings.float().double(), ranks, num_classes, n_neighbors or NEIGHBOURS[0], counted)
    candidates = [k for k in NEIGHBOURS if k < len(ranks)]
    if n_neighbors or not candidates:
        return vote
    rows = torch.from_numpy(random_part(len(ranks), most_asked))
    errors = vote.errors_without_themselves(rows, candidates)
    scores = errors.mean(1) if counted is None else (errors * counted[rows]).sum(1)
    vote.k = candidates[int(scores.argmin())]
    return vote
