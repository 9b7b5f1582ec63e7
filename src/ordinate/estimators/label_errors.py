"""Samples that look mislabelled, by models that have not seen their labels."""

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from ordinate.checks import check_whole
from ordinate.counts import counted
from ordinate.data.findings import collected
from ordinate.data.other_containers import unpack
from ordinate.data.registry import modality_of
from ordinate.data.rows import Labels, Rows, Samples, column_of, take
from ordinate.data.splits import Units, keep_together, split_folds
from ordinate.decisions.label_errors import is_doubted, neighbour_shares, residual_suspicion, suggested_ranks, suspicion
from ordinate.errors import OrdinateError
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.estimators.pipeline import draw_seed
from ordinate.estimators.rank_classifier import RankClassifier
from ordinate.estimators.samples import check_groups, check_input
from ordinate.estimators.target_regressor import TargetRegressor
from ordinate.model.labels import find_classes, to_ranks


@dataclass(frozen=True)
class Fold:
    """A model, the rows (m,) that it was trained on with their samples, and those (n - m,) that it has not seen."""

    model: Any
    rows: Rows
    X: Samples
    unseen_rows: Rows
    unseen: Samples


@collected()  # Samples of other folds are not new.
def find_label_errors(
    estimator: RankClassifier | TargetRegressor,
    X: object,
    y: ArrayLike,
    *,
    folds: int = 5,
    groups: ArrayLike | None = None,
) -> pd.DataFrame:
    """Rank all samples by how suspicious their labels are.

    Clones of the estimator are trained with one fold of the samples left out at a time (cross-fitting, as in confident
    learning: Northcutt, Jiang and Chuang, JAIR 70, 2021), and evaluate the samples of that fold. Exact copies of a
    sample are in the same fold, unless too few samples differ for that. Ranks: by
    :func:`~ordinate.decisions.label_errors.suspicion`, from :func:`out_of_fold_probabilities`. Continuous targets: by
    :func:`~ordinate.decisions.label_errors.residual_suspicion`, from the predictions.

    Args:
        estimator: Estimator that is trained, with its settings; it is not fitted itself. Its ``random_state`` also
            draws the folds, and its ``checkpoint_dir`` gets one folder per fold.
        X: Samples (n) of the estimator's kind of data.
        y: (n,), labels; at least two of every rank.
        folds: Number of models that are trained.
        groups: (n,), such as the subject of every sample; no group is on both sides of a fold.

    Returns:
        One row per sample, the most suspicious first: ``row``, its place in X from 0; ``label``; ``suggested``, the
        rank that fits best, or the prediction; ``suspicion``, for ranks from 0, where none fits better than the label,
        to C-1, for targets the residual in units of the local spread; ``doubted``, whether the label is worth a look
        (:func:`~ordinate.decisions.label_errors.is_doubted`).

    Raises:
        OrdinateError: what the estimator refuses, more than one target per sample, or folds that leave no sample of a
            rank to train on.

    Example:
        >>> from ordinate import OTDClassifier
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> y = np.digitize(X[:, 0], [0.3, 0.7])
        >>> y[3] = 2
        >>> table = find_label_errors(OTDClassifier(epochs=20, random_state=0), X, y, folds=3)
        >>> table.loc[0, ["row", "label", "suggested"]].tolist()
        [3, 2, 0]
    """
    if not isinstance(estimator, RankClassifier | TargetRegressor):
        expected = "an estimator of ordinate, such as BlendClassifier(); it prepares the columns of a table itself"
        raise OrdinateError("estimator", type(estimator).__name__, expected)
    X, y = unpack(X, y)
    if isinstance(estimator, RankClassifier):
        classes = find_classes(y, estimator.class_order)
        ranks = to_ranks(y, classes)
        probabilities = _probabilities(estimator, X, ranks, classes, folds, groups)
        labels, suggested = classes[ranks], classes[suggested_ranks(ranks, probabilities)]
        scores = suspicion(ranks, probabilities)
    else:
        labels = np.asarray(y, dtype=np.float64)
        if labels.ndim != 1:
            raise OrdinateError("y", f"shape {labels.shape}", "one target per sample, (n,)")
        suggested = np.empty_like(labels)
        for fold in _cross_fit(estimator, X, labels, np.zeros(len(labels), np.int64), folds, groups):
            suggested[fold.unseen_rows] = fold.model.predict(fold.unseen)
        scores = residual_suspicion(labels, suggested, min(50, len(labels)))
    doubted = is_doubted(scores, of_ranks=isinstance(estimator, RankClassifier))
    columns = {"label": labels, "suggested": suggested, "suspicion": scores, "doubted": doubted}
    table = pd.DataFrame({"row": np.arange(len(labels)), **columns})
    return table.sort_values("suspicion", ascending=False, kind="stable", ignore_index=True)


