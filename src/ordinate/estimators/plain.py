"""Networks without a contrastive loss with scikit-learn's interface: the baselines of the four methods."""

from typing import TYPE_CHECKING, ClassVar

from torch import nn

from ordinate.checks import check_whole
from ordinate.estimators.embedding_estimator import estimator_dataclass
from ordinate.estimators.head_options import Head
from ordinate.estimators.method import Facts, Fitted, fewer_epochs
from ordinate.estimators.rank_classifier import RankClassifier, RankMethod
from ordinate.estimators.target_regressor import TargetMethod, TargetRegressor
from ordinate.heads.binned import BinSize
from ordinate.heads.ranks import RankLogits
from ordinate.methods.balance import BalanceOptions
from ordinate.options import HeadLoss, OrdinalLoss

if TYPE_CHECKING:
    from ordinate.methods.ordinal import Ordinal
    from ordinate.methods.regression import EndToEnd


@estimator_dataclass
class OrdinalClassifier(RankClassifier):
    """Classify ranks by an encoder and a linear layer trained together.

    ``"cross_entropy"`` learns the probability of every rank and predicts the most probable one. ``"or"`` (Niu et al.,
    2016; ORCNN in CLOC's Table 1), ``"corn"`` (Shi et al., 2021) and ``"coral"`` (Cao et al., 2020) learn the
    probability of lying above each threshold between two ranks and predict, as their papers say, one rank up for every
    threshold that is more likely passed than not. That is the median of :meth:`predict_proba`, the first rank at which
    its running sum reaches one half; the most probable rank can be another if none has a probability above one half.

    Args:
        loss: ``"cross_entropy"``, ``"or"``, ``"corn"`` or ``"coral"``.
        epochs: Epochs of training; None for 300, or as many as 3000 batches make if that is fewer.

    Example:
        >>> import numpy as np
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> y = np.digitize(X[:, 0], [0.3, 0.7])
        >>> OrdinalClassifier(loss="or", epochs=30, random_state=0).fit(X, y).predict([[0.1], [0.9]]).tolist()
        [0, 2]
    """

    loss: OrdinalLoss = "cross_entropy"
    epochs: int | None = None

    method: ClassVar[str] = "ordinate.estimators.plain:OrdinalMethod"

    @property
    def usual_decision(self) -> str:
        """The rule of the loss's paper."""
        return "mode" if self.loss == "cross_entropy" else "median"


class OrdinalMethod(RankMethod):
    """How a network and a linear layer on it train together for ranks."""

    settings: OrdinalClassifier

    def __init__(self, estimator: OrdinalClassifier) -> None:
        super().__init__(estimator)
        names = {"cross_entropy": "Cross-entropy", "or": "ORCNN", "corn": "CORN", "coral": "CORAL"}
        self.name = names.get(estimator.loss, str(estimator.loss))

    def check(self) -> None:
        super().check()
        if self.settings.epochs is not None:
            check_whole(self.settings.epochs, "epochs")

    def module(self, encoder: nn.Module, facts: Facts) -> "Ordinal":
        from ordinate.methods.ordinal import Ordinal

        return Ordinal(
            encoder,
            facts.embedding_dim,
            facts.outputs,
            loss=self.settings.loss,
            epochs=self.settings.epochs or fewer_epochs(300, 3000, facts.n_batches),
            **self.stage_options(facts),
        )

    def predictor(self, fitted: Fitted) -> nn.Module:
        return RankLogits(fitted.module.head, self.settings.loss)


@estimator_dataclass
class EndToEndRegressor(TargetRegressor):
    """Predict continuous targets by an encoder and a head trained together, without a contrastive loss.

    The baseline of SupCR and SupReMix, with the losses of SupCR's Tables 1 to 4.

    Args:
        loss: ``"l1"``, ``"mse"`` or ``"huber"``, or on bins of the targets ``"dex"``, ``"dldl_v2"``, ``"or"`` or
            ``"corn"``.
        bin_size: Size of the bins in units of y, as in :class:`~ordinate.Head`.
        epochs: Epochs of training; as many as :class:`~ordinate.SupCRRegressor` has for its encoder and its head.
        imbalance: Correction for rare targets, as in :class:`~ordinate.SupCRRegressor`; None for none.

    Example:
        >>> import numpy as np
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> model = EndToEndRegressor(loss="dldl_v2", epochs=20, random_state=0).fit(X, 10 * X[:, 0])
        >>> model.predict([[0.5]]).shape, model.transform([[0.5]]).shape
        ((1,), (1, 64))
    """

    loss: HeadLoss = "l1"
    bin_size: BinSize = None
    epochs: int = 500
    imbalance: BalanceOptions | None = None

    method: ClassVar[str] = "ordinate.estimators.plain:EndToEndMethod"


class EndToEndMethod(TargetMethod):
    """How a network and a head on it train together for continuous targets."""

    settings: EndToEndRegressor

    def __init__(self, estimator: EndToEndRegressor) -> None:
        super().__init__(estimator)
        names = {"l1": "L1", "mse": "MSE", "huber": "Huber", "dex": "DEX", "dldl_v2": "DLDL-v2"}
        loss = str(estimator.loss)
        self.name = f"{names.get(loss, loss.upper())} end to end"

    @property
    def head(self) -> Head:
        return Head("linear", self.settings.loss, bin_size=self.settings.bin_size)

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
