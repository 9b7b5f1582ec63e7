"""Calibration of probabilities on samples that the encoder has not seen."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from ordinate.data.rows import random_part
from ordinate.data.streamed import Streamed
from ordinate.estimators.defaults import defaults_of
from ordinate.estimators.holdout import check_groups
from ordinate.estimators.method import Batches, Fitted
from ordinate.estimators.shares import assign_folds
from ordinate.heads.angle_density import PositionDensity
from ordinate.heads.logit_calibration import LogitCalibration
from ordinate.training.options import Training
from ordinate.training.time_budget import training_end

MOST_SCORED = 50_000  # Samples that a calibration is fitted on.


@dataclass
class Scores:
    """Scores of samples, from which a calibration computes probabilities.

    Args:
        values: (n,) positions or (n, C) logits.
        ranks: (n,), the true ranks.
        weights: (n,), weights of the samples; None for equal ones.
    """

    values: Tensor
    ranks: Tensor
    weights: Tensor | None


Scorer = Callable[[Fitted], nn.Module]  # From a trained encoder to the module from embeddings to scores.


def unseen_scores(fitted: Fitted, scorer: Scorer, training: Training, groups: ArrayLike | None = None) -> Scores | None:
    """Return scores of samples that the encoder has not seen; None without any, which a note of the fit then says.

    These are the validation samples. Without them, the method is trained again without each of several folds, and each
    of these encoders scores the fold that it has not seen.

    Args:
        fitted: The trained module.
        scorer: Function that returns the module from embeddings to scores for a trained encoder.
        training: The options of training.
        groups: (n,), groups of the training samples, none of which is divided.
    """
    if training.follows_paper:
        note_uncalibrated(fitted, "as their papers' are not")
        return None
    if fitted.validation is not None:
        return scores_of(fitted, scorer, fitted.validation)
    folds = number_of_folds(fitted, training)
    if folds == 0:
        note_uncalibrated(fitted, "as all samples are trained on; give validation samples, or Training(calibration=3)")
        return None
    end = training_end()
    if end is not None and folds * fitted.seconds > end.until - end.now:
        note_uncalibrated(fitted, f"as the time limit is too short for {folds} further trainings")
        return None
    scores = cross_fitted_scores(fitted, scorer, folds, groups)
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


def number_of_folds(fitted: Fitted, training: Training) -> int:
    """Return the number of folds; by default none for samples that stream, whose trainings take long."""
    if training.calibration != "auto":
        return training.calibration
    if isinstance(fitted.training.x, Streamed):
        return 0
    return defaults_of(fitted.reader).calibration_folds


def cross_fitted_scores(fitted: Fitted, scorer: Scorer, folds: int, groups: ArrayLike | None) -> Scores | None:
    """Return scores of all training samples, each by an encoder that was trained without it and its group."""
    training = fitted.training
    ranks = training.y.numpy()
    checked = None if groups is None else check_groups(groups, len(ranks))
    fold = assign_folds(ranks, folds, fitted.seed, checked)
    found, values = [], []
    for number in range(folds):
        left_out = without_last_of_rank(fold == number, ranks, checked)
        if not left_out.any():
            continue
        refitted = fitted.fit_part(np.flatnonzero(~left_out), number + 1)
        rows = np.flatnonzero(left_out)
        rows = rows[random_part(len(rows), MOST_SCORED // folds)]
        with torch.no_grad():
            values.append(scorer(refitted)(refitted.embed_rows(training.x, rows)))
        found.append(rows)
    if not found:
        return None
    unseen = torch.from_numpy(np.concatenate(found))
    weights = None if training.weights is None else training.weights[unseen]
    return Scores(torch.cat(values), training.y[unseen], weights)


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


def fit_calibration(calibration: PositionDensity | LogitCalibration, scores: Scores) -> None:
    """Fit the parameters of a calibration in place, by maximum likelihood with penalties.

    Few samples leave the parameters near their start. They are rounded as a saved model holds them.

    Args:
        calibration: Module from scores to probabilities.
        scores: Scores of samples with their true ranks.
    """
    parameters = dict(calibration.named_parameters())
    start = {name: parameter.detach().clone() for name, parameter in parameters.items()}
    weights = torch.ones(len(scores.ranks)) if scores.weights is None else scores.weights
    weights = weights.double()
    ranks = scores.ranks.long()[:, None]
    values = scores.values.double()
    optimizer = torch.optim.LBFGS(list(parameters.values()), max_iter=200, line_search_fn="strong_wolfe")

    def evaluate() -> Tensor:
        optimizer.zero_grad()
        likelihood = calibration(values).gather(1, ranks)[:, 0].log() @ weights
        penalties = [
            calibration.penalties[name] * (parameter - start[name]).square().sum()
            for name, parameter in parameters.items()
        ]
        loss = (torch.stack(penalties).sum() - likelihood) / len(values)
        loss.backward()
        return loss

    with torch.enable_grad():
        optimizer.step(evaluate)
    with torch.no_grad():
        for parameter in parameters.values():
            parameter.copy_(parameter.float())
    calibration.requires_grad_(False)
