"""The base of all estimators: parameters, fitting, embedding, saving."""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted
from torch import nn

from ordinate.checks import check_embedding_dim, check_network_folder, check_whole
from ordinate.counts import counted
from ordinate.data.findings import collected
from ordinate.data.modality import Reader
from ordinate.data.options import DataOptions
from ordinate.data.paths import require_names
from ordinate.data.rows import BatchedSamples, Labels, random_part
from ordinate.data.streamed import loaded
from ordinate.encoders.given import Encoder
from ordinate.errors import OrdinateError, did_you_mean, warn
from ordinate.estimators.estimator_dataclass import estimator_dataclass
from ordinate.estimators.known_samples import DataOfFit, KnownSamples
from ordinate.estimators.method import Fitted, Method
from ordinate.estimators.params import origin_of, warn_of_code
from ordinate.estimators.pipeline import Fit, brings_weights, learn_labels_and_reader
from ordinate.estimators.samples import CheckedSamples, GivenSamples, check_options
from ordinate.model.folder import CARD
from ordinate.model.held_out import HeldOut, sets_of
from ordinate.model.labels import RankLabels, TargetLabels
from ordinate.model.model import Model, accepting_all
from ordinate.model.novelty import MOST_COMPARED
from ordinate.model.saving import save_model
from ordinate.option_group import OptionGroup, Settings
from ordinate.training.options import Training

if TYPE_CHECKING:
    from ordinate.data.tables.parquet_table import ParquetTable
    from ordinate.model.export import Exported
    from ordinate.training.staged_method import StagedMethod

NewSamples = ArrayLike | pd.DataFrame | Path  # A text is the path of a file, too.


