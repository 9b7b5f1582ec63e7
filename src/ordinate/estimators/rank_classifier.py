"""What the two classifiers of ranks share: their classes, and prediction from probabilities."""

from abc import abstractmethod
from typing import Any, Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from ordinate.data.label_density import LabelBins
from ordinate.decisions import check_decision, compare_rules, predict_ranks
from ordinate.errors import OrdinateError
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.estimators.rank_labels import find_classes, to_ranks
from ordinate.methods.balanced import BalancedMethod
from ordinate.methods.imbalance import Balance, Imbalance
from ordinate.methods.staged import StagedMethod
from ordinate.methods.training import ArrayBatches


class RankClassifier(ClassifierMixin, EmbeddingEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Classify ranks from embeddings."""

    class_order: Any
    decision: Any
    imbalance: Imbalance | None = None  # a classifier that takes none leaves it
    usual_decision = "mode"  # the rule of the method's paper
    decision_scores_: dict[str, dict[str, float]] | None  # of compare_rules on validation samples, None without any

    @abstractmethod
    def _probabilities(self, embeddings: Tensor) -> Tensor:
        """Return (n, C), what speaks for every rank from the lowest to the highest; rows sum to 1."""

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
        """Return (n, C), the probability of every class, or its share of the neighbours' votes (OTD).

        Columns are in the order of ``classes_``, which are sorted, as in scikit-learn; :meth:`rank_probabilities` has
        them by rank.
        """
        return self.rank_probabilities(X)[:, np.argsort(self.ordered_classes_, kind="stable")]

    def rank_probabilities(self, X: ArrayLike | pd.DataFrame) -> NDArray[np.float64]:
        """Return (n, C), the probability of every rank, from the lowest to the highest (``ordered_classes_``)."""
        check_is_fitted(self)
        return self._probabilities_of(self._embed(self._read(X)))

    def predict(self, X: ArrayLike | pd.DataFrame) -> NDArray[Any]:
        """Return (n,), the class that ``decision`` makes of the probabilities."""
        ranks = self.decide(self.rank_probabilities(X))
        return self.ordered_classes_[ranks]

    def decide(self, probabilities: ArrayLike) -> NDArray[np.int64]:
        """Return the ranks (n,) that the model predicts where it gives these probabilities (n, C) to its ranks."""
        return predict_ranks(probabilities, self.rule)

    @property
    def rule(self) -> str | NDArray[np.float64]:
        """The decision in use: ``"mode"``, ``"median"``, or costs (C, C)."""
        return check_decision(self.usual_decision if self.decision is None else self.decision)

    def _probabilities_of(self, embeddings: Tensor) -> NDArray[np.float64]:
        with torch.no_grad():
            return self._probabilities(embeddings).double().numpy()

    def _targets(self, y: Any, *, reset: bool) -> NDArray[np.int64]:
        if reset:
            self._set_classes(find_classes(y, self.class_order))
            if self.decision is not None:
                check_decision(self.decision, len(self.ordered_classes_))
        ranks = to_ranks(y, self.ordered_classes_)
        if reset and len(np.unique(ranks)) < 2:
            raise OrdinateError(
                f"y: got {len(ranks)} sample(s) of one class, {self.classes_.tolist()}, takes at least two classes"
            )
        return ranks

    def _set_classes(self, ordered: NDArray[Any]) -> None:
        self.ordered_classes_ = ordered
        self.classes_ = np.sort(ordered)
        self.decision_scores_ = None

    def _new_method(self, targets: Tensor) -> StagedMethod:
        method = super()._new_method(targets)
        if isinstance(method, BalancedMethod) and method.balance is not None:
            method.balance.fit(targets)
        return method

    def _balance(self) -> Balance | None:
        """Return what makes up for rare ranks, a bin each, not yet fitted to the training ranks."""
        if self.imbalance is None:
            return None
        return Balance(self.imbalance, LabelBins((0.0,), (1.0,), (len(self.ordered_classes_),)), self.embedding_dim)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.decision is not None:
            check_decision(self.decision)
        if self.imbalance is not None and not isinstance(self.imbalance, Imbalance):
            raise OrdinateError(f"imbalance: got {self.imbalance!r}, takes Imbalance(...) or None")
        if self.imbalance is not None and self.imbalance.bin_size is not None:
            raise OrdinateError(
                f"imbalance: got bins of {self.imbalance.bin_size}, ranks have one each; takes bin_size None"
            )

    def _encoder_options(self) -> dict[str, Any]:
        return {"activation": "tanh"} if self.reader_.numbers_only else {}

    def _evaluate(self, validation: ArrayBatches) -> None:
        if len(validation.y) > 1:
            probabilities = self._probabilities_of(self._embed(validation.x))
            self.decision_scores_ = compare_rules(validation.y.numpy(), probabilities)

    def _state(self) -> dict[str, Any]:
        return {"ordered_classes": self.ordered_classes_.tolist(), "decision_scores": self.decision_scores_}

    def _restore(self, state: dict[str, Any]) -> None:
        self._set_classes(np.asarray(state["ordered_classes"]))
        self.decision_scores_ = state.get("decision_scores")
