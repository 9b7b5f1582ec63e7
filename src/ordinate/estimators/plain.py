"""Networks without a contrastive loss with scikit-learn's interface: the baselines of the four methods."""

from typing import TYPE_CHECKING

from torch import nn

from ordinate.checks import check_whole
from ordinate.estimators.estimator_dataclass import estimator_dataclass
from ordinate.estimators.head_options import Head
from ordinate.estimators.method import Facts, Fitted, fewer_epochs
from ordinate.estimators.rank_classifier import RankClassifier, RankMethod
from ordinate.estimators.target_regressor import TargetMethod, TargetRegressor
from ordinate.heads.linear import REGRESSION_LOSSES
from ordinate.heads.ranks import RankLogits
from ordinate.methods.balance import BalanceOptions
from ordinate.options import BinSize

if TYPE_CHECKING:
    from ordinate.methods.plain import CrossEntropy
    from ordinate.methods.regression import EndToEnd


@estimator_dataclass
class CrossEntropyClassifier(RankClassifier):
    """Classify ranks by an encoder and a linear layer trained together by cross-entropy.

    The most probable rank is predicted, on tables the median.

    Args:
        epochs: Epochs of training; None for 300, or as many as 3000 batches make if that is fewer.

    Example:
        >>> import numpy as np
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> y = np.digitize(X[:, 0], [0.3, 0.7])
        >>> CrossEntropyClassifier(epochs=30, random_state=0).fit(X, y).predict([[0.1], [0.9]]).tolist()
        [0, 2]
    """

    epochs: int | None = None

    def new_method(self) -> "CrossEntropyMethod":
        return CrossEntropyMethod(self)


class RankBaseline(RankMethod):
    """How a baseline trains for ``epochs``; None stands for 300, or as many as 3000 batches make if that is fewer."""

    def check(self) -> None:
        super().check()
        if self.settings.epochs is not None:
            check_whole(self.settings.epochs, "epochs")

    def epochs(self, facts: Facts) -> int:
        """Return the epochs of training."""
        if self.settings.epochs is None:
            return fewer_epochs(300, 3000, facts.n_batches)
        return self.settings.epochs


class CrossEntropyMethod(RankBaseline):
    """How a network and a linear layer on it train together for ranks."""

    name = "Cross-entropy"

    def module(self, encoder: nn.Module, facts: Facts) -> "CrossEntropy":
        from ordinate.methods.plain import CrossEntropy

        options = {"epochs": self.epochs(facts), **self.stage_options(facts)}
        return CrossEntropy(encoder, facts.embedding_dim, facts.outputs, **options)

    def predictor(self, fitted: Fitted) -> nn.Module:
        return RankLogits(fitted.module.head)


@estimator_dataclass
class EndToEndRegressor(TargetRegressor):
    """Predict continuous targets by an encoder and a head trained together, without a contrastive loss.

    The baseline of SupCR and SupReMix, with the losses of SupCR's Tables 1 to 4.

    Args:
        loss: Loss of the head, as in :class:`~ordinate.Head`.
        bin_size: Size of the bins of a loss on bins, as in :class:`~ordinate.Head`.
        epochs: Epochs of training; as many as :class:`~ordinate.SupCRRegressor` has for its encoder and its head.
        imbalance: Correction for rare targets, as in :class:`~ordinate.SupCRRegressor`; None for none.

    Example:
        >>> import numpy as np
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> model = EndToEndRegressor(loss="huber", epochs=20, random_state=0).fit(X, 10 * X[:, 0])
        >>> model.predict([[0.5]]).shape, model.transform([[0.5]]).shape
        ((1,), (1, 64))
    """

    loss: str = "l1"
    bin_size: BinSize = None
    epochs: int = 500
    imbalance: BalanceOptions | None = None

    def new_method(self) -> "EndToEndMethod":
        return EndToEndMethod(self)


class EndToEndMethod(TargetMethod):
    """How a network and a head on it train together for continuous targets."""

    settings: EndToEndRegressor

    def __init__(self, estimator: EndToEndRegressor) -> None:
        super().__init__(estimator)
        self.name = f"{str(estimator.loss).upper().replace('_', '-')} end to end"

    @property
    def head(self) -> Head:
        return Head("linear", self.settings.loss, bin_size=self.settings.bin_size)

    def candidates(self) -> tuple[str, ...]:
        if self.settings.loss not in REGRESSION_LOSSES:
            return ("linear",)
        return ("linear", "ridge", "neighbours")

    def check(self) -> None:
        super().check()
        check_whole(self.settings.epochs, "epochs")
        _ = self.head

    def module(self, encoder: nn.Module, facts: Facts) -> "EndToEnd":
        from ordinate.methods.regression import EndToEnd

        module = EndToEnd(
            encoder,
            facts.embedding_dim,
            facts.outputs,
            head_loss=self.settings.loss,
            bin_size=self.settings.bin_size,
            epochs=self.settings.epochs,
            balance=self.balance(facts),
            **self.stage_options(facts),
        )
        module.head.standardise(facts.targets)
        return module
