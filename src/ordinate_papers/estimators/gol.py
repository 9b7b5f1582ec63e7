"""GOL behind scikit-learn's interface."""

from dataclasses import field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ordinate.data.samplers import RankBatches
from ordinate.data.training_batches import ArrayBatches, ViewBatches
from ordinate.estimators.parameters import estimator_dataclass
from ordinate.estimators.voting import VotingClassifier
from ordinate.functional.inputs import check_positive
from ordinate.functional.similarity import unit
from ordinate_papers.methods.gol import GOL
from ordinate_papers.methods.rank_probabilities import probabilities_around


@estimator_dataclass
class GOLClassifier(VotingClassifier):
    """Classify ranks by GOL: embeddings are ordered by direction and distance, and nearest neighbours tell the rank.

    :class:`~ordinate_papers.methods.gol.GOL` says what is the paper's. Prediction is: the mean rank of the nearest
    neighbours, rounded, a half towards the nearer ones. Probabilities are chosen here,
    :func:`~ordinate_papers.methods.rank_probabilities.probabilities_around` that mean with the variance of the ranks.

    Args:
        n_neighbors: training embeddings, nearest on the unit sphere, whose ranks count.
        margin: of the metric loss.

    Example:
        >>> import numpy as np
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> y = np.digitize(X[:, 0], [0.3, 0.7])
        >>> GOLClassifier(epochs=30, random_state=0).fit(X, y).predict([[0.1], [0.9]]).tolist()
        [0, 2]
    """

    n_neighbors: int = 10
    margin: float = 0.25
    method_: GOL = field(init=False)

    @property
    def unweighted(self) -> str:
        return "its losses are of pairs of samples, none of which is the anchor"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_positive(self.margin, "margin", or_zero=True)

    def _probabilities(self, embeddings: Tensor) -> Tensor:
        shares, ranks = (
            super()._probabilities(embeddings),
            torch.arange(len(self.ordered_classes_), dtype=torch.float64),
        )
        mean = shares @ ranks
        variance = (shares * (ranks - mean[:, None]).square()).sum(1)
        return probabilities_around(mean, variance, len(self.ordered_classes_))

    def _build_method(self, encoder: nn.Module) -> GOL:
        return GOL(
            encoder,
            self.embedding_dim_,
            len(self.ordered_classes_),
            margin=self.margin,
            epochs=self._epochs(),
            **self._training_options(),
        )

    def _batches(self, targets: NDArray[np.int64], seed: int) -> RankBatches:
        # two ranks, so that there is a pair to order
        required = {int(targets.min()): 1, int(targets.max()): 1}
        return RankBatches(targets, self._samples_per_batch, required=required, seed=seed)

    def _finish(self, training: ArrayBatches | ViewBatches, validation: ArrayBatches | None) -> None:
        self._set_neighbours(unit(self._embed(training.x)), training.y)
