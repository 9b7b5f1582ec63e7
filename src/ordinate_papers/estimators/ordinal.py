"""OR, CORN and CORAL with scikit-learn's interface."""

from torch import nn

from ordinate.checks import check_choice
from ordinate.estimators.estimator_dataclass import estimator_dataclass
from ordinate.estimators.method import Facts, Fitted
from ordinate.estimators.plain import RankBaseline
from ordinate.estimators.rank_classifier import RankClassifier
from ordinate_papers.heads.thresholds import ThresholdProbabilities
from ordinate_papers.methods.ordinal import LOSSES, Ordinal, OrdinalLoss


@estimator_dataclass
class OrdinalClassifier(RankClassifier):
    """Classify ranks by an encoder and a layer of thresholds between ranks, trained together.

    ``"or"`` (Niu et al., 2016; ORCNN in CLOC's Table 1), ``"corn"`` (Shi et al., 2021) and ``"coral"`` (Cao et al.,
    2020) learn the probability of lying above each threshold between two ranks and predict, as their papers say, one
    rank up for every threshold that is more likely passed than not. That is the median of :meth:`predict_proba`, the
    first rank at which its running sum reaches one half; the most probable rank can be another if none has a
    probability above one half.

    Args:
        loss: ``"or"``, ``"corn"`` or ``"coral"``.
        epochs: Epochs of training; None for 300, or as many as 3000 batches make if that is fewer.

    Example:
        >>> import numpy as np
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> y = np.digitize(X[:, 0], [0.3, 0.7])
        >>> OrdinalClassifier(loss="or", epochs=30, random_state=0).fit(X, y).predict([[0.1], [0.9]]).tolist()
        [0, 2]
    """

    loss: OrdinalLoss = "or"
    epochs: int | None = None

    def new_method(self) -> "OrdinalMethod":
        return OrdinalMethod(self)

    @property
    def usual_decision(self) -> str:
        """The rule of the loss's paper."""
        return "median"


class OrdinalMethod(RankBaseline):
    """How a network and a layer of thresholds on it train together for ranks."""

    settings: OrdinalClassifier

    def __init__(self, estimator: OrdinalClassifier) -> None:
        super().__init__(estimator)
        self.name = {"or": "ORCNN"}.get(str(estimator.loss), str(estimator.loss).upper())

    def check(self) -> None:
        super().check()
        check_choice(self.settings.loss, tuple(LOSSES), "loss")

    def module(self, encoder: nn.Module, facts: Facts) -> Ordinal:
        options = {"loss": self.settings.loss, "epochs": self.epochs(facts), **self.stage_options(facts)}
        return Ordinal(encoder, facts.embedding_dim, facts.outputs, **options)

    def predictor(self, fitted: Fitted) -> nn.Module:
        return ThresholdProbabilities(fitted.module.head, self.settings.loss)
