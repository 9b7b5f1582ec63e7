"""A fitted model's predictions of held-out samples, kept with it to calibrate sets and intervals."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from safetensors.numpy import load, save

from ordinate.counts import counted
from ordinate.data.paths import reading
from ordinate.data.rows import Labels
from ordinate.decisions import (
    IntervalCalibration,
    RankCalibration,
    calibrate_intervals,
    calibrate_ranks,
    intervals,
    rank_sets,
)
from ordinate.errors import OrdinateError
from ordinate.model.model import Model
from ordinate.model.predictions import Predictions
from ordinate.option_group import Settings

FORMAT = 1
LARGER = "larger than that"
# Errors are larger than at fit if their means differ by so many standard errors and by this share of the former.
MOST_DEVIATIONS, LEAST_SHARE, LEAST_COMPARED = 3.0, 0.1, 20
RECORD, ARRAYS = "held_out.json", "held_out.safetensors"


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Labels of samples held out from training, and the model's predictions of them.

    Args:
        labels: (n,) ranks 0..C-1, or targets (n,) or (n, p).
        predicted: Probabilities (n, C) of ranks from lowest to highest, or predicted targets in the labels' shape.
        classes: Labels of the ranks from lowest to highest; None for targets.

    Example:
        >>> import numpy as np
        >>> from ordinate import OTDClassifier
        >>> X = np.linspace(0, 1, 90)[:, None]
        >>> y = np.digitize(X[:, 0], [0.3, 0.7])
        >>> model = OTDClassifier(epochs=20, random_state=0).fit(X[::2], y[::2]).fitted
        >>> held_out = HeldOut.measure(model, X[1::2], y[1::2])
        >>> lower, upper = predict_sets(model, held_out, [[0.1], [0.9]], coverage=0.9)
        >>> lower.tolist(), upper.tolist()
        ([0, 2], [0, 2])
    """

    labels: Labels
    predicted: NDArray[np.float64]
    classes: list[object] | None

    @classmethod
    def measure(cls, model: Model, X: object, y: object) -> Self:
        """Return what a fitted model says of labelled samples that neither training nor a choice has seen."""
        return cls.of(Predictions.of(model, X, y))

    @classmethod
    def of(cls, predictions: Predictions) -> Self:
        """Keep the labels and the probabilities or targets of such predictions."""
        said = predictions.predicted if predictions.probabilities is None else predictions.probabilities
        return cls(predictions.true, np.asarray(said, dtype=np.float64), predictions.classes)

    def is_of(self, predictions: Predictions) -> bool:
        """Return whether it holds these very predictions."""
        other = type(self).of(predictions)
        return np.array_equal(other.labels, self.labels) and np.array_equal(other.predicted, self.predicted)

    def calibrate(self, coverage: float = 0.9, *, by_rank: bool = False) -> RankCalibration | IntervalCalibration:
        """Return how far sets and intervals of a coverage reach; too few samples for it are an error.

        Args:
            coverage: Promised share of new samples.
            by_rank: Whether the share is promised for the samples of every rank, and not only for all together.
        """
        if self.classes is None:
            if by_rank:
                raise OrdinateError("by_rank", "True for a continuous target", "False, or a model of ranks")
            return calibrate_intervals(self.labels, self.predicted, coverage)
        return calibrate_ranks(self.labels, self.predicted, coverage, by_rank=by_rank)

    def sets(
        self, model: Model, predicted: ArrayLike, calibration: RankCalibration | IntervalCalibration
    ) -> tuple[Labels, Labels]:
        """Return the lowest and the highest label of new samples, in the labels' own terms.

        The rank that the model decides for is in every set: where it is not the most probable one, the set grows to it.

        Args:
            model: Model that made the predictions.
            predicted: Predictions for new samples, probabilities (n, C) or targets.
            calibration: Result of :meth:`calibrate`.
        """
        lowest, highest = ends(model, predicted, calibration)
        if self.classes is None:
            return lowest, highest
        classes = np.asarray(self.classes)
        return classes[lowest], classes[highest]

    def note_on_errors(self, predictions: Predictions) -> str | None:
        """Return a note if the errors on other samples are larger than on these by more than chance; None otherwise."""
        said = self.predicted if self.classes is None else predictions.model.decide(self.predicted)
        usual = np.abs(said.astype(np.float64) - self.labels).reshape(len(said), -1).mean(1)
        found = predictions.absolute_errors
        if self.is_of(predictions) or min(len(usual), len(found)) < LEAST_COMPARED:
            return None
        difference, deviation = found.mean() - usual.mean(), np.hypot(_deviation(usual), _deviation(found))
        if difference <= max(MOST_DEVIATIONS * deviation, LEAST_SHARE * usual.mean()):
            return None
        samples = counted(len(usual), "sample")
        said_of = f"the mean absolute error, {found.mean():.3g}, is {LARGER} of the {samples} held out at fit"
        return f"{said_of}, {usual.mean():.3g}: these samples differ from those of training"

    @classmethod
    def is_in(cls, folder: str | Path) -> bool:
        """Return whether a folder holds such a record."""
        return (Path(folder) / RECORD).is_file()

    def write(self, folder: str | Path) -> None:
        """Write ``held_out.json`` and ``held_out.safetensors`` into an existing folder, such as the model's."""
        # The function save assumes contiguous arrays.
        arrays = {"labels": np.ascontiguousarray(self.labels), "predicted": np.ascontiguousarray(self.predicted)}
        content = save(arrays)
        record: Settings = {"format": FORMAT, "samples": len(self.labels), "classes": self.classes}
        record["sha256"] = _digest(record, content)
        (Path(folder) / ARRAYS).write_bytes(content)
        (Path(folder) / RECORD).write_text(json.dumps(record, indent=2) + "\n")

    @classmethod
    def read(cls, folder: str | Path) -> Self:
        """Return what :meth:`write` wrote to a folder; damage is an error, and nothing in it is run."""
        folder = Path(folder)
        if not cls.is_in(folder):
            problem = f"{folder} holds no {RECORD}"
            expected = "a model with its held-out samples"
            raise OrdinateError("model", problem=problem, expected=expected, hint="fit it again")
        with reading("model", f"{folder / RECORD} or {ARRAYS} is damaged"):
            record, arrays = _read(folder)
            return cls(arrays["labels"], arrays["predicted"], record["classes"])


