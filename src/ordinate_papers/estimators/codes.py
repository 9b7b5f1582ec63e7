"""Nearest neighbours on coded ordinal features: linear baselines of OTD's Table 2 (after Shi, Li and Sha, AAAI 2016).

Three codes of a feature whose values, from lowest to highest, are its levels:

- ``"raw"`` (Real): the place of the level, 0..K-1; a number stays as it is;
- ``"one_hot"`` (Binary): K columns, 1 in that of the level;
- ``"thermometer"`` (Binary-Ord): K - 1 columns, 1 in those of the boundaries that the level lies above.

One-hot codes and thermometers are as wide as a column has values: they are for columns of few.

Two distances know the levels themselves: Gower's coefficient on ranks with ties (Ex-Gower), and that of learned
intervals (Thresh-Eucl, Ord-LMNN; :mod:`ordinate_papers.estimators.intervals`).
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from ordinate.checks import check_choice, check_whole
from ordinate.data.tables.parquet_table import in_memory
from ordinate.errors import OrdinateError
from ordinate.heads.neighbours import TIE_BREAK
from ordinate.model.labels import check_discrete, check_labels
from ordinate_papers.estimators.gower import gower_distances
from ordinate_papers.estimators.intervals import LatentIntervals
from ordinate_papers.estimators.lmnn import LargeMarginNearestNeighbours

Order = Mapping[Hashable, Sequence[object]]
Table = ArrayLike | pd.DataFrame


def code_features(frame: pd.DataFrame, code: str, order: Order | None = None) -> NDArray[np.float64]:
    """Code the features of a table.

    Args:
        frame: (n, columns), numbers, ordered pandas categories, or text without missing values.
        code: ``"raw"``, ``"one_hot"`` or ``"thermometer"``.
        order: Levels of columns from lowest to highest. Numbers and ordered categories have theirs; text needs
            one, unless the code is ``"one_hot"``.

    Returns:
        (n, width).

    Example:
        >>> frame = pd.DataFrame({"safety": ["low", "high", "med"], "doors": [2, 4, 3]})
        >>> code_features(frame, "thermometer", {"safety": ["low", "med", "high"]})
        array([[0., 0., 0., 0.],
               [1., 1., 1., 1.],
               [1., 0., 1., 0.]])
    """
    return _encode(frame, code, _find_columns(frame, code, order or {}))


@dataclass(eq=False, repr=False)
class NeighbourClassifier(ClassifierMixin, TransformerMixin, BaseEstimator):
    """The k-nearest-neighbour classifier on coded features, by one of the distances of OTD's Table 2.

    Each neighbour has one vote; of classes with equally many votes the one with the nearest neighbour wins; of equally
    near neighbours those that come first are nearer, as in :func:`~ordinate_papers.protocols.classifiers.knn_error`.

    Args:
        code: ``"raw"``, ``"one_hot"`` or ``"thermometer"``; see :func:`code_features`.
        metric: ``"euclidean"``; ``"lmnn"``, Euclidean after
            :class:`~ordinate_papers.estimators.lmnn.LargeMarginNearestNeighbours`; or, of the code ``"raw"``,
            ``"gower"``, :func:`~ordinate_papers.estimators.gower.gower_distances` ranked among the training samples,
            ``"intervals"`` or ``"lmnn_intervals"``, the expected distance of
            :class:`~ordinate_papers.estimators.intervals.LatentIntervals` without a map and with one.
        distribution: Distribution of the latent values in their intervals: ``"uniform"``, ``"beta"`` or
            ``"beta_rectangular"``.
        n_neighbors: Neighbours that vote, and targets of a sample in training; 3 in the paper.
        order: Levels of columns from lowest to highest; see :func:`code_features`.

    Attributes:
        classes_: Labels of the classes.
        columns_: Every column with its levels.
        lmnn_, intervals_: Fitted map and fitted intervals; None for other metrics.

    Example:
        >>> X = pd.DataFrame({"safety": ["low", "low", "med", "high"]})
        >>> model = NeighbourClassifier("thermometer", n_neighbors=1, order={"safety": ["low", "med", "high"]})
        >>> model.fit(X, ["no", "no", "yes", "yes"]).predict(X).tolist()
        ['no', 'no', 'yes', 'yes']
    """

    code: str = "raw"
    metric: str = "euclidean"
    n_neighbors: int = 3
    order: Order | None = None
    distribution: str = "uniform"

    def fit(self, X: Table, y: ArrayLike) -> "NeighbourClassifier":
        """Keep the coded samples of a table or an array (n, features) and their classes (n,)."""
        check_choice(self.metric, ("euclidean", "lmnn", "gower", "intervals", "lmnn_intervals"), "metric")
        if self.metric not in ("euclidean", "lmnn") and self.code != "raw":  # The others use the levels themselves.
            raise OrdinateError("code", f"{self.code!r} with the metric {self.metric!r}", "'raw'")
        k = check_whole(self.n_neighbors, "n_neighbors")
        frame = _as_frame(self, X, reset=True)
        labels = check_labels(y)
        check_discrete(labels)
        check_consistent_length(frame, labels)
        self.columns_ = _find_columns(frame, self.code, self.order or {})
        self.classes_, self._classes = np.unique(labels, return_inverse=True)
        coded = _encode(frame, self.code, self.columns_)
        self.lmnn_ = self.intervals_ = None
        if self.metric == "lmnn":
            self.lmnn_ = LargeMarginNearestNeighbours(k).fit(coded, self._classes)
        if self.metric in ("intervals", "lmnn_intervals"):
            places, sizes = self._places(coded), [len(column.levels) for column in self.columns_]
            learner = LatentIntervals(self.distribution, self.metric == "lmnn_intervals", k)
            self.intervals_ = learner.fit(places, self._classes, sizes)
            self._spread = self.intervals_.spread(places)
        self._points = self._mapped(coded)
        return self

    def transform(self, X: Table) -> NDArray[np.float64]:
        """Return samples where neighbours are looked for, (n, width)."""
        check_is_fitted(self)
        return self._mapped(_encode(_as_frame(self, X, reset=False), self.code, self.columns_))

    def _mapped(self, coded: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.intervals_ is not None:
            return self.intervals_.transform(self._places(coded))
        if self.lmnn_ is not None:
            return self.lmnn_.transform(coded)
        return coded

    def _places(self, coded: NDArray[np.float64]) -> NDArray[np.intp]:
        """Return the places (n, d) of the levels that raw codes are nearest to."""
        levels = [np.array(c.levels if c.is_number else range(len(c.levels)), np.float64) for c in self.columns_]
        halves = [(several[1:] + several[:-1]) / 2 for several in levels]
        return np.column_stack([np.searchsorted(*pair) for pair in zip(halves, coded.T, strict=True)])

    def _distances(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return distances (n, m) to the training samples; of intervals without what all of a row share."""
        if self.metric == "gower":
            return gower_distances(points, self._points, self._points)
        if self.intervals_ is not None:
            return np.sqrt(cdist(points, self._points, "sqeuclidean") + self._spread)
        return cdist(points, self._points)

    def predict_proba(self, X: Table) -> NDArray[np.float64]:
        """Return the share (n, classes) of the votes that each class got.

        Distances are compared to 12 digits of the largest, so that rounding breaks no tie.
        """
        points = self.transform(X)
        k = min(self.n_neighbors, len(self._points))
        votes = 1 + TIE_BREAK * 0.5 ** np.arange(k)
        shares = np.zeros((len(points), len(self.classes_)))
        step = max(1, (1 << 22) // len(self._points))  # Limits the distances to 32 MiB.
        for start in range(0, len(points), step):
            distance = self._distances(points[start : start + step])
            distance = np.round(distance / max(distance.max(), np.finfo(float).tiny), 12)
            nearest = np.argsort(distance, axis=1, kind="stable")[:, :k]
            rows = np.arange(start, start + len(nearest))
            np.add.at(shares, (rows[:, None], self._classes[nearest]), votes / votes.sum())
        return shares

    def predict(self, X: Table) -> NDArray[np.generic]:
        """Return the class (n,) with most votes."""
        shares = self.predict_proba(X)
        return self.classes_[shares.argmax(axis=1)]


def _as_frame(estimator: BaseEstimator, X: Table, *, reset: bool) -> pd.DataFrame:
    """Return a table as it is, in memory, and an array of numbers as one."""
    X = in_memory(X)
    if isinstance(X, pd.DataFrame):
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        if X.shape[0] == 0 or X.shape[1] == 0:
            raise OrdinateError("X", f"a DataFrame of shape {X.shape}", "at least one row and one column")
        return X
    return pd.DataFrame(validate_data(estimator, X, reset=reset, dtype=np.float64))


@dataclass(frozen=True)
class CodedColumn:
    """A column and its levels; a number stands for itself, any other level for its place."""

    name: Hashable
    levels: tuple[object, ...]
    is_number: bool

    def encode(self, values: pd.Series, code: str) -> NDArray[np.float64]:
        """Return (n, width)."""
        if values.isna().any():
            raise OrdinateError(
                "X", problem=f"column {self.name!r} contains NaN", expected="complete rows", hint="impute or drop them"
            )
        if self.is_number:
            numbers, levels = values.to_numpy(dtype=np.float64), np.array(self.levels, dtype=np.float64)
            if not np.isfinite(numbers).all():
                raise OrdinateError("X", problem=f"column {self.name!r} contains infinity", expected="finite numbers")
        else:
            place = {level: number for number, level in enumerate(self.levels)}
            unknown = sorted({str(value) for value in values.unique() if value not in place})
            if unknown and code != "one_hot":  # A one-hot code is 0 in every column for them.
                raise OrdinateError(
                    "X", problem=f"column {self.name!r} holds {unknown[:5]}", expected=list(self.levels)
                )
            numbers, levels = np.array([place.get(value, -1.0) for value in values]), np.arange(float(len(place)))
        if code == "raw":
            return numbers[:, None]
        if code == "one_hot":
            return (numbers[:, None] == levels).astype(np.float64)
        return (numbers[:, None] > levels[:-1]).astype(np.float64)


def _find_columns(frame: pd.DataFrame, code: str, order: Order) -> list[CodedColumn]:
    """Return every column with its values from lowest to highest."""
    check_choice(code, ("raw", "one_hot", "thermometer"), "code")
    unknown = [name for name in order if name not in frame.columns]
    if unknown:
        raise OrdinateError("order", unknown, f"columns of X: {list(frame.columns)}")
    columns = []
    for name in frame.columns:
        values = frame[name].dropna()
        kind = values.dtype
        unordered: pd.Series | pd.Index = values
        if isinstance(kind, pd.CategoricalDtype):
            unordered = kind.categories
        if name in order:
            columns.append(CodedColumn(name, tuple(order[name]), is_number=False))
        elif isinstance(kind, pd.CategoricalDtype) and kind.ordered:
            columns.append(CodedColumn(name, tuple(kind.categories), is_number=False))
        elif pd.api.types.is_numeric_dtype(unordered):
            columns.append(CodedColumn(name, tuple(sorted(values.unique())), is_number=True))
        elif code == "one_hot":
            columns.append(CodedColumn(name, tuple(sorted(values.unique(), key=str)), is_number=False))
        else:
            expected = f"its values from lowest to highest for {code!r}"
            hint = "give order, or an ordered pandas categorical"
            raise OrdinateError("order", f"none for column {name!r}", expected, hint)
    return columns


def _encode(frame: pd.DataFrame, code: str, columns: Sequence[CodedColumn]) -> NDArray[np.float64]:
    coded = np.concatenate([column.encode(frame[column.name], code) for column in columns], axis=1)
    if coded.shape[1] == 0:
        raise OrdinateError("X", "one value in every column", "a column with two levels for a thermometer")
    return coded
