"""What a report is about: a fitted model, and what it makes of labelled samples."""

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor
from torch.nn.functional import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d

from ordinate.counts import counted
from ordinate.data.findings import collected
from ordinate.data.other_containers import unpack
from ordinate.data.rows import Labels, Samples, random_part, take
from ordinate.data.series.reader import series_lengths
from ordinate.data.streamed import StreamedPixels, loaded
from ordinate.encoders.blend_head import BlendHead
from ordinate.errors import OrdinateError
from ordinate.metrics.embedding import unit_norm
from ordinate.model.labels import to_ranks
from ordinate.model.model import Model
from ordinate.model.predictions import Predictions

MOST_SAMPLES = 20_000  # A page shows at most this many samples, drawn at random.
MOST_TRAINING = 100_000  # Held-out samples are compared with at most this many training samples, drawn at random.
MOST_STREAMED = 2000  # A page shows at most this many samples that are streamed.


LabelledSamples = tuple[Samples, ArrayLike]  # Samples and labels, of any kind that a model accepts.


@dataclass(frozen=True)
class Contents:
    """A model and its predictions.

    Args:
        model: Fitted model.
        names: Names of the C ranks, from the lowest; None for a continuous target.
        inputs: (n, ...), samples as the encoder expects them.
        true: (n,), ranks 0..C-1 or targets; (n, p) for several targets, see :meth:`by_target`.
        predicted: (n,), predictions in the same form.
        probabilities: (n, C), for ranks.
        embeddings: (n, d), of norm 1 for ranks, whose angles count.
        training_inputs: (m, ...), samples that the model was trained on, where they are known.
        training_labels: (m,), like ``true``.
        usual: Commonest rank or mean target of training, like one of ``true``; None where it is not known.
        groups: (n,), such as the patient of every sample; None without any.
    """

    model: Model
    names: list[str] | None
    inputs: Tensor
    true: Labels
    predicted: Labels
    probabilities: NDArray[np.float64] | None
    embeddings: NDArray[np.float64]
    training_inputs: Tensor | None = None
    training_labels: Labels | None = None
    usual: Any = None
    groups: NDArray[np.generic] | None = None

    def __len__(self) -> int:
        return len(self.true)

    @property
    def method(self) -> str:
        return self.model.name

    @property
    def is_blend(self) -> bool:
        """Whether the model is a blend, whose probabilities are calibrated, and whose embedding has no order."""
        return isinstance(self.model.predictor, BlendHead)

    @property
    def has_learning_curve(self) -> bool:
        """Whether training logged a loss in two epochs or more; that of networks without a weight says nothing."""
        predictor = self.model.predictor
        if isinstance(predictor, BlendHead) and "members" not in predictor.shares:
            return False
        return sum("train_loss" in epoch for epoch in self.model.history) > 1

    @cached_property
    def errors(self) -> NDArray[np.float64]:
        """(n,), predicted minus true, in ranks or in units of the target."""
        return (self.predicted - self.true).astype(np.float64)

    @cached_property
    def confidence(self) -> NDArray[np.float64]:
        """(n,), the probability of the rank that was predicted; of a model of ranks."""
        assert self.probabilities is not None  # noqa: S101  # A model of ranks has them.
        return self.probabilities[np.arange(len(self)), self.predicted]

    @cached_property
    def drawings(self) -> list[NDArray[np.int64]]:
        """Rows of 300 drawings with replacement, the same for every predictor: of samples, or of whole groups."""
        random = np.random.default_rng(0)
        if not self.are_grouped:
            return [random.integers(0, len(self), len(self)) for _ in range(300)]
        rows, counts = np.argsort(self.units, kind="stable"), np.bincount(self.units)
        starts, drawn = np.cumsum(counts) - counts, random.integers(0, len(counts), (300, len(counts)))
        found = []
        for groups in drawn:
            sizes = counts[groups]
            before = np.repeat(np.cumsum(sizes) - sizes, sizes)
            found.append(rows[np.repeat(starts[groups], sizes) + np.arange(sizes.sum()) - before])
        return found

    @cached_property
    def units(self) -> NDArray[np.int64]:
        """(n,), the number of every sample's group, from 0; of the sample itself where there are no groups."""
        if self.groups is None:
            return np.arange(len(self))
        return np.unique(self.groups, return_inverse=True)[1]

    @property
    def are_grouped(self) -> bool:
        """Whether some of several groups have several samples, so that fewer of these are independent."""
        return 1 < self.units.max() + 1 < len(self)

    @cached_property
    def collapsed(self) -> list[tuple[int, int]]:
        """Boundaries whose margin is next to nothing, of a CLOC model."""
        collapsed = self.model.facts.get("collapsed_margins_", np.zeros(0, dtype=np.bool_))
        return [(rank, rank + 1) for rank in np.flatnonzero(collapsed).tolist()]

    @cached_property
    def seen(self) -> int:
        """Number of samples whose inputs equal, to the last bit, one from training where that is known."""
        if self.training_inputs is None:
            return 0
        return int(self.digests.isin(_digests(self.training_inputs)).sum())

    @property
    def are_mostly_seen(self) -> bool:
        """Whether most samples equal one from training, so that their errors say nothing about new ones."""
        return 2 * self.seen > len(self)

    @property
    def known_from_training(self) -> str:
        """Whether training had the samples, in words that follow "samples"."""
        if self.are_mostly_seen:
            return ", most of which it was trained on"
        return (
            ", some of which it may have been trained on" if self.training_labels is None else " that it has not seen"
        )

    @cached_property
    def contradicting(self) -> int:
        """Number of samples whose inputs equal those of another that has another label."""
        labels = pd.Series(self.true).groupby(self.digests).transform("nunique")
        return int((labels > 1).sum())

    @cached_property
    def digests(self) -> "pd.Series[str]":
        """(n,), text that is the same for samples whose inputs are equal."""
        return pd.Series(_digests(self.inputs))

    def label_name(self, label: float) -> str:
        """Return a label, true or predicted, as text."""
        if self.names is None:
            return f"{label:.4g}"
        return self.names[int(label)]

    def by_target(self) -> list["Contents"]:
        """Return the same contents with each of several targets (n, p) alone; just these contents for one label."""
        if self.true.ndim == 1:
            return [self]
        found, known = [], self.training_labels
        for place in range(self.true.shape[1]):
            trained = None if known is None else known[:, place]
            true, predicted = self.true[:, place], self.predicted[:, place]
            usual = None if self.usual is None else self.usual[place]
            found.append(replace(self, true=true, predicted=predicted, training_labels=trained, usual=usual))
        return found