def _deviation(values: NDArray[np.float64]) -> float:
    """Return the standard error of a mean."""
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def ends(
    model: Model, predicted: ArrayLike, calibration: RankCalibration | IntervalCalibration
) -> tuple[Labels, Labels]:
    """Return the lowest and the highest rank 0..C-1 (n,) of sets, or targets (n,) or (n, p) of intervals.

    The rank that the model decides for is in every set.
    """
    if isinstance(calibration, IntervalCalibration):
        bounds = intervals(predicted, calibration)
        return bounds[..., 0], bounds[..., 1]
    decided = model.decide(predicted)
    lowest, highest = rank_sets(predicted, calibration).T
    return np.minimum(lowest, decided), np.maximum(highest, decided)


def predict_sets(
    model: Model, held_out: HeldOut, X: ArrayLike, coverage: float = 0.9, *, by_rank: bool = False
) -> tuple[Labels, Labels]:
    """Predict the lowest and the highest label that a new sample may have, right for at least the promised share.

    Args:
        model: Fitted model.
        held_out: Predictions of the same model for samples like the new ones.
        X: Samples of the model's kind of data.
        coverage: Promised share, above 0 and below 1.
        by_rank: Whether it is promised for the samples of every rank, see :func:`~ordinate.decisions.calibrate_ranks`.

    Returns:
        Two arrays (n,), labels as the model predicts them; of continuous labels two arrays of the predictions' shape,
        in their units.

    Raises:
        OrdinateError: a record of another model, or of too few samples for the coverage.

    Example:
        >>> from ordinate import CLOCClassifier
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> y = np.digitize(X[:, 0], [0.3, 0.7])
        >>> model = CLOCClassifier(epochs=(2, 2), random_state=0).fit(X[::2], y[::2]).fitted
        >>> lowest, highest = predict_sets(model, HeldOut.measure(model, X[1::2], y[1::2]), X, coverage=0.8)
        >>> bool((lowest <= highest).all())
        True
    """
    return sets_of(model, held_out, model.predict_numbers(X), coverage, by_rank=by_rank)


def sets_of(
    model: Model, held_out: HeldOut, predicted: NDArray[np.float64], coverage: float, *, by_rank: bool
) -> tuple[Labels, Labels]:
    """Return what :func:`predict_sets` does for samples whose probabilities (n, C) or targets are predicted already."""
    classes = None if model.classes is None else model.classes.tolist()
    if held_out.classes != classes:
        raise OrdinateError("held_out", f"one of the classes {held_out.classes}", f"the model's, {classes}")
    calibration = held_out.calibrate(coverage, by_rank=by_rank)
    return held_out.sets(model, predicted, calibration)


def _read(folder: Path) -> tuple[Settings, dict[str, Labels]]:
    """Return the record and the arrays in a folder, of this format and not damaged."""
    record, content = json.loads((folder / RECORD).read_text()), (folder / ARRAYS).read_bytes()
    if record["format"] != FORMAT:
        problem = f"{folder / RECORD} has format {record['format']}"
        raise OrdinateError("model", problem=problem, expected=FORMAT, hint="update ordinate")
    if record.pop("sha256") != _digest(record, content):
        problem = f"{folder / RECORD} or {ARRAYS} is damaged, its checksum is not the one saved"
        raise OrdinateError("model", problem=problem)
    return record, load(content)


def _digest(record: Settings, content: bytes) -> str:
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode() + content).hexdigest()
