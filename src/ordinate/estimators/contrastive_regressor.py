"""What the regressors share: targets, the choice of the head, prediction."""

import warnings
from abc import abstractmethod
from dataclasses import asdict
from typing import Any, Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_array, check_is_fitted
from torch import Tensor, nn

from ordinate.data.label_density import LabelBins
from ordinate.data.part import random_part
from ordinate.data.samplers import ShuffledBatches
from ordinate.data.view_batches import ViewBatches
from ordinate.errors import OrdinateError
from ordinate.estimators.embedding_estimator import MOST_EMBEDDED, EmbeddingEstimator
from ordinate.heads.linear import REGRESSION_LOSSES, LinearHead
from ordinate.heads.neighbours import NeighbourMean
from ordinate.heads.ridge import fit_ridge
from ordinate.methods.imbalance import Balance, Imbalance
from ordinate.methods.optimization import Optimization
from ordinate.methods.regression import Regression
from ordinate.methods.training import ArrayBatches
from ordinate.options import HeadLoss, Scheme

MIN_DEVIATION, MAX_DEVIATION = 1e-36, 1e36  # of targets, within what float32 holds
HEADS = ("linear", "ridge", "neighbours")


class ContrastiveRegressor(RegressorMixin, EmbeddingEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Predict continuous targets from embeddings."""

    head: str
    head_loss: HeadLoss
    scheme: Scheme
    imbalance: Imbalance | None = None  # a regressor that takes none leaves it
    method_: Regression

    def fit(
        self,
        X: ArrayLike | pd.DataFrame,
        y: ArrayLike,
        validation: tuple[Any, Any] | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Train on samples X and targets y.

        Args:
            X: (n, features) array, DataFrame or :class:`~ordinate.ParquetTable`, or series (n, channels, length), for
                several lengths as a list of arrays (channels, length) or with NaN after the last point of the shorter
                ones.
            y: (n,) real targets, not all equal; SupCR also takes (n, p).
            validation: ``(X, y)`` to watch, and to choose the head on, instead of a share of the samples.
            groups: (n,), such as the subject of every sample; a group is never on both sides of the share that
                ``validation_fraction`` holds out.
        """
        if self.head not in ("auto", *HEADS):
            raise OrdinateError(f"head: got {self.head!r}, takes 'auto', {', '.join(map(repr, HEADS))}")
        return self._fit(X, y, validation, groups, stratify=False)

    def predict(self, X: ArrayLike | pd.DataFrame) -> NDArray[np.float64]:
        """Return (n,) or (n, p), targets in their own units."""
        check_is_fitted(self)
        embeddings = self._embed(self._read(X))
        with torch.no_grad():
            predicted = self.head_(embeddings).double().numpy() + self.target_offset_
        return predicted[:, 0] if self.target_is_vector_ else predicted

    @abstractmethod
    def _build_method(self, encoder: nn.Module) -> Regression:
        """Return the untrained method around the encoder."""

    def _targets(self, y: Any, *, reset: bool) -> NDArray[np.float32]:
        targets = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y", estimator=self)
        if targets.ndim > 2:
            raise OrdinateError(f"y: got shape {targets.shape}, takes (n,) or (n, p)")
        if reset:
            self.target_is_vector_ = targets.ndim == 1
            self.target_dim_ = 1 if targets.ndim == 1 else targets.shape[1]
            if len(targets) == 1:
                raise OrdinateError("y: got 1 sample, takes at least two to contrast")
            if (targets == targets[0]).all():
                raise OrdinateError(
                    f"y: got the one value {targets.flat[0]:g} for every sample, takes targets that differ"
                )
            self.target_offset_ = targets.reshape(len(targets), -1).mean(axis=0)
            if getattr(self, "label_distance", "l1") not in ("l1", "l2"):  # others may change with a shift
                self.target_offset_ = np.zeros_like(self.target_offset_)
        matrix = targets.reshape(len(targets), -1)
        if matrix.shape[1] != len(self.target_offset_):
            raise OrdinateError(f"y: got {matrix.shape[1]} targets a sample, takes {len(self.target_offset_)}")
        centred = matrix - self.target_offset_
        if reset and not MIN_DEVIATION < centred.std() < MAX_DEVIATION:
            raise OrdinateError(
                f"y: got values past the range of float32 or too close for it, with a deviation of {centred.std():g}; "
                "takes rescaled targets"
            )
        return centred.astype(np.float32)

    def _batches(self, targets: NDArray[Any], seed: int) -> ShuffledBatches:
        return ShuffledBatches(len(targets), self._samples_a_batch, seed)

    def _new_method(self, targets: Tensor) -> Regression:
        self.label_bins_ = None if self.imbalance is None else LabelBins.over(targets, self.imbalance.bin_size)
        method = self._build_method(self._new_encoder())
        method.head.standardise(targets)
        if method.balance is not None:
            method.balance.fit(targets)
        return method

    @property
    def _head_optimization(self) -> Optimization:
        """Of the stage after the encoder's: on frozen embeddings, classifiers of many bins need large weights."""
        on_bins = self.scheme == "linear_probe" and self.head_loss not in REGRESSION_LOSSES
        return Optimization("adamw", (100 if on_bins else 10) * self.learning_rate, 0.0)

    def _balance(self) -> Balance | None:
        """Return what makes up for rare targets, not yet fitted to the training targets."""
        if self.imbalance is None or self.label_bins_ is None:
            return None
        return Balance(self.imbalance, self.label_bins_, self.embedding_dim)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.imbalance is not None and not isinstance(self.imbalance, Imbalance):
            raise OrdinateError(f"imbalance: got {self.imbalance!r}, takes Imbalance(...) or None")

    def _finish(self, training: ArrayBatches | ViewBatches, validation: ArrayBatches | None) -> None:
        """Choose the head with the lowest absolute error on the validation samples."""
        names: tuple[str, ...] = (self.head,)
        if self.head == "auto":
            for_the_trained_head = self.imbalance is not None and (self.imbalance.lds is not None or self.imbalance.fds)
            names = ("linear",) if for_the_trained_head else HEADS
        if not self._head_is_trained:
            if names == ("linear",):
                warnings.warn(
                    "the time was over before the linear head was trained: ridge regression on the embeddings is in "
                    "its place; give more time, or head='ridge'",
                    UserWarning,
                    stacklevel=4,
                )
            names = tuple(name for name in names if name != "linear") or ("ridge",)
        if validation is None:
            names = names[:1]
        rows = random_part(len(training.x), MOST_EMBEDDED)
        embeddings = self._embed_rows(training.x, rows).float().double()  # as a saved model holds them
        heads = {name: self._fit_head(name, embeddings, training.y[rows].double()) for name in names}
        self.head_scores_: dict[str, float] = {}
        if validation is not None:
            with torch.no_grad():
                seen = self._embed(validation.x)
                self.head_scores_ = {
                    name: float((head(seen) - validation.y).abs().mean()) for name, head in heads.items()
                }
        self.head_name_ = min(self.head_scores_, key=self.head_scores_.__getitem__) if self.head_scores_ else names[0]
        self.head_ = heads[self.head_name_]

    @property
    def _head_is_trained(self) -> bool:
        """Whether the last stage, which trains the head, had a whole epoch before the time for it was over."""
        last = len(self.method_.stages) - 1
        return last == 0 or any(epoch["stage"] == last and "passed" not in epoch for epoch in self.method_.history)

    def _fit_head(self, name: str, embeddings: Tensor, targets: Tensor) -> nn.Module:
        if name == "linear":
            return self.method_.head
        if name == "ridge":
            return fit_ridge(embeddings, targets).float().double()  # as a saved model holds it
        return NeighbourMean(embeddings, targets)

    def _state(self) -> dict[str, Any]:
        return {
            "head": self.head_name_,
            "head_scores": self.head_scores_,
            "target_dim": self.target_dim_,
            "target_offset": self.target_offset_.tolist(),
            "target_is_vector": self.target_is_vector_,
            "label_bins": None if self.label_bins_ is None else asdict(self.label_bins_),
        }

    def _restore(self, state: dict[str, Any]) -> None:
        self.head_name_ = state["head"]
        self.head_scores_ = state["head_scores"]
        self.target_dim_ = state["target_dim"]
        self.target_offset_ = np.asarray(state["target_offset"])
        self.target_is_vector_ = state["target_is_vector"]
        bins = state.get("label_bins")
        self.label_bins_ = bins and LabelBins(*(tuple(bins[name]) for name in ("smallest", "size", "counts")))

    def _tensors(self) -> dict[str, Tensor]:
        return {f"head.{name}": value for name, value in self.head_.state_dict().items()}

    def _restore_tensors(self, tensors: dict[str, Tensor]) -> None:
        if self.head_name_ == "linear":
            self.head_ = self.method_.head
            return
        if self.head_name_ == "neighbours":
            self.head_ = NeighbourMean(tensors["head.embeddings"].double(), tensors["head.targets"].double())
            return
        self.head_ = LinearHead(self.embedding_dim, len(tensors["head.target_mean"])).double()
        self.head_.load_state_dict({name.removeprefix("head."): value for name, value in tensors.items()})