@collected()
def out_of_fold_probabilities(
    estimator: RankClassifier, X: object, y: ArrayLike, *, folds: int = 5, groups: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Estimate the probabilities of every sample's ranks by a model that was trained without it.

    They are the mean of two: the model's own, and the shares of the ranks among the sample's 10 nearest neighbours in
    the model's embedding of its training samples.

    Args:
        estimator: Estimator that is trained, with its settings; it is not fitted itself.
        X: Samples (n) of the estimator's kind of data.
        y: (n,), labels; at least two of every rank.
        folds: Number of models that are trained.
        groups: (n,), such as the subject of every sample; no group is on both sides of a fold.

    Returns:
        (n, C), columns in the order of the ranks; rows sum to 1.

    Raises:
        OrdinateError: as :func:`find_label_errors`.

    Example:
        >>> from ordinate import OTDClassifier
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> y = np.digitize(X[:, 0], [0.3, 0.7])
        >>> probabilities = out_of_fold_probabilities(OTDClassifier(epochs=20, random_state=0), X, y, folds=3)
        >>> probabilities[[0, 30, 59]].round().tolist()
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    X, y = unpack(X, y)
    classes = find_classes(y, estimator.class_order)
    return _probabilities(estimator, X, to_ranks(y, classes), classes, folds, groups)


def _probabilities(
    estimator: RankClassifier, X: object, ranks: Rows, classes: Labels, folds: int, groups: ArrayLike | None
) -> NDArray[np.float64]:
    ordered = clone(estimator).set_params(class_order=classes.tolist())
    probabilities = np.empty((len(ranks), len(classes)))
    for fold in _cross_fit(ordered, X, classes[ranks], ranks, folds, groups):
        shares = neighbour_shares(
            fold.model.transform(fold.unseen), fold.model.transform(fold.X), ranks[fold.rows], len(classes),
            min(10, len(fold.rows)), fold.model.model_.similarity,
        )  # fmt: skip
        probabilities[fold.unseen_rows] = (fold.model.rank_probabilities(fold.unseen) + shares) / 2
    return probabilities


def _cross_fit(
    estimator: EmbeddingEstimator, X: Any, labels: Labels, strata: Rows, folds: int, groups: ArrayLike | None
) -> Iterator[Fold]:
    """Train a clone without each fold; folds hold about as many samples of every stratum."""
    unfitted = clone(estimator)
    method = unfitted.checked_method()
    X = check_input(unfitted, X, reset=True)
    if len(X) != len(labels):
        raise OrdinateError("y", f"{counted(len(labels), 'label')} for {counted(len(X), 'sample')}", "one per sample")
    if hasattr(X, "paths"):
        modality = modality_of(X)
        options = method.data_options(modality)
        X = modality.fit(X, options, encoder=unfitted.encoder, progress=False)[1]  # Files are decoded once.
    kept_in = estimator.training.folder
    seed = draw_seed(unfitted.random_state, kept_in)
    parts = _split(X, strata, folds, groups, seed)
    started = time.monotonic()
    for number, (rows, unseen) in enumerate(parts):
        model = clone(estimator)
        if kept_in is not None:
            folder = kept_in / f"fold-{number}"
            folder.mkdir(parents=True, exist_ok=True)
            model.set_params(training__checkpoint_dir=folder)
        seen = take(X, rows)
        model.fit(seen, labels[rows], groups=column_of(groups, rows))
        yield Fold(model, rows, seen, unseen, take(X, unseen))
        taken = time.monotonic() - started
        if number == 0 and taken > 10:
            said = "label errors: the first of %d models took %.0f s; the others take about %.0f s"
            logging.getLogger("ordinate").warning(said, folds, taken, taken * (len(parts) - 1))


def _split(X: Any, strata: Rows, folds: int, groups: ArrayLike | None, seed: int) -> list[tuple[Rows, Rows]]:
    """Return the rows to train on and those left out, for every fold; copies are parted if no folds can keep them."""
    folds = check_whole(folds, "folds", least=2)
    given = None if groups is None else Units(check_groups(groups, len(strata)), are_groups=True)
    copies = modality_of(X).exact_copies(X)
    units, _ = keep_together(copies, given, least=2 * (1 + int(strata.max())))
    try:
        return _folds(strata, folds, units, seed)
    except OrdinateError:
        if units is given:
            raise
    return _folds(strata, folds, given, seed)


def _folds(strata: Rows, folds: int, units: Units | None, seed: int) -> list[tuple[Rows, Rows]]:
    what = "samples of the largest rank" if strata.any() else "samples"
    most = np.bincount(strata).max()
    if units is not None and units.are_groups:
        most, what = units.count(), "groups"
    elif units is not None:
        most = np.bincount(strata[units.firsts()[0]]).max()
    if folds > most:
        raise OrdinateError("folds", folds, f"at most {most}, the {what}")
    splits = split_folds(strata, len(strata), units, folds, seed)
    for rows, _ in splits:
        absent = np.setdiff1d(strata, strata[rows])
        if len(absent):
            expected = "at least two of every rank"
            if units is not None:
                expected += ", in two groups"
            problem = f"a fold leaves no sample of rank {absent[0]} to train on"
            raise OrdinateError(f"y: {problem}, expected {expected}")
    return splits
