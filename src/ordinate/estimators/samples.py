"""Samples, labels, weights and groups that a fit is given: how they are checked, read and held out."""

from collections.abc import Mapping, Sized
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from ordinate.checks import check_positive
from ordinate.counts import counted
from ordinate.data.other_containers import unpack
from ordinate.data.registry import modalities, modality_of
from ordinate.data.rows import Labels, column_of, take
from ordinate.data.splits import Units, keep_together, split_units
from ordinate.errors import OrdinateError
from ordinate.model.labels import RankLabels

if TYPE_CHECKING:
    from ordinate.estimators.embedding_estimator import EmbeddingEstimator
    from ordinate.estimators.method import Method

GivenSamples = tuple[Any, ...]  # (X, y) or (X, y, sample_weight).


def check_options(options: object, encoder: object) -> None:
    """Raise an error if the options of the data are of no known class, or missing for the encoder."""
    known = [modality.options_class for modality in modalities() if modality.options_class is not None]
    if options is not None and not isinstance(options, tuple(known)):
        names = ", ".join(f"{kind.__name__}(...)" for kind in known)
        raise OrdinateError("data", repr(options), f"one of {names}, or None")
    if not isinstance(encoder, str) or options is not None:
        return
    for modality in modalities():
        if modality.options_class is not None and encoder in modality.encoders:
            expected = f"ordinate.{modality.options_class.__name__}(...)"
            raise OrdinateError("data", f"None with the encoder {encoder!r}", expected)


def check_input(estimator: "EmbeddingEstimator", X: object, *, reset: bool) -> Any:
    """Return X in the form in which its kind of data is read and its rows are selected; ``reset`` in fitting."""
    options = estimator.data
    modality = modality_of(X, options)
    if options is not None and not isinstance(options, modality.options_class or ()):
        raise OrdinateError(
            "data", f"{type(options).__name__} for {modality.name}", f"options of {modality.name}, or None"
        )
    return modality.check(estimator, X, reset=reset)


@dataclass(frozen=True)
class CheckedSamples:
    """Samples that a reader can read, their training targets, and the weights and groups that some have.

    Args:
        X: Samples (n).
        targets: (n,) ranks or (n, p) targets.
        weights: (n,), all above 0.
        groups: (n,).
        units: What stays on one side of a split: groups, and exact copies; None where every sample stands for itself.
    """

    X: Any
    targets: Labels
    weights: NDArray[np.float64] | None = None
    groups: ArrayLike | None = None
    units: Units | None = None

    def __len__(self) -> int:
        return len(self.targets)

    def take(self, rows: NDArray[np.int64]) -> Self:
        """Return some of them, by index."""
        X, units = take(self.X, rows, renumber=True), self.units
        if units is not None:
            units = units.take(rows)
        return type(self)(X, self.targets[rows], column_of(self.weights, rows), column_of(self.groups, rows), units)


def check_sample_weight(sample_weight: ArrayLike, n: int) -> NDArray[np.float64]:
    """Return the weights (n,) of samples, finite, none below 0, some above.

    Example:
        >>> check_sample_weight([1, 0, 2], 3)
        array([1., 0., 2.])
    """
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise OrdinateError(
            "sample_weight",
            type(sample_weight).__name__,
            f"({n},) numbers",
            "validation samples are given as validation=",
        ) from error
    if weights.shape != (n,):
        raise OrdinateError("sample_weight", f"shape {weights.shape}", f"({n},), one per sample")
    if not np.isfinite(weights).all():
        raise OrdinateError("sample_weight", "NaN or infinity", "finite numbers")
    if weights.min() < 0:
        raise OrdinateError("sample_weight", f"{weights.min():g}", "numbers of at least 0")
    if weights.max() == 0:
        raise OrdinateError("sample_weight", "zero for every sample", "some above 0")
    return weights


def check_class_weight(class_weight: object) -> None:
    """Raise where ``class_weight`` is not None, ``"balanced"`` or a mapping to weights above 0."""
    if class_weight is None or (isinstance(class_weight, str) and class_weight == "balanced"):
        return
    if not isinstance(class_weight, Mapping):
        raise OrdinateError("class_weight", repr(class_weight), "None, 'balanced' or {label: weight}")
    for label, weight in class_weight.items():
        check_positive(weight, f"class_weight[{label!r}]")


