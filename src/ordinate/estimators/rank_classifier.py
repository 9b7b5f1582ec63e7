"""What the two classifiers of ranks share: their classes, and prediction from probabilities."""

from abc import abstractmethod
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from ordinate.data.label_density import LabelBins
from ordinate.errors import OrdinateError
from ordinate.estimators import inputs
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.estimators.rank_labels import find_classes, to_ranks
from ordinate.methods.balanced import BalancedMethod
from ordinate.methods.imbalance import Balance, Imbalance
from ordinate.methods.staged import StagedMethod


class RankClassifier(ClassifierMixin, EmbeddingEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Classify ranks from embeddings."""

    class_order: Any
    imbalance: Imbalance | None = None  # a classifier that takes none leaves it

    @abstractmethod
    def _probabilities(self, embeddings: Tensor) -> Tensor:
        """Return (n, C), what speaks for every rank; rows sum to 1."""

    def fit(
        self,
        X: ArrayLike | pd.DataFrame,
        y: ArrayLike,
        validation: tuple[Any, Any] | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Train on samples X and labels y.

        Args:
            X: (n, features) array, DataFrame or :class:`~ordinate.ParquetTable`, or series (n, channels, length), for
                several lengths as a list of arrays (channels, length) or with NaN after the last point of the shorter
                ones.
            y: (n,), labels of at least two ranks; for CLOC two of them need two samples each.
            validation: ``(X, y)`` to watch instead of a share of the samples.
            groups: (n,), such as the subject of every sample; a group is never on both sides of the share that
                ``validation_fraction`` holds out.
        """
        return self._fit(X, y, validation, groups, stratify=True)

    def predict_proba(self, X: ArrayLike | pd.DataFrame) -> NDArray[np.float64]:
        """Return (n, C): the probability of every rank (CLOC), or its share of the neighbours' votes (OTD)."""
        check_is_fitted(self)
        embeddings = self._embed(self._read(X))
        return self._probabilities(embeddings).detach().numpy()

    def predict(self, X: ArrayLike | pd.DataFrame) -> NDArray[Any]:
        """Return (n,), the class with the highest probability."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def _targets(self, y: Any, *, reset: bool) -> NDArray[np.int64]:
        if reset:
            self.classes_ = find_classes(y, self.class_order)
        ranks = to_ranks(y, self.classes_)
        if reset and len(np.unique(ranks)) < 2:
            raise OrdinateError(
                f"y: got {len(ranks)} sample(s) of one class, {self.classes_.tolist()}, takes at least two classes"
            )
        return ranks

    def _new_method(self, targets: Tensor) -> StagedMethod:
        method = super()._new_method(targets)
        if isinstance(method, BalancedMethod) and method.balance is not None:
            method.balance.fit(targets)
        return method

    def _balance(self) -> Balance | None:
        """Return what makes up for rare ranks, a bin each, not yet fitted to the training ranks."""
        if self.imbalance is None:
            return None
        return Balance(self.imbalance, LabelBins((0.0,), (1.0,), (len(self.classes_),)), self.embedding_dim)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.imbalance is not None and not isinstance(self.imbalance, Imbalance):
            raise OrdinateError(f"imbalance: got {self.imbalance!r}, takes Imbalance(...) or None")
        if self.imbalance is not None and self.imbalance.bin_size is not None:
            raise OrdinateError(
                f"imbalance: got bins of {self.imbalance.bin_size}, ranks have one each; takes bin_size None"
            )

    def _encoder_options(self) -> dict[str, Any]:
        return {"activation": "tanh"} if inputs.holds_numbers_alone(self.reader_) else {}

    def _state(self) -> dict[str, Any]:
        return {"classes": self.classes_.tolist()}

    def _restore(self, state: dict[str, Any]) -> None:
        self.classes_ = np.asarray(state["classes"])
