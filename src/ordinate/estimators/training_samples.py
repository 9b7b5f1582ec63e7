"""The samples that an estimator is fitted on: checked, weighted, some of them held out."""

from abc import abstractmethod
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ordinate.data.rows import column_of, random_part, take
from ordinate.data.tables.parquet_table import streams
from ordinate.errors import OrdinateError
from ordinate.estimators import inputs
from ordinate.estimators.holdout import check_groups, hold_out
from ordinate.estimators.sample_weights import CheckedSamples, check_sample_weight

DRAWN_FROM = 100_000  # samples, at random, of many that stream, as an order of all takes long and much memory
MOST_VALIDATION = 10_000  # samples held out by themselves: a loss of all their pairs is taken every epoch


class TrainingSamples:
    """The part of an estimator that turns ``X``, ``y``, weights and groups into checked samples."""

    validation_fraction: float | None
    stratified = False  # whether samples are held out rank by rank

    @abstractmethod
    def _targets(self, y: Any, *, reset: bool) -> NDArray[Any]:
        """Check labels and return what the method trains on: ranks (n,) or targets (n, p)."""

    @property
    def unweighted(self) -> str | None:
        """Why samples cannot be weighted, of methods for which that has no meaning; None of others."""
        return None

    def _checked(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, *, reset: bool) -> CheckedSamples:
        """Return samples and their training targets, which must be as many; those of weight 0 are left out."""
        X, y = inputs.unpack(X, y, self)
        if y is None:
            raise OrdinateError("y", problem=f"{type(self).__name__} requires y to be passed, but the target y is None")
        X = inputs.check_input(self, X, reset=reset)
        if sample_weight is None:
            samples = CheckedSamples(X, self._targets(y, reset=reset), groups=groups)
        else:
            samples = self._weighted(X, y, sample_weight, groups, reset=reset)
        if len(samples.targets) != len(samples.X):
            raise _other_number(samples.targets, samples.X)
        return samples

    def _weighted(self, X: Any, y: Any, sample_weight: Any, groups: Any, *, reset: bool) -> CheckedSamples:
        """Return the samples whose weight is above 0."""
        if self.unweighted is not None:
            raise OrdinateError("sample_weight", "weights", "None", f"{type(self).__name__}: {self.unweighted}")
        weights = check_sample_weight(sample_weight, len(X))
        counted = np.flatnonzero(weights)
        if len(counted) == len(X):
            return CheckedSamples(X, self._targets(y, reset=reset), weights, groups)
        if len(y) != len(X):
            raise _other_number(y, X)
        groups = None if groups is None else check_groups(groups, len(X))
        targets = self._targets(take(y, counted), reset=reset)
        if reset:
            self._check_left_out(take(y, np.flatnonzero(weights == 0)))
        return CheckedSamples(take(X, counted, renumber=True), targets, weights[counted], column_of(groups, counted))

    def _check_left_out(self, y: Any) -> None:
        """Raise where labels of training samples of weight 0 must not be left out."""

    def _weights_in_training(self, samples: CheckedSamples) -> NDArray[np.float64] | None:
        """Return what training samples weigh."""
        return samples.weights

    def _validation_share(self, samples: CheckedSamples) -> float:
        """Return ``validation_fraction``, or what suits the samples."""
        return cast(float, self.validation_fraction)

    def _hold_out(self, samples: CheckedSamples, seed: int) -> tuple[CheckedSamples, CheckedSamples | None]:
        """Return the samples to train on, and those to validate on."""
        share = min(self._validation_share(samples), MOST_VALIDATION / len(samples))
        if streams(samples.X) and samples.groups is None and len(samples) > DRAWN_FROM:
            some = random_part(len(samples), DRAWN_FROM, seed)
            _, held_out = hold_out(
                samples.targets[some], None, share * len(samples) / len(some), seed, stratify=self.stratified
            )
            return samples.without(some[held_out]), samples.take(some[held_out])
        rows, held_out = hold_out(samples.targets, samples.groups, share, seed, stratify=self.stratified)
        if len(rows) < 4:
            raise OrdinateError(
                "validation_fraction", f"{self.validation_fraction}, leaves {len(rows)} of {len(samples)} samples"
            )
        return samples.take(rows), samples.take(held_out) if len(held_out) else None


def _other_number(y: Any, X: Any) -> OrdinateError:
    return OrdinateError("y", f"{len(y)} labels for {len(X)} samples", "one per sample")
