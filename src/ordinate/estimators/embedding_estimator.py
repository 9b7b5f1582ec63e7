"""The base of all estimators: parameters, fitting, embedding, saving."""

from abc import ABC, abstractmethod
from collections import defaultdict
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
from ordinate.data.findings import collected
from ordinate.data.modality import Reader
from ordinate.data.options import DataOptions
from ordinate.data.rows import Labels, random_part
from ordinate.encoders.given import Encoder
from ordinate.errors import OrdinateError, did_you_mean
from ordinate.estimators.estimator_dataclass import estimator_dataclass
from ordinate.estimators.method import Fitted, Method
from ordinate.estimators.params import origin_of, warn_of_code
from ordinate.estimators.pipeline import Fit, brings_weights, learn_labels_and_reader
from ordinate.estimators.questions import Questions
from ordinate.estimators.samples import CheckedSamples, GivenSamples, check_options
from ordinate.model.folder import CARD
from ordinate.model.labels import RankLabels, TargetLabels
from ordinate.model.model import Model, accepting_all
from ordinate.model.novelty import MOST_COMPARED
from ordinate.model.saving import save_model
from ordinate.option_group import OptionGroup, Settings
from ordinate.training.options import Training

if TYPE_CHECKING:
    from ordinate.data.tables.parquet_table import ParquetTable
    from ordinate.training.staged_method import StagedMethod


@estimator_dataclass
class EmbeddingEstimator(Questions, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
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

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        """Write the fitted model to a folder: weights as safetensors, the rest as readable JSON and Markdown.

        The folder appears whole or not at all, and :func:`ordinate.load` reads it. It holds no samples; of those that
        were held out, or given to :meth:`calibrate`, the labels and predictions.

        Args:
            folder: Folder that does not hold anything yet.
            overwrite: Whether to replace a saved model in it; other folders are never removed.
        """
        fitted = self.fitted
        warn_of_code(self)
        save_model(fitted, Path(folder), self._write_records, overwrite=overwrite)

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
