"""Losses of ranks that came after the papers, with scikit-learn's interface."""

from torch import nn

from ordinate.checks import check_choice
from ordinate.estimators.estimator_dataclass import estimator_dataclass
from ordinate.estimators.method import Facts, Fitted
from ordinate.estimators.plain import RankBaseline
from ordinate.estimators.rank_classifier import RankClassifier
from ordinate.heads.ranks import RankLogits
from ordinate_papers.losses.unimodal import UnimodalHead, UnimodalProbabilities
from ordinate_papers.methods.rank_losses import LOSSES, LaterOrdinal, RankLossName


@estimator_dataclass
class RankLossClassifier(RankClassifier):
    """Classify ranks by an encoder and a head trained together, by a loss that knows the order of the ranks.

    Plain baselines: ``"sord"`` (soft labels; Díaz and Marathe, 2019), ``"squared_emd"`` (squared earth mover's
    distance; Hou et al., 2016), ``"weighted_kappa"`` (quadratic weighted kappa; de la Torre et al., 2018), and
    cross-entropy on a unimodal head, ``"binomial"`` or ``"poisson"`` (Beckham and Pal, 2017). The rule of all papers is
    the most probable rank; on tables the default is the median.

    Args:
        loss: Name of the loss.
        epochs: Epochs of training; None for 300, or as many as 3000 batches make if that is fewer.

    Example:
        >>> import numpy as np
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> y = np.digitize(X[:, 0], [0.3, 0.7])
        >>> RankLossClassifier(loss="sord", epochs=30, random_state=0).fit(X, y).predict([[0.1], [0.9]]).tolist()
        [0, 2]
    """

    loss: RankLossName = "sord"
    epochs: int | None = None

    def new_method(self) -> "RankLossMethod":
        return RankLossMethod(self)


class RankLossMethod(RankBaseline):
    """How an encoder and a head train together by one of these losses."""

    settings: RankLossClassifier

    def __init__(self, estimator: RankLossClassifier) -> None:
        super().__init__(estimator)
        self.name = f"{estimator.loss} end to end"

    def check(self) -> None:
        super().check()
        check_choice(self.settings.loss, tuple(LOSSES), "loss")

    def module(self, encoder: nn.Module, facts: Facts) -> LaterOrdinal:
        options = {"loss": self.settings.loss, "epochs": self.epochs(facts), **self.stage_options(facts)}
        return LaterOrdinal(encoder, facts.embedding_dim, facts.outputs, **options)

    def predictor(self, fitted: Fitted) -> nn.Module:
        head = fitted.module.head
        if isinstance(head, UnimodalHead):
            return UnimodalProbabilities(head)
        return RankLogits(head)
