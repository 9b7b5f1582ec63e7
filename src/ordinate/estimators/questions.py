"""What a fitted estimator can be asked: predictions and intervals, metrics, explanations, similar samples, a page."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ordinate.counts import counted
from ordinate.data.findings import collected
from ordinate.data.paths import require_names
from ordinate.data.registry import modality_of
from ordinate.data.rows import BatchedSamples, Labels, column_of
from ordinate.data.streamed import loaded
from ordinate.errors import OrdinateError, warn
from ordinate.estimators.known_samples import DataOfFit, KnownSamples
from ordinate.estimators.samples import GivenSamples
from ordinate.model.held_out import HeldOut, sets_of
from ordinate.model.model import Model

if TYPE_CHECKING:
    from ordinate.model.export import Exported
    from ordinate.model.predictions import Predictions

NewSamples = ArrayLike | pd.DataFrame | Path  # A text is the path of a file, too.


class Questions(ABC):
    """What is asked of a fitted estimator; samples are those of the model's kind of data, or the path of a file."""

    @property
    @abstractmethod
    def fitted(self) -> Model:
        """The fitted model; an estimator that is not fitted raises."""

    def transform(self, X: NewSamples) -> NDArray[np.float64]:
        """Return the embeddings (n, ``embedding_dim_``) of samples, or of those of a file by its path, float64."""
        return self._of_file(Model.transform, X)

    def predict(self, X: NewSamples) -> Labels:
        """Return the predictions of samples, or of those of a file by its path."""
        return self._of_file(Model.predict, X)

    def _of_file(self, method: Callable[[Model, Any], NDArray[Any]], X: Any) -> NDArray[Any]:
        """Return what a method of the model returns for samples; those of a file are read in batches."""
        fitted = self.fitted
        if not isinstance(X, str | Path):
            return method(fitted, X)
        from ordinate.model.batches import map_batches, read_batches

        return np.concatenate([result for _, result in map_batches(fitted, method, read_batches(fitted, X))])

    def calibrate(self, X: object, y: object = None) -> Self:
        """Keep predictions of labelled samples that training has not seen, for :meth:`predict_interval`.

        Models of ``ordinate fit`` have those of the samples that it held out.

        Args:
            X: Samples (n) of the model's kind of data, or the path of a file of them.
            y: Labels (n,) or targets (n, p); None as in :meth:`evaluate`.
        """
        self.held_out_ = HeldOut.measure(self.fitted, *self._labelled(X, y)[:2])
        return self

    def predict_interval(self, X: NewSamples, coverage: float = 0.9, *, by_rank: bool = False) -> tuple[Labels, Labels]:
        """Return the lowest and the highest label (n,) of samples, which hold the true one with a probability.

        The interval is conformal: samples like those of :meth:`calibrate` lie in it for at least the promised share.

        Args:
            X: Samples (n), or the path of a file of them.
            coverage: Promised share, above 0 and below 1.
            by_rank: Whether it is promised for the samples of every rank.

        Raises:
            OrdinateError: the model is not calibrated, or with too few samples for the coverage.
        """
        check_is_fitted(self)
        held_out = self._held_out()
        if held_out is None:
            hint = "calibrate(X, y) with samples that it was not trained on"
            raise OrdinateError("model", problem="keeps no predictions of held-out samples", hint=hint)
        numbers = self._of_file(Model.predict_numbers, X)
        return sets_of(self.fitted, held_out, numbers, coverage, by_rank=by_rank)

    def _held_out(self) -> HeldOut | None:
        """Return the predictions that the model keeps, or its folder, of samples that it was not trained on."""
        known = vars(self)
        if "held_out_" in known:
            kept: HeldOut = known["held_out_"]
            return kept
        if "folder_" in known and HeldOut.is_in(known["folder_"]):
            return HeldOut.read(known["folder_"])
        return None

    def read_batches(self, path: str | Path, left_out: Callable[[str], None] | None = None) -> BatchedSamples:
        """Return the samples of a file, folder or zip in batches, each of which the other methods accept as X.

        See :func:`~ordinate.model.batches.read_batches`.

        Args:
            path: A csv, tsv, parquet (file or folder of files), npz, or a folder or zip of images or volumes.
            left_out: Function called with every image or volume that a labels.csv names and that is not there; None
                raises.
        """
        from ordinate.model.batches import read_batches

        return read_batches(self.fitted, path, left_out)

    def export(self, path: str | Path) -> "Exported":
        """Write the inference as one graph for other runtimes, see :func:`~ordinate.model.export.export_model`."""
        from ordinate.model.export import export_model

        return export_model(self.fitted, path)

    def evaluate(self, X: Any, y: Any = None) -> dict[str, Any]:
        """Return the metrics of labelled samples by name, see :func:`~ordinate.model.evaluation.evaluate`.

        Args:
            X: Samples (n) of the model's kind of data, or the path of a file of them.
            y: Labels (n,) or targets (n, p); None for a table or file that has them in the column or columns of
                training, for a model of :func:`ordinate.fit`. Of the file that this model was fitted to, the samples
                that were held out count.
        """
        from ordinate.model.evaluation import metrics_of

        return metrics_of(self._predictions(X, y))

    def compare(self, X: Any, y: Any = None, training: GivenSamples | None = None) -> pd.DataFrame:
        """Return the metrics of this model and of simple models, with intervals and a verdict.

        Args:
            X: Samples (n) that the model was not trained on, or the path of a file of them.
            y: Labels (n,) or targets (n, p); None as in :meth:`evaluate`.
            training: ``(X, y)`` of training, for simple models that are trained, too; None for those of a model of
                :func:`ordinate.fit`.

        Returns:
            A row per model, this one first, with the metrics and then the ends of their intervals, such as
            ``mae``, ``mae_low`` and ``mae_high``. ``attrs["verdict"]`` says in a sentence how good the model is.
        """
        from ordinate.report.page.comparison import compare

        predictions = self._predictions(X, y)
        if training is None:
            known = self._known()
            training = None if known is None else known.take(known.trained)
        return compare(predictions, training=training, target=predictions.model.target or "label")

    def importance(self, X: Any, y: Any = None, *, repeats: int = 10) -> pd.DataFrame:
        """Return the permutation importance of columns, see :func:`~ordinate.model.importance.column_importance`.

        Args:
            X: Table (n) that the model was not trained on, or the path of a file of one.
            y: Labels (n,) or targets (n, p); None as in :meth:`evaluate`.
            repeats: Number of times that each column is shuffled.
        """
        from ordinate.model.importance import column_importance

        return column_importance(self.fitted, *self._labelled(X, y)[:2], repeats=repeats)

    def _predictions(self, X: Any, y: Any) -> "Predictions":
        """Return the predictions of labelled samples, and warn if their errors are larger than those at fit."""
        from ordinate.model.predictions import Predictions

        predictions = Predictions.of(self.fitted, *self._labelled(X, y))
        held_out = self._held_out()
        note = None if held_out is None else held_out.note_on_errors(predictions)
        if note is not None:
            warn(f"note: {note}")
        return predictions

    def _labelled(self, X: Any, y: Any) -> tuple[Any, Any, NDArray[np.str_] | None]:
        """Return samples with labels, which a table or file has in the column of training if not given, and groups."""
        check_is_fitted(self)
        if isinstance(y, str | Questions):
            got = repr(y) if isinstance(y, str) else "a model"
            hint = None if isinstance(y, str) else "`ordinate evaluate` compares saved models"
            raise OrdinateError("y", got, "the labels of the samples, such as a column of a table", hint)
        if y is not None:
            return self._in_memory(X), y, None
        data = self._data_of_fit()
        if data is not None and isinstance(X, str | Path):
            return data.labelled(self.fitted, str(X))
        fitted = self.fitted
        target = fitted.target
        if target is None or not isinstance(X, pd.DataFrame):
            hint = "models of ordinate.fit know the column of the label"
            raise OrdinateError("y", None, "the labels of the samples", hint)
        targets = [target] if isinstance(target, str) else target
        require_names(X.columns, targets, "X")
        missing = X[targets].isna().any(axis=1)
        if missing.any() and not missing.all():
            warn(f"left out: {missing.sum():,} of {counted(len(X), 'row')}, which have no label")
            X = X[~missing]
        names = list(fitted.feature_names_in)
        return X[names] if names else X, X[target], self._groups(X)

    def _groups(self, X: pd.DataFrame) -> NDArray[np.str_] | None:
        """Return the groups of rows, and warn of those in training; None for a model that was fitted without groups."""
        data = self._data_of_fit()
        if data is None or data.group is None or data.group not in X.columns or X[data.group].isna().any():
            return None
        known, groups = self._known(), X[data.group].astype(str).to_numpy(dtype=np.str_)
        note = None if known is None else known.note_on(data.group, groups)
        if note is not None:
            warn(note)
        return groups

    def _in_memory(self, X: Any) -> Any:
        """Return samples as they are, and those of a file read."""
        if not isinstance(X, str | Path):
            return X
        from ordinate.model.batches import read_all

        return read_all(self.fitted, X)

    def _data_of_fit(self) -> DataOfFit | None:
        data: DataOfFit | None = vars(self).get("data_of_fit_")
        return data

    def _known(self) -> KnownSamples | None:
        """Return the samples that a model of ``ordinate fit`` was fitted to, if they are still there."""
        data = self._data_of_fit()
        return None if data is None else data.samples(self.fitted)

    def _required(self, name: str, expected: str) -> KnownSamples:
        """Return the samples that the model was fitted to, or raise that an argument has to replace them."""
        known = self._known()
        if known is None:
            data = self._data_of_fit()
            problem = "this model does not know the samples that it was fitted to, as models of ordinate.fit do"
            if data is not None:
                problem = f"{data.name}, which this model was fitted to, is not there as it was"
            if data is not None and not data.is_file:
                problem = "a saved model does not hold the DataFrame that it was fitted to"
            raise OrdinateError(name, problem=problem, expected=expected, hint=f"{name}=table gives them")
        return known

    def explain(self, X: NewSamples, background: pd.DataFrame | str | Path | None = None) -> Any:
        """Return what each column of a table, or each part of images, contributes to the predictions of samples.

        Args:
            X: Samples (n) to explain, or the path of a file of them.
            background: Samples (m) that they are compared with, or the path of a file of them; None for those that a
                model of :func:`ordinate.fit` was trained on, of which it takes at most 100, always the same.

        Returns:
            A row for each sample: ``baseline``, the mean prediction of the samples that it is compared with, and what
            each column adds to it. The sum is the prediction: the target, or the expected rank, in units of the label
            if ranks are consecutive numbers, and from 0 otherwise. See
            :func:`~ordinate.model.contributions.column_contributions`. Of images the maps (n, height, width) of
            :func:`~ordinate.model.occlusion.occlusion_map`, which need no background.
        """
        from ordinate.model.contributions import background_of, column_contributions

        fitted = self.fitted
        if fitted.reader.kind == "images":
            from ordinate.model.occlusion import occlusion_maps

            return occlusion_maps(fitted, loaded(fitted.read(self._in_memory(X))))
        if background is None:
            known = self._required("background", "samples to compare with, such as those of training")
            background = background_of(known.take(known.trained)[0])
        own, others = (fitted.own_columns(fitted.unpacked(self._in_memory(each))) for each in (X, background))
        return column_contributions(fitted, own, others)

    def similar(
        self, X: NewSamples, among: NewSamples | None = None, k: int = 10
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the samples whose embeddings are most similar to those of others.

        Args:
            X: Samples (n) to search by, or the path of a file of them.
            among: Samples (m) to search in, or the path of a file of them; None for those that a model of
                :func:`ordinate.fit` was fitted to.
            k: Number of samples to find, at most m.

        Returns:
            The similarities (n, k), the highest first, and the rows (n, k) of ``among``, or of the data of the fit.
        """
        from ordinate.model.neighbour_index import NeighbourIndex

        fitted, queries = self.fitted, self._in_memory(X)
        if among is not None:
            found = NeighbourIndex.build(fitted, self._in_memory(among)).search(queries, k)
            return found.similarity, found.rows
        known = self._required("among", "samples to search in")
        if known.embedded is None:
            with collected():  # Samples of the fit are not new.
                known.embedded = fitted.transform(known.X)
        found = NeighbourIndex(fitted, known.embedded).search(queries, k)
        return found.similarity, known.rows[found.rows]

    def report(
        self, path: str | Path, X: object = None, y: object = None, training: GivenSamples | None = None
    ) -> Path:
        """Write one HTML page about the model and its predictions of labelled samples, which opens offline.

        Args:
            path: Path of the page; one that is there is replaced.
            X: Samples (n) that the model was not trained on, or the path of a file of them; None for those that
                :func:`ordinate.fit` held out.
            y: Labels (n,) or targets (n, p); None as in :meth:`evaluate`.
            training: ``(X, y)`` of training, for simple models to compare with; None for those of a model of
                :func:`ordinate.fit`, and for none otherwise.

        Returns:
            The path.
        """
        from ordinate.model.predictions import Predictions
        from ordinate.report.page import write_report

        if not isinstance(path, str | Path):
            raise OrdinateError("path", type(path).__name__, "the path of the page, and then samples")
        fitted = self.fitted
        known, names, held_out, groups = self._known(), None, None, None
        if X is None:
            known = self._required("X", "labelled samples that it was not trained on")
            X, y = known.take(known.held_out)
            names = [known.names[place] for place in known.held_out]
            groups = column_of(known.groups, known.held_out)
        else:
            held_out = self._held_out()
            X, y, groups = self._labelled(X, y)
            paths = modality_of(X).paths(X)
            names = None if paths is None else list(map(str, paths))
        if training is None and known is not None:
            training = known.take(known.trained)
        predictions = Predictions.of(fitted, X, y, groups)
        larger = None if held_out is None else held_out.note_on_errors(predictions)
        return write_report(
            fitted, X, y, path, training=training, target=fitted.target or "the label", predictions=predictions,
            names=names, held_out=held_out, notes=[*filter(None, [larger])],
        )  # fmt: skip
