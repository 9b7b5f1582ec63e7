"""The base of all estimators: parameters, fitting, embedding, saving."""

import inspect
import re
from abc import ABC, abstractmethod
from collections import defaultdict
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, dataclass_transform

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from ordinate.checks import check_embedding_dim, check_network_folder, check_whole
from ordinate.data.findings import collected, report
from ordinate.data.modality import Reader
from ordinate.data.options import DataOptions
from ordinate.data.paths import require_names
from ordinate.data.registry import modality_of
from ordinate.data.rows import Labels, random_part
from ordinate.encoders.given import Encoder, is_named
from ordinate.errors import OrdinateError, did_you_mean
from ordinate.estimators.labels import RankLabels, TargetLabels
from ordinate.estimators.method import Method, device_of, embed
from ordinate.estimators.novelty import MOST_COMPARED, Novelty
from ordinate.estimators.persistence import save_estimator
from ordinate.estimators.pipeline import Fit, learn_labels_and_reader
from ordinate.estimators.samples import LabelledSamples, check_kind, check_options, unpack
from ordinate.extensions import load_object
from ordinate.option_group import OptionGroup, Settings
from ordinate.training.options import Training

if TYPE_CHECKING:
    from ordinate.data.tables.parquet_table import ParquetTable
    from ordinate.training.staged_method import StagedMethod

HELD_OUT = "ordinate.estimators.held_out:HeldOut"  # It is above the estimators, as is what other questions need.
Estimator = TypeVar("Estimator", bound=type[Any])


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def estimator_dataclass(cls: Estimator) -> Estimator:
    """Turn the annotated attributes of an estimator into keyword-only parameters of its constructor.

    A subclass declares its own parameters, and again only those whose default differs; one that it lacks it declares
    with ``field(init=False)``. Its docstring is completed by what its bases say of theirs.
    """
    dataclass(kw_only=True, eq=False, repr=False)(cls)
    # The text of a Google-style docstring, then the heading and the body of each section in turn.
    text, *rest = re.split(r"(?m)^(Args|Attributes|Raises|Example):\n", inspect.cleandoc(cls.__doc__ or ""))
    sections = dict(zip(rest[::2], rest[1::2], strict=True))
    inherited = ("Args", "Attributes")
    cls._documented = {heading: _entries(sections.pop(heading, "")) for heading in inherited}
    completed = {heading: "\n".join(_all_entries(cls, heading).values()) for heading in inherited}
    parts = [f"{heading}:\n{body.rstrip()}" for heading, body in (completed | sections).items() if body]
    cls.__doc__ = "\n\n".join([text.rstrip(), *parts]) + "\n"
    return cls


def _entries(section: str) -> dict[str, str]:
    """Return the entries of a section by what they describe."""
    entries = re.split(r"(?m)^    (?=\w[\w, ]*: )", section)[1:]
    return {entry.partition(":")[0]: f"    {entry.rstrip()}" for entry in entries}


