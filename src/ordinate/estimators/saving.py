"""How an estimator is saved, and restored from what was saved."""

from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from ordinate.encoders.network import reason
from ordinate.errors import OrdinateError
from ordinate.estimators.persistence import save_estimator


class Saving(BaseEstimator):
    """The part of an estimator that its model folder is written from and that reads it back."""

    def save(self, folder: str | Path) -> None:
        """Write the fitted model to a folder: weights as safetensors, the rest as readable JSON.

        The folder must not hold anything yet; it appears whole or not at all. :func:`ordinate.load` reads it.
        """
        check_is_fitted(self)
        save_estimator(self, Path(folder))

    def _saved_params(self) -> dict[str, Any]:
        """Return the parameters that a saved model keeps: no code, and nothing that runs the training alone."""
        settings: dict[str, Any] = self.get_params() | {"logger": None, "callbacks": None, "cluster": None}
        if not isinstance(self.strategy, str):
            settings["strategy"] = None
        if callable(self.optimizer):  # whoever fits it again gives it again, as its name alone is refused
            settings["optimizer"] = repr(self.optimizer)
        return settings

    def _state(self) -> dict[str, Any]:
        """Fitted values besides the weights, ready for JSON."""
        return {}

    def _restore(self, state: dict[str, Any]) -> None:
        """Set the fitted values that :meth:`_state` gave."""

    def _restore_method(self, weights: dict[str, Tensor]) -> None:
        """Build the method anew and give it the saved weights."""
        self.method_ = self._method_around(self._new_encoder(for_saved_weights=True))
        try:
            self.method_.load_state_dict(weights)
        except RuntimeError as error:
            if not callable(self.encoder):
                raise
            raise OrdinateError("encoder", problem=f"does not fit the saved weights: {reason(error)}") from error
        self._prepare_inference()

    def _tensors(self) -> dict[str, Tensor]:
        """Fitted tensors besides the method's."""
        return {}

    def _restore_tensors(self, tensors: dict[str, Tensor]) -> None:
        """Set the fitted tensors that :meth:`_tensors` gave."""
