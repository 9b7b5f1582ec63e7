"""Votes of the nearest training embeddings for a rank."""

from jaxtyping import Float, Int
from torch import Tensor

from ordinate.heads.neighbours import NeighbourVote


def fit_vote(
    embeddings: Float[Tensor, "m d"],
    ranks: Int[Tensor, " m"],
    num_classes: int,
    n_neighbors: int,
    weights: Float[Tensor, " m"] | None = None,
) -> NeighbourVote:
    """Return the vote of training embeddings, rounded as a saved model holds them.

    Args:
        embeddings: (m, d), of norm 1.
        ranks: (m,), 0 to C-1.
        num_classes: Number of ranks C.
        n_neighbors: Number of neighbours that vote.
        weights: (m,), weights of the votes.
    """
    counted = None if weights is None else weights.double()
    return NeighbourVote(embeddings.float().double(), ranks, num_classes, n_neighbors, counted)
