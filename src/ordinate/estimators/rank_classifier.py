"""The base of all classifiers of ranks: classes, and prediction from probabilities."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from torch import Tensor, nn

from ordinate.data.modality import Reader
from ordinate.data.rows import Labels, random_part
from ordinate.data.splits import assign_folds
from ordinate.data.streamed import StreamedPixels
from ordinate.decisions import check_decision, compare_rules, predict_ranks
from ordinate.decisions.costs import costs_by_rank
from ordinate.errors import OrdinateError
from ordinate.estimators.defaults import defaults_of
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.estimators.estimator_dataclass import estimator_dataclass
from ordinate.estimators.method import Fitted, Method
from ordinate.estimators.questions import NewSamples
from ordinate.estimators.samples import CheckedSamples, check_class_weight, weights_of_ranks
from ordinate.heads.ranks import Temperature
from ordinate.model.labels import RankLabels, check_labels
from ordinate.model.model import Model, Rule
from ordinate.option_group import Settings
from ordinate.training.time_budget import training_end

UNCALIBRATED = "the probabilities are not calibrated"


@estimator_dataclass
class RankClassifier(ClassifierMixin, EmbeddingEstimator):
    """Classify ranks from embeddings.

    Args:
        class_order: Classes from the lowest to the highest, if y does not tell their order.
        decision: Rule that predicts a rank from the probabilities: ``"mode"``, ``"median"``, or a matrix (C, C) of
            costs, true by predicted rank, or a table of them with the labels in any order; see
            :func:`~ordinate.decisions.predict_ranks`. None is the paper's, the mode; ``"auto"`` is the median on
            tables, which is off by fewer ranks there and as often right, and the paper's rule elsewhere (the default).
        class_weight: Weights of the classes in training, in addition to ``sample_weight``: ``{label: weight}``, 1 for
            labels that it lacks, or ``"balanced"`` for the same sum of every class.

    Attributes:
        classes_: (C,), classes in sorted order.
        ordered_classes_: (C,), classes from the lowest rank to the highest.
        decision_scores_: Accuracy and MAE of mode and median on the validation samples; None without any.
    """

    class_order: Sequence[Any] | None = None
    decision: str | ArrayLike | None = "auto"
    class_weight: str | Mapping[Any, float] | None = None

    @property
    def classes_(self) -> Labels:
        """The classes in sorted order."""
        return np.sort(self.model_.ranks)

    @property
    def ordered_classes_(self) -> Labels:
        """The classes from the lowest rank to the highest."""
        return self.model_.ranks

    @property
    def decision_scores_(self) -> dict[str, dict[str, float]] | None:
        scores: dict[str, dict[str, float]] | None = self.fact("decision_scores_")
        return scores

    @property
    def fitted(self) -> Model:
        """The fitted model as one value, which :mod:`ordinate.model` takes; it predicts by the parameters of now."""
        return replace(super().fitted, rule=self.rule)

    def learn_labels(self, y: Labels) -> RankLabels:
        """Return the labels of training samples."""
        labels = RankLabels.learn(y, self.class_order)
        self.checked_decision(labels)
        return labels

    def weights_in_training(self, samples: CheckedSamples, labels: RankLabels) -> NDArray[np.float64] | None:
        """Return the weights (n,) of training samples, times those of their classes."""
        if self.class_weight is None:
            return samples.weights
        return weights_of_ranks(self.class_weight, labels.names, samples.targets, samples.weights)

    def predict_proba(self, X: NewSamples) -> NDArray[np.float64]:
        """Return (n, C), the probability of every class.

        Columns are in the order of ``classes_``, which are sorted, as in scikit-learn; :meth:`rank_probabilities` has
        them by rank.
        """
        probabilities = self.rank_probabilities(X)
        return probabilities[:, np.argsort(self.ordered_classes_, kind="stable")]

    def rank_probabilities(self, X: NewSamples) -> NDArray[np.float64]:
        """Return (n, C), the probability of every rank, from the lowest to the highest (``ordered_classes_``)."""
        return self._of_file(Model.predict_numbers, X)

    def predict(self, X: NewSamples) -> Labels:
        """Return (n,), the class that ``decision`` predicts; with the median it is not always the most probable one."""
        return self._of_file(Model.predict, X)

    def predict_set(self, X: NewSamples, coverage: float = 0.9, *, by_rank: bool = False) -> list[list[object]]:
        """Return the labels (n, from 1 to C) that samples may have, neighbours in the order of ranks.

        They are those of :meth:`predict_interval`, with its arguments and errors.
        """
        lower, upper = self.predict_interval(X, coverage, by_rank=by_rank)
        ranks = self.ordered_classes_.tolist()
        bounds = (map(ranks.index, labels.tolist()) for labels in (lower, upper))
        return [ranks[low : high + 1] for low, high in zip(*bounds, strict=True)]

    @property
    def usual_decision(self) -> str:
        """The decision rule of the method's paper."""
        return "mode"

    def score(self, X: ArrayLike | pd.DataFrame, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy of predictions, also of labels with fractions, which scikit-learn's own refuses."""
        is_right = check_labels(y) == self.predict(X)
        if sample_weight is not None:
            sample_weight = np.asarray(sample_weight)
        return float(np.average(is_right, weights=sample_weight))

    def decide(self, probabilities: ArrayLike) -> NDArray[np.int64]:
        """Return the ranks (n,) that the model predicts from probabilities (n, C) of its ranks."""
        return predict_ranks(probabilities, self.rule)

    @property
    def rule(self) -> Rule:
        """The decision in use: ``"mode"``, ``"median"``, or costs (C, C)."""
        return self.rule_for(self.model_.reader, cast(RankLabels, self.model_.labels))

    def rule_for(self, reader: Reader, labels: RankLabels) -> Rule:
        """Return the decision of a model of such samples and labels."""
        if isinstance(self.decision, str) and self.decision == "auto":
            return defaults_of(reader).decision or self.usual_decision
        return self.checked_decision(labels)

    def checked_decision(self, labels: RankLabels) -> Rule:
        """Return the given decision, or the paper's; costs by rank, also of a table that names its labels."""
        given = self.decision
        if given is None or (isinstance(given, str) and given == "auto"):
            return self.usual_decision
        classes = labels.classes.tolist()
        try:
            return check_decision(costs_by_rank(given, classes), len(classes))
        except OrdinateError as error:
            if error.argument == "decision":
                raise
            raise OrdinateError("decision", problem=error) from error


def check_rank_options(method: Method) -> None:
    """Raise an error if the class weights or the decision of a classifier are wrong for its method."""
    settings = method.settings
    check_class_weight(settings.class_weight)
    if settings.class_weight is not None and method.unweighted is not None:
        raise OrdinateError(
            "class_weight", repr(settings.class_weight), "None", f"{type(settings).__name__}: {method.unweighted}"
        )
    decision = settings.decision
    is_named = decision is None or (isinstance(decision, str) and decision == "auto")
    if not is_named and not isinstance(decision, pd.DataFrame):
        check_decision(decision)  # A table is checked once its labels are known.


class RankMethod(Method):
    """What methods of ranks have in common."""

    usual_decay = 3.0
    labels: RankLabels

    def check(self) -> None:
        check_rank_options(self)

    def validation_share(self, samples: CheckedSamples) -> float:
        share = self.training.validation_fraction
        return 0.0 if share == "auto" else share

    def weight_decay(self, reader: Reader) -> float:
        return defaults_of(reader).weight_decay or self.usual_decay

    def encoder_options(self, reader: Reader) -> Settings:
        return {"activation": "tanh"} if reader.numbers_only else {}

    def finish(self, fitted: Fitted) -> nn.Module:
        predictor = self.predictor(fitted)
        scores = None
        validation = fitted.validation
        if validation is not None and len(validation.y) > 1:
            with torch.no_grad():
                probabilities = predictor(fitted.embed(validation.x)).double().numpy()
            scores = compare_rules(validation.y.numpy(), probabilities, validation.weights)
        fitted.facts["decision_scores_"] = scores
        return predictor

    @abstractmethod
    def predictor(self, fitted: Fitted) -> nn.Module:
        """Return the module from embeddings (n, d) to probabilities (n, C)."""

    def temperature(
        self, fitted: Fitted, scorer: Callable[[Fitted, Tensor], Tensor], most: int = 50_000
    ) -> Temperature | None:
        """Return the temperature fitted to samples that the encoder has not seen; None, and a note, without any.

        These are the validation samples. Without them, the method is trained a second time on two thirds of the
        samples, and its encoder scores the others.

        Args:
            fitted: The trained module.
            scorer: Function from a trained module and embeddings to the scores of ranks.
            most: Largest number of samples that the temperature is fitted on.
        """
        samples, trained, reason = fitted.validation, fitted, self._why_uncalibrated(fitted)
        unseen = np.arange(0)
        if samples is not None:
            unseen = np.arange(len(samples.x))
        elif reason is None:
            samples = fitted.training
            ranks = samples.y.numpy()
            groups = None if self.units is None else self.units.codes
            left_out = without_last_of_rank(assign_folds(ranks, 3, fitted.seed, groups) == 0, ranks, groups)
            unseen = np.flatnonzero(left_out)
            if len(unseen) == 0:
                reason = "as there are too few samples to leave some out of training"
            else:
                trained = fitted.fit_part(np.flatnonzero(~left_out), 1)
        if reason is not None or samples is None:
            fitted.notes.append(f"{UNCALIBRATED}, {reason}")
            return None
        rows = unseen[random_part(len(unseen), most)]
        with torch.no_grad():
            scores = scorer(trained, trained.embed_rows(samples.x, rows))
        return Temperature.fit(scores, samples.y[rows], samples.weights_of(rows))

    def _why_uncalibrated(self, fitted: Fitted) -> str | None:
        """Return why no samples are to be scored that the encoder has not seen; None if they are."""
        training, end = self.training, training_end()
        if training.follows_paper:
            return "as their papers' are not"
        if fitted.validation is not None:
            return None
        is_wanted = training.calibration
        if is_wanted == "auto":  # Training on samples that stream takes long.
            is_wanted = defaults_of(fitted.reader).calibrates and not isinstance(fitted.training.x, StreamedPixels)
        if training.calibration is False:
            return "as Training(calibration=False) asks"
        if not is_wanted:
            return "as all samples are trained on; give validation samples, or Training(calibration=True)"
        if end is not None and fitted.seconds > end.until - end.now:
            return "as the time limit is too short for a second training"
        return None


def without_last_of_rank(
    left_out: NDArray[np.bool_], ranks: NDArray[np.integer], groups: NDArray[np.generic] | None, least: int = 2
) -> NDArray[np.bool_]:
    """Return which samples are left out so that training keeps samples of every rank, two if there are as many.

    Example:
        >>> ranks = np.array([0, 0, 0, 1, 1, 1, 2])
        >>> without_last_of_rank(np.array([True, False, False, True, False, False, True]), ranks, None).tolist()
        [True, False, False, True, False, False, False]
    """
    kept = np.zeros_like(left_out)
    for rank in np.unique(ranks):
        of_rank = ranks == rank
        if (of_rank & ~left_out).sum() < min(least, of_rank.sum()):
            kept |= of_rank & left_out
    if groups is not None:
        kept = np.isin(groups, groups[kept])
    return left_out & ~kept
