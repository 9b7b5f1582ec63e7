"""Regression end to end behind scikit-learn's interface."""

from dataclasses import field
from typing import TYPE_CHECKING

from torch import nn

from ordinate.estimators.contrastive_regressor import ContrastiveRegressor
from ordinate.estimators.parameters import estimator_dataclass
from ordinate.functional.inputs import check_whole
from ordinate.options import Scheme

if TYPE_CHECKING:
    from ordinate.methods.end_to_end import EndToEnd

NAMES = {
    "l1": "L1", "mse": "MSE", "huber": "Huber", "dex": "DEX", "dldl_v2": "DLDL-v2", "or": "OR", "corn": "CORN"
}  # fmt: skip


@estimator_dataclass
class EndToEndRegressor(ContrastiveRegressor):
    """Predict continuous targets by an encoder and a head trained together, without a contrastive loss.

    What SupCR and SupReMix are compared with, by the losses of SupCR's Tables 1 to 4.

    Args:
        epochs: as many as :class:`~ordinate.SupCRRegressor` has for its encoder and its head together.
        imbalance: what to do about rare targets: :class:`~ordinate.methods.imbalance.Imbalance` with LDS, FDS or
            RankSim; None does nothing.

    Example:
        >>> import numpy as np
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> model = EndToEndRegressor(head_loss="dldl_v2", epochs=20, random_state=0).fit(X, 10 * X[:, 0])
        >>> model.predict([[0.5]]).shape, model.transform([[0.5]]).shape
        ((1,), (1, 64))
    """

    scheme: Scheme = field(default="regularise", init=False)
    head: str = field(default="linear", init=False)  # the one that was trained
    head_learning_rate: float | None = field(default=None, init=False)
    n_neighbors: int = field(default=5, init=False)
    epochs: int = 500
    method_: "EndToEnd" = field(init=False)

    @property
    def method_name(self) -> str:
        return f"{NAMES[self.head_loss]} end to end"

    def _build_method(self, encoder: nn.Module) -> "EndToEnd":
        from ordinate.methods.end_to_end import EndToEnd

        return EndToEnd(
            encoder,
            self.embedding_dim_,
            self.target_dim_,
            epochs=check_whole(self.epochs, "epochs"),
            balance=self._balance(),
            **self._training_options(),
        )
