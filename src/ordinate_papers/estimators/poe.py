"""POE behind scikit-learn's interface."""

import copy
from dataclasses import field

from torch import Tensor, nn

from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.estimators.parameters import estimator_dataclass
from ordinate.estimators.rank_classifier import RankClassifier
from ordinate.functional.inputs import check_positive, check_whole
from ordinate_papers.methods.poe import POE, GaussianEncoder


@estimator_dataclass
class POEClassifier(RankClassifier):
    """Classify ranks by POE: an embedding is a Gaussian, and Gaussians lie apart in the order of their ranks.

    :class:`~ordinate_papers.methods.poe.POE` says what is the paper's. Prediction classifies the mean of the Gaussian,
    which :meth:`transform` returns.

    Args:
        draws: embeddings drawn of each Gaussian in training.
        margin: of the constraint on the order of the Gaussians.
        ordinal_weight: of that constraint, beside the cross-entropy.
        divergence_weight: of the divergence from the standard normal.

    Example:
        >>> import numpy as np
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> y = np.digitize(X[:, 0], [0.3, 0.7])
        >>> POEClassifier(epochs=30, random_state=0).fit(X, y).predict([[0.1], [0.9]]).tolist()
        [0, 2]
    """

    draws: int = 50
    margin: float = 5.0
    ordinal_weight: float = 1e-4
    divergence_weight: float = 1e-4
    method_: POE = field(init=False)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_whole(self.embedding_dim or 0, "embedding_dim")  # the encoder has to give twice as many
        check_whole(self.draws, "draws")
        for name in ("margin", "ordinal_weight", "divergence_weight"):
            check_positive(getattr(self, name), name, or_zero=True)

    def _probabilities(self, embeddings: Tensor) -> Tensor:
        return self.method_.classifier(embeddings).softmax(dim=1)

    def _new_encoder(self, *, for_saved_weights: bool = False) -> nn.Module:
        wide = copy.copy(self)
        wide.embedding_dim = 2 * (self.embedding_dim or 0)
        network = EmbeddingEstimator._new_encoder(wide, for_saved_weights=for_saved_weights)
        return GaussianEncoder(network, wide.embedding_dim // 2)

    def _build_method(self, encoder: nn.Module) -> POE:
        assert isinstance(encoder, GaussianEncoder)  # noqa: S101  # as _new_encoder gives it
        return POE(
            encoder,
            len(self.ordered_classes_),
            draws=self.draws,
            margin=self.margin,
            ordinal_weight=self.ordinal_weight,
            divergence_weight=self.divergence_weight,
            epochs=self._epochs(),
            **self._training_options(),
        )
