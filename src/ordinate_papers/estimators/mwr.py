"""MWR behind scikit-learn's interface."""

from dataclasses import field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ordinate.data.samplers import RankBatches
from ordinate.data.training_batches import ArrayBatches, ViewBatches
from ordinate.estimators.parameters import estimator_dataclass
from ordinate.estimators.rank_classifier import RankClassifier
from ordinate.functional.inputs import check_whole
from ordinate_papers.methods.mwr import MWR, MovingWindow, choose_references


@estimator_dataclass
class MWRClassifier(RankClassifier):
    """Classify ranks by MWR: a sample's place between two references, in a window that moves until it holds it.

    :class:`~ordinate_papers.methods.mwr.MWR` and :class:`~ordinate_papers.methods.mwr.MovingWindow` say what is the
    paper's and what the probabilities are.

    Args:
        n_references: pairs of training samples for each window, whose estimates are averaged; the paper's global
            regressor has 1.

    Attributes:
        search_: the search for a sample's rank, with the training embeddings and references.

    Example:
        >>> import numpy as np
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> y = np.digitize(X[:, 0], [0.3, 0.7])
        >>> MWRClassifier(epochs=60, random_state=0).fit(X, y).predict([[0.1], [0.9]]).tolist()
        [0, 2]
    """

    n_references: int = 5
    method_: MWR = field(init=False)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_whole(self.n_references, "n_references")

    def _probabilities(self, embeddings: Tensor) -> Tensor:
        return self.search_(embeddings)

    def _build_method(self, encoder: nn.Module) -> MWR:
        return MWR(
            encoder,
            self.embedding_dim_,
            epochs=self._epochs(),
            **self._training_options(),
        )

    def _batches(self, targets: NDArray[np.int64], seed: int) -> RankBatches:
        # two ranks, so that there is a window between them
        required = {int(targets.min()): 1, int(targets.max()): 1}
        return RankBatches(targets, self._samples_per_batch, required=required, seed=seed)

    def _finish(self, training: ArrayBatches | ViewBatches, validation: ArrayBatches | None) -> None:
        embeddings = self._embed(training.x).float().double()  # as a saved model holds them
        references = choose_references(self.method_.regressor, embeddings, training.y, self.n_references)
        self.search_ = MovingWindow(
            self.method_.regressor, embeddings, training.y, len(self.ordered_classes_), references
        )
        self.search_.error = torch.tensor(self.search_.training_error(), dtype=torch.float32).item()

    def _tensors(self) -> dict[str, Tensor]:
        return {
            "search.embeddings": self.search_.embeddings.float(),
            "search.ranks": self.search_.ranks,
            "search.references": self.search_.references,
            "search.error": torch.tensor(self.search_.error),
        }

    def _restore_tensors(self, tensors: dict[str, Tensor]) -> None:
        self.search_ = MovingWindow(
            self.method_.regressor,
            tensors["search.embeddings"].double(),
            tensors["search.ranks"],
            len(self.ordered_classes_),
            tensors["search.references"],
            tensors["search.error"].item(),
        )