@estimator_dataclass
class EmbeddingEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """Fit an encoder by a method, embed samples with it and predict their labels from the embeddings.

    Args:
        encoder: Network that embeds samples. ``"auto"`` chooses the one that suits X: ``"mlp"`` for tables,
            ``"resnet1d"`` for series, ``"resnet3d18"`` for volumes, and for images a network of timm by name, such as
            ``"resnet50"``; for text see :class:`~ordinate.TextOptions`. Or a network of your own: a
            ``torch.nn.Module`` (``fit`` copies it; one of timm loses its classifier), a function from
            ``embedding_dim`` to one, or ``"hf:"`` and the folder or name of a network of transformers for images or
            text, such as ``"hf:facebook/dinov2-small"``. The network gets images (n, channels, height, width) and
            volumes normalised by channel; series (n, channels, length) standardised, NaN after the end of shorter
            ones; tables (n, features), numbers standardised, a mark for missing ones, one column per category; texts
            as word vectors (n, words, width), 0 after the end. It returns vectors (n, k), maps (n, k, ...), tokens
            (n, t, k) or a ``ModelOutput``. Predictions for tables and series are computed in float64, others in
            float32.
        embedding_dim: Dimension d of the embeddings, to which a linear layer on the network leads (for text one with a
            hidden layer), unless a function was given it. None for the features of the network itself.
        batch_size: Samples per batch, at least 4; None for 256, and 64 for images and volumes.
        training: Options of training: optimizer, early stopping, devices, callbacks, checkpoints.
        data: Options of images, volumes, series or text, such as :class:`~ordinate.ImageOptions`; None for the
            defaults. :class:`~ordinate.TextOptions` says that X is text.
        random_state: Seed; the same seed gives the same weights on the same machine.
        verbose: 1 shows a progress bar; 0 says once, on the logger ``"ordinate"``, when a long fit ends.

    Attributes:
        model_: The fitted model, see :class:`~ordinate.model.model.Model`; ``fitted`` is the same by the parameters of
            now.
        encoder_: The trained encoder.
        predictor_: Module from embeddings to predictions.
        method_: The trained module of the method; not part of a saved model.
        embedding_dim_: Dimension d of the embeddings.
        history_: Values that each epoch logged.
        notes_: What is worth knowing about the fit.
        novelty_: How far embeddings of held-out samples lie from those of training, if the predictor keeps these and
            there are such samples; ``predict`` compares new samples with it.
        n_features_in_, feature_names_in_, n_iter_: As in scikit-learn.
    """

    encoder: Encoder = field(default="auto", kw_only=False)
    embedding_dim: int | None = 64
    batch_size: int | None = None
    training: Training = Training()
    data: DataOptions | None = None
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0
    model_: Model = field(init=False)
    method_: "StagedMethod" = field(init=False)

    def __sklearn_tags__(self) -> Tags:
        tags = accepting_all(super().__sklearn_tags__())
        tags.target_tags.required = True
        tags.non_deterministic = False
        return tags

    def set_params(self, **params: object) -> Self:
        """Set parameters, those of option groups as ``training__learning_rate``."""
        nested: dict[str, Settings] = defaultdict(dict)
        flat = {}
        for name, value in params.items():
            group, _, option = name.partition("__")
            if option:
                nested[group][option] = value
            else:
                flat[name] = value
        super().set_params(**flat)
        for name, options in nested.items():
            value = getattr(self, name, None)
            if not isinstance(value, OptionGroup):
                got = f"{', '.join(options)} for {value!r}"
                raise OrdinateError(name, got, "a parameter that is a group of options")
            known = value.get_params()
            for option in options:
                if option not in known:
                    hint = did_you_mean(option, known) or f"known are {', '.join(known)}"
                    raise OrdinateError(f"{name}__{option}", problem="there is no such parameter", hint=hint)
            setattr(self, name, replace(value, **options))
        return self

    def checked_method(self) -> Method:
        """Return how the estimator trains and predicts, after a check of its parameters."""
        if self.batch_size is not None:
            check_whole(self.batch_size, "batch_size", least=4)
        if not isinstance(self.training, Training):
            raise OrdinateError("training", repr(self.training), "ordinate.Training(...)")
        check_options(self.data, self.encoder)
        check_encoder(self)
        method = self.new_method()
        method.check()
        return method

    @abstractmethod
    def new_method(self) -> Method:
        """Return how the estimator trains and predicts."""

    def fit(
        self,
        X: ArrayLike | pd.DataFrame,
        y: "ArrayLike | ParquetTable | None" = None,
        sample_weight: ArrayLike | None = None,
        validation: GivenSamples | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Train on samples X and labels y.

        Args:
            X: (n, features) array, sparse matrix, DataFrame (of pandas, polars, pyarrow or datasets) or
                :class:`~ordinate.ParquetTable`, or series (n, channels, length), for several lengths as a list of
                arrays (channels, length) or with NaN after the last point of the shorter ones; images (n, channels,
                height, width), volumes (n, channels, depth, height, width), or paths of either.
            y: Classifiers: (n,), labels of at least two ranks, for CLOC two of them with two samples each. Regressors:
                (n,) real targets, not all equal; SupCR also supports (n, p). A ParquetTable of one column, whose
                numbers beyond 128 MiB are not read into memory. None for a Dataset or DataLoader that has labels.
            sample_weight: (n,), weights >= 0 of the samples: of anchors in contrastive losses, of samples in other
                losses and in the heads, and in validation. Only ratios matter. A sample of weight 0 is left out.
            validation: ``(X, y)`` or ``(X, y, sample_weight)`` to validate on, instead of a share of the samples.
            groups: (n,), such as the subject of every sample; a group is never on both sides of the share that
                ``validation_fraction`` holds out, and neither are exact copies of a sample, unless too few samples
                differ (``notes_`` says so) or the rows of a table stream.
        """
        method = self.checked_method()
        for name in ("held_out_", "data_of_fit_", "folder_"):  # They belong to an earlier fit.
            self.__dict__.pop(name, None)
        with collected():  # Samples of the fit are not new.
            fit = Fit(self, method, learn_labels_and_reader(self, method, X, y, sample_weight, validation, groups))
            return self.keep(fit, fit.run())

    def keep(self, fit: Fit, fitted: Fitted) -> Self:
        """Keep what a fit has made; :meth:`fit` calls it."""
        data = fit.data
        self.n_features_in_ = data.reader.n_features_in
        self.n_batches_ = len(data.batches)
        self.method_ = fit.module
        self.model_ = fit.model(fitted)
        if data.validation is not None and fitted.training is data.training:  # They were not trained on in the end.
            rows = random_part(len(data.validation.x), MOST_COMPARED)
            self.model_ = self.model_.with_novelty(fitted.embed_rows(data.validation.x, rows))
        return self

    @abstractmethod
    def learn_labels(self, y: Labels) -> RankLabels | TargetLabels:
        """Return the labels of training samples."""

    def weights_in_training(self, samples: CheckedSamples, labels: Any) -> NDArray[np.float64] | None:
        """Return the weights (n,) of training samples; None for equal ones."""
        return samples.weights

    # The fitted model.

    @property
    def fitted(self) -> Model:
        """The fitted model as one value, which :mod:`ordinate.model` takes; it predicts by the parameters of now."""
        check_is_fitted(self)
        return replace(self.model_, origin=origin_of(self, self.model_.reader))

    @property
    def encoder_(self) -> nn.Module:
        return self.model_.encoder

    @property
    def predictor_(self) -> nn.Module:
        return self.model_.predictor

    @property
    def reader_(self) -> Reader:
        return self.model_.reader

    @property
    def labels_(self) -> RankLabels | TargetLabels:
        return self.model_.labels

    @property
    def embedding_dim_(self) -> int:
        return self.model_.embedding_dim

    @property
    def history_(self) -> list[dict[str, float]]:
        return self.model_.history

    @property
    def n_iter_(self) -> int:
        return len(self.model_.history)

    @property
    def notes_(self) -> list[str]:
        return self.model_.notes

    @property
    def novelty_(self) -> Settings:
        return self.fact("novelty_")

    def fact(self, name: str) -> Any:
        """Return a result of the fit by its name.

        Raises:
            AttributeError: there is none, as of an estimator that is not fitted.
        """
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"{type(self).__name__} has no {name} before it is fitted")
        facts = self.model_.facts
        if name not in facts:
            raise AttributeError(f"{type(self).__name__} has no {name}")
        return facts[name]

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

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
        self.held_out_ = HeldOut.measure(self.fitted, *self._labelled(X, y))
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
        check_is_fitted(self)
        from ordinate.model.evaluation import evaluate

        return evaluate(self.fitted, *self._labelled(X, y))

    def compare(self, X: Any, y: Any = None, training: GivenSamples | None = None) -> pd.DataFrame:
        """Return the metrics of this model and of simple models, with intervals and a verdict.

        Args:
            X: Samples (n) that the model was not trained on, or the path of a file of them.
            y: Labels (n,) or targets (n, p); None as in :meth:`evaluate`.
            training: ``(X, y)`` of training, for simple models that are trained, too; None for those of a model of
                :func:`ordinate.fit`.

        Returns:
            A row per model, this one first, with each metric and the ends of its interval, such as ``mae``,
            ``mae_low`` and ``mae_high``. ``attrs["verdict"]`` says in a sentence how good the model is.
        """
        from ordinate.report.page.comparison import compare

        fitted = self.fitted
        labelled = self._labelled(X, y)
        if training is None:
            known = self._known()
            training = None if known is None else known.take(known.trained)
        return compare(fitted, *labelled, training=training, target=fitted.target or "label")

    def importance(self, X: Any, y: Any = None, *, repeats: int = 10) -> pd.DataFrame:
        """Return the permutation importance of columns, see :func:`~ordinate.model.importance.column_importance`.

        Args:
            X: Table (n) that the model was not trained on, or the path of a file of one.
            y: Labels (n,) or targets (n, p); None as in :meth:`evaluate`.
            repeats: Number of times that each column is shuffled.
        """
        from ordinate.model.importance import column_importance

        return column_importance(self.fitted, *self._labelled(X, y), repeats=repeats)

    def _labelled(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Return samples and labels, which a table or a file holds in the column of training if they are not given."""
        check_is_fitted(self)
        if isinstance(y, str):
            raise OrdinateError("y", repr(y), "the labels of the samples, such as a column of a table")
        if y is not None:
            return self._in_memory(X), y
        data = self._data_of_fit()
        if data is not None and isinstance(X, str | Path):
            return data.labelled(self.fitted, str(X))
        target = self.model_.target
        if target is None or not isinstance(X, pd.DataFrame):
            hint = "models of ordinate.fit know the column of the label"
            raise OrdinateError("y", None, "the labels of the samples", hint)
        targets = [target] if isinstance(target, str) else target
        require_names(X.columns, targets, "X")
        missing = X[targets].isna().any(axis=1)
        if missing.any() and not missing.all():
            warn(f"left out: {missing.sum():,} of {counted(len(X), 'row')}, which have no label")
            X = X[~missing]
        names = list(self.model_.feature_names_in)
        self._warn_of_groups(X)
        return X[names] if names else X, X[target]

    def _warn_of_groups(self, X: pd.DataFrame) -> None:
        """Warn of rows whose groups are among those of training, for a model that knows these."""
        data = self._data_of_fit()
        if data is None or data.group is None or data.group not in X.columns:
            return
        known = self._known()
        note = None if known is None else known.note_on(data.group, X[data.group].astype(str).to_numpy(dtype=np.str_))
        if note is not None:
            warn(note)

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
        from ordinate.report.page import write_report

        fitted = self.fitted
        known, names = self._known(), None
        held_out = None if X is None else self._held_out()
        if X is None:
            known = self._required("X", "labelled samples that it was not trained on")
            X, y = known.take(known.held_out)
            names = [known.names[place] for place in known.held_out]
        else:
            X, y = self._labelled(X, y)
        if training is None and known is not None:
            training = known.take(known.trained)
        target = self.model_.target or "the label"
        return write_report(fitted, X, y, path, training=training, target=target, names=names, held_out=held_out)

    @property
    def method_name(self) -> str:
        """The name of the method, as people call it."""
        return self.new_method().name

    @property
    def unweighted(self) -> str | None:
        """Why samples cannot be weighted; None if they can."""
        return self.new_method().unweighted

    @property
    def _n_features_out(self) -> int:
        return self.embedding_dim_

    def save(self, folder: str | Path) -> None:
        """Write the fitted model to a folder: weights as safetensors, the rest as readable JSON and Markdown.

        The folder must not hold anything yet; it appears whole or not at all. :func:`ordinate.load` reads it. It holds
        no samples; of those that were held out, or given to :meth:`calibrate`, the labels and predictions.
        """
        fitted = self.fitted
        warn_of_code(self)
        save_model(fitted, Path(folder), self._write_records)

    def _write_records(self, folder: Path) -> None:
        """Write what is known in addition to the model, and its card."""
        from ordinate.report.card import card_of

        held_out, data = self._held_out(), self._data_of_fit()
        if held_out is not None:
            held_out.write(folder)
        records = {CARD: card_of(self.fitted)} if data is None else data.records
        for name, text in records.items():
            (folder / name).write_text(text, encoding="utf-8")


def check_encoder(estimator: EmbeddingEstimator) -> None:
    """Raise where the encoder, its embedding or how it is trained cannot be what they are."""
    if not isinstance(estimator.encoder, str) and not callable(estimator.encoder):
        expected = "a name, a torch.nn.Module, or a function from embedding_dim to one"
        raise OrdinateError("encoder", repr(estimator.encoder), expected)
    if isinstance(estimator.encoder, str):
        check_network_folder(estimator.encoder)
    check_embedding_dim(estimator.embedding_dim)
    trained, options = estimator.training.train_encoder, estimator.data
    if trained not in (None, "all") and not brings_weights(estimator.encoder, options):
        raise OrdinateError(
            "train_encoder",
            f"{trained!r} with the encoder {estimator.encoder!r}, which starts without weights",
            "'all', a network that brings weights, or ImageOptions(pretrained=True)",
        )
    if options is not None:
        options.check_part(trained)
