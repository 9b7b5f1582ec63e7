"""The linear part of a blend: a cumulative link model, or ridge regression."""

import torch
from torch import nn

from ordinate.blend.part import Part
from ordinate.blend.samples import FoldedSamples, Predictions
from ordinate.blend.task import RankTask, Task


def fit_linear(task: Task, samples: FoldedSamples) -> Part:
    """Return the linear part."""
    model = _fit(task, samples, None)
    _, unseen = samples.with_few_folds(8).by_fold(lambda seen: _fit(task, seen, model), _predict)
    link = model[1] if isinstance(task, RankTask) else None
    return Part(model[0], link, unseen)


def _fit(task: Task, samples: FoldedSamples, start: nn.Sequential | None) -> nn.Sequential:
    return task.fit_linear(samples.x.double(), samples.y, samples.weights, start)


def _predict(model: nn.Sequential, samples: FoldedSamples) -> Predictions:
    with torch.no_grad():
        predicted: Predictions = model(samples.x.double()).numpy()
    return predicted
