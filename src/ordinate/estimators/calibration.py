"""Calibration of probabilities on samples that the encoder has not seen."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from ordinate.data.rows import random_part
from ordinate.data.streamed import Streamed
from ordinate.estimators.defaults import defaults_of
from ordinate.estimators.holdout import check_groups
from ordinate.estimators.method import Batches, Fitted
from ordinate.estimators.shares import assign_folds
from ordinate.training.options import Training
from ordinate.training.time_budget import training_end

MOST_SCORED = 50_000  # Samples that a calibration is fitted on.


@dataclass
class Scores:
    """Scores of samples, from which a calibration computes probabilities.

    Args:
        values: (n, C), scores of the ranks.
        ranks: (n,), the true ranks.
        weights: (n,), weights of the samples; None for equal ones.
    """

    values: Tensor
    ranks: Tensor
    weights: Tensor | None


Scorer = Callable[[Fitted], Callable[[Tensor], Tensor]]  # From a trained encoder to its scores of embeddings.


def unseen_scores(fitted: Fitted, scorer: Scorer, training: Training, groups: ArrayLike | None = None) -> Scores | None:
    """Return scores of samples that the encoder has not seen; None without any, which a note of the fit then says.

    These are the validation samples. Without them, the method is trained a second time on two thirds of the samples,
    and its encoder scores the others.

    Args:
        fitted: The trained module.
        scorer: Function that returns the function from embeddings to scores for a trained encoder.
        training: The options of training.
        groups: (n,), groups of the training samples, none of which is divided.
    """
    if training.follows_paper:
        note_uncalibrated(fitted, "as their papers' are not")
        return None
    if fitted.validation is not None:
        return scores_of(fitted, scorer, fitted.validation)
    if not is_wanted(fitted, training):
        note_uncalibrated(
            fitted, "as all samples are trained on; give validation samples, or Training(calibration=True)"
        )
        return None
    end = training_end()
    if end is not None and fitted.seconds > end.until - end.now:
        note_uncalibrated(fitted, "as the time limit is too short for a second training")
        return None
    scores = cross_fitted_scores(fitted, scorer, groups)
    if scores is None:
        note_uncalibrated(fitted, "as there are too few samples to leave some out of training")
    return scores


def note_uncalibrated(fitted: Fitted, reason: str) -> None:
    """Note why probabilities are not calibrated."""
    fitted.notes.append(f"the probabilities are not calibrated, {reason}")


def scores_of(fitted: Fitted, scorer: Scorer, samples: Batches) -> Scores:
    """Return the scores of a random part of very many samples."""
    rows = random_part(len(samples.x), MOST_SCORED)
    index = torch.from_numpy(rows)
    with torch.no_grad():
        values = scorer(fitted)(fitted.embed_rows(samples.x, rows))
    weights = None if samples.weights is None else samples.weights[index]
    return Scores(values, samples.y[index], weights)


def is_wanted(fitted: Fitted, training: Training) -> bool:
    """Return whether a second training calibrates; by default not for samples that stream, whose training is long."""
    if training.calibration != "auto":
        return bool(training.calibration)
    return not isinstance(fitted.training.x, Streamed) and defaults_of(fitted.reader).calibrates


def cross_fitted_scores(fitted: Fitted, scorer: Scorer, groups: ArrayLike | None, parts: int = 3) -> Scores | None:
    """Return scores of a third of the training samples, by an encoder that was trained without them."""
    training = fitted.training
    ranks = training.y.numpy()
    checked = None if groups is None else check_groups(groups, len(ranks))
    fold = assign_folds(ranks, parts, fitted.seed, checked)
    left_out = without_last_of_rank(fold == 0, ranks, checked)
    if not left_out.any():
        return None
    refitted = fitted.fit_part(np.flatnonzero(~left_out), 1)
    rows = np.flatnonzero(left_out)
    rows = rows[random_part(len(rows), MOST_SCORED)]
    with torch.no_grad():
        values = scorer(refitted)(refitted.embed_rows(training.x, rows))
    weights = None if training.weights is None else training.weights[rows]
    return Scores(values, training.y[rows], weights)


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
