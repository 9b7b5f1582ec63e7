"""The linear part of a blend: a cumulative link model, or ridge regression."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ordinate.blend.part import Part
from ordinate.blend.samples import FoldedSamples, Predict
from ordinate.blend.task import RankTask, Task


def fit_linear(task: Task, samples: FoldedSamples) -> Part:
    """Return the linear part."""
    model = _fit(task, samples, None)
    unseen = samples.with_folds(8).predict_by_fold(lambda seen: _predictor(_fit(task, seen, model)))
    link = model[1] if isinstance(task, RankTask) else None
    return Part(model[0], link, unseen)


def _fit(task: Task, samples: FoldedSamples, start: nn.Sequential | None) -> nn.Sequential:
    return task.fit_linear(samples.x.double(), samples.y, samples.weights, start)


def _predictor(model: nn.Sequential) -> Predict:
    def predict(samples: FoldedSamples) -> NDArray[np.float64]:
        with torch.no_grad():
            predicted: NDArray[np.float64] = model(samples.x.double()).numpy()
        return predicted

    return predict
