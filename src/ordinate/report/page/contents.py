"""What a report is about: a fitted model, and what it makes of labelled samples."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d

from ordinate.data.rows import random_part
from ordinate.data.series.reader import series_lengths
from ordinate.data.streamed import Streamed, loaded
from ordinate.errors import OrdinateError
from ordinate.estimators import inputs
from ordinate.estimators.cloc import CLOCClassifier
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.estimators.predictions import Predictions
from ordinate.estimators.rank_classifier import RankClassifier
from ordinate.estimators.rank_labels import to_ranks
from ordinate.metrics.embedding import unit_norm
from ordinate.report.evaluation import fixed_margins

LEAST, MOST_SAMPLES = 3, 20_000  # samples that a page speaks of; a random part of more, and it says so
MOST_STREAMED = 2000  # likewise, of samples that stream
POOLED_SIDE, POOLED_DEPTH, POOLED_LENGTH = 16, 8, 64  # of images, volumes and series as plain features
TOKEN_GROUPS = 256  # of words, which texts are counts of as plain features


@dataclass(frozen=True)
class Contents:
    """A model and its predictions.

    Args:
        model: fitted.
        names: Names of the C ranks, from the lowest; None for a continuous target.
        inputs: (n, ...), samples as the encoder expects them.
        true: (n,), ranks 0..C-1 or targets.
        predicted: (n,), likewise.
        probabilities: (n, C), for ranks.
        embeddings: (n, d), of norm 1 for ranks, whose angles count.
        training_inputs: (m, ...), samples that the model was trained on, where they are known.
        training_labels: (m,), like ``true``.
    """

    model: EmbeddingEstimator
    names: list[str] | None
    inputs: Tensor
    true: NDArray[Any]
    predicted: NDArray[Any]
    probabilities: NDArray[np.float64] | None
    embeddings: NDArray[np.float64]
    training_inputs: Tensor | None = None
    training_labels: NDArray[Any] | None = None

    def __len__(self) -> int:
        return len(self.true)

    @property
    def method(self) -> str:
        return self.model.method_name

    @cached_property
    def errors(self) -> NDArray[np.float64]:
        """(n,), predicted minus true, in ranks or in units of the target."""
        return (self.predicted - self.true).astype(np.float64)

    @cached_property
    def confidence(self) -> NDArray[np.float64]:
        """(n,), the probability of the rank that was predicted; of a model of ranks."""
        assert self.probabilities is not None  # noqa: S101  # as it is of ranks
        return self.probabilities[np.arange(len(self)), self.predicted]

    @cached_property
    def collapsed(self) -> list[tuple[int, int]]:
        """Boundaries whose margin is next to nothing, of a CLOC model."""
        if not isinstance(self.model, CLOCClassifier):
            return []
        from ordinate.methods.cloc import COLLAPSED  # Lightning takes seconds to import.

        near_zero = self.model.margins_ - self.model.margin_floor < COLLAPSED
        learned = ~fixed_margins(self.model)
        return [(rank, rank + 1) for rank in np.flatnonzero(near_zero & learned).tolist()]

    def label_name(self, label: Any) -> str:
        """Return a label, true or predicted, as text."""
        return f"{label:.4g}" if self.names is None else self.names[int(label)]


def gather(model: EmbeddingEstimator, X: Any, y: Any, training: tuple[Any, Any] | None = None) -> Contents:
    """Predict labelled samples, each once, see :func:`gather_predictions`."""
    return gather_predictions(Predictions.of(model, X, y), training)


def gather_predictions(predictions: Predictions, training: tuple[Any, Any] | None = None) -> Contents:
    """Return what a report on predictions is about; ``training`` is (X, y) that the model was trained on."""
    if len(predictions) < LEAST:
        raise OrdinateError("y", f"{len(predictions)} samples", f"at least {LEAST} to report on")
    model, classes = predictions.model, predictions.classes
    if classes is None:
        _check_targets(predictions.true, "y")
    embeddings = predictions.embeddings if classes is None else unit_norm(predictions.embeddings)
    names = None if classes is None else [str(name) for name in classes]
    seen, seen_labels = (None, None) if training is None else _training(model, *training)
    return Contents(
        model, names, loaded(predictions.inputs), predictions.true, predictions.predicted, predictions.probabilities,
        embeddings, seen, seen_labels,
    )  # fmt: skip


def _training(model: EmbeddingEstimator, X: Any, y: Any) -> tuple[Tensor, NDArray[Any]]:
    X, y = inputs.unpack(X, y, model.data)
    samples = model.read(X)
    if isinstance(model, RankClassifier):
        labels: NDArray[Any] = to_ranks(y, model.ordered_classes_)
    else:
        labels = np.asarray(y, dtype=np.float64)
        _check_targets(labels, "training")
    if len(labels) != len(samples):
        raise OrdinateError("training", f"{len(labels)} labels for {len(samples)} samples", "one per sample")
    if isinstance(samples, Streamed):
        rows = random_part(len(samples), MOST_STREAMED)
        return loaded(samples.part(rows)), labels[rows]
    return samples, labels


def _check_targets(targets: NDArray[np.float64], name: str) -> None:
    if targets.ndim != 1:
        raise OrdinateError(name, f"labels of shape {targets.shape}", "one target per sample, (n,)")
    if not np.isfinite(targets).all():
        raise OrdinateError(name, "NaN or infinity", "finite targets")


def plain_features(x: Tensor) -> NDArray[np.float32]:
    """Return samples as rows of numbers (n, width), without anything learned: images and series are made small."""
    if x.dim() == 5:
        depth, height, width = (min(POOLED_DEPTH, side) for side in x.shape[2:])
        parts = [adaptive_avg_pool3d(part.float(), (depth, height, width)) for part in x.split(16)]
        return (torch.cat(parts) / 255).flatten(1).numpy()
    if x.dtype == torch.int32:  # tokens
        groups = torch.where(x > 0, 1 + x.long() % TOKEN_GROUPS, 0)
        counts = torch.zeros(*x.shape[:2], 1 + TOKEN_GROUPS).scatter_add_(2, groups, torch.ones_like(x).float())
        return counts[:, :, 1:].flatten(1).numpy()
    x = x.float()
    if x.dim() == 4:
        side = (min(POOLED_SIDE, x.shape[2]), min(POOLED_SIDE, x.shape[3]))
        x = torch.cat([adaptive_avg_pool2d(part, side) for part in x.split(512)]) / 255
    elif x.dim() == 3:
        ends = series_lengths(x.numpy())  # beyond is padding
        parts = [one[None, :, :end] for one, end in zip(x, ends, strict=True)]
        x = torch.cat([adaptive_avg_pool1d(part, POOLED_LENGTH) for part in parts])
    return x.flatten(1).numpy()


def kind_of_samples(contents: Contents) -> str:
    """Return what a sample is, for a sentence about several."""
    return contents.model.reader_.describe(contents.inputs)
