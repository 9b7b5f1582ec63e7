"""POE with scikit-learn's interface."""

from typing import Any, cast

from torch import nn

from ordinate.checks import check_positive, check_whole
from ordinate.data.modality import Reader
from ordinate.estimators.estimator_dataclass import estimator_dataclass
from ordinate.estimators.method import Facts, Fitted
from ordinate.estimators.plain import RankBaseline
from ordinate.estimators.rank_classifier import RankClassifier
from ordinate.heads.ranks import RankLogits
from ordinate_papers.methods.poe import POE, GaussianEncoder


@estimator_dataclass
class POEClassifier(RankClassifier):
    """Classify ranks by POE: an embedding is a Gaussian, and Gaussians lie apart in the order of their ranks.

    :class:`~ordinate_papers.methods.poe.POE` says what the paper determines. Prediction classifies the mean of the
    Gaussian, which :meth:`transform` returns.

    Args:
        draws: Number of embeddings drawn from each Gaussian in training.
        margin: Margin of the constraint on the order of the Gaussians, >= 0.
        ordinal_weight: Weight of that constraint relative to the cross-entropy, >= 0.
        divergence_weight: Weight of the divergence from the standard normal distribution, >= 0.
        epochs: Epochs of training; None for 300, or as many as 3000 batches make if that is fewer.

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
    epochs: int | None = None

    def new_method(self) -> "POEMethod":
        return POEMethod(self)


class POEMethod(RankBaseline):
    """How POE trains: the network gives mean and deviation of every embedding."""

    name = "POE"
    settings: POEClassifier

    def check(self) -> None:
        super().check()
        settings = self.settings
        check_whole(settings.embedding_dim or 0, "embedding_dim")  # The encoder has to give twice as many.
        check_whole(settings.draws, "draws")
        for name in ("margin", "ordinal_weight", "divergence_weight"):
            check_positive(getattr(settings, name), name, or_zero=True)

    @property
    def embedding_dim(self) -> int:
        return 2 * (self.settings.embedding_dim or 0)

    def encoder(self, reader: Reader, options: Any, saved: dict[str, Any] | None = None) -> nn.Module:
        return GaussianEncoder(super().encoder(reader, options, saved), self.embedding_dim // 2)

    def module(self, encoder: nn.Module, facts: Facts) -> POE:
        settings = self.settings
        return POE(
            cast(GaussianEncoder, encoder),
            facts.outputs,
            draws=settings.draws,
            margin=settings.margin,
            ordinal_weight=settings.ordinal_weight,
            divergence_weight=settings.divergence_weight,
            epochs=self.epochs(facts),
            **self.stage_options(facts),
        )

    def predictor(self, fitted: Fitted) -> nn.Module:
        fitted.embedding_dim = self.embedding_dim // 2
        return RankLogits(fitted.module.classifier)
