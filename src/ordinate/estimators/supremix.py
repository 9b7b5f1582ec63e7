"""SupReMix with scikit-learn's interface."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import nn

from ordinate.errors import OrdinateError
from ordinate.estimators.estimator_dataclass import estimator_dataclass
from ordinate.estimators.method import Facts, Fitted
from ordinate.estimators.target_regressor import ContrastiveMethod, ContrastiveParameters, TargetRegressor
from ordinate.options import Similarity

if TYPE_CHECKING:
    from ordinate.methods.supremix import SupReMix


@estimator_dataclass
class SupReMixRegressor(ContrastiveParameters, TargetRegressor):
    """Predict continuous targets by SupReMix: mixtures as hard negatives and positives, and a head on the encoder.

    Args:
        temperature: Temperature of the softmax, > 0.
        beta: Parameters of the Beta distribution of the shares of mixtures.
        window: Largest label difference gamma of positives, in units of y, or ``"auto"`` for the difference that holds
            about 8 samples of a batch on each side of an anchor.

    Attributes:
        window_: Window that was used.

    Example:
        >>> import numpy as np
        >>> from ordinate import SupReMixRegressor
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> model = SupReMixRegressor(epochs=(20, 20), random_state=0).fit(X, 10 * X[:, 0])
        >>> model.predict([[0.5]]).shape, model.window_ > 0
        ((1,), True)
    """

    temperature: float = 0.2
    beta: Sequence[float] = (2.0, 8.0)
    window: float | str = "auto"

    one_dimension: ClassVar[bool] = True

    def new_method(self) -> "SupReMixMethod":
        return SupReMixMethod(self)

    @property
    def window_(self) -> float:
        return float(self.fact("window_"))


class SupReMixMethod(ContrastiveMethod):
    """How SupReMix trains: mixtures of a batch's embeddings, whose window follows from the training targets."""

    name = "SupReMix"
    settings: SupReMixRegressor
    window: float

    def similarity(self, fitted: Fitted) -> Similarity:
        return "cosine"

    def check(self) -> None:
        super().check()
        window = self.settings.window
        if window != "auto" and (not isinstance(window, int | float) or not window > 0):
            raise OrdinateError("window", repr(window), "'auto' or a label difference above 0")

    def module(self, encoder: nn.Module, facts: Facts) -> "SupReMix":
        from ordinate.methods.supremix import SupReMix

        self.window = usual_window(facts.targets[:, 0].numpy(), facts.batch_size)
        if self.settings.window != "auto":
            self.window = float(self.settings.window)
        module = SupReMix(
            encoder,
            facts.embedding_dim,
            window=self.window,
            balance=self.balance(facts),
            temperature=self.settings.temperature,
            beta=self.settings.beta,
            **self.scheme_options(facts),
        )
        module.head.standardise(facts.targets)
        return module

    def finish(self, fitted: Fitted) -> nn.Module:
        fitted.facts["window_"] = self.window
        return super().finish(fitted)


def usual_window(targets: NDArray[np.float32], batch_size: int, neighbours: int = 8) -> float:
    """Return the label difference that holds about so many samples of a batch on each side of an anchor."""
    ordered = np.sort(targets.astype(np.float64))
    batch = min(batch_size, len(ordered))
    reach = min(len(ordered) - 1, max(1, round(len(ordered) * neighbours / batch)))
    window = float(np.median(ordered[reach:] - ordered[:-reach]))
    if window > 0:
        return window
    return float(np.diff(np.unique(ordered)).min())