def _all_entries(cls: type[Any], heading: str) -> dict[str, str]:
    """Return a class's entries and those that its bases add, without parameters that it lacks."""
    lacking = {parameter.name for parameter in fields(cls) if not parameter.init}
    found: dict[str, str] = {}
    for ancestor in cls.__mro__:
        for name, entry in vars(ancestor).get("_documented", {}).get(heading, {}).items():
            if heading != "Args" or name not in lacking:
                found.setdefault(name, entry)
    return found


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
        verbose: 1 shows a progress bar.

    Attributes:
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
    encoder_: nn.Module = field(init=False)
    predictor_: nn.Module = field(init=False)
    method_: "StagedMethod" = field(init=False)
    reader_: Reader = field(init=False)
    labels_: RankLabels | TargetLabels = field(init=False)
    embedding_dim_: int = field(init=False)

    method: ClassVar[str]  # The place of its Method, as "module:Class".

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.three_d_array = True
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
        method: Method = load_object(self.method)(self)
        method.check()
        return method

    def fit(
        self,
        X: ArrayLike | pd.DataFrame,
        y: "ArrayLike | ParquetTable | None" = None,
        sample_weight: ArrayLike | None = None,
        validation: LabelledSamples | None = None,
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
        data = learn_labels_and_reader(self, method, X, y, sample_weight, validation, groups)
        self.reader_ = data.reader
        self.n_features_in_ = data.reader.n_features_in
        self.n_batches_ = len(data.batches)
        fit = Fit(self, method, data)
        fitted = fit.run()
        self.method_ = fit.module
        self.encoder_ = fit.module.encoder
        self.predictor_ = fit.predictor
        self.embedding_dim_ = fitted.embedding_dim
        self.history_ = fit.history
        self.n_iter_ = len(fit.history)
        self.fitted_values_ = fitted.values
        for name, value in {**fitted.values, **fitted.unsaved}.items():
            setattr(self, name, value)
        self.notes_ = [*data.reader.notes, *fitted.notes, *data.notes]
        if data.validation is not None and fitted.training is data.training:  # They were not trained on in the end.
            self.learn_novelty(fitted.embed_rows(data.validation.x, random_part(len(data.validation.x), MOST_COMPARED)))
        return self

    @abstractmethod
    def targets(self, y: Labels, *, reset: bool) -> Labels:
        """Return training targets of labels; ``reset`` learns the labels first."""

    def read(self, X: object) -> Tensor:
        """Return samples as a batch of the encoder."""
        samples, _ = unpack(X, (), self.data)
        modality = modality_of(samples, self.data)
        check_kind(self.reader_, modality)
        return self.reader_.read(modality.check(self, samples, reset=False))

    def embed(self, x: Tensor) -> Tensor:
        """Return embeddings (n, d) of samples that were read, in float64."""
        return embed(self.encoder_, self.reader_, device_of(self.training), x)

    def embed_new(self, X: object) -> Tensor:
        """Return embeddings (n, d) of new samples, and warn where many lie outside what training had seen."""
        with collected() as findings:
            embeddings = self.embed(self.read(X))
        novelty = self.fitted_values_.get("novelty_")
        if novelty is not None:
            findings += Novelty(**novelty).findings(self.predictor_, embeddings)
        report(findings)
        return embeddings

    def learn_novelty(self, held_out: Tensor) -> None:
        """Keep how far embeddings (n, d) of held-out samples lie from those of training, if the predictor has these."""
        novelty = Novelty.measure(self.predictor_, held_out)
        if novelty is not None:
            self.novelty_ = asdict(novelty)
            self.fitted_values_["novelty_"] = self.novelty_

    def transform(self, X: ArrayLike | pd.DataFrame) -> NDArray[np.float64]:
        """Return the embeddings (n, ``embedding_dim_``) of samples, float64."""
        check_is_fitted(self)
        return self.embed(self.read(X)).numpy()

    def calibrate(self, X: object, y: object) -> Self:
        """Keep predictions of labelled samples that training has not seen, for :meth:`predict_interval`.

        Models of ``ordinate fit`` have those of the samples that it held out.

        Args:
            X: Samples (n) of the model's kind of data.
            y: Labels (n,) or targets (n, p).
        """
        check_is_fitted(self)
        self.held_out_ = load_object(HELD_OUT).measure(self, X, y)
        return self

    def predict_interval(
        self, X: ArrayLike | pd.DataFrame, coverage: float = 0.9, *, by_rank: bool = False
    ) -> tuple[Labels, Labels]:
        """Return the lowest and the highest label (n,) of samples, which hold the true one with a probability.

        The interval is conformal: samples like those of :meth:`calibrate` lie in it for at least the promised share.

        Args:
            X: Samples (n).
            coverage: Promised share, above 0 and below 1.
            by_rank: Whether it is promised for the samples of every rank.

        Raises:
            OrdinateError: the model is not calibrated, or with too few samples for the coverage.
        """
        check_is_fitted(self)
        predict_sets = load_object("ordinate.estimators.held_out:predict_sets")
        bounds: tuple[Labels, Labels] = predict_sets(
            self, load_object(HELD_OUT).known(self), X, coverage, by_rank=by_rank
        )
        return bounds

    def evaluate(self, X: Any, y: Any = None) -> dict[str, Any]:
        """Return the metrics of labelled samples by name, see :func:`~ordinate.estimators.evaluation.evaluate`.

        Args:
            X: Samples (n) of the model's kind of data.
            y: Labels (n,) or targets (n, p); None for a table that has them in the column or columns of training, for
                a model that :func:`ordinate.fit` returned.
        """
        check_is_fitted(self)
        if y is None:
            target = vars(self).get("target_")
            if target is None or not isinstance(X, pd.DataFrame):
                raise OrdinateError("y", None, "the labels of the samples")
            require_names(X.columns, [target] if isinstance(target, str) else target, "X")
            X, y = X[list(self.feature_names_in_)], X[target]
        metrics: dict[str, Any] = load_object("ordinate.estimators.evaluation:evaluate")(self, X, y)
        return metrics

    def explain(self, X: pd.DataFrame, background: pd.DataFrame) -> pd.DataFrame:
        """Return what each column of a table contributes to the predictions of samples.

        Args:
            X: Samples (n) to explain.
            background: Samples (m) that they are compared with, such as those of training.

        Returns:
            A row for each sample, see :func:`~ordinate.estimators.contributions.column_contributions`.
        """
        check_is_fitted(self)
        found: pd.DataFrame = load_object("ordinate.estimators.contributions:column_contributions")(self, X, background)
        return found

    def similar(
        self, X: ArrayLike | pd.DataFrame, among: ArrayLike | pd.DataFrame, k: int = 10
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the samples whose embeddings are most similar to those of others.

        Args:
            X: Samples (n) to search by.
            among: Samples (m) to search in.
            k: Number of samples to find, at most m.

        Returns:
            The similarities (n, k), the highest first, and the rows (n, k) of ``among``.
        """
        found = load_object("ordinate.estimators.neighbour_index:NeighbourIndex").build(self, among).search(X, k)
        return found.similarity, found.rows

    def report(self, path: str | Path, X: object, y: object, training: LabelledSamples | None = None) -> Path:
        """Write one HTML page about the model and its predictions of labelled samples, which opens offline.

        Args:
            path: Path of the file; one that is there is replaced.
            X: Samples (n) that the model was not trained on.
            y: Labels (n,) or targets (n, p).
            training: ``(X, y)`` of training, for simple models to compare with; None for none.

        Returns:
            The path.
        """
        check_is_fitted(self)
        written: Path = load_object("ordinate.report.page:write_report")(self, X, y, path, training=training)
        return written

    @property
    def method_name(self) -> str:
        """The name of the method, as people call it."""
        return str(load_object(self.method)(self).name)

    @property
    def unweighted(self) -> str | None:
        """Why samples cannot be weighted; None if they can."""
        reason: str | None = load_object(self.method)(self).unweighted
        return reason

    @property
    def _n_features_out(self) -> int:
        return self.embedding_dim_

    def save(self, folder: str | Path) -> None:
        """Write the fitted model to a folder: weights as safetensors, the rest as readable JSON.

        The folder must not hold anything yet; it appears whole or not at all. :func:`ordinate.load` reads it.
        """
        check_is_fitted(self)
        save_estimator(self, Path(folder))


def check_encoder(estimator: EmbeddingEstimator) -> None:
    """Raise where the encoder, its embedding or how it is trained cannot be what they are."""
    if not isinstance(estimator.encoder, str) and not callable(estimator.encoder):
        expected = "a name, a torch.nn.Module, or a function from embedding_dim to one"
        raise OrdinateError("encoder", repr(estimator.encoder), expected)
    if isinstance(estimator.encoder, str):
        check_network_folder(estimator.encoder)
    check_embedding_dim(estimator.embedding_dim)
    trained, options = estimator.training.train_encoder, estimator.data
    brings_weights = not is_named(estimator.encoder) or (options is not None and options.brings_weights)
    if trained not in (None, "all") and not brings_weights:
        raise OrdinateError(
            "train_encoder",
            f"{trained!r} with the encoder {estimator.encoder!r}, which starts without weights",
            "'all', a network that brings weights, or ImageOptions(pretrained=True)",
        )
    if options is not None:
        options.check_part(trained)
