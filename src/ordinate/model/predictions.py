"""Predictions of labelled samples, made once for all that is measured, drawn and kept of them."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ordinate.counts import counted
from ordinate.data.other_containers import unpack
from ordinate.data.rows import Labels, Samples, column_of, take
from ordinate.errors import OrdinateError
from ordinate.model.labels import to_ranks
from ordinate.model.model import Model


@dataclass(frozen=True, eq=False)
class Predictions:
    """What a fitted model predicts of labelled samples, and their embeddings.

    Args:
        model: Fitted model.
        X: Samples (n) as they were given.
        inputs: (n, ...), the same as the encoder takes them.
        true: (n,) ranks 0..C-1, or targets (n,) or (n, p).
        predicted: Predictions in the same form.
        probabilities: (n, C) of the ranks from lowest to highest; None for targets.
        embeddings: (n, d).
        groups: (n,), such as the patient of every sample, whose errors are not independent; None without any.

    Example:
        >>> from ordinate import OTDClassifier
        >>> X = np.linspace(0, 1, 40)[:, None]
        >>> model = OTDClassifier(epochs=20, random_state=0).fit(X, X[:, 0] > 0.5).fitted
        >>> predictions = Predictions.of(model, X[::4], X[::4, 0] > 0.5)
        >>> predictions.predicted.shape, predictions.probabilities.shape
        ((10,), (10, 2))
    """

    model: Model
    X: Samples
    inputs: Tensor
    true: Labels
    predicted: Labels
    probabilities: NDArray[np.float64] | None
    embeddings: NDArray[np.float64]
    groups: NDArray[np.generic] | None = None

    @classmethod
    def of(cls, model: Model, X: object, y: object, groups: NDArray[np.generic] | None = None) -> Self:
        """Read, embed and predict samples X with labels y, each once.

        Raises:
            OrdinateError: samples or labels that the model does not know, or another number of labels than samples.
        """
        samples, labels = unpack(X, y)
        read = model.read(samples)
        if model.is_of_ranks:
            true: Labels = to_ranks(labels, model.ranks)
        else:
            true = np.asarray(labels, dtype=np.float64)
        if len(true) != len(read):
            raise OrdinateError(
                "y", f"{counted(len(true), 'label')} for {counted(len(read), 'sample')}", "one per sample"
            )
        embedded = model.embed(read)
        predicted = model.predicted(embedded)
        if not model.is_of_ranks:
            return cls(model, samples, read, true, predicted, None, embedded.numpy(), groups)
        return cls(model, samples, read, true, model.decide(predicted), predicted, embedded.numpy(), groups)

    def __len__(self) -> int:
        return len(self.true)

    @property
    def absolute_errors(self) -> NDArray[np.float64]:
        """(n,), in ranks or in units of the target; of several targets their mean."""
        errors = np.abs(self.predicted.astype(np.float64) - self.true).reshape(len(self), -1)
        return np.asarray(errors.mean(1))

    @property
    def classes(self) -> list[object] | None:
        """The labels of the ranks from lowest to highest; None for targets."""
        return None if self.model.classes is None else self.model.classes.tolist()

    @property
    def only_rank(self) -> object:
        """The label of the one rank that is predicted for all samples although theirs differ; None otherwise."""
        if self.classes is None or len(np.unique(self.predicted)) > 1 or len(np.unique(self.true)) == 1:
            return None
        return self.classes[int(self.predicted[0])]

    def take(self, rows: NDArray[np.int64]) -> Self:
        """Return the predictions of some samples."""
        kept = {name: getattr(self, name)[rows] for name in ("true", "predicted", "embeddings")}
        kept |= {name: column_of(getattr(self, name), rows) for name in ("probabilities", "groups")}
        return replace(self, X=take(self.X, rows), inputs=take(self.inputs, rows), **kept)
