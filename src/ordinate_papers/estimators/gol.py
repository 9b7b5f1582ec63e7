"""GOL with scikit-learn's interface."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ordinate.checks import check_positive, check_whole
from ordinate.estimators.estimator_dataclass import estimator_dataclass
from ordinate.estimators.method import Facts, Fitted
from ordinate.estimators.rank_classifier import RankClassifier
from ordinate.functional.similarity import unit
from ordinate.heads.linear import HeadConfig
from ordinate.heads.neighbours import NeighbourVote
from ordinate_papers.estimators.rank_method import TwoRankMethod
from ordinate_papers.methods.gol import GOL
from ordinate_papers.methods.rank_probabilities import probabilities_around


@estimator_dataclass
class GOLClassifier(RankClassifier):
    """Classify ranks by GOL: embeddings ordered by direction and distance, and the ranks of the nearest neighbours.

    :class:`~ordinate_papers.methods.gol.GOL` says what the paper determines. Prediction is among it: the mean rank of
    the nearest neighbours, rounded, a half towards the nearer ones. Probabilities are chosen here,
    :func:`~ordinate_papers.methods.rank_probabilities.probabilities_around` that mean with the variance of the ranks.

    Args:
        n_neighbors: Number of training embeddings, nearest on the unit sphere, whose ranks count.
        margin: Margin of the metric loss, >= 0.
        epochs: Epochs of training; None for 300, or as many as 3000 batches make if that is fewer.

    Example:
        >>> import numpy as np
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> y = np.digitize(X[:, 0], [0.3, 0.7])
        >>> GOLClassifier(epochs=30, random_state=0).fit(X, y).predict([[0.1], [0.9]]).tolist()
        [0, 2]
    """

    n_neighbors: int = 10
    margin: float = 0.25
    epochs: int | None = None

    def new_method(self) -> "GOLMethod":
        return GOLMethod(self)


class GOLMethod(TwoRankMethod):
    """How GOL trains."""

    name = "GOL"
    unweighted = "its losses are of pairs of samples, none of which is the anchor"
    settings: GOLClassifier

    def check(self) -> None:
        super().check()
        check_positive(self.settings.margin, "margin", or_zero=True)
        check_whole(self.settings.n_neighbors, "n_neighbors")

    def module(self, encoder: nn.Module, facts: Facts) -> GOL:
        return GOL(
            encoder,
            facts.embedding_dim,
            facts.outputs,
            margin=self.settings.margin,
            epochs=self.epochs(facts),
            **self.stage_options(facts),
        )

    def predictor(self, fitted: Fitted) -> nn.Module:
        embeddings = unit(fitted.embed(fitted.training.x))
        outputs = self.labels.outputs
        vote = NeighbourVote(embeddings.float().double(), fitted.training.y, outputs, self.settings.n_neighbors)
        return MeanRankVote(vote)


class MeanRankVote(nn.Module):
    """Probabilities around the mean rank of the nearest neighbours.

    Args:
        vote: Votes of the nearest training embeddings.
    """

    def __init__(self, vote: NeighbourVote) -> None:
        super().__init__()
        self.vote = vote

    def forward(self, embeddings: Float[Tensor, "n d"]) -> Float[Tensor, "n c"]:
        """Return the probability of every rank; rows sum to 1."""
        shares = self.vote(embeddings)
        ranks = torch.arange(self.vote.num_classes, dtype=torch.float64)
        mean = shares @ ranks
        variance = (shares * (ranks - mean[:, None]).square()).sum(1)
        return probabilities_around(mean, variance, self.vote.num_classes)

    def config(self) -> HeadConfig:
        """Return what :meth:`restore` needs in addition to the tensors."""
        return self.vote.config()

    @classmethod
    def restore(cls, config: HeadConfig, tensors: dict[str, Tensor]) -> "MeanRankVote":
        """Return the predictor of a saved model."""
        return cls(NeighbourVote.restore(config, {name.removeprefix("vote."): each for name, each in tensors.items()}))
