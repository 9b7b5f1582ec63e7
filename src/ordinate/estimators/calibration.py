"""Calibration of a model by predictions of samples that models of the same settings have not seen."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import ArrayLike

from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.estimators.rank_classifier import UNCALIBRATED
from ordinate.heads.ranks import RankLogits, Temperature, VoteProbabilities
from ordinate.model.model import Model
from ordinate.model.predictions import Predictions


def calibrate_temperature(
    model: EmbeddingEstimator, unseen: Sequence[Predictions], weights: ArrayLike | None = None, least: float = 1e-12
) -> bool:
    """Give the probabilities of CLOC or OTD a temperature, unless they have one or must not have one.

    The most probable rank of every sample stays the same.

    Args:
        model: Fitted model; it and its notes are changed in place.
        unseen: Predictions of n samples, by models of the same settings that were not trained on them. Nothing is done
            if one of these models is calibrated itself, because its scores have another scale.
        weights: Weights (n,) of these samples; None for equal ones.
        least: Smaller probabilities count as this one.

    Returns:
        Whether the model was changed.
    """
    predictor, training = model.predictor_, model.training
    has_temperature = isinstance(predictor, VoteProbabilities | RankLogits)
    is_open = training.calibration == "auto" and not training.follows_paper
    is_uncalibrated = all(map(_is_uncalibrated, (model.model_, *(part.model for part in unseen))))
    if not (unseen and has_temperature and is_open and is_uncalibrated):
        return False
    probabilities = np.concatenate([part.probabilities for part in unseen if part.probabilities is not None])
    true = np.concatenate([part.true for part in unseen])
    scores = torch.from_numpy(np.log(np.maximum(probabilities, least)))
    counted = None if weights is None else torch.from_numpy(np.asarray(weights, dtype=np.float64))
    predictor.temperature = Temperature.fit(scores, torch.from_numpy(true), counted)
    kept = [note for note in model.notes_ if not note.startswith(UNCALIBRATED)]
    model.model_ = replace(model.model_, notes=kept)
    return True


def _is_uncalibrated(model: Model) -> bool:
    return any(note.startswith(UNCALIBRATED) for note in model.notes)