def _digests(x: Tensor) -> list[str]:
    # Text, because ``isin`` of pandas leaves out zero bytes at the end of bytes.
    return [hashlib.blake2b(sample.tobytes(), digest_size=16).hexdigest() for sample in x.numpy()]


def gather(predictions: Predictions, training: LabelledSamples | None = None) -> Contents:
    """Return what a report on predictions is about; ``training`` is (X, y) that the model was trained on."""
    if len(predictions) < 3:
        raise OrdinateError("y", counted(len(predictions), "sample"), "at least 3 to report on")
    model, classes = predictions.model, predictions.classes
    names, embeddings = None, predictions.embeddings
    if classes is None:
        _check_targets(predictions.true, predictions.predicted, "y")
    else:
        names = [str(name) for name in classes]
        embeddings = unit_norm(embeddings)
    seen, seen_labels = None, None
    if training is not None:
        seen, seen_labels = _training(predictions, *training)
    return Contents(
        model, names, loaded(predictions.inputs), predictions.true, predictions.predicted, predictions.probabilities,
        embeddings, seen, seen_labels, model.labels.usual, predictions.groups,
    )  # fmt: skip


@collected()  # Samples of training are not new.
def _training(predictions: Predictions, X: Samples, y: ArrayLike) -> tuple[Tensor, Labels]:
    model = predictions.model
    X, y = unpack(X, y)
    if len(np.asarray(y)) == len(X) > MOST_TRAINING:
        part = random_part(len(X), MOST_TRAINING)
        X, y = take(X, part), np.asarray(y)[part]
    samples = model.read(X)
    if model.is_of_ranks:
        labels: Labels = to_ranks(y, model.ranks)
    else:
        labels = np.asarray(y, dtype=np.float64)
        _check_targets(labels, predictions.predicted, "training")
    if len(labels) != len(samples):
        raise OrdinateError(
            "training", f"{counted(len(labels), 'label')} for {counted(len(samples), 'sample')}", "one per sample"
        )
    if isinstance(samples, StreamedPixels):
        rows = random_part(len(samples), MOST_STREAMED)
        return loaded(samples.part(rows)), labels[rows]
    return samples, labels


def _check_targets(targets: NDArray[np.float64], predicted: Labels, name: str) -> None:
    """Raise an error for targets that are not finite, or of another dimension than the predictions."""
    if targets.shape[1:] != predicted.shape[1:]:
        expected = "one target per sample, (n,)"
        if predicted.ndim > 1:
            expected = f"{counted(predicted.shape[1], 'target')} per sample, (n, {predicted.shape[1]})"
        raise OrdinateError(name, f"labels of shape {targets.shape}", expected)
    if not np.isfinite(targets).all():
        raise OrdinateError(name, "NaN or infinity", "finite targets")


def plain_features(x: Tensor) -> NDArray[np.float32]:
    """Return samples as rows of numbers (n, width), without anything learned: images and series are made small."""
    if x.dtype == torch.int32:  # Only tokens are int32.
        groups = torch.where(x > 0, 1 + x.long() % 256, 0)
        counts = torch.zeros(*x.shape[:2], 257).scatter_add_(2, groups, torch.ones_like(x).float())
        return counts[:, :, 1:].flatten(1).numpy()
    if x.dim() == 2:
        return x.float().numpy()
    if x.dim() == 3:
        ends = series_lengths(x.numpy())  # The rest is padding.
        parts = [adaptive_avg_pool1d(one[None, :, :end].float(), 64) for one, end in zip(x, ends, strict=True)]
        return torch.cat(parts).flatten(1).numpy()
    if x.dim() == 4:
        height, width = (min(16, side) for side in x.shape[2:])
        parts = [adaptive_avg_pool2d(part.float(), (height, width)) for part in x.split(16)]
    else:
        depth, height, width = (min(8, side) for side in x.shape[2:])
        parts = [adaptive_avg_pool3d(part.float(), (depth, height, width)) for part in x.split(16)]
    return (torch.cat(parts) / 255).flatten(1).numpy()


def kind_of_samples(contents: Contents) -> str:
    """Return what a sample is, for a sentence about several."""
    return contents.model.reader.describe(contents.inputs)