def weights_of_ranks(
    class_weight: str | Mapping[Any, float],
    labels: list[Any],
    ranks: NDArray[np.int64],
    weights: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """Return the weights of samples times those of their classes.

    Args:
        class_weight: ``"balanced"``, in inverse proportion to the summed weight of each class, or ``{label: weight}``,
            1 for labels that it lacks.
        labels: (C,), from the lowest rank to the highest.
        ranks: (n,).
        weights: (n,), of the samples; None for equal ones.

    Raises:
        OrdinateError: a label that there is not.

    Example:
        >>> weights_of_ranks("balanced", ["low", "high"], np.array([0, 0, 0, 1]), None).round(2).tolist()
        [0.67, 0.67, 0.67, 2.0]
    """
    if weights is None:
        weights = np.ones(len(ranks))
    if isinstance(class_weight, str):
        sums = np.bincount(ranks, weights, minlength=len(labels))
        return weights * weights.sum() / np.count_nonzero(sums) / sums[ranks]
    unknown = [label for label in class_weight if label not in labels]
    if unknown:
        raise OrdinateError("class_weight", f"the labels {unknown[:5]}", f"labels of {labels}")
    return weights * np.array([class_weight.get(label, 1.0) for label in labels])[ranks]


def relative_weights(weights: NDArray[np.float64] | None) -> Tensor | None:
    """Return weights (n,) in float32 with mean 1; None where all are the same, as none are needed then.

    Example:
        >>> relative_weights(np.array([3.0, 1.0])).tolist(), relative_weights(np.array([2.0, 2.0]))
        ([1.5, 0.5], None)
    """
    if weights is None or bool((weights == weights[0]).all()):
        return None
    shares = weights / weights.max()  # This keeps the sum finite.
    least = np.finfo(np.float32).tiny  # A positive weight stays positive.
    return torch.from_numpy(np.maximum(shares / shares.mean(), least).astype(np.float32))


def with_units(samples: CheckedSamples, num_classes: int | None) -> tuple[CheckedSamples, str | None]:
    """Return samples with what stays on one side of a split, and a note on copies.

    ``num_classes`` is None for continuous targets.
    """
    groups = None
    if samples.groups is not None:
        groups = Units(check_groups(samples.groups, len(samples)), are_groups=True)
    copies = modality_of(samples.X).exact_copies(samples.X)
    units, note = keep_together(copies, groups, least=5 if num_classes is None else 2 * num_classes)
    return replace(samples, units=units), note


def hold_out(
    targets: Labels,
    units: Units | None,
    share: float,
    seed: int,
    *,
    stratify: bool,
    attempts: int = 20,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows to train on, and about a share of all rows that is held out.

    Args:
        targets: Ranks (n,) or targets (n, p).
        units: What stays on one side; None where every sample stands for itself.
        share: Share of the rows that is held out, above 0 and below 1.
        seed: Seed of the drawing.
        stratify: Whether to hold out the share of each rank, and keep samples of every rank to train on.
        attempts: Largest number of drawings of groups, as a rank may occur in few of them.

    Raises:
        OrdinateError: groups that allow no such division.
    """
    if units is None or not units.are_groups:
        return split_units(targets, units, share, seed, stratify=stratify)
    hint = "give validation=(X, y), or 0 for no held-out samples"
    codes = pd.factorize(units.codes)[0].astype(np.int64)  # Codes are in the order of occurrence.
    units = Units(codes, are_groups=True)
    if codes.max() == 0:
        raise OrdinateError("validation_fraction", problem="holds out whole groups, and groups are one", hint=hint)
    for attempt in range(attempts):
        rows, held_out = split_units(targets, units, share, (seed + attempt) % 2**32, stratify=stratify)
        lacks_rank = stratify and len(np.setdiff1d(targets, targets[rows])) > 0
        if len(held_out) and len(rows) and not lacks_rank:
            return rows, held_out
    problem = (
        f"holds out whole groups, and every division of {counted(codes.max() + 1, 'group')} leaves a rank without "
        "a sample to train on"
    )
    raise OrdinateError("validation_fraction", problem=problem, hint=hint)


def check_groups(groups: ArrayLike, n: int) -> NDArray[np.int64]:
    """Return the groups (n,) of samples as codes; none of them may be missing."""
    array = np.asarray(groups)
    if array.shape != (n,):
        raise OrdinateError("groups", f"shape {array.shape}", f"({n},), one per sample")
    if pd.isna(array).any():
        raise OrdinateError("groups", counted(pd.isna(array).sum(), "missing value"), "a group for every sample")
    codes: NDArray[np.int64] = pd.factorize(array, sort=True)[0].astype(np.int64)
    return codes


def checked_samples(
    estimator: "EmbeddingEstimator",
    method: "Method",
    X: object,
    y: object,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    *,
    reset: bool,
) -> CheckedSamples:
    """Return samples and their training targets, which must be as many; those of weight 0 are left out."""
    X, labels = unpack(X, y)
    if labels is None:
        name = type(estimator).__name__
        raise OrdinateError("y", problem=f"{name} requires y to be passed, but the target y is None")
    X = check_input(estimator, X, reset=reset)
    if sample_weight is None:
        samples = CheckedSamples(X, _targets(estimator, method, labels, reset=reset), groups=groups)
    else:
        samples = weighted_samples(estimator, method, X, labels, sample_weight, groups, reset=reset)
    if len(samples.targets) != len(samples.X):
        raise _other_number(samples.targets, samples.X)
    return samples


def weighted_samples(
    estimator: "EmbeddingEstimator",
    method: "Method",
    X: Any,
    y: Any,
    sample_weight: ArrayLike,
    groups: ArrayLike | None,
    *,
    reset: bool,
) -> CheckedSamples:
    """Return the samples whose weight is above 0."""
    if method.unweighted is not None:
        raise OrdinateError("sample_weight", "weights", "None", f"{type(estimator).__name__}: {method.unweighted}")
    weights = check_sample_weight(sample_weight, len(X))
    counted = np.flatnonzero(weights)
    if len(counted) == len(X):
        return CheckedSamples(X, _targets(estimator, method, y, reset=reset), weights, groups)
    if len(y) != len(X):
        raise _other_number(y, X)
    if groups is not None:
        groups = check_groups(groups, len(X))
    targets = _targets(estimator, method, take(y, counted), reset=reset)
    if reset:
        method.labels.check_left_out(take(y, np.flatnonzero(weights == 0)))
    return CheckedSamples(take(X, counted, renumber=True), targets, weights[counted], column_of(groups, counted))


def _targets(estimator: "EmbeddingEstimator", method: "Method", y: Labels, *, reset: bool) -> Labels:
    """Return the training targets of labels; ``reset`` learns the labels first."""
    if reset:
        method.labels = estimator.learn_labels(y)
    targets = method.labels.encode(y)
    if reset and isinstance(method.labels, RankLabels):
        method.labels.check_several(np.asarray(targets, dtype=np.int32))
    return targets


def _other_number(y: Sized, X: Sized) -> OrdinateError:
    return OrdinateError("y", f"{counted(len(y), 'label')} for {counted(len(X), 'sample')}", "one per sample")


def hold_out_samples(
    samples: CheckedSamples,
    share: float,
    seed: int,
    *,
    stratify: bool,
    most: int = 10_000,
) -> tuple[CheckedSamples, CheckedSamples | None]:
    """Return the samples to train on, and those to validate on.

    Args:
        samples: All samples.
        share: Share of the samples to validate on, above 0.
        seed: Seed of the division.
        stratify: Whether samples are held out rank by rank.
        most: Largest number of validation samples, as a loss of all their pairs is computed in every epoch.
    """
    share = min(share, most / len(samples))
    rows, held_out = hold_out(samples.targets, samples.units, share, seed, stratify=stratify)
    if len(rows) < 4:
        raise OrdinateError(
            "validation_fraction", f"{share:g}, which leaves {len(rows):,} of {counted(len(samples), 'sample')}"
        )
    if len(held_out) == 0:
        return samples.take(rows), None
    return samples.take(rows), samples.take(held_out)
