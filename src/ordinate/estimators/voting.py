"""Classifiers whose nearest training embeddings vote for the rank."""

from torch import Tensor

from ordinate.estimators.parameters import estimator_dataclass
from ordinate.estimators.rank_classifier import RankClassifier
from ordinate.functional.inputs import check_whole
from ordinate.heads.neighbours import NeighbourVote

USUAL_NEIGHBOURS = 3  # OTD, Table 2


@estimator_dataclass
class VotingClassifier(RankClassifier):
    """Classify ranks by the nearest training embeddings.

    Args:
        n_neighbors: training embeddings, nearest by cosine, that vote; by default 9 for tables, and 3 otherwise.

    Attributes:
        neighbours_: the training embeddings that vote.
    """

    n_neighbors: int | None = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.n_neighbors is not None:
            check_whole(self.n_neighbors, "n_neighbors")

    @property
    def _voters(self) -> int:
        """``n_neighbors``, or what suits the data."""
        return int(self.n_neighbors or self.reader_.n_neighbors or USUAL_NEIGHBOURS)

    def _probabilities(self, embeddings: Tensor) -> Tensor:
        return self.neighbours_(embeddings)

    def _set_neighbours(self, embeddings: Tensor, ranks: Tensor, weights: Tensor | None = None) -> None:
        """Let these embeddings (m, d) of norm 1 vote for their ranks, rounded as a saved model holds them."""
        embeddings = embeddings.float().double()
        counted = None if weights is None else weights.double()
        self.neighbours_ = NeighbourVote(embeddings, ranks, len(self.ordered_classes_), self._voters, counted)

    def _tensors(self) -> dict[str, Tensor]:
        return {f"neighbours.{name}": value for name, value in self.neighbours_.state_dict().items()}

    def _restore_tensors(self, tensors: dict[str, Tensor]) -> None:
        embeddings, ranks = tensors["neighbours.embeddings"], tensors["neighbours.ranks"]
        self._set_neighbours(embeddings, ranks, tensors.get("neighbours.weights"))
