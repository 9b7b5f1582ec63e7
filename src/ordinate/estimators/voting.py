"""Classifiers whose nearest training embeddings vote for the rank."""

import torch
from torch import Tensor

from ordinate.data.rows import random_part
from ordinate.estimators.parameters import estimator_dataclass
from ordinate.estimators.rank_classifier import RankClassifier
from ordinate.functional.inputs import check_whole
from ordinate.heads.neighbours import NeighbourVote

NEIGHBOURS = (3, 5, 9, 15, 31, 61)  # of which those are taken that predict training samples best; OTD, Table 2: 3
MOST_ASKED = 2000  # training samples that are predicted for that


@estimator_dataclass
class VotingClassifier(RankClassifier):
    """Classify ranks by the nearest training embeddings.

    Args:
        n_neighbors: training embeddings, nearest by cosine, that vote; by default 9 for tables, otherwise as many, 3
            to 61, as predict training samples best, each without itself, by the ranked probability score.

    Attributes:
        neighbours_: the training embeddings that vote, ``neighbours_.k`` at a time.
    """

    n_neighbors: int | None = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.n_neighbors is not None:
            check_whole(self.n_neighbors, "n_neighbors")

    def _probabilities(self, embeddings: Tensor) -> Tensor:
        return self.neighbours_(embeddings)

    def _set_neighbours(self, embeddings: Tensor, ranks: Tensor, weights: Tensor | None = None) -> None:
        """Let these embeddings (m, d) of norm 1 vote for their ranks, rounded as a saved model holds them."""
        counted = None if weights is None else weights.double()
        voters = int(self.n_neighbors or self.reader_.n_neighbors or 0)
        embeddings = embeddings.float().double()
        vote = NeighbourVote(embeddings, ranks, len(self.ordered_classes_), voters or NEIGHBOURS[0], counted)
        self.neighbours_ = vote
        ks = [k for k in NEIGHBOURS if k < len(ranks)]
        if not voters and ks:
            rows = torch.from_numpy(random_part(len(ranks), MOST_ASKED))
            errors = vote.errors_without_themselves(rows, ks)
            scores = errors.mean(1) if counted is None else (errors * counted[rows]).sum(1)
            vote.k = ks[int(scores.argmin())]

    def _tensors(self) -> dict[str, Tensor]:
        kept = {**self.neighbours_.state_dict(), "k": torch.tensor(self.neighbours_.k)}
        return {f"neighbours.{name}": value for name, value in kept.items()}

    def _restore_tensors(self, tensors: dict[str, Tensor]) -> None:
        embeddings, ranks = tensors["neighbours.embeddings"], tensors["neighbours.ranks"]
        k = tensors.get("neighbours.k", self.n_neighbors or self.reader_.n_neighbors or NEIGHBOURS[0])  # else older
        self.neighbours_ = NeighbourVote(
            embeddings.double(), ranks, len(self.ordered_classes_), int(k), tensors.get("neighbours.weights")
        )
