"""What the classifiers of ranks share: their classes, and prediction from probabilities."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from ordinate.data.label_density import LabelBins
from ordinate.data.large_labels import are_in_file, computed, in_parts
from ordinate.data.training_batches import ArrayBatches
from ordinate.decisions import check_decision, compare_rules, predict_ranks
from ordinate.decisions.costs import costs_by_rank
from ordinate.errors import OrdinateError
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.estimators.parameters import estimator_dataclass
from ordinate.estimators.rank_labels import check_labels, find_classes, to_ranks
from ordinate.estimators.sample_weights import CheckedSamples, check_class_weight, weights_of_ranks
from ordinate.functional.inputs import check_whole


@estimator_dataclass
class RankClassifier(ClassifierMixin, EmbeddingEstimator):
    """Classify ranks from embeddings.

    Args:
        class_order: the classes from lowest to highest, where y does not tell.
        decision: which rank is predicted from the probabilities: ``"mode"``, ``"median"``, or a matrix (C, C) of costs,
            true by predicted rank, or a table of them with the labels in any order; see
            :func:`~ordinate.decisions.predict_ranks`. None is the paper's, the mode; ``"auto"`` is the median on
            tables, which is off by fewer ranks there and as often right, and the paper's elsewhere.
        class_weight: what the classes weigh in training, beside ``sample_weight``: ``{label: weight}``, 1 for labels
            that it lacks, or ``"balanced"`` for all classes the same in sum. OTD counts all ranks the same by itself,
            and the weights come on top.
        epochs: of training; by default 300, or as many as 3000 batches make if that is fewer.
        weight_decay: by default 3, and 0.05 for images and volumes.

    Attributes:
        classes_: (C,), sorted.
        ordered_classes_: (C,), from the lowest rank to the highest.
        decision_scores_: accuracy and MAE of mode and median on the validation samples; None without any.
    """

    class_order: Sequence[Any] | None = None
    decision: str | ArrayLike | None = "auto"
    class_weight: str | Mapping[Any, float] | None = None
    epochs: int | None = None

    stratified = True
    usual_decay = 3.0  # where weight_decay is None

    @property
    def usual_decision(self) -> str:
        """The decision rule of the method's paper."""
        return "mode"

    @abstractmethod
    def _probabilities(self, embeddings: Tensor) -> Tensor:
        """Return (n, C), the probability of every rank from the lowest to the highest; rows sum to 1."""

    def predict_proba(self, X: ArrayLike | pd.DataFrame) -> NDArray[np.float64]:
        """Return (n, C), the probability of every class, or its share of the neighbours' votes (OTD).

        Columns are in the order of ``classes_``, which are sorted, as in scikit-learn; :meth:`rank_probabilities` has
        them by rank.
        """
        return self.rank_probabilities(X)[:, np.argsort(self.ordered_classes_, kind="stable")]

    def rank_probabilities(self, X: ArrayLike | pd.DataFrame) -> NDArray[np.float64]:
        """Return (n, C), the probability of every rank, from the lowest to the highest (``ordered_classes_``)."""
        check_is_fitted(self)
        x = self._read(X)
        return self._probabilities_of(self._embed(x), x)

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
        if not self._is_auto:
            return self._checked_decision()
        return self.reader_.decision or self.usual_decision

    def _checked_decision(self) -> str | NDArray[np.float64]:
        """Return the decision that is given, or the paper's; costs by rank, also of a table that names its labels."""
        given = self.usual_decision if self.decision is None else self.decision
        classes = self.ordered_classes_.tolist()
        try:
            return check_decision(costs_by_rank(given, classes), len(classes))
        except OrdinateError as error:
            raise error if error.argument == "decision" else OrdinateError("decision", problem=error) from error

    @property
    def _is_auto(self) -> bool:
        return isinstance(self.decision, str) and self.decision == "auto"

    def _probabilities_of(self, embeddings: Tensor, x: Any) -> NDArray[np.float64]:
        """Return (n, C) for samples that were read as ``x`` and embedded."""
        with torch.no_grad():
            return self._probabilities(embeddings).double().numpy()

    def _targets(self, y: Any, *, reset: bool) -> NDArray[np.int32]:
        large = are_in_file(y)
        different = (
            np.unique(np.concatenate([np.unique(check_labels(part)) for _, part in in_parts(y)])) if large else y
        )
        if reset:
            self._set_classes(find_classes(different, self.class_order))
            if not (self.decision is None or self._is_auto):
                self._checked_decision()
        ranks = to_ranks(different, self.ordered_classes_).astype(np.int32)  # half of the memory
        if large:
            ranks = computed(y, y.shape, np.int32, lambda part: to_ranks(part, self.ordered_classes_))
        if reset and len(self.ordered_classes_ if large else np.unique(ranks)) < 2:
            raise OrdinateError(
                "y", f"{len(ranks)} sample(s) of one class, {self.classes_.tolist()}", "at least two classes"
            )
        return ranks

    def _set_classes(self, ordered: NDArray[Any]) -> None:
        self.ordered_classes_ = ordered
        self.classes_ = np.sort(ordered)
        self.decision_scores_: dict[str, dict[str, float]] | None = None

    @property
    def _label_bins(self) -> LabelBins:
        return LabelBins((0.0,), (1.0,), (len(self.ordered_classes_),))  # one per rank

    def _epochs(self) -> int:
        """Return ``epochs``, or what suits the number of batches."""
        return self._usual_epochs(300, 3000) if self.epochs is None else check_whole(self.epochs, "epochs")

    def _usual_epochs(self, usual: int, most_batches: int) -> int:
        """Return the usual epochs of a stage, fewer where they pass so many batches."""
        return max(1, min(usual, most_batches // getattr(self, "n_batches_", 1)))

    def _weight_decay(self) -> float:
        if self.weight_decay is not None:
            return self.weight_decay
        return self.reader_.weight_decay or self.usual_decay

    @property
    def _labels_by_rank(self) -> list[Any]:
        """The labels, also where an ensemble of scikit-learn put codes in the place of those that class_order names."""
        return self.ordered_classes_.tolist() if self.class_order is None else list(self.class_order)

    def _check_left_out(self, y: Any) -> None:
        lost = sorted(set(check_labels(y).tolist()) - set(self.ordered_classes_.tolist()))
        if lost:
            raise OrdinateError(
                "sample_weight", f"0 for every sample of the classes {lost[:5]}", "some above 0 in every class",
                "leave their samples out, or name the classes in class_order",
            )  # fmt: skip

    def _weights_in_training(self, samples: CheckedSamples) -> NDArray[np.float64] | None:
        if self.class_weight is None:
            return samples.weights
        return weights_of_ranks(self.class_weight, self._labels_by_rank, samples.targets, samples.weights)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_class_weight(self.class_weight)
        if self.class_weight is not None and self.unweighted is not None:
            raise OrdinateError(
                "class_weight", repr(self.class_weight), "None", f"{type(self).__name__}: {self.unweighted}"
            )
        if not (self.decision is None or self._is_auto or isinstance(self.decision, pd.DataFrame)):
            check_decision(self.decision)  # a table once its labels are known
        if self.imbalance is not None and self.imbalance.bin_size is not None:
            raise OrdinateError(
                "imbalance", f"bins of {self.imbalance.bin_size}", "bin_size None, as ranks have one bin each"
            )

    def _encoder_options(self) -> dict[str, Any]:
        return {"activation": "tanh"} if self.reader_.numbers_only else {}

    def _evaluate(self, validation: ArrayBatches) -> None:
        if len(validation.y) > 1:
            probabilities = self._probabilities_of(self._embed(validation.x), validation.x)
            weights = None if validation.weights is None else validation.weights.numpy()
            self.decision_scores_ = compare_rules(validation.y.numpy(), probabilities, weights)

    def _state(self) -> dict[str, Any]:
        return {"ordered_classes": self.ordered_classes_.tolist(), "decision_scores": self.decision_scores_}

    def _restore(self, state: dict[str, Any]) -> None:
        ordered = np.asarray(state["ordered_classes"])
        if ordered.ndim != 1 or len(np.unique(ordered)) < max(2, len(ordered)):
            raise ValueError(f"its classes are {ordered.tolist()}")
        self._set_classes(ordered)
        self.decision_scores_ = state.get("decision_scores")
