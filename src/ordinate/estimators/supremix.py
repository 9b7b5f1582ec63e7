"""SupReMix behind scikit-learn's interface."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from ordinate.errors import OrdinateError
from ordinate.estimators.contrastive_regressor import ContrastiveRegressor
from ordinate.estimators.parameters import estimator_dataclass

if TYPE_CHECKING:
    from ordinate.methods.members import TargetMembers
    from ordinate.methods.regression import Regression
    from ordinate.methods.supremix import SupReMix

NEIGHBOURS_IN_WINDOW = 8  # samples of a batch on each side of an anchor that the automatic window holds


@estimator_dataclass
class SupReMixRegressor(ContrastiveRegressor):
    """Predict continuous targets by SupReMix: mixtures as hard negatives and positives, and a head on the encoder.

    Args:
        temperature: of the loss.
        beta: parameters of the Beta distribution of the mixtures' shares.
        window: gamma in units of y, or ``"auto"``: what holds about 8 samples of a batch on each side of an anchor.

    Attributes:
        window_: the window used.

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

    multi_output = False

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.window != "auto" and (not isinstance(self.window, int | float) or not self.window > 0):
            raise OrdinateError("window", repr(self.window), "'auto' or a label difference above 0")

    def _new_method(self, targets: Tensor) -> "Regression | TargetMembers":
        self.window_ = self._choose_window(targets[:, 0].numpy())
        return super()._new_method(targets)

    def _choose_window(self, targets: NDArray[np.float32]) -> float:
        if self.window != "auto":
            return float(self.window)
        ordered = np.sort(targets.astype(np.float64))
        batch = min(self._samples_per_batch, len(ordered))
        reach = min(len(ordered) - 1, max(1, round(len(ordered) * NEIGHBOURS_IN_WINDOW / batch)))
        window = float(np.median(ordered[reach:] - ordered[:-reach]))
        return window if window > 0 else float(np.diff(np.unique(ordered)).min())

    def _build_method(self, encoder: nn.Module) -> "SupReMix":
        from ordinate.methods.supremix import SupReMix

        return SupReMix(
            encoder,
            self.embedding_dim_,
            window=self.window_,
            balance=self._balance(),
            temperature=self.temperature,
            beta=self.beta,
            **self._scheme_options(),
        )

    def _state(self) -> dict[str, Any]:
        return {**super()._state(), "window": self.window_}

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        self.window_ = state["window"]
